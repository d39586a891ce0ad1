//! Rules of the house, asked before planning; answers become constraints.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::intent::SensitiveSpan;
use ctx_types::{ModelName, Principal, Sensitivity, SourceName};

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
