//! What the sources say about *this* goal: before planning by bounded look-ups, a pure function of goal text and fingerprints;
//! when the rest of a run is planned anew, by the lists that were read.

use crate::{AccessPath, ModelName, Ppm, PromptCache, SourceName, Tokens};
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
    /// Lists that the run has read already, by source: planning the rest of a run fixes these accesses. Empty before a run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub read: BTreeMap<SourceName, ReadList>,
    /// What providers may still hold of earlier prompts of this tenant, by model. Only models whose price of cached input is
    /// known and lower; what was not sent lately is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub prompt_caches: BTreeMap<ModelName, PromptCache>,
}

/// A source's list as a run has read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadList {
    /// How it was read.
    pub path: AccessPath,
    /// Passages that were asked for.
    pub k: u32,
    /// P(the needed evidence is among the first 1, 2, … passages), calibrated on the scores seen.
    pub evidence: Vec<Ppm>,
}

impl ReadList {
    /// P(the needed evidence is among the first `passages`), all of the list at most.
    pub fn within(&self, passages: usize) -> Ppm {
        let last = passages.min(self.evidence.len());
        last.checked_sub(1).and_then(|at| self.evidence.get(at)).copied().unwrap_or(Ppm(0))
    }
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
    /// What the goal means over the source's tables; `None` for sources without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<TableProbe>,
    /// Look-ups used.
    pub lookups: u32,
}

/// The likeliest reading of a goal over the tables of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableProbe {
    /// Table that is queried.
    pub table: String,
    /// The query in words.
    pub reading: String,
    /// The query as SQL; its values are bound, not part of the text.
    pub sql: String,
    /// Columns of the goal's words, as the reading uses them.
    pub columns: Vec<String>,
    /// Values of the goal's words, as the reading filters by them.
    pub values: Vec<String>,
    /// P(the reading is what was asked and its result right), calibrated.
    pub probability: Ppm,
    /// Why the reading is not to be computed: ambiguous, unlikely, nothing matched.
    pub refusal: Option<String>,
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
