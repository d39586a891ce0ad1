//! A store that is only read: a replay, or a run that only compares settings, indexes nothing, writes no journal and keeps no snapshot.

use async_trait::async_trait;
use ctx_contracts::{Admit, Durability, Fold, Freshness, IndexEvent, IndexOptions, IndexReport, Journal, PluginError, Store};
use ctx_types::passage::Locator;
use ctx_types::{Passage, SourceName, Trace};
use std::sync::Arc;

/// Reads pass through, writes end here.
pub(crate) struct Quiet(pub(crate) Arc<dyn Store>);

#[async_trait]
impl Store for Quiet {
    async fn index(
        &self,
        _: &[SourceName],
        _: IndexOptions,
        _: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError> {
        Ok(Vec::new())
    }

    async fn refresh(&self, _: &[SourceName], _: &(dyn Fn(IndexEvent) + Send + Sync)) -> Result<Vec<IndexReport>, PluginError> {
        Ok(Vec::new())
    }

    async fn passage(&self, source: &SourceName, id: &str) -> Result<Option<Passage>, PluginError> {
        self.0.passage(source, id).await
    }

    async fn recheck(&self, locator: &Locator, fingerprint: &str) -> Result<Freshness, PluginError> {
        self.0.recheck(locator, fingerprint).await
    }

    async fn traces(&self, limit: usize) -> Result<Vec<Trace>, PluginError> {
        self.0.traces(limit).await
    }

    async fn read_blob(&self, _: &str) -> Result<Option<Vec<u8>>, PluginError> {
        Ok(None)
    }

    async fn write_blob(&self, _: &str, _: &[u8]) -> Result<(), PluginError> {
        Ok(())
    }

    async fn append(&self, _: &str, _: serde_json::Value, _: Durability) -> Result<(), PluginError> {
        Ok(())
    }

    async fn append_if(&self, _: &str, _: serde_json::Value, _: Durability, _: Admit) -> Result<bool, PluginError> {
        Ok(true)
    }

    async fn journal(&self, _: &str) -> Result<Journal, PluginError> {
        Ok(Journal::default())
    }

    async fn fold(&self, _: &str, _: Fold) -> Result<bool, PluginError> {
        Ok(false)
    }
}
