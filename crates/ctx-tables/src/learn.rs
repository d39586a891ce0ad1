//! Fitting the coefficients of [`crate::rank`]: every candidate whose answer is right counts as right, and the model learns
//! to put its probability on them. Deterministic: fixed order, fixed number of passes, no randomness.

use std::collections::BTreeMap;

/// Candidates of one question: their features and whether their answer is right.
#[derive(Clone, Debug, Default)]
pub struct Example {
    /// Feature numbers of each candidate.
    pub features: Vec<Vec<u32>>,
    /// Whether the candidate's answer is right.
    pub right: Vec<bool>,
}

/// Numbers for names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    numbers: BTreeMap<String, u32>,
}

impl Names {
    /// The number of a name, a new one if it is new.
    pub fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let next = self.numbers.len() as u32;
        self.numbers.insert(name.to_owned(), next);
        next
    }
    /// Weights by name; those that round to nothing are left out.
    pub fn weights(&self, weights: &[f64], least: f64) -> BTreeMap<String, f64> {
        let round = |weight: f64| libm::round(weight * 1000.0) / 1000.0;
        let kept = self.numbers.iter().filter_map(|(name, at)| Some((name.clone(), round(*weights.get(*at as usize)?))));
        kept.filter(|(_, weight)| weight.abs() >= least).collect()
    }
    /// How many names there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// Adaptive gradient with a proximal L1 step on the marginal log-likelihood of right candidates; examples without a right
/// candidate teach nothing.
pub fn fit(examples: &[Example], features: usize, passes: usize, rate: f64, l1: f64) -> Vec<f64> {
    let mut weights = vec![0.0; features];
    let mut squares = vec![1e-6; features];
    let usable: Vec<&Example> = examples.iter().filter(|e| e.right.iter().any(|r| *r) && e.right.iter().any(|r| !*r)).collect();
    let count = usable.len();
    // A step that shares no factor with the count visits each example once per pass, in a mixed order.
    let stride = (1..).map(|n| n * 37 + 1).find(|s| count == 0 || gcd(*s, count) == 1).unwrap_or(1);
    for pass in 0..passes {
        for turn in 0..count {
            let example = usable[(turn * stride + pass) % count];
            step(example, &mut weights, &mut squares, rate, l1);
        }
    }
    weights
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn step(example: &Example, weights: &mut [f64], squares: &mut [f64], rate: f64, l1: f64) {
    let scores: Vec<f64> = example.features.iter().map(|f| f.iter().map(|at| weights[*at as usize]).sum()).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = scores.iter().map(|score| libm::exp(score - most)).collect();
    let all: f64 = odds.iter().sum();
    let right: f64 = odds.iter().zip(&example.right).filter(|(_, right)| **right).map(|(odds, _)| odds).sum::<f64>().max(1e-12);
    let mut gradient: BTreeMap<u32, f64> = BTreeMap::new();
    for (at, features) in example.features.iter().enumerate() {
        let pull = if example.right[at] { odds[at] / right } else { 0.0 } - odds[at] / all;
        if pull.abs() > 1e-9 {
            for feature in features {
                *gradient.entry(*feature).or_default() += pull;
            }
        }
    }
    for (feature, gradient) in gradient {
        let at = feature as usize;
        squares[at] += gradient * gradient;
        let size = rate / libm::sqrt(squares[at]);
        let moved = weights[at] + size * gradient;
        weights[at] = moved.signum() * (moved.abs() - size * l1).max(0.0);
    }
}

/// Logistic regression by Newton-free gradient descent with an L2 penalty; small and dense problems only.
pub fn logistic(rows: &[Vec<(u32, f64)>], right: &[bool], features: usize, l2: f64, passes: usize) -> Vec<f64> {
    let mut weights = vec![0.0; features];
    let mut squares = vec![1e-6; features];
    for _ in 0..passes {
        let mut gradient = vec![0.0; features];
        for (row, right) in rows.iter().zip(right) {
            let total: f64 = row.iter().map(|(at, value)| weights[*at as usize] * value).sum();
            let error = f64::from(u8::from(*right)) - 1.0 / (1.0 + libm::exp(-total));
            for (at, value) in row {
                gradient[*at as usize] += error * value;
            }
        }
        for at in 0..features {
            let slope = gradient[at] - l2 * weights[at];
            squares[at] += slope * slope;
            weights[at] += 0.5 * slope / libm::sqrt(squares[at]);
        }
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weight_goes_to_what_right_candidates_share() {
        let example = Example { features: vec![vec![0, 1], vec![0, 2]], right: vec![true, false] };
        let weights = fit(&[example], 3, 20, 0.1, 0.0);
        assert!(weights[1] > 0.1 && weights[2] < -0.1 && weights[0].abs() < 1e-9, "{weights:?}");
    }
}
