//! What can go wrong in the embedded default, and what it means to the runtime.

use ctx_contracts::{ErrorKind, PluginError};
use ctx_duckdb::DuckError;
use ctx_embed::EmbedError;
use ctx_ingest::IngestError;
use ctx_store::StoreError;
use ctx_tantivy::TextIndexError;
use std::path::{Path, PathBuf};

/// A failure of the engine.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// The store's files.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The text index of a segment.
    #[error(transparent)]
    Text(#[from] TextIndexError),
    /// The database of a segment.
    #[error(transparent)]
    Rows(#[from] DuckError),
    /// The embedding model.
    #[error(transparent)]
    Embed(#[from] EmbedError),
    /// Walking or cutting files.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The operating system refused.
    #[error("{doing} {}: {cause}", path.display())]
    Io {
        /// "reading", "writing".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A file of a segment does not hold what was written to it.
    #[error("reading {}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Nobody configured this source.
    #[error("reading source {name}: it is not configured; configured: {known}")]
    UnknownSource {
        /// The name.
        name: String,
        /// Names that exist.
        known: String,
    },
    /// The source has no published segment list yet.
    #[error("reading source {name}: it is not indexed yet")]
    NotIndexed {
        /// The name.
        name: String,
    },
    /// The source's path leads elsewhere than where its content was read from.
    #[error(
        "what is indexed as {name} was read from {}, its path is {} now; correct the path, or run `ctxrt index` to index what stands there",
        indexed.display(), configured.display()
    )]
    Elsewhere {
        /// The name.
        name: String,
        /// Where the content comes from.
        indexed: PathBuf,
        /// Where the source is now.
        configured: PathBuf,
    },
    /// An access path cannot be honoured on this source.
    #[error("reading source {name} by {path}: {reason}")]
    PathUnavailable {
        /// The source.
        name: String,
        /// The access path.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The caller went away.
    #[error("indexing source {name}: cancelled, the last generation stays current")]
    Cancelled {
        /// The source.
        name: String,
    },
    /// A thread ended without a result.
    #[error("{doing}: the thread that does it ended: {reason}")]
    Thread {
        /// What it did.
        doing: &'static str,
        /// What it said.
        reason: String,
    },
    /// A value cannot be written as JSON or read back.
    #[error("{doing}: {reason}")]
    Json {
        /// What was being done.
        doing: &'static str,
        /// serde's words.
        reason: String,
    },
}

impl EmbeddedError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> EmbeddedError {
        let path = path.to_owned();
        move |cause| EmbeddedError::Io { doing, path, cause }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            EmbeddedError::Store(error) => error.hint(),
            EmbeddedError::Text(error) => Some(error.hint()),
            EmbeddedError::Rows(error) => error.hint(),
            EmbeddedError::Damaged { .. } => Some("run `ctxrt index` to build the damaged part again from its source"),
            EmbeddedError::NotIndexed { .. } => Some("run `ctxrt index`"),
            EmbeddedError::PathUnavailable { .. } => Some("run `ctxrt index` to embed the source with this build's model"),
            EmbeddedError::Ingest(IngestError::Root { .. }) => Some("check the source's path"),
            EmbeddedError::Embed(EmbedError::Mismatch { .. }) => Some("run `ctxrt index` to embed the source again"),
            _ => None,
        }
    }

    /// Whether a segment is damaged rather than in use or forbidden: building it again helps.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            EmbeddedError::Damaged { .. } | EmbeddedError::Embed(_) | EmbeddedError::Json { .. } => true,
            EmbeddedError::Store(StoreError::Corrupt { .. }) => true,
            EmbeddedError::Store(StoreError::Io { source, .. }) => source.kind() == std::io::ErrorKind::NotFound,
            EmbeddedError::Io { cause, .. } => cause.kind() == std::io::ErrorKind::NotFound,
            EmbeddedError::Text(error) => {
                matches!(
                    error,
                    TextIndexError::Missing { .. }
                        | TextIndexError::Damaged { .. }
                        | TextIndexError::Incompatible { .. }
                        | TextIndexError::Library { .. }
                )
            }
            EmbeddedError::Rows(error) => matches!(error, DuckError::Open { .. } | DuckError::Missing { .. } | DuckError::Statement { .. }),
            _ => false,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self {
            EmbeddedError::Store(StoreError::Busy { .. } | StoreError::LockFailed { .. }) => ErrorKind::Locked,
            EmbeddedError::Text(TextIndexError::Busy { .. }) => ErrorKind::Locked,
            EmbeddedError::Store(StoreError::Inconsistent { .. }) => ErrorKind::Internal,
            EmbeddedError::UnknownSource { .. } | EmbeddedError::Elsewhere { .. } | EmbeddedError::Ingest(_) => ErrorKind::BadRequest,
            // A file of rows that cannot be read, and SQL that may not run, are what the user gave.
            EmbeddedError::Rows(DuckError::Read { .. } | DuckError::Refused { .. }) => ErrorKind::BadRequest,
            EmbeddedError::Cancelled { .. } => ErrorKind::Cancelled,
            EmbeddedError::Thread { .. } => ErrorKind::Internal,
            _ if self.is_damage() => ErrorKind::Corrupt,
            _ => ErrorKind::Unavailable,
        }
    }

    /// The same failure as the contracts name it.
    pub fn into_plugin(self, doing: impl Into<String>) -> PluginError {
        let error = PluginError::new(self.kind(), doing, self.to_string());
        match self.hint() {
            // Some messages carry their hint already.
            Some(hint) if !error.cause.contains(hint) => error.with_hint(hint),
            _ => error,
        }
    }
}
