//! From scores to probabilities, and how far probabilities are from what happened.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// Newton steps of a fit; a two-parameter logistic needs fewer than ten.
const STEPS_MAX: usize = 50;
/// Prior on the slope, in rows' worth: keeps it finite where scores separate outcomes.
const SLOPE_PRIOR: f64 = 1e-3;

/// A logistic of a score: P = 1 / (1 + exp(−(a + b·s))).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Platt {
    /// a.
    pub intercept: f64,
    /// b.
    pub slope: f64,
}

impl Platt {
    /// Maximum likelihood over (score, outcome in 0 to 1), with targets drawn in by one row, as Platt did.
    pub fn fit(pairs: &[(f64, f64)]) -> Platt {
        let n = pairs.len() as f64;
        let right: f64 = pairs.iter().map(|(_, y)| y).sum();
        let (high, low) = ((right + 1.0) / (right + 2.0), 1.0 / (n - right + 2.0));
        let mut fit = Platt { intercept: libm::log((right + 1.0) / (n - right + 1.0)), slope: 0.0 };
        for _ in 0..STEPS_MAX {
            let (mut g, mut h) = ([0.0, SLOPE_PRIOR * fit.slope], [1e-9, 0.0, SLOPE_PRIOR]);
            for (score, outcome) in pairs {
                let p = fit.probability(*score);
                let error = p - (outcome * high + (1.0 - outcome) * low);
                let weight = (p * (1.0 - p)).max(1e-9);
                g = [g[0] + error, g[1] + error * score];
                h = [h[0] + weight, h[1] + weight * score, h[2] + weight * score * score];
            }
            let determinant = h[0] * h[2] - h[1] * h[1];
            if determinant <= 0.0 {
                break;
            }
            let step = [(h[2] * g[0] - h[1] * g[1]) / determinant, (h[0] * g[1] - h[1] * g[0]) / determinant];
            fit = Platt { intercept: fit.intercept - step[0], slope: fit.slope - step[1] };
            if step[0].abs() + step[1].abs() < 1e-9 {
                break;
            }
        }
        fit
    }

    /// P at a score.
    pub fn probability(&self, score: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-(self.intercept + self.slope * score)))
    }
}

/// A non-decreasing step function, by pooling adjacent violators.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Isotonic {
    /// Lowest score of each step, ascending, and its value.
    steps: Vec<(f64, f64)>,
}

impl Isotonic {
    /// Least squares over (score, outcome).
    pub fn fit(pairs: &[(f64, f64)]) -> Isotonic {
        let mut sorted = pairs.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut blocks: Vec<(f64, f64, f64)> = Vec::new(); // lowest score, sum, count
        for run in sorted.chunk_by(|a, b| a.0 == b.0) {
            blocks.push((run[0].0, run.iter().map(|(_, y)| y).sum(), run.len() as f64));
            while let [.., before, last] = blocks.as_slice() {
                if before.1 / before.2 < last.1 / last.2 {
                    break;
                }
                let merged = (before.0, before.1 + last.1, before.2 + last.2);
                blocks.truncate(blocks.len() - 2);
                blocks.push(merged);
            }
        }
        Isotonic { steps: blocks.into_iter().map(|(score, sum, n)| (score, sum / n)).collect() }
    }

    /// P at a score; below the lowest step, that of the lowest. One half where nothing was fitted.
    pub fn probability(&self, score: f64) -> f64 {
        let at = self.steps.partition_point(|(from, _)| *from <= score);
        self.steps.get(at.saturating_sub(1)).map_or(0.5, |(_, value)| *value)
    }
}

/// Mean squared distance of probabilities and outcomes.
pub fn brier(pairs: &[(f64, f64)]) -> f64 {
    pairs.iter().map(|(p, y)| (p - y) * (p - y)).sum::<f64>() / pairs.len().max(1) as f64
}

/// Expected calibration error over bins of equal mass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationError {
    /// Mean |P − frequency| over bins as it stands: sampling noise makes it too large.
    pub plain: f64,
    /// Less the error that noise adds (Kumar et al. 2019: frequencies drawn anew around what was seen), at least 0.
    pub debiased: f64,
}

/// Draws of the correction for noise.
const NOISE_DRAWS: usize = 400;

