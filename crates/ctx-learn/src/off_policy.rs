//! What another policy would have earned, from a log of what this one did: self-normalised importance sampling (SNIPS) and the
//! doubly robust estimate, each with an interval and the number of runs that carry it.

use crate::calibration::bootstrap;
use serde::{Deserialize, Serialize};

/// One logged run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Which of the alternatives was run.
    pub action: usize,
    /// With which probability.
    pub propensity: f64,
    /// What it earned.
    pub reward: f64,
    /// The policy in question: probability of each alternative; sums to 1.
    pub target: Vec<f64>,
    /// What a model of the reward expects of each alternative; empty: there is none.
    pub expected: Vec<f64>,
}

/// An estimate of a policy's mean reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// Mean reward.
    pub value: f64,
    /// 95 % interval, bootstrapped over runs.
    pub interval: (f64, f64),
    /// (Σ w)² / Σ w²: so many runs of the policy itself would say as much. Below about 30 the interval means little.
    pub effective: f64,
}

/// Both estimates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Runs in the log that can be used.
    pub runs: usize,
    /// Runs that were left out: propensity or weights that are no probabilities.
    pub left_out: usize,
    /// Mean reward of what was run.
    pub logged: f64,
    /// Self-normalised importance sampling.
    pub snips: Worth,
    /// Doubly robust; without a reward model plain importance sampling.
    pub doubly_robust: Worth,
}

const DRAWS: usize = 500;

/// Evaluates the target policy of the log; `None`: no run can be used.
pub fn evaluate(log: &[Logged], seed: u64) -> Option<Evaluated> {
    let usable: Vec<&Logged> = log.iter().filter(|run| is_usable(run)).collect();
    if usable.is_empty() {
        return None;
    }
    let weights: Vec<f64> = usable.iter().map(|run| run.target[run.action] / run.propensity).collect();
    let robust: Vec<f64> = usable.iter().zip(&weights).map(|(run, weight)| doubly_robust(run, *weight)).collect();
    let all: Vec<usize> = (0..usable.len()).collect();
    let snips = |of: &[usize]| {
        let (sum, weight) = of.iter().fold((0.0, 0.0), |(s, w), at| (s + weights[*at] * usable[*at].reward, w + weights[*at]));
        if weight > 0.0 { sum / weight } else { f64::NAN }
    };
    let mean = |of: &[usize]| of.iter().map(|at| robust[*at]).sum::<f64>() / of.len() as f64;
    let (sum, squares) = weights.iter().fold((0.0, 0.0), |(s, q), w| (s + w, q + w * w));
    let effective = if squares > 0.0 { sum * sum / squares } else { 0.0 };
    Some(Evaluated {
        runs: usable.len(),
        left_out: log.len() - usable.len(),
        logged: usable.iter().map(|run| run.reward).sum::<f64>() / usable.len() as f64,
        snips: Worth { value: snips(&all), interval: bootstrap(usable.len(), DRAWS, 0.95, seed, snips), effective },
        doubly_robust: Worth { value: mean(&all), interval: bootstrap(usable.len(), DRAWS, 0.95, seed, mean), effective },
    })
}

fn is_usable(run: &Logged) -> bool {
    let sum: f64 = run.target.iter().sum();
    let probabilities = run.target.iter().all(|p| (0.0..=1.0).contains(p)) && (sum - 1.0).abs() < 1e-6;
    let model = run.expected.is_empty() || run.expected.len() == run.target.len();
    run.propensity > 0.0 && run.propensity <= 1.0 && run.action < run.target.len() && run.reward.is_finite() && probabilities && model
}

fn doubly_robust(run: &Logged, weight: f64) -> f64 {
    let expected: f64 = run.target.iter().zip(&run.expected).map(|(p, reward)| p * reward).sum();
    expected + weight * (run.reward - run.expected.get(run.action).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::uniform;
    use rand::SeedableRng;
    use rand::rngs::Xoshiro256PlusPlus;

    /// Two alternatives earn .3 and .7 on average; the log tried the second in one of five; the target always would.
    fn log(n: usize, seed: u64, expected: &[f64]) -> Vec<Logged> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..n)
            .map(|_| {
                let action = usize::from(uniform(&mut rng) < 0.2);
                let reward = f64::from(u8::from(uniform(&mut rng) < [0.3, 0.7][action]));
                Logged { action, propensity: [0.8, 0.2][action], reward, target: vec![0.0, 1.0], expected: expected.to_vec() }
            })
            .collect()
    }

    #[test]
    fn another_policy_is_valued_without_running_it() {
        let found = evaluate(&log(4_000, 7, &[0.25, 0.6]), 1).expect("a log");
        assert!((found.logged - 0.38).abs() < 0.03, "{found:?}");
        for worth in [found.snips, found.doubly_robust] {
            assert!((worth.value - 0.7).abs() < 0.05 && worth.interval.0 < 0.7 && 0.7 < worth.interval.1, "{found:?}");
        }
        assert!((found.snips.effective - 800.0).abs() < 80.0);
    }

    #[test]
    fn intervals_hold_as_often_as_they_say() {
        let (mut snips, mut robust) = (0, 0);
        for seed in 0..100 {
            let found = evaluate(&log(400, 100 + seed, &[0.3, 0.7]), seed).expect("a log");
            let holds = |worth: Worth| i32::from(worth.interval.0 <= 0.7 && 0.7 <= worth.interval.1);
            (snips, robust) = (snips + holds(found.snips), robust + holds(found.doubly_robust));
        }
        assert!(snips >= 87 && robust >= 87, "{snips} and {robust} of 100");
    }

    #[test]
    fn what_is_no_probability_is_left_out_and_counted() {
        let mut runs = log(50, 3, &[]);
        runs[0].propensity = 0.0;
        runs[1].target = vec![0.4, 0.4];
        runs[2].action = 9;
        let found = evaluate(&runs, 1).expect("a log");
        assert_eq!((found.runs, found.left_out), (47, 3));
        assert_eq!(evaluate(&[], 1), None);
    }
}
