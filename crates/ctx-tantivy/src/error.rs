//! What can go wrong with a text index, and what to do about it.

use std::path::{Path, PathBuf};

use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenDirectoryError, OpenReadError};

/// An error of a text segment. `hint` says what helps.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextIndexError {
    /// The folder, or a file that its metadata names, is not there.
    #[error("{doing} text segment {path}: not found ({reason})", path = .path.display())]
    Missing {
        /// What was being done.
        doing: &'static str,
        /// The segment's folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The content contradicts itself or fails its checksum.
    #[error("{doing} text segment {path}: damaged ({reason})", path = .path.display())]
    Damaged {
        /// What was being done.
        doing: &'static str,
        /// The segment's folder.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Written by another version of the format or of the analysis.
    #[error("opening text segment {path}: it has {found}, this build reads {expected}", path = .path.display())]
    Incompatible {
        /// The segment's folder.
        path: PathBuf,
        /// What the segment says.
        found: String,
        /// What this build needs.
        expected: String,
    },
    /// Another writer holds the folder.
    #[error("{doing} text segment {path}: another writer is at work on it", path = .path.display())]
    Busy {
        /// What was being done.
        doing: &'static str,
        /// The segment's folder.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{doing} text segment {path}: {reason}", path = .path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// The segment's folder.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// Passages must arrive in ascending order of their ordinals.
    #[error("adding passage {ordinal} to text segment {path}: passage {last} was added before it", path = .path.display())]
    OutOfOrder {
        /// The segment's folder.
        path: PathBuf,
        /// The ordinal that came too late.
        ordinal: u32,
        /// The largest one so far.
        last: u32,
    },
    /// The search library failed in a way it does not document; contained here.
    #[error("{doing} text segment {path}: the search library failed ({reason})", path = .path.display())]
    Library {
        /// What was being done.
        doing: &'static str,
        /// The segment's folder.
        path: PathBuf,
        /// Its words.
        reason: String,
    },
}

impl TextIndexError {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            TextIndexError::Missing { .. } | TextIndexError::Damaged { .. } | TextIndexError::Incompatible { .. } => {
                "index the source again; the other sources are not affected"
            }
            TextIndexError::Busy { .. } => "wait for the other process that is indexing, or stop it",
            TextIndexError::Io { .. } => "check the permissions of the store's folder and the free space on its disk",
            TextIndexError::OutOfOrder { .. } => "sort the passages by ordinal before adding them",
            TextIndexError::Library { .. } => "index the source again; if it persists, report the message",
        }
    }
}

/// Runs `work` on the segment at `path`; errors and panics of the library come back as values.
pub(crate) fn contained<T>(doing: &'static str, path: &Path, work: impl FnOnce() -> tantivy::Result<T>) -> Result<T, TextIndexError> {
    // Unwind safety: on a panic the objects involved are dropped by the caller with the error, never used again.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)) {
        Ok(result) => result.map_err(|error| translate(doing, path, &error)),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let reason = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(TextIndexError::Library { doing, path: path.to_owned(), reason: reason.unwrap_or_else(|| "panic".to_owned()) })
        }
    }
}

fn translate(doing: &'static str, path: &Path, error: &TantivyError) -> TextIndexError {
    let (path, reason) = (path.to_owned(), error.to_string());
    match error {
        TantivyError::LockFailure(LockError::LockBusy, _) => TextIndexError::Busy { doing, path },
        TantivyError::OpenDirectoryError(OpenDirectoryError::DoesNotExist(_))
        | TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_)) => TextIndexError::Missing { doing, path, reason },
        TantivyError::DataCorruption(_) => TextIndexError::Damaged { doing, path, reason },
        TantivyError::IncompatibleIndex(_) | TantivyError::OpenReadError(OpenReadError::IncompatibleIndex(_)) => {
            TextIndexError::Incompatible { path, found: reason, expected: tantivy::version_string().to_owned() }
        }
        TantivyError::IoError(_)
        | TantivyError::LockFailure(..)
        | TantivyError::OpenDirectoryError(_)
        | TantivyError::OpenReadError(_)
        | TantivyError::OpenWriteError(_) => TextIndexError::Io { doing, path, reason },
        _ => TextIndexError::Library { doing, path, reason },
    }
}
