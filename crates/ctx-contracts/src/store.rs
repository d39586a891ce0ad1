//! The store: index, refresh, read passages, keep records. Holds no SQL: it is written with a shared store in mind.

use crate::{Admit, Durability, Fold, Journal, PluginError};
use async_trait::async_trait;
use ctx_types::passage::Locator;
use ctx_types::{Passage, SourceName, Trace};
use serde::{Deserialize, Serialize};

/// A file that was not indexed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// Path below the source's root.
    pub path: String,
    /// `ignored`, `secret`, `binary`, `symlink loop`, `outside root`, `unreadable`, `not a regular file`, …
    pub reason: String,
}

/// What an indexing run does beyond bringing sources up to date. The default: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// Merge segments, so that deleted text leaves the disk now, and blank what recorded runs repeat of it.
    pub purge: bool,
    /// Read everything again, whatever seems unchanged. The old generation is served until the new one is published.
    pub rebuild: bool,
    /// Bound of a passage in tokens, kept with the source from now on; another bound than before cuts everything anew.
    pub max_chunk_tokens: Option<u32>,
}

/// What an indexing run did to one source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexReport {
    /// The source.
    pub source: String,
    /// Files added or changed.
    pub indexed: u64,
    /// Files unchanged.
    pub unchanged: u64,
    /// Files that disappeared.
    pub removed: u64,
    /// Passages in the published generation.
    pub passages: u64,
    /// Not indexed, with reasons; at most 1,000 are listed, `skipped_total` counts all.
    pub skipped: Vec<SkippedFile>,
    /// All skipped files.
    pub skipped_total: u64,
    /// Indexed with a remark (lossy decoding, sensitive values found).
    pub warnings: Vec<String>,
    /// Published generation.
    pub generation: u64,
    /// Fingerprint of it.
    pub fingerprint: String,
    /// Whether segments were merged.
    pub merged: bool,
    /// Recorded runs that no longer repeat text of this source that is gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub traces_blanked: u64,
    /// Why the source could not be brought up to date; what was published of it before stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<PluginError>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Progress of an indexing run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexEvent {
    /// Files found so far.
    Found {
        /// Source.
        source: SourceName,
        /// Files.
        files: u64,
    },
    /// Files done, of those that need work.
    Progress {
        /// Source.
        source: SourceName,
        /// Files done.
        done: u64,
        /// Files to do.
        total: u64,
    },
    /// Waiting for another writer.
    Waiting {
        /// Who holds the lock, in words.
        holder: String,
    },
}

/// Whether a stored passage still stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The bytes on disk are the same.
    Current,
    /// The file or range changed: it must not be served.
    Changed,
    /// The file is gone.
    Gone,
}

/// Documents, passages, catalog and records of one place.
#[async_trait]
pub trait Store: Send + Sync {
    /// Brings sources up to date, each for itself: the report of one that failed says why. A crash leaves the old generation
    /// readable.
    async fn index(
        &self,
        sources: &[SourceName],
        options: IndexOptions,
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError>;

    /// Checks freshness as configured and indexes what changed; cheap when nothing did.
    async fn refresh(&self, sources: &[SourceName], progress: &(dyn Fn(IndexEvent) + Send + Sync))
    -> Result<Vec<IndexReport>, PluginError>;

    /// A passage of the current generation.
    async fn passage(&self, source: &SourceName, id: &str) -> Result<Option<Passage>, PluginError>;

    /// Whether a passage about to be cited still stands.
    async fn recheck(&self, locator: &Locator, fingerprint: &str) -> Result<Freshness, PluginError>;

    /// Traces, newest first, at most `limit`.
    async fn traces(&self, limit: usize) -> Result<Vec<Trace>, PluginError>;

    /// A named, versioned snapshot (statistics, plan cache); `None` if it was never written.
    async fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, PluginError>;

    /// Replaces it atomically.
    async fn write_blob(&self, name: &str, bytes: &[u8]) -> Result<(), PluginError>;

    /// Appends a record to a journal.
    async fn append(&self, journal: &str, record: serde_json::Value, durability: Durability) -> Result<(), PluginError>;

    /// Appends it if `admit` agrees with the whole journal; nobody else appends this way or folds meanwhile. `false`: it did not.
    async fn append_if(&self, journal: &str, record: serde_json::Value, durability: Durability, admit: Admit) -> Result<bool, PluginError>;

    /// The journal now.
    async fn journal(&self, journal: &str) -> Result<Journal, PluginError>;

    /// As the store's writer replaces the journal's snapshot by what `fold` makes of it; its records are part of it from then
    /// on. `false`: it was left as it is, by `fold` or because another writer is at work.
    async fn fold(&self, journal: &str, fold: Fold) -> Result<bool, PluginError>;
}
