//! What planning sees of a key: frozen between publications, so that plans stay comparable and cached plans stay valid
//! while nothing of weight has changed.

use super::interval::{CONFORMAL_N_MIN, conformal};
use super::key::Scale;
use super::sample::Weighed;
use serde::{Deserialize, Serialize};

/// Most weight of a parent's point beside a key's own outcomes: as much as ten of them. A guess, between the five custom plans
/// after which databases trust a plan and the twenty outcomes after which a latency bound counts as measured.
pub const SHRINKAGE_N0: u64 = 10;
/// Its least weight, so that a parent is never forgotten: a quarter of an outcome.
const SHRINKAGE_N0_MIN: f64 = 0.25;
/// How far keys typically lie from their parents, ln 1.65 in millionths. On the ratio scale the parent weighs as many outcomes
/// as their variance is of this one squared: outcomes that agree with each other soon outweigh a parent that differs.
const BETWEEN_KEYS: f64 = 500_000.0;
/// Outcomes that the largest weight counts for while the variance is still being learned.
const VARIANCE_N0: f64 = 1.0;

/// A published point moves when the new one is off by 15 %: ln 1.15 in millionths.
const POINT_MOVE_RATIO: u64 = 139_762;
/// An interval's end moves when it is off by 25 %: ln 1.25.
const END_MOVE_RATIO: u64 = 223_144;
/// On the probability scales the same shares of one half.
const POINT_MOVE_SHARE: u64 = 75_000;
/// Numbers of outcomes whose passing publishes anew; at fifty a key gets an interval of its own.
pub(crate) const TIERS: [u32; 4] = [5, 20, 50, 100];

/// Published values of one key. Ordered by serial first: of two, the later publication is the greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Published {
    /// Publications so far; 0: nothing is published.
    pub serial: u32,
    /// Time of decay, seconds since the Unix epoch.
    pub as_of: u64,
    /// Outcomes.
    pub n: u32,
    /// Outcomes after decay, in thousandths.
    pub effective_milli: u64,
    /// Shrunken mean residual, in millionths of the field's scale.
    pub point: i64,
    /// Conformal ends, where enough outcomes support them.
    pub ends: Option<(i64, i64)>,
    /// Smallest and largest residual seen.
    pub range: Option<(i64, i64)>,
}

impl Published {
    /// What the sample says now, with the point that its key and the coarser ones make together.
    pub(crate) fn of(sample: &Weighed, point: i64, scale: Scale, as_of: u64) -> Published {
        Published {
            serial: 0,
            as_of,
            n: sample.distinct,
            effective_milli: sample.effective_milli(),
            point,
            ends: if scale == Scale::Ratio { conformal(sample) } else { None },
            range: sample.range(),
        }
    }

    /// Whether enough outcomes (after decay) support an interval of its own: a finer key does not look beyond it.
    pub(crate) fn stands_alone(&self) -> bool {
        self.ends.is_some() && self.effective_milli >= CONFORMAL_N_MIN * 1_000
    }

    /// `self` while `fresh` is within the tolerances, else `fresh` as the next publication. A sample that holds fewer outcomes
    /// than were published (a snapshot [for planning](super::Statistics::for_planning)) has nothing to say.
    pub(crate) fn renewed(self, fresh: Published, scale: Scale) -> Published {
        if fresh.n < self.n || self.tolerates(&fresh, scale) { self } else { Published { serial: self.serial + 1, ..fresh } }
    }

    fn tolerates(&self, fresh: &Published, scale: Scale) -> bool {
        let passed_tier = TIERS.iter().any(|tier| self.n < *tier && fresh.n >= *tier);
        let point_moved = match scale {
            Scale::Ratio => self.point.abs_diff(fresh.point) > POINT_MOVE_RATIO,
            Scale::Difference => self.point.abs_diff(fresh.point) > POINT_MOVE_SHARE,
            // A rate that nobody has published yet has no point to move from: it waits for the first tier.
            Scale::Rate => self.serial > 0 && self.point.abs_diff(fresh.point) > POINT_MOVE_SHARE,
        };
        let ends_moved = match (self.ends, fresh.ends) {
            (Some(old), Some(new)) => old.0.abs_diff(new.0).max(old.1.abs_diff(new.1)) > END_MOVE_RATIO,
            (old, new) => old.is_some() != new.is_some(),
        } || self.stands_alone() != fresh.stands_alone();
        !(passed_tier || point_moved || ends_moved)
    }
}

