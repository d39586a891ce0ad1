//! Which of several feasible plans to try: the best by today's estimate, or now and then another, with a known probability.
//!
//! Thompson sampling over normal posteriors. The probability that each arm would win is computed, not sampled, and one arm is
//! drawn by it: what is written down as its propensity is what it was drawn with. Arms come from planning, so a plan that breaks
//! a hard constraint is never among them.

use crate::calibration::{normal, uniform};
use crate::linear::{Cholesky, dot};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Continuous, ContinuousCDF, Normal};

/// What is believed of a plan's reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arm {
    /// Expected reward.
    pub mean: f64,
    /// Standard deviation of that expectation: what a run would teach.
    pub deviation: f64,
}

/// How much may be given up to learn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// Largest probability of leaving the best arm.
    pub share_max: f64,
    /// Largest expected reward given up per run.
    pub regret_max: f64,
}

/// Points of the quadrature, over eight standard deviations to each side.
const GRID: usize = 256;
const REACH: f64 = 8.0;

/// The arm with the largest mean; the first on ties.
pub fn best(arms: &[Arm]) -> Option<usize> {
    (0..arms.len()).reduce(|best, at| if arms[at].mean > arms[best].mean { at } else { best })
}

/// P(this arm's draw is the largest), for independent normal draws; sums to 1. An arm without deviation is known.
pub fn thompson(arms: &[Arm]) -> Vec<f64> {
    let Some(best) = best(arms) else { return Vec::new() };
    let standard = Normal::standard();
    // A known arm is an almost known one: the quadrature needs a density.
    let widest = arms.iter().map(|arm| arm.deviation).fold(0.0, f64::max);
    if widest <= 0.0 {
        return (0..arms.len()).map(|at| f64::from(u8::from(at == best))).collect();
    }
    let deviation = |arm: &Arm| arm.deviation.max(widest * 2e-2);
    let low = arms.iter().map(|arm| arm.mean - REACH * deviation(arm)).fold(f64::INFINITY, f64::min);
    let high = arms.iter().map(|arm| arm.mean + REACH * deviation(arm)).fold(f64::NEG_INFINITY, f64::max);
    let narrowest = arms.iter().map(deviation).fold(f64::INFINITY, f64::min);
    let points = GRID.max(((high - low) / narrowest * 4.0) as usize).min(64 * GRID);
    let mut wins = vec![0.0; arms.len()];
    for step in 0..points {
        let x = low + (high - low) * (step as f64 + 0.5) / points as f64;
        let below: Vec<f64> = arms.iter().map(|arm| standard.cdf((x - arm.mean) / deviation(arm))).collect();
        for (at, arm) in arms.iter().enumerate() {
            let others: f64 = below.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, p)| p).product();
            wins[at] += standard.pdf((x - arm.mean) / deviation(arm)) / deviation(arm) * others;
        }
    }
    normalised(wins, best)
}

/// Probability with which each arm is tried: Thompson's, mixed with the best arm so far that neither bound is passed.
pub fn propensities(arms: &[Arm], exploration: Exploration) -> Vec<f64> {
    let Some(best) = best(arms) else { return Vec::new() };
    let thompson = thompson(arms);
    let regret: f64 = arms.iter().zip(&thompson).map(|(arm, p)| p * (arms[best].mean - arm.mean)).sum();
    let leaving = 1.0 - thompson[best];
    let bound = |most: f64, of: f64| if of > most { most.max(0.0) / of } else { 1.0 };
    let mix = bound(exploration.share_max, leaving).min(bound(exploration.regret_max, regret));
    let mixed = thompson.iter().enumerate().map(|(at, p)| mix * p + (1.0 - mix) * f64::from(u8::from(at == best)));
    normalised(mixed.collect(), best)
}

/// An arm by its probability. The same seed draws the same arm.
pub fn draw(propensities: &[f64], seed: u64) -> Option<usize> {
    let mut left = uniform(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
    for (at, p) in propensities.iter().enumerate() {
        if left < *p {
            return Some(at);
        }
        left -= p;
    }
    propensities.iter().rposition(|p| *p > 0.0)
}

fn normalised(mut weights: Vec<f64>, best: usize) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    if sum <= 0.0 || !sum.is_finite() {
        return (0..weights.len()).map(|at| f64::from(u8::from(at == best))).collect();
    }
    weights.iter_mut().for_each(|weight| *weight /= sum);
    weights
}

/// A linear posterior of one arm's reward in the context: Bayesian ridge regression with known noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinearArm {
    size: usize,
    noise: f64,
    /// Σ x xᵀ + prior, row by row.
    precision: Vec<f64>,
    /// Σ x · reward.
    sum: Vec<f64>,
}

impl LinearArm {
    /// Before any reward: weights of mean 0 and variance noise² / `prior`.
    pub fn new(size: usize, prior: f64, noise: f64) -> LinearArm {
        let mut precision = vec![0.0; size * size];
        (0..size).for_each(|at| precision[at * size + at] = prior.max(1e-9));
        LinearArm { size, noise, precision, sum: vec![0.0; size] }
    }

    /// Learns a reward.
    pub fn update(&mut self, context: &[f64], reward: f64) {
        for (i, x) in context.iter().enumerate().take(self.size) {
            for (j, y) in context.iter().enumerate().take(self.size) {
                self.precision[i * self.size + j] += x * y;
            }
            self.sum[i] += x * reward;
        }
    }

