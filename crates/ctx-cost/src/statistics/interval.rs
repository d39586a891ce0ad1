//! Quantiles of residuals: split-conformal ends, q-errors, and the test for drift.
//!
//! With weights wᵢ and weight 1 for the outcome to come, the upper end is the least r with Σ{wᵢ : rᵢ ≤ r} ≥ .95 (Σwᵢ + 1),
//! the lower end its mirror image (CITATIONS 3, 4). With equal weights the interval holds the next outcome with probability
//! ≥ .9 whatever the distribution; decay trades that guarantee for freshness by a bounded amount.

use super::sample::{Item, Sample, WEIGHT_ONE, Weighed};

/// Outcomes (after decay) that a key needs for an interval of its own; below it uses its parent's.
pub const CONFORMAL_N_MIN: u64 = 50;
/// Outcomes from which the residuals of an operator have ends at all: with 19 the least and the largest of them hold the next
/// one nine times in ten, with fewer nothing does. Used where no key of the operator has [`CONFORMAL_N_MIN`].
pub const ENDS_N_MIN: u64 = 20;
/// Each tail's share, in percent, of the 90 % interval.
const TAIL_PERCENT: u128 = 5;

/// Outcomes below which drift is not tested: twenty on either side.
const DRIFT_N_MIN: usize = 40;
/// Standard errors that old and recent half must differ by. Four: a false alarm in some thirty thousand looks.
const DRIFT_Z: f64 = 4.0;
/// And by so much, in millionths of the scale: 15 %, as much as moves a version.
const DRIFT_SHIFT: f64 = 139_762.0;

/// Ends of the 90 % interval of residuals; `None` when too few outcomes support one.
pub(crate) fn conformal(sample: &Weighed) -> Option<(i64, i64)> {
    if sample.weight < ENDS_N_MIN * WEIGHT_ONE {
        return None;
    }
    let total = u128::from(sample.weight) + u128::from(WEIGHT_ONE);
    Some((reach(sample.residuals.iter().rev(), total)?, reach(sample.residuals.iter(), total)?))
}

/// First residual at which the cumulated weight reaches 95 % of `total`: all weight and one outcome more.
fn reach<'a>(mut weighted: impl Iterator<Item = &'a (i64, u64)>, total: u128) -> Option<i64> {
    let mut cumulated = 0u128;
    let end = weighted.find(|(_, weight)| {
        cumulated += u128::from(*weight);
        cumulated * 100 >= total * (100 - TAIL_PERCENT)
    });
    end.map(|(residual, _)| *residual)
}

/// |residual| at a share of the outcomes (nearest rank).
pub(crate) fn absolute_quantile(sample: &Sample, share: f64) -> Option<u64> {
    let mut sizes: Vec<u64> = sample.items().map(|item| item.residual.unsigned_abs()).collect();
    sizes.sort_unstable();
    let rank = libm::ceil(share * sizes.len() as f64) as usize;
    sizes.get(rank.max(1) - 1).copied()
}

/// Whether the recent half of the outcomes disagrees with the older half: Welch's test on the means, and a shift that matters.
pub(crate) fn drifted(sample: &Sample) -> bool {
    let mut items: Vec<&Item> = sample.items().collect();
    if items.len() < DRIFT_N_MIN {
        return false;
    }
    items.sort_unstable();
    let (old, recent) = items.split_at(items.len() / 2);
    let ((old_mean, old_error), (mean, error)) = (mean_and_error(old), mean_and_error(recent));
    let shift = libm::fabs(mean - old_mean);
    shift > DRIFT_SHIFT && shift > DRIFT_Z * libm::sqrt(old_error + error)
}

/// Mean and squared standard error of the mean.
fn mean_and_error(items: &[&Item]) -> (f64, f64) {
    let n = items.len() as f64;
    let mean = items.iter().map(|item| item.residual as f64).sum::<f64>() / n;
    let spread = items.iter().map(|item| (item.residual as f64 - mean) * (item.residual as f64 - mean)).sum::<f64>();
    (mean, spread / (n - 1.0) / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn sample(residuals: impl Iterator<Item = i64>) -> Sample {
        let items = residuals.enumerate().map(|(i, residual)| (i as u64, Item { at: 1000 + i as u64, residual, error: 0, covered: None }));
        Sample::restored(items.collect::<BTreeMap<_, _>>(), false)
    }

    #[test]
    fn ends_are_the_conformal_ranks() {
        // n = 99: rank ⌈.95 · 100⌉ = 95 from either side.
        assert_eq!(conformal(&sample(1..=99).weighed(1000)), Some((5, 95)));
        assert_eq!(conformal(&sample(1..=20).weighed(1000)), Some((1, 20)));
        assert_eq!(conformal(&sample(1..=19).weighed(1000)), None, "too few outcomes for an interval");
    }

    #[test]
    fn drift_is_a_shift_that_noise_does_not_explain() {
        let noise = |i: i64| (i * 7919) % 200_001 - 100_000;
        assert!(!drifted(&sample((0..200).map(noise))));
        assert!(drifted(&sample((0..200).map(|i| noise(i) + if i < 100 { 0 } else { 400_000 }))));
        assert!(!drifted(&sample((0..30).map(|i| i * 1_000_000))), "too few to tell");
    }

    #[test]
    fn absolute_quantiles_are_nearest_ranks() {
        let sample = sample([-4, 3, 2, -1].into_iter());
        assert_eq!([0.5, 0.95, 1.0].map(|share| absolute_quantile(&sample, share)), [Some(2), Some(4), Some(4)]);
        assert_eq!(absolute_quantile(&Sample::default(), 0.5), None);
    }
}
