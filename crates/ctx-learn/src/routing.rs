//! Two tiers: which goals are worth the strong one. The curve, a threshold fixed on calibration, and a threshold that keeps
//! the loss of accuracy within a bound with a stated error.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

/// A goal's score (higher: the strong model helps more) and both models' outcomes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// Expected gain.
    pub score: f64,
    /// How right the weak model was.
    pub weak: f64,
    /// How right the strong model was.
    pub strong: f64,
}

/// Accuracy as a function of the number of strong calls, most promising first: entry k is with k calls.
pub fn curve(rows: &[Routed]) -> Vec<f64> {
    let n = rows.len().max(1) as f64;
    let mut order: Vec<&Routed> = rows.iter().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    let start = rows.iter().map(|row| row.weak).sum::<f64>() / n;
    std::iter::once(start)
        .chain(order.iter().scan(start, |accuracy, row| {
            *accuracy += (row.strong - row.weak) / n;
            Some(*accuracy)
        }))
        .collect()
}

/// Smallest share of strong calls with at least `kept` of the strong model's accuracy.
pub fn share_keeping(rows: &[Routed], kept: f64) -> f64 {
    let needed = kept * rows.iter().map(|row| row.strong).sum::<f64>() / rows.len().max(1) as f64;
    let curve = curve(rows);
    let calls = curve.iter().position(|accuracy| *accuracy >= needed - 1e-12).unwrap_or(rows.len());
    calls as f64 / rows.len().max(1) as f64
}

/// What calls at random need for the same, in expectation.
pub fn random_share_keeping(rows: &[Routed], kept: f64) -> f64 {
    let (weak, strong) = rows.iter().fold((0.0, 0.0), |(w, s), row| (w + row.weak, s + row.strong));
    if strong <= weak { 0.0 } else { ((kept * strong - weak) / (strong - weak)).clamp(0.0, 1.0) }
}

/// Mean share of the gap between the models that is recovered, over all shares of calls; random: one half.
pub fn gap_recovered(rows: &[Routed]) -> f64 {
    let curve = curve(rows);
    let (Some(weak), Some(strong)) = (curve.first(), curve.last()) else { return f64::NAN };
    curve.iter().map(|accuracy| (accuracy - weak) / (strong - weak)).sum::<f64>() / curve.len() as f64
}

/// What a threshold does to rows: strong where score ≥ threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// Share of strong calls.
    pub share: f64,
    /// Accuracy.
    pub accuracy: f64,
    /// Accuracy of the strong model less that.
    pub loss: f64,
}

/// Applies a threshold.
pub fn apply(rows: &[Routed], threshold: f64) -> Applied {
    let n = rows.len().max(1) as f64;
    let mut out = Applied { share: 0.0, accuracy: 0.0, loss: 0.0 };
    for row in rows {
        let strong = row.score >= threshold;
        let got = if strong { row.strong } else { row.weak };
        out.share += f64::from(u8::from(strong)) / n;
        out.accuracy += got / n;
        out.loss += (row.strong - got) / n;
    }
    out
}

/// The threshold that keeps `kept` of the strong model's accuracy on these rows with the fewest strong calls.
pub fn threshold_keeping(rows: &[Routed], kept: f64) -> f64 {
    let calls = (share_keeping(rows, kept) * rows.len() as f64).round() as usize;
    let mut scores: Vec<f64> = rows.iter().map(|row| row.score).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    match calls {
        0 => f64::INFINITY,
        calls => scores.get(calls - 1).copied().unwrap_or(f64::NEG_INFINITY),
    }
}

/// A promise about loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RiskBound {
    /// Largest loss of accuracy against always calling the strong model.
    pub loss_max: f64,
    /// Probability that it is exceeded.
    pub error: f64,
    /// Over how many goals to come; `None`: in the long run.
    pub horizon: Option<usize>,
}