/// Outcomes of one key after decay: how many, in thousandths, and the sum of their residuals on the same scale.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    count: i128,
    sum: i128,
    /// Sum of squares, in millionths of the squared scale.
    squares: i128,
}

impl Moments {
    pub(crate) fn of(sample: &Weighed) -> Moments {
        let count = i128::from(sample.effective_milli());
        Moments { count, sum: count * i128::from(sample.mean().unwrap_or(0)), squares: count * sample.mean_square().unwrap_or(0) }
    }

    /// Weight of the parent's point, in thousandths of an outcome.
    fn parent_weight(self, scale: Scale) -> i128 {
        if scale != Scale::Ratio || self.count <= 0 {
            return i128::from(SHRINKAGE_N0) * 1_000;
        }
        let count = self.count as f64;
        let mean = self.sum as f64 / count;
        let variance = (self.squares as f64 * 1e6 / count - mean * mean).max(0.0);
        let own = variance / (BETWEEN_KEYS * BETWEEN_KEYS);
        let most = SHRINKAGE_N0 as f64;
        let outcomes = count / 1e3;
        let weight = (outcomes * own + VARIANCE_N0 * most) / (outcomes + VARIANCE_N0);
        libm::round(weight.clamp(SHRINKAGE_N0_MIN, most) * 1e3) as i128
    }

    /// What a parent knows beyond one child: else the child's own outcomes would vote once per level.
    fn beyond(self, child: Moments) -> Moments {
        let count = self.count - child.count;
        if count > 0 { Moments { count, sum: self.sum - child.sum, squares: self.squares - child.squares } } else { Moments::default() }
    }
}

/// (n · mean + n₀ · parent) / (n + n₀) from the coarsest key to the finest, which comes first in `chain` (CITATIONS 5).
/// Above the coarsest a bias shrinks to none; a rate has nothing to shrink to and stays what it is.
pub(crate) fn shrunken(chain: &[Moments], scale: Scale) -> i64 {
    let start = if scale == Scale::Rate { None } else { Some(0) };
    let below = [Moments::default()].into_iter().chain(chain.iter().copied());
    let own: Vec<Moments> = chain.iter().zip(below).map(|(level, child)| level.beyond(child)).collect();
    let point = own.iter().rev().fold(start, |parent: Option<i128>, level| {
        let weight = if parent.is_some() { level.parent_weight(scale) } else { 0 };
        (level.sum + weight * parent.unwrap_or(0)).checked_div(level.count + weight).or(parent)
    });
    point.map_or(0, |point| i64::try_from(point).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(n: i128, mean: i128) -> Moments {
        // As far apart as keys typically are: the parent weighs as one outcome of those that the variance is learned with.
        Moments { count: n * 1000, sum: n * 1000 * mean, squares: n * 1000 * (2_500_000 + mean * mean / 1_000_000) }
    }

    #[test]
    fn an_outcome_votes_once_however_many_levels_hold_it() {
        let alone = [moments(5, 900); 4];
        assert_eq!(shrunken(&alone, Scale::Ratio), 5 * 900 / 15);
        assert_eq!(shrunken(&alone, Scale::Rate), 900);
    }

    #[test]
    fn a_child_without_outcomes_of_its_own_takes_its_parents_point() {
        let chain = [Moments::default(), moments(30, 400)];
        assert_eq!(shrunken(&chain, Scale::Ratio), 300);
        let both = [moments(10, 1_000), moments(40, 475)];
        assert_eq!(shrunken(&both, Scale::Ratio), (10 * 1_000 + 10 * 225) / 20);
    }

    #[test]
    fn outcomes_that_agree_outweigh_a_parent_that_differs() {
        let alike = Moments { squares: 20_000 * 810_000, ..moments(20, 900_000) };
        let point = shrunken(&[alike; 3], Scale::Ratio);
        assert!(point > 820_000, "twenty outcomes within a hair of each other: {point}");
        assert!(shrunken(&[moments(1, 900_000)], Scale::Ratio) < 450_000, "one outcome is not half of what is known");
    }
}
