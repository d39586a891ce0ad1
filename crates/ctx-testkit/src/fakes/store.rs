//! A store that holds blobs and says which passages no longer stand.

use super::lock;
use async_trait::async_trait;
use ctx_contracts::{Freshness, IndexEvent, IndexOptions, IndexReport, PluginError, Store};
use ctx_types::passage::Locator;
use ctx_types::{Passage, SourceName, Trace};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// Everything is current unless told otherwise.
#[derive(Debug, Default)]
pub struct FakeStore {
    blobs: Mutex<BTreeMap<String, Vec<u8>>>,
    stale: Mutex<BTreeMap<String, Freshness>>,
    refresh_error: Mutex<Option<PluginError>>,
    refreshes: AtomicU32,
    writes: AtomicU32,
}

impl FakeStore {
    /// The file at this path changed or is gone.
    pub fn set_freshness(&self, path: &str, freshness: Freshness) {
        lock(&self.stale).insert(path.to_owned(), freshness);
    }

    /// Refreshing fails.
    pub fn fail_refresh(&self, error: PluginError) {
        *lock(&self.refresh_error) = Some(error);
    }

    /// Refreshes so far.
    pub fn refreshes(&self) -> u32 {
        self.refreshes.load(Ordering::SeqCst)
    }

    /// Blobs written so far.
    pub fn writes(&self) -> u32 {
        self.writes.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Store for FakeStore {
    async fn index(
        &self,
        sources: &[SourceName],
        _: IndexOptions,
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError> {
        self.refresh(sources, progress).await
    }

    async fn refresh(&self, _: &[SourceName], _: &(dyn Fn(IndexEvent) + Send + Sync)) -> Result<Vec<IndexReport>, PluginError> {
        self.refreshes.fetch_add(1, Ordering::SeqCst);
        match lock(&self.refresh_error).clone() {
            Some(error) => Err(error),
            None => Ok(Vec::new()),
        }
    }

    async fn passage(&self, _: &SourceName, _: &str) -> Result<Option<Passage>, PluginError> {
        Ok(None)
    }

    async fn recheck(&self, locator: &Locator, _: &str) -> Result<Freshness, PluginError> {
        Ok(lock(&self.stale).get(&locator.path).copied().unwrap_or(Freshness::Current))
    }

    async fn traces(&self, _: usize) -> Result<Vec<Trace>, PluginError> {
        Ok(Vec::new())
    }

    async fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, PluginError> {
        Ok(lock(&self.blobs).get(name).cloned())
    }

    async fn write_blob(&self, name: &str, bytes: &[u8]) -> Result<(), PluginError> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        lock(&self.blobs).insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}
