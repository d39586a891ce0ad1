//! Rules of the house, asked before planning; answers become constraints.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::intent::SensitiveSpan;
use ctx_types::{ModelName, NanoUsd, Principal, Sensitivity, SourceKind, SourceName, Tokens};

/// What is asked: may this principal's data of this sensitivity go from this source to this model?
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyQuestion {
    /// Who asks.
    pub principal: Principal,
    /// Source, if the question is about one.
    pub source: Option<SourceName>,
    /// Model, if the question is about one.
    pub model: Option<ModelName>,
    /// Tightest label in play.
    pub sensitivity: Sensitivity,
    /// What is known about source, model and call before planning.
    pub facts: PolicyFacts,
}

/// What is known before planning about what is asked. `None` is unknown or not asked about, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyFacts {
    /// The source.
    pub source: Option<SourceFacts>,
    /// The model.
    pub model: Option<ModelFacts>,
    /// Most input tokens of one call, by limits and context window.
    pub input_tokens: Option<Tokens>,
    /// Most output tokens of one call.
    pub output_tokens: Option<Tokens>,
    /// What one such call costs at most; unknown where a price or a bound is.
    pub cost: Option<NanoUsd>,
}

/// Facts of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFacts {
    /// What it is made of.
    pub kind: SourceKind,
    /// Passages.
    pub passages: u64,
    /// Tokens of all of them.
    pub tokens: Tokens,
}

/// Facts of a model tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFacts {
    /// The provider's name of the model.
    pub model: String,
    /// Wire adapter.
    pub provider: String,
    /// Whether it runs here.
    pub local: bool,
    /// Highest label it may see.
    pub accepts: Sensitivity,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// It may not.
    Deny {
        /// Rule name, printed by EXPLAIN.
        rule: String,
        /// In words.
        reason: String,
    },
}

/// A policy. An error denies.
#[async_trait]
pub trait Policy: Send + Sync {
    /// Hash of the rules: part of the plan-cache key.
    fn version(&self) -> String;
    /// One decision.
    async fn decide(&self, question: &PolicyQuestion) -> Result<Decision, PluginError>;
    /// Sensitive values in a text.
    async fn scan(&self, text: &str) -> Result<Vec<SensitiveSpan>, PluginError>;
}