    /// What is believed in a context.
    pub fn believed(&self, context: &[f64]) -> Arm {
        // Positive definite by construction; rounding cannot take the prior away.
        let Ok(factor) = Cholesky::new(self.size, self.precision.clone()) else { return Arm { mean: 0.0, deviation: self.noise } };
        let mean = dot(context, &factor.solve(self.sum.clone()));
        let variance = dot(context, &factor.solve(context.to_vec())).max(0.0);
        Arm { mean, deviation: self.noise * variance.sqrt() }
    }
}

/// A draw of standard normal noise: simulations of arms need one.
pub fn noise(rng: &mut Xoshiro256PlusPlus) -> f64 {
    normal(rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(mean: f64, deviation: f64) -> Arm {
        Arm { mean, deviation }
    }

    #[test]
    fn two_normals_have_a_known_winner() {
        // P(N(1, .3²) > N(0, .4²)) = Φ(1 / .5) = .97725
        let p = thompson(&[arm(1.0, 0.3), arm(0.0, 0.4)]);
        assert!((p[0] - 0.977_249_87).abs() < 1e-6, "{p:?}");
        let even = thompson(&[arm(0.5, 0.1); 4]);
        assert!(even.iter().all(|p| (p - 0.25).abs() < 1e-9), "{even:?}");
        assert_eq!(thompson(&[arm(0.2, 0.0), arm(0.3, 0.0)]), [0.0, 1.0]);
        assert!(thompson(&[]).is_empty());
    }

    #[test]
    fn propensities_sum_to_one_and_match_what_is_drawn() {
        let arms = [arm(0.60, 0.05), arm(0.58, 0.08), arm(0.50, 0.10), arm(0.30, 0.02)];
        let p = propensities(&arms, Exploration { share_max: 0.3, regret_max: 1.0 });
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let n = 40_000;
        let mut drawn = [0u32; 4];
        (0..n).for_each(|seed| drawn[draw(&p, seed).expect("arms")] += 1);
        for (p, count) in p.iter().zip(drawn) {
            let (frequency, error) = (f64::from(count) / n as f64, (p * (1.0 - p) / n as f64).sqrt());
            assert!((frequency - p).abs() <= 4.0 * error + 1e-9, "{frequency} drawn, {p} written");
        }
        assert_eq!(draw(&[], 1), None);
    }

    #[test]
    fn budgets_of_exploration_hold() {
        let arms = [arm(0.6, 0.2), arm(0.5, 0.3), arm(0.2, 0.3)];
        let given_up = |p: &[f64]| arms.iter().zip(p).map(|(arm, p)| p * (0.6 - arm.mean)).sum::<f64>();
        let shared = propensities(&arms, Exploration { share_max: 0.1, regret_max: 1.0 });
        assert!((1.0 - shared[0] - 0.1).abs() < 1e-9);
        let frugal = propensities(&arms, Exploration { share_max: 1.0, regret_max: 0.01 });
        assert!((given_up(&frugal) - 0.01).abs() < 1e-9);
        assert_eq!(propensities(&arms, Exploration { share_max: 0.0, regret_max: 1.0 }), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_linear_posterior_finds_its_weights() {
        let mut arm = LinearArm::new(2, 1.0, 0.1);
        let before = arm.believed(&[1.0, 0.5]).deviation;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for _ in 0..400 {
            let x = [1.0, uniform(&mut rng)];
            arm.update(&x, 0.2 + 0.7 * x[1] + 0.1 * noise(&mut rng));
        }
        let after = arm.believed(&[1.0, 0.5]);
        assert!((after.mean - 0.55).abs() < 0.03 && after.deviation < before / 5.0, "{after:?}");
    }

    #[test]
    fn exploring_beats_choosing_at_random_and_never_exploring() {
        // Three plans, context = how hard the goal is: the cheap one is best on easy goals, the strong one on hard ones. The
        // prior believes in the third, which is mediocre everywhere: a greedy start has to be able to leave it.
        let truth = |arm: usize, hard: f64| [0.9 - 0.7 * hard, 0.45 + 0.2 * hard, 0.55][arm];
        let play = |explore: Option<Exploration>, seed: u64| -> f64 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut arms: Vec<LinearArm> = (0..3).map(|_| LinearArm::new(2, 1.0, 0.3)).collect();
            arms[2].update(&[1.0, 0.5], 0.8);
            let mut regret = 0.0;
            for round in 0..600u64 {
                let context = [1.0, uniform(&mut rng)];
                let beliefs: Vec<Arm> = arms.iter().map(|arm| arm.believed(&context)).collect();
                let chosen = match explore {
                    Some(exploration) => draw(&propensities(&beliefs, exploration), seed * 10_000 + round),
                    None => Some((uniform(&mut rng) * 3.0) as usize),
                }
                .expect("three arms");
                let best = (0..3).map(|arm| truth(arm, context[1])).fold(0.0, f64::max);
                regret += best - truth(chosen, context[1]);
                arms[chosen].update(&context, truth(chosen, context[1]) + 0.3 * noise(&mut rng));
            }
            regret
        };
        let mean = |explore: Option<Exploration>| (1..=3).map(|seed| play(explore, seed)).sum::<f64>() / 3.0;
        let free = mean(Some(Exploration { share_max: 1.0, regret_max: 1.0 }));
        let never = mean(Some(Exploration { share_max: 0.0, regret_max: 0.0 }));
        let uniformly = mean(None);
        assert!(free < 0.25 * uniformly, "regret {free:.1}, at random {uniformly:.1}");
        assert!(free < never, "regret {free:.1}, never exploring {never:.1}");
    }
}
