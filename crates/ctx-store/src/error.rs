//! What can go wrong in the store: what was being done, to which file, and what to do about it.

use crate::lock::Holder;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do about a damaged file.
pub const REBUILD_HINT: &str = "run `ctxrt index` to build the index again from the sources";

/// A failure of the store. [`StoreError::hint`] says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("{doing} {}: {source}", path.display())]
    Io {
        /// "reading", "writing", …
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not hold what was written to it.
    #[error("reading {}: {problem}; {REBUILD_HINT}", path.display())]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A newer program wrote this file.
    #[error("reading {}: schema version {found}, this program knows {supported}", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u32,
        /// Newest version understood here.
        supported: u32,
    },
    /// Somebody else writes, and kept writing for as long as we were told to wait.
    #[error("index of {} is being written by {holder}; waited {} s", store.display(), seconds(*waited))]
    Busy {
        /// The store's folder.
        store: PathBuf,
        /// Who holds the lock, as far as it is known.
        holder: Holder,
        /// How long we waited.
        waited: Duration,
    },
    /// The lock call itself failed, again and again.
    #[error("locking {}: {source}; waited {} s", path.display(), seconds(*waited))]
    LockFailed {
        /// The lock file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// How long we tried.
        waited: Duration,
    },
    /// A request that contradicts the store's content.
    #[error("{doing}: {problem}")]
    Inconsistent {
        /// The operation.
        doing: &'static str,
        /// What contradicts it.
        problem: String,
    },
}

/// Whole and tenth seconds, for messages.
fn seconds(waited: Duration) -> String {
    format!("{:.1}", waited.as_secs_f64())
}

impl StoreError {
    /// What the user can do about it, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        const LOCKS: &str = "locks are unreliable on network file systems: keep the store on a local disk with --store or CTXRT_STORE";
        match self {
            StoreError::Corrupt { .. } => Some(REBUILD_HINT),
            StoreError::NewerSchema { .. } => Some("update ctxrt, or name another folder with --store"),
            StoreError::Busy { holder, .. } if !holder.is_known() => Some(LOCKS),
            StoreError::Busy { .. } => Some("wait for it to finish, or stop that process"),
            StoreError::LockFailed { .. } => Some(LOCKS),
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("check the folder's permissions, or name another folder with --store")
            }
            StoreError::Io { .. } | StoreError::Inconsistent { .. } => None,
        }
    }

    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io { doing, path, source }
    }

    pub(crate) fn corrupt(path: &Path, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt { path: path.to_owned(), problem: problem.into() }
    }
}
