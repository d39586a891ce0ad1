//! Shortening a passage; lossy until proven otherwise.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::passage::Locator;
use ctx_types::{Passage, Tokens};

/// What was left out, so that it can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Where the original stands.
    pub locator: Locator,
    /// Fingerprint of the original.
    pub fingerprint: String,
    /// Omitted, in words.
    pub omitted: String,
    /// Tokens omitted.
    pub tokens: Tokens,
}

/// A shortened passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// What is sent.
    pub text: String,
    /// Its receipt.
    pub receipt: Receipt,
}

/// A compressor. Numbers, identifiers and negations are never dropped.
#[async_trait]
pub trait Compressor: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;
    /// A shorter form for this goal.
    async fn compress(&self, goal: &str, passage: &Passage, budget: Tokens) -> Result<Compressed, PluginError>;
}
