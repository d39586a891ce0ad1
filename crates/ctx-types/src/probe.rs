//! What the sources say about *this* goal before planning: bounded look-ups, recorded, a pure function of goal text and fingerprints.

use crate::{SourceName, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Answers of all probed sources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// o200k tokens of the goal's text.
    pub goal_tokens: Tokens,
    /// By source; a source that was not probed is absent and planned with priors.
    pub sources: BTreeMap<SourceName, SourceProbe>,
}

/// What one source knows about the goal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceProbe {
    /// The goal's index terms with their document frequency (in passages) in this source.
    pub terms: Vec<TermFrequency>,
    /// Identifiers of the goal with the number of passages that hold them.
    pub identifiers: Vec<IdentifierHits>,
    /// Cosine of the goal to the source's centroid, in 10⁻⁴; `None` without vectors.
    pub centroid_similarity: Option<i32>,
    /// Look-ups used.
    pub lookups: u32,
}

/// A term and how many passages hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TermFrequency {
    /// The index term (stemmed).
    pub term: String,
    /// Passages that hold it.
    pub passages: u64,
}

/// An identifier and how many passages hold it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentifierHits {
    /// Normal form.
    pub identifier: String,
    /// Passages that hold it.
    pub passages: u64,
}
