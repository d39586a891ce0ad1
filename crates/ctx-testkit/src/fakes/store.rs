//! A store that holds blobs and journals and says which passages no longer stand.

use super::lock;
use async_trait::async_trait;
use ctx_contracts::{Admit, Durability, Fold, Freshness, IndexEvent, IndexOptions, IndexReport, Journal, PluginError, Recorded, Store};
use ctx_types::passage::Locator;
use ctx_types::{Passage, SourceName, Trace};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Whoever appends here.
const WRITER: &str = "this process";

/// Everything is current unless told otherwise.
#[derive(Debug, Default)]
pub struct FakeStore {
    blobs: Mutex<BTreeMap<String, Vec<u8>>>,
    journals: Mutex<BTreeMap<String, Journal>>,
    durabilities: Mutex<Vec<(String, Durability)>>,
    busy: AtomicBool,
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

    /// Another writer is at work: nothing is folded.
    pub fn set_busy(&self, busy: bool) {
        self.busy.store(busy, Ordering::SeqCst);
    }

    /// What a journal holds.
    pub fn journalled(&self, journal: &str) -> Journal {
        lock(&self.journals).get(journal).cloned().unwrap_or_default()
    }

    /// How the records of a journal were asked to be kept, in order of appending.
    pub fn durabilities(&self, journal: &str) -> Vec<Durability> {
        lock(&self.durabilities).iter().filter(|(name, _)| name == journal).map(|(_, durability)| *durability).collect()
    }

    /// A process that died left this record.
    pub fn leave(&self, journal: &str, record: serde_json::Value) {
        let recorded = Recorded { writer: "ended".to_owned(), record };
        lock(&self.journals).entry(journal.to_owned()).or_default().records.push(recorded);
    }

    fn push(&self, name: &str, journal: &mut Journal, record: serde_json::Value, durability: Durability) {
        journal.live.insert(WRITER.to_owned());
        journal.records.push(Recorded { writer: WRITER.to_owned(), record });
        lock(&self.durabilities).push((name.to_owned(), durability));
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

    async fn append(&self, journal: &str, record: serde_json::Value, durability: Durability) -> Result<(), PluginError> {
        self.append_if(journal, record, durability, Box::new(|_| true)).await.map(|_| ())
    }

    async fn append_if(&self, journal: &str, record: serde_json::Value, durability: Durability, admit: Admit) -> Result<bool, PluginError> {
        let mut journals = lock(&self.journals);
        let held = journals.entry(journal.to_owned()).or_default();
        let admitted = admit(held);
        if admitted {
            self.push(journal, held, record, durability);
        }
        Ok(admitted)
    }

    async fn journal(&self, journal: &str) -> Result<Journal, PluginError> {
        Ok(self.journalled(journal))
    }

    async fn fold(&self, journal: &str, fold: Fold) -> Result<bool, PluginError> {
        if self.busy.load(Ordering::SeqCst) {
            return Ok(false);
        }
        let mut journals = lock(&self.journals);
        let held = journals.entry(journal.to_owned()).or_default();
        let Some(snapshot) = fold(held) else { return Ok(false) };
        held.snapshot = Some(snapshot);
        held.records.clear();
        Ok(true)
    }
}