/// The lowest share of strong calls that keeps the promise: shares are tested in fixed sequence, from all calls downward, and the
/// first that cannot be shown to keep it ends the search (learn then test; a fixed sequence needs no correction for many tests).
/// A share is shown to keep it if the upper confidence limit of its mean loss, widened by the sampling of the horizon, is in bounds.
///
/// Returns a threshold: negative infinity (always strong) where nothing less can be shown.
pub fn controlled_threshold(rows: &[Routed], bound: RiskBound) -> f64 {
    let n = rows.len() as f64;
    let normal = Normal::standard();
    let z = normal.inverse_cdf(1.0 - bound.error);
    let sampling = 1.0 / n + bound.horizon.map_or(0.0, |m| 1.0 / m.max(1) as f64);
    let mut order: Vec<&Routed> = rows.iter().collect();
    order.sort_by(|a, b| a.score.total_cmp(&b.score));
    let (mut threshold, mut sum, mut squares) = (f64::NEG_INFINITY, 0.0, 0.0);
    let step = (rows.len() / STEPS).max(1);
    for chunk in order.chunk_by(|a, b| a.score == b.score).collect::<Vec<_>>().chunks(step) {
        for row in chunk.iter().copied().flatten() {
            let loss = row.strong - row.weak;
            (sum, squares) = (sum + loss, squares + loss * loss);
        }
        let mean = sum / n;
        // A few goals sent to the weak model seldom show a loss: one more of the worst kind is assumed.
        let variance = ((squares + 1.0) / n - mean * mean).max(0.0);
        if mean + z * (variance * sampling).sqrt() > bound.loss_max {
            break;
        }
        let last = chunk.last().and_then(|run| run.last()).map_or(f64::NEG_INFINITY, |row| row.score);
        threshold = next_above(last);
    }
    threshold
}

/// Shares that are tested.
const STEPS: usize = 100;

fn next_above(score: f64) -> f64 {
    score + score.abs().max(1.0) * f64::EPSILON
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::uniform;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    fn rows() -> Vec<Routed> {
        // The strong model gains on two of five; the score knows one of them.
        [(0.9, 0.0, 1.0), (0.1, 1.0, 1.0), (0.2, 0.0, 1.0), (0.3, 1.0, 1.0), (0.0, 0.0, 0.0)]
            .map(|(score, weak, strong)| Routed { score, weak, strong })
            .to_vec()
    }

    #[test]
    fn known_curve() {
        let expected = [0.4, 0.6, 0.6, 0.8, 0.8, 0.8];
        assert!(curve(&rows()).iter().zip(expected).all(|(got, want)| (got - want).abs() < 1e-12));
        assert_eq!(share_keeping(&rows(), 0.75), 0.2);
        assert_eq!(share_keeping(&rows(), 1.0), 0.6);
        assert!((random_share_keeping(&rows(), 0.75) - 0.5).abs() < 1e-12);
        let applied = apply(&rows(), threshold_keeping(&rows(), 1.0));
        assert!((applied.share - 0.6).abs() < 1e-12 && (applied.loss).abs() < 1e-12);
        assert_eq!(threshold_keeping(&rows(), 0.0), f64::INFINITY);
    }

    #[test]
    fn promises_are_kept_as_often_as_stated() {
        // Gains grow with the score: weak right with 0.9 − 0.6·score, strong with 0.9.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
        let mut draw = |n: usize| -> Vec<Routed> {
            (0..n)
                .map(|_| {
                    let score = uniform(&mut rng);
                    let strong = f64::from(u8::from(uniform(&mut rng) < 0.9));
                    let weak = f64::from(u8::from(uniform(&mut rng) < 0.9 - 0.6 * score));
                    Routed { score, weak, strong }
                })
                .collect()
        };
        let bound = RiskBound { loss_max: 0.03, error: 0.1, horizon: Some(1_000) };
        let (mut broken, mut share) = (0, 0.0);
        for _ in 0..300 {
            let threshold = controlled_threshold(&draw(1_000), bound);
            let applied = apply(&draw(1_000), threshold);
            broken += u32::from(applied.loss > bound.loss_max);
            share += applied.share / 300.0;
        }
        assert!(broken <= 45, "{broken} of 300");
        assert!(share < 0.95, "the bound is of some use: {share}");
    }

    #[test]
    fn nothing_shown_means_always_strong() {
        let bound = RiskBound { loss_max: 0.01, error: 0.05, horizon: None };
        assert_eq!(controlled_threshold(&rows(), bound), f64::NEG_INFINITY);
        assert_eq!(controlled_threshold(&[], bound), f64::NEG_INFINITY);
    }
}
