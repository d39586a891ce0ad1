//! Measures of scores against labels: AUC, calibration, and intervals that draw whole queries.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

/// Draws of one interval.
pub const RESAMPLES: usize = 1_000;
/// Bins of the calibration error.
const BINS: usize = 10;

/// A mean over queries with its 95 % interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Mean {
    /// The mean.
    pub mean: f64,
    /// 2.5 % quantile of the bootstrap.
    pub low: f64,
    /// 97.5 % quantile.
    pub high: f64,
    /// Values.
    pub n: usize,
}

impl std::fmt::Display for Mean {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} [{:.3}, {:.3}], n = {}", self.mean, self.low, self.high, self.n)
    }
}

/// Mean of values, one per query.
pub fn mean(values: &[f64], seed: u64) -> Mean {
    let n = values.len();
    if n == 0 {
        return Mean::default();
    }
    let mut random = StdRng::seed_from_u64(seed);
    let mut draws: Vec<f64> = (0..RESAMPLES).map(|_| (0..n).map(|_| values[random.random_range(0..n)]).sum::<f64>() / n as f64).collect();
    draws.sort_by(f64::total_cmp);
    let at = |q: f64| draws[((RESAMPLES - 1) as f64 * q).round() as usize];
    Mean { mean: values.iter().sum::<f64>() / n as f64, low: at(0.025), high: at(0.975), n }
}

/// Interval of a statistic of paired scores and labels.
pub fn interval(pairs: &[(f64, bool)], seed: u64, of: impl Fn(&[(f64, bool)]) -> Option<f64>) -> Option<Mean> {
    let value = of(pairs)?;
    let mut random = StdRng::seed_from_u64(seed);
    let mut draws: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| of(&(0..pairs.len()).map(|_| pairs[random.random_range(0..pairs.len())]).collect::<Vec<_>>()))
        .collect();
    draws.sort_by(f64::total_cmp);
    let at = |q: f64| draws[((draws.len() - 1) as f64 * q).round() as usize];
    Some(Mean { mean: value, low: at(0.025), high: at(0.975), n: pairs.len() })
}

/// P(a positive scores above a negative), ties count half; `None` without both.
pub fn auc(pairs: &[(f64, bool)]) -> Option<f64> {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut wins, mut at) = (0.0, 0.0, 0);
    while at < sorted.len() {
        let end = at + sorted[at..].iter().take_while(|p| p.0 == sorted[at].0).count();
        let positives = sorted[at..end].iter().filter(|p| p.1).count() as f64;
        let negatives = (end - at) as f64 - positives;
        wins += positives * (below + negatives / 2.0);
        below += negatives;
        at = end;
    }
    let positives = pairs.len() as f64 - below;
    (positives > 0.0 && below > 0.0).then(|| wins / positives / below)
}

/// Expected calibration error over ten bins of equal width.
pub fn calibration_error(pairs: &[(f64, bool)]) -> f64 {
    let mut bins = [(0.0, 0.0); BINS];
    for (p, y) in pairs {
        let bin = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += p;
        bin.1 += f64::from(u8::from(*y));
    }
    bins.iter().map(|(p, y)| (p - y).abs()).sum::<f64>() / pairs.len().max(1) as f64
}

/// Mean squared error of probabilities.
pub fn brier(pairs: &[(f64, bool)]) -> f64 {
    let outcomes: Vec<(f64, f64)> = pairs.iter().map(|(p, y)| (*p, f64::from(u8::from(*y)))).collect();
    ctx_learn::calibration::brier(&outcomes)
}

/// Share of true labels.
pub fn base_rate(pairs: &[(f64, bool)]) -> f64 {
    pairs.iter().filter(|p| p.1).count() as f64 / pairs.len().max(1) as f64
}

/// The largest threshold below which at most `share` of the positives fall.
pub fn threshold(pairs: &[(f64, bool)], share: f64) -> f64 {
    let mut positives: Vec<f64> = pairs.iter().filter(|p| p.1).map(|p| p.0).collect();
    positives.sort_by(f64::total_cmp);
    positives.get((positives.len() as f64 * share).floor() as usize).copied().unwrap_or(0.0)
}

/// (share of negatives below, share of positives below, negatives, positives).
pub fn below(pairs: &[(f64, bool)], threshold: f64) -> (f64, f64, usize, usize) {
    let count = |label: bool| pairs.iter().filter(|p| p.1 == label).count();
    let under = |label: bool| pairs.iter().filter(|p| p.1 == label && p.0 < threshold).count() as f64;
    (under(false) / count(false).max(1) as f64, under(true) / count(true).max(1) as f64, count(false), count(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_worked_out_by_hand() {
        let pairs = [(0.1, false), (0.4, true), (0.4, false), (0.9, true)];
        assert_eq!(auc(&pairs), Some(0.875));
        assert_eq!(auc(&pairs[..1]), None);
        assert!((brier(&[(0.5, true), (0.0, false)]) - 0.125).abs() < 1e-12);
        assert!((calibration_error(&[(0.55, true), (0.55, false)]) - 0.05).abs() < 1e-12);
        assert_eq!(below(&pairs, 0.4), (0.5, 0.0, 2, 2));
        assert_eq!(threshold(&pairs, 0.1), 0.4);
    }
}
