//! Files to passages: walk a root, decode each file, cut it along its structure, fingerprint every piece.
//!
//! Synchronous and memory-bounded. No store, no index, no model: the caller gives the token counter and takes the
//! passages. Nothing a file holds is trusted: no parser here recurses on its input, every one is linear and bounded,
//! and no path leaves the root.
//!
//! ```
//! use ctx_ingest::{IngestOptions, Words, ingest_file, walk, WalkOptions};
//! use ctx_types::SourceName;
//!
//! let dir = tempfile::tempdir().unwrap();
//! std::fs::write(dir.path().join("plan.md"), "# Plans\n\nA plan is *infeasible* if a constraint binds.\n").unwrap();
//! let found = walk(dir.path(), &WalkOptions::default()).unwrap();
//! let options = IngestOptions::new(SourceName::new("docs").unwrap());
//! let document = ingest_file(&found.root, &found.entries[0], &options, &Words).unwrap();
//! assert_eq!(document.head.title, "Plans");
//! assert_eq!(document.passages[0].passage.locator.line_start, 1);
//! ```
//!
//! Reading order: [`mod@walk`] → [`kind`] → [`mod@decode`] → [`offsets`] → [`chunk`] → [`document`] → [`ingest`];
//! [`fingerprint`] re-checks a passage before it is cited.

pub mod chunk;
pub mod confine;
pub mod decode;
pub mod document;
mod emit;
pub mod error;
pub mod fingerprint;
pub mod ingest;
pub mod kind;
pub mod language;
pub mod offsets;
pub mod secrets;
mod segments;
pub mod tokens;
pub mod walk;

pub use chunk::ChunkOptions;
pub use decode::{Decoded, decode};
pub use document::{Document, DocumentHead, Piece, Warning};
pub use error::IngestError;
pub use fingerprint::{content_hash, passage_is_current, passage_stands};
pub use ingest::{IngestOptions, ingest_file, ingest_file_streaming};
pub use kind::DocumentKind;
pub use tokens::{TokenCounter, Words};
pub use walk::{Entry, Skip, SkipReason, Stamp, Walk, WalkOptions, walk};
