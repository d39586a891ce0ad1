//! Residuals of one key: the k outcomes whose ids hash lowest.
//!
//! A bottom-k sample is uniform, and the sample of a union is the bottom-k of the samples' union: merging is commutative,
//! associative and idempotent, whichever process absorbed what and when (CITATIONS 1). The number of distinct outcomes is
//! exact up to k and estimated beyond (CITATIONS 2).

use super::observation::{Observation, RESIDUAL_MAX};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Outcomes kept per key.
pub const SAMPLE_MAX: usize = 512;

/// Age at which an outcome counts half: thirty days. A guess: long beside a day's cycle, short beside a model's life.
pub const HALF_LIFE_SECONDS: u64 = 30 * 86_400;

/// Weight of a fresh outcome: weights are integers, so that sums do not depend on order.
pub(crate) const WEIGHT_ONE: u64 = 1_000_000;

/// One kept outcome. Ordered, so that two versions of one outcome always resolve alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Item {
    /// When, seconds since the Unix epoch.
    pub(crate) at: u64,
    /// On the field's scale, in millionths.
    pub(crate) residual: i64,
    /// Actual − estimate in the field's unit.
    pub(crate) error: i64,
    /// Whether the shown interval held.
    pub(crate) covered: Option<bool>,
}

impl Item {
    pub(crate) fn of(observation: &Observation) -> Item {
        let error = observation.actual.saturating_sub(observation.estimate);
        Item { at: observation.at, residual: observation.residual(), error, covered: observation.covered }
    }

    /// Half per half-life, in millionths; an outcome from the future counts as fresh.
    pub(crate) fn weight(&self, as_of: u64) -> u64 {
        let age = as_of.saturating_sub(self.at) as f64;
        libm::round(libm::exp2(-age / HALF_LIFE_SECONDS as f64) * WEIGHT_ONE as f64) as u64
    }
}

/// Bottom-k sample by hash of the outcome's id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    kept: BTreeMap<u64, Item>,
    /// Whether more than k distinct outcomes were seen.
    overflowed: bool,
}

/// Place of an outcome in the order of sampling.
pub(crate) fn hash_of(outcome: &str) -> u64 {
    let hex = ctx_types::id::sha256_hex(outcome.as_bytes());
    u64::from_str_radix(&hex[..16], 16).expect("a SHA-256 in hex begins with sixteen hex digits")
}

impl Sample {
    pub(crate) fn restored(kept: BTreeMap<u64, Item>, overflowed: bool) -> Sample {
        let mut sample = Sample { kept: BTreeMap::new(), overflowed };
        // A file may hold anything: what no observation can be is bounded as one would be.
        let bounded = |item: Item| Item { residual: item.residual.clamp(-RESIDUAL_MAX, RESIDUAL_MAX), ..item };
        kept.into_iter().for_each(|(hash, item)| sample.add(hash, bounded(item)));
        sample
    }

    pub(crate) fn add(&mut self, hash: u64, item: Item) {
        let kept = self.kept.entry(hash).or_insert(item);
        *kept = item.max(*kept);
        if self.kept.len() > SAMPLE_MAX {
            self.kept.pop_last();
            self.overflowed = true;
        }
    }

    pub(crate) fn union(&mut self, other: &Sample) {
        self.overflowed |= other.overflowed;
        other.kept.iter().for_each(|(hash, item)| self.add(*hash, *item));
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.kept.values()
    }

    pub(crate) fn by_hash(&self) -> &BTreeMap<u64, Item> {
        &self.kept
    }

    /// Whether the count is an estimate.
    pub(crate) fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Distinct outcomes: exact up to k; beyond, (k − 1) / (k-th smallest hash as a share of all hashes).
    pub(crate) fn distinct(&self) -> u32 {
        match self.kept.last_key_value() {
            Some((kth, _)) if self.overflowed => {
                let share = (*kth as f64 + 1.0) / 18_446_744_073_709_551_616.0;
                libm::round((self.kept.len() as f64 - 1.0) / share).min(f64::from(u32::MAX)) as u32
            }
            _ => u32::try_from(self.kept.len()).expect("at most SAMPLE_MAX"),
        }
    }

    /// Residuals with their weights at `as_of`.
    pub(crate) fn weighed(&self, as_of: u64) -> Weighed {
        let mut residuals: Vec<(i64, u64)> = self.items().map(|item| (item.residual, item.weight(as_of))).collect();
        residuals.sort_unstable();
        let weight = residuals.iter().map(|(_, weight)| weight).sum();
        Weighed { residuals, weight, distinct: self.distinct() }
    }

    pub(crate) fn last_update(&self) -> Option<u64> {
        self.items().map(|item| item.at).max()
    }
}

/// A sample at one moment: residuals in ascending order, each with its weight in millionths.
#[derive(Clone, Debug)]
pub(crate) struct Weighed {
    pub(crate) residuals: Vec<(i64, u64)>,
    /// Sum of the weights.
    pub(crate) weight: u64,
    pub(crate) distinct: u32,
}

impl Weighed {
    /// Outcomes after decay, in thousandths: the kept stand for all.
    pub(crate) fn effective_milli(&self) -> u64 {
        let scaled = (u128::from(self.weight) * u128::from(self.distinct)).checked_div(self.residuals.len() as u128 * 1000);
        scaled.map_or(0, |milli| u64::try_from(milli).unwrap_or(u64::MAX))
    }

    /// Weighted mean residual; `None` without weight.
    pub(crate) fn mean(&self) -> Option<i64> {
        let sum: i128 = self.residuals.iter().map(|(residual, weight)| i128::from(*residual) * i128::from(*weight)).sum();
        sum.checked_div(i128::from(self.weight)).map(|mean| mean as i64)
    }

    /// Weighted mean of squared residuals, in millionths of the squared scale; `None` without weight.
    pub(crate) fn mean_square(&self) -> Option<i128> {
        let square = |residual: i64| i128::from(residual) * i128::from(residual) / 1_000_000;
        let sum: i128 = self.residuals.iter().map(|(residual, weight)| square(*residual) * i128::from(*weight)).sum();
        sum.checked_div(i128::from(self.weight))
    }

    /// Smallest and largest residual kept.
    pub(crate) fn range(&self) -> Option<(i64, i64)> {
        Some((self.residuals.first()?.0, self.residuals.last()?.0))
    }
}
