//! Reading a source: describe, probe, retrieve.

use crate::{Metered, PluginError};
use async_trait::async_trait;
use ctx_types::{AccessPath, Hit, Probe, SourceEntry, SourceName};
use std::collections::BTreeMap;

/// One leg of an access. Hybrid paths are two legs and a fuse node, so `path` is never a hybrid here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrieveRequest {
    /// Which source.
    pub source: SourceName,
    /// How.
    pub path: AccessPath,
    /// The user's words, verbatim; data, never a query grammar.
    pub query: String,
    /// Passages asked for.
    pub k: u32,
}

/// Serves access paths of one or more sources.
#[async_trait]
pub trait Retriever: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;

    /// Catalog entries of the sources it serves, with statistics of the published generation.
    async fn describe(&self) -> Result<BTreeMap<SourceName, SourceEntry>, PluginError>;

    /// What the given sources know about this goal. Bounded look-ups, no more than 2 ms in all.
    async fn probe(&self, goal: &str, sources: &[SourceName]) -> Result<Probe, PluginError>;

    /// Ranked passages, best first, at most `k`; ties in a stable order. An empty list is an answer, not an error.
    async fn retrieve(&self, request: &RetrieveRequest) -> Result<Metered<Vec<Hit>>, PluginError>;
}
