//! What an explorer could have run for a goal, what it ran, and with which probability: what other policies are evaluated from.

use crate::{ContentId, Micros, NanoUsd, Ppm, Score};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One choice of an explorer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Exploration {
    /// Seed of the draw.
    pub seed: u64,
    /// Which arm was run.
    pub chosen: usize,
    /// What could have been run; the best by estimate first. Propensities sum to 1,000,000.
    pub arms: Vec<ExploredArm>,
}

/// A plan that could have been run, as it was expected to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExploredArm {
    /// Hash of its shape.
    pub gist: ContentId,
    /// Its shape in words.
    pub shape: String,
    /// Probability with which it was drawn.
    pub propensity: Ppm,
    /// Its score.
    pub score: Score,
    /// Expected accuracy.
    pub accuracy: Ppm,
    /// Expected cost.
    pub cost: NanoUsd,
    /// Median latency.
    pub latency: Micros,
}

impl Exploration {
    /// The probability of what was run.
    pub fn propensity(&self) -> Ppm {
        self.arms.get(self.chosen).map_or(Ppm::ONE, |arm| arm.propensity)
    }

    /// Whether something else than the best was run.
    pub fn left_the_best(&self) -> bool {
        self.chosen != 0
    }
}
