//! Paired bootstrap intervals of a difference in means (Efron and Tibshirani 1993): queries are drawn with replacement,
//! both systems are scored on the same draw. Seeded, so that the same data give the same interval.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

/// Draws of one interval.
pub const RESAMPLES: usize = 2_000;

/// A difference in means with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Mean of the differences.
    pub mean: f64,
    /// 2.5 % quantile.
    pub low: f64,
    /// 97.5 % quantile.
    pub high: f64,
    /// Pairs.
    pub n: usize,
}

/// Interval of mean(system − baseline) over paired values.
pub fn paired(system: &[f64], baseline: &[f64], seed: u64) -> Difference {
    let differences: Vec<f64> = system.iter().zip(baseline).map(|(a, b)| a - b).collect();
    let n = differences.len();
    if n == 0 {
        return Difference::default();
    }
    let mut random = StdRng::seed_from_u64(seed);
    let mut draw = || (0..n).map(|_| differences[random.random_range(0..n)]).sum::<f64>() / n as f64;
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let at = |q: f64| means[((RESAMPLES - 1) as f64 * q).round() as usize];
    Difference { mean: differences.iter().sum::<f64>() / n as f64, low: at(0.025), high: at(0.975), n }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_systems_differ_by_nothing_and_a_constant_gain_has_no_width() {
        let values = [0.1, 0.5, 0.9, 0.3];
        assert_eq!(paired(&values, &values, 1), Difference { n: 4, ..Difference::default() });
        let better: Vec<f64> = values.iter().map(|v| v + 0.25).collect();
        let gain = paired(&better, &values, 1);
        assert!((gain.low - 0.25).abs() < 1e-12 && (gain.high - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_interval_holds_the_mean_and_follows_the_seed() {
        let system: Vec<f64> = (0..50).map(|n| f64::from(n % 7) / 7.0).collect();
        let baseline: Vec<f64> = (0..50).map(|n| f64::from(n % 5) / 5.0).collect();
        let one = paired(&system, &baseline, 7);
        assert!(one.low < one.mean && one.mean < one.high);
        assert_eq!(one, paired(&system, &baseline, 7));
        assert_ne!(one, paired(&system, &baseline, 8));
    }

    #[test]
    fn nothing_is_no_panic() {
        assert_eq!(paired(&[], &[], 1).n, 0);
    }
}
