//! What a run was worth: quality less a penalty for what it took, blended with how relevant the served passages were. The
//! components stay apart in the log, so that another blend can be evaluated later.

use serde::{Deserialize, Serialize};

/// Components of one run's reward, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Components {
    /// How right the answer was, by a person or a gold answer; `None`: nobody said.
    pub quality: Option<f64>,
    /// Normalised cost: c / (c + c₀).
    pub cost: f64,
    /// Normalised latency: t / (t + t₀).
    pub latency: f64,
    /// Mean calibrated probability of relevance of the served passages; `None`: none was served.
    pub relevance: Option<f64>,
}

/// Weights of the blend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blend {
    /// Penalty per unit of normalised cost.
    pub cost: f64,
    /// Penalty per unit of normalised latency.
    pub latency: f64,
    /// Share of the relevance in quality, where both are known.
    pub relevance: f64,
}

impl Default for Blend {
    fn default() -> Blend {
        Blend { cost: 0.2, latency: 0.1, relevance: 0.25 }
    }
}

impl Components {
    /// The reward; `None` where neither quality nor relevance is known: no run is rewarded for being cheap alone.
    pub fn reward(&self, blend: &Blend) -> Option<f64> {
        let good = match (self.quality, self.relevance) {
            (Some(quality), Some(relevance)) => (1.0 - blend.relevance) * quality + blend.relevance * relevance,
            (Some(quality), None) => quality,
            (None, Some(relevance)) => relevance,
            (None, None) => return None,
        };
        Some(good - blend.cost * self.cost - blend.latency * self.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_blend() {
        let run = Components { quality: Some(1.0), cost: 0.5, latency: 0.2, relevance: Some(0.6) };
        let reward = run.reward(&Blend::default()).expect("quality is known");
        assert!((reward - (0.75 + 0.15 - 0.1 - 0.02)).abs() < 1e-12);
        assert_eq!(Components { quality: None, relevance: None, ..run }.reward(&Blend::default()), None);
        assert!(Components { relevance: None, ..run }.reward(&Blend::default()) > Some(reward));
    }
}
