//! What configuration and policy say to the planner, as values.

use crate::{AccessPath, ModelName, Ppm, SourceName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Planner settings from configuration. Part of the plan-cache key through `configuration_digest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// Digest of the configuration without secrets and absolute paths.
    pub configuration_digest: String,
    /// `verification.default`: a check wherever a model answers, unless the request opts out.
    pub verification_default: bool,
    /// `verification.high_risk_requires_human`.
    pub high_risk_requires_human: bool,
    /// `retrieval.top_k`: most passages asked of one source.
    pub top_k: Option<u32>,
    /// `retrieval.final_k`: most passages in the context.
    pub final_k: Option<u32>,
    /// `retrieval.default_strategy`: the access path of a source without statistics.
    pub default_path: Option<AccessPath>,
    /// `retrieval.reranker`: the one reranker that may be planned; `none` for none, nothing for the planner's choice.
    #[serde(default)]
    pub reranker: Option<String>,
    /// `retrieval.rerank_gain_min`: least growth of P(evidence) for which a list is looked at again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerank_gain_min: Option<Ppm>,
    /// `retrieval.compress_keep_min`: least share of a context that shortening keeps; one: nothing is shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress_keep_min: Option<Ppm>,
    /// Version of the policy's rules.
    pub policy_version: String,
}

/// A policy's refusal, asked before planning. `None` in a field means any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// The source that may not be read, or may not go to the model.
    pub source: Option<SourceName>,
    /// The model that may not be used.
    pub model: Option<ModelName>,
    /// Rule name.
    pub rule: String,
    /// In words.
    pub reason: String,
}