/// Over `bins` bins of equal mass.
pub fn calibration_error(pairs: &[(f64, f64)], bins: usize, seed: u64) -> CalibrationError {
    let mut sorted = pairs.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let n = sorted.len();
    let bounds = |bin: usize| bin * n / bins.max(1);
    let bins: Vec<(f64, f64, f64)> = (0..bins)
        .map(|bin| &sorted[bounds(bin)..bounds(bin + 1)])
        .filter(|rows| !rows.is_empty())
        .map(|rows| {
            let m = rows.len() as f64;
            let (p, y) = rows.iter().fold((0.0, 0.0), |(p, y), row| (p + row.0 / m, y + row.1 / m));
            ((p - y), (y * (1.0 - y) / m).sqrt(), m / n as f64)
        })
        .collect();
    let plain: f64 = bins.iter().map(|(gap, _, mass)| gap.abs() * mass).sum();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut noisy = 0.0;
    for _ in 0..NOISE_DRAWS {
        noisy += bins.iter().map(|(gap, sd, mass)| (gap + sd * normal(&mut rng)).abs() * mass).sum::<f64>() / NOISE_DRAWS as f64;
    }
    CalibrationError { plain, debiased: (plain - (noisy - plain)).max(0.0) }
}

/// Uniform in [0, 1).
pub(crate) fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Standard normal, by Box and Muller.
pub(crate) fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let (u, v) = (1.0 - uniform(rng), uniform(rng));
    (-2.0 * libm::log(u)).sqrt() * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// Percentile interval of a statistic over rows drawn with replacement.
pub fn bootstrap(n: usize, draws: usize, level: f64, seed: u64, mut statistic: impl FnMut(&[usize]) -> f64) -> (f64, f64) {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut values: Vec<f64> = (0..draws)
        .map(|_| {
            let rows: Vec<usize> = (0..n).map(|_| (uniform(&mut rng) * n as f64) as usize).collect();
            statistic(&rows)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    let at = |q: f64| values.get(((values.len() as f64 * q) as usize).min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN);
    (at((1.0 - level) / 2.0), at(1.0 - (1.0 - level) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(n: usize, seed: u64, truth: fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..n)
            .map(|_| {
                let s = uniform(&mut rng);
                (s, f64::from(u8::from(uniform(&mut rng) < truth(s))))
            })
            .collect()
    }

    #[test]
    fn a_known_logistic_is_recovered() {
        let fit = Platt::fit(&drawn(20_000, 3, |s| 1.0 / (1.0 + libm::exp(-(3.0 * s - 1.0)))));
        assert!((fit.slope - 3.0).abs() < 0.2 && (fit.intercept + 1.0).abs() < 0.12, "{fit:?}");
    }

    #[test]
    fn separable_scores_stay_finite() {
        let fit = Platt::fit(&[(0.0, 0.0), (0.1, 0.0), (0.9, 1.0), (1.0, 1.0)]);
        assert!(fit.slope.is_finite() && fit.probability(0.95) > 0.6 && fit.probability(0.05) < 0.4, "{fit:?}");
    }

    #[test]
    fn violators_are_pooled() {
        let fit = Isotonic::fit(&[(1.0, 0.0), (2.0, 1.0), (3.0, 0.0), (4.0, 1.0)]);
        assert_eq!([0.0, 1.0, 2.0, 3.5, 9.0].map(|s| fit.probability(s)), [0.0, 0.0, 0.5, 0.5, 1.0]);
        assert_eq!(Isotonic::fit(&[]).probability(1.0), 0.5);
    }

    #[test]
    fn honest_probabilities_have_no_debiased_error_and_false_ones_do() {
        let honest = calibration_error(&drawn(3_000, 5, |s| s), 15, 1);
        assert!(honest.plain > 0.012 && honest.debiased < honest.plain && honest.debiased < 0.02, "{honest:?}");
        let boastful: Vec<(f64, f64)> = drawn(3_000, 5, |s| s).into_iter().map(|(p, y)| ((p + 0.1).min(1.0), y)).collect();
        assert!(calibration_error(&boastful, 15, 1).debiased > 0.08);
    }

    #[test]
    fn the_bootstrap_covers_a_mean() {
        let rows = drawn(400, 9, |_| 0.3);
        let (low, high) = bootstrap(400, 500, 0.95, 2, |drawn| drawn.iter().map(|at| rows[*at].1).sum::<f64>() / 400.0);
        assert!(low < 0.3 && 0.3 < high && high - low < 0.12, "{low} {high}");
    }
}
