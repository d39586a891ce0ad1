//! What can go wrong between a file and its passages.

use crate::walk::SkipReason;
use std::path::PathBuf;

/// Why a root could not be walked or a file could not be cut into passages.
///
/// One bad file never ends an indexing run: the caller reports it and goes on.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The root of a source does not exist or cannot be opened.
    #[error("opening the source root {}: {cause}; give a folder or a file that exists", root.display())]
    Root {
        /// The root as given.
        root: PathBuf,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A file could not be read.
    #[error("reading {path}: {cause}")]
    Read {
        /// Path below the root.
        path: String,
        /// The system's words.
        cause: std::io::Error,
    },
    /// A path is absolute, holds `..`, or resolves to a place outside the root.
    #[error("opening {path:?}: it is not below the root of its source; name a file inside the source")]
    OutsideRoot {
        /// The refused path.
        path: String,
    },
    /// The content shows that the file must not be indexed (a private key, a binary, a device).
    #[error("indexing {path}: skipped, {reason}")]
    Skipped {
        /// Path below the root.
        path: String,
        /// Why.
        reason: SkipReason,
    },
    /// The chunk bounds contradict each other.
    #[error("cutting passages of {target} to {max} tokens: max must be at least {min} and not below target")]
    Bounds {
        /// Target size.
        target: u32,
        /// Largest size.
        max: u32,
        /// Smallest accepted largest size.
        min: u32,
    },
    /// The receiver of the passages failed.
    #[error("storing a passage of {path}: {cause}")]
    Sink {
        /// Path below the root.
        path: String,
        /// The receiver's error.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
}
