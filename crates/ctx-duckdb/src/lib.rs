//! The only crate that links DuckDB: the sealed, read-only database of a segment.
//!
//! A segment's documents, what is counted of its passages, and original embeddings stand in `segment.duckdb`; the texts do
//! not: they are read by ordinal, which a database is slow at. [`SegmentWriter`] makes the file and closes it for good; [`SegmentDb`] reads it, with one database instance per file and process (opening a path
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
//! let passage = PassageRow { section: "Setup".into(), tokens: 7, ..PassageRow::default() };
//! writer.add_passage(passage, Some(&[0.6, 0.8]))?;
//! writer.finish()?;
//!
//! let segment = SegmentDb::open(&path)?;
//! assert_eq!(segment.passages_in(0..1)?[0].section, "Setup");
//! assert_eq!(segment.statistics(&[])?.tokens_total(), 7);
//! # Ok(()) }
//! ```
//!
//! Reading order: [`rows`] → `schema` → [`writer`] → [`instance`] → [`reads`] → `statistics`; [`tables`] stands apart.

pub(crate) mod cache;
pub(crate) mod columns;
pub mod error;
pub mod instance;
pub mod reads;
pub mod rows;
pub(crate) mod schema;
pub mod statistics;
pub mod tables;
pub mod writer;

pub use error::DuckError;
pub use instance::{LIBRARY_VERSION, SegmentDb, check_library};
pub use rows::{DocumentRow, PassageRow};
pub use statistics::SegmentStatistics;
pub use writer::{SegmentTotals, SegmentWriter};

/// Name of the database file in a segment's folder.
pub const SEGMENT_FILE: &str = "segment.duckdb";
