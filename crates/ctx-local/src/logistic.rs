//! A logistic model over named features: what every score here is. Coefficients come from a file, features from the
//! modules that name them.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// P = 1/(1 + exp(−(bias + Σ weight·feature))).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logistic {
    /// Observations it was fitted on; 0 marks a prior set by hand.
    pub n: u32,
    /// Intercept.
    pub bias: f64,
    /// By feature; a feature without a weight does not count.
    pub weights: BTreeMap<String, f64>,
}

impl Logistic {
    /// Weights in the order of `names`.
    pub fn for_features(&self, names: &[&str]) -> Scorer {
        Scorer { bias: self.bias, weights: names.iter().map(|name| self.weights.get(*name).copied().unwrap_or(0.0)).collect() }
    }
}

/// A model bound to an order of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorer {
    bias: f64,
    weights: Vec<f64>,
}

impl Scorer {
    /// The logit.
    pub fn logit(&self, values: &[f64]) -> f64 {
        self.bias + self.weights.iter().zip(values).map(|(weight, value)| weight * value).sum::<f64>()
    }

    /// The probability.
    pub fn probability(&self, values: &[f64]) -> f64 {
        sigmoid(self.logit(values))
    }
}

/// The logistic function.
pub fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_meet_features_by_name() {
        let model = Logistic { n: 1, bias: -1.0, weights: BTreeMap::from([("b".to_owned(), 2.0), ("a".to_owned(), 1.0)]) };
        let scorer = model.for_features(&["a", "b", "c"]);
        assert!((scorer.logit(&[1.0, 2.0, 9.0]) - 4.0).abs() < 1e-12);
        assert!((scorer.probability(&[1.0, 0.0, 0.0]) - 0.5).abs() < 1e-12);
    }
}
