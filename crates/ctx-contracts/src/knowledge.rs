//! Facts with provenance.

use crate::PluginError;
use async_trait::async_trait;

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Statement.
    pub statement: String,
    /// Passage ids it is derived from.
    pub derived_from: Vec<String>,
}

/// A knowledge store.
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// Facts about a text, at most `limit`.
    async fn recall(&self, about: &str, limit: usize) -> Result<Vec<Fact>, PluginError>;
}
