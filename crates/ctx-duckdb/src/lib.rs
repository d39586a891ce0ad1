//! The only crate that links DuckDB: the sealed, read-only database of a segment.
//!
//! A segment's documents, passages and original embeddings stand in `segment.duckdb`. [`SegmentWriter`] makes the file
//! and closes it for good; [`SegmentDb`] reads it, with one database instance per file and process (opening a path
//! twice in one process would give two instances that do not know each other), any number of threads, no access to
//! other files, and prepared statements only. Nothing here is a query language for callers.
//!
//! ```
//! use ctx_duckdb::{DocumentRow, PassageRow, SegmentDb, SegmentWriter};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("segment.duckdb");
//! let mut writer = SegmentWriter::create(&path, Some(2))?;
//! writer.add_document(DocumentRow { path: "a.md".into(), title: "A".into(), ..DocumentRow::default() })?;
//! let passage = PassageRow { path: "a.md".into(), text: "hello".into(), ..PassageRow::default() };
//! writer.add_passage(passage, Some(&[0.6, 0.8]))?;
//! writer.finish()?;
//!
//! let segment = SegmentDb::open(&path)?;
//! assert_eq!(segment.passages(&[0])?[0].text, "hello");
//! # Ok(()) }
//! ```
//!
//! Reading order: [`rows`] → [`schema`] → [`writer`] → [`instance`] → [`reads`] → [`statistics`].

pub(crate) mod cache;
pub(crate) mod columns;
pub mod error;
pub mod instance;
pub mod reads;
pub mod rows;
pub(crate) mod schema;
pub mod statistics;
pub mod writer;

pub use error::DuckError;
pub use instance::{LIBRARY_VERSION, SegmentDb, check_library};
pub use rows::{DocumentRow, PassageRow};
pub use statistics::SegmentStatistics;
pub use writer::{SegmentTotals, SegmentWriter};

/// Name of the database file in a segment's folder.
pub const SEGMENT_FILE: &str = "segment.duckdb";
