//! BM25 and identifier retrieval over sealed, immutable segments.
//!
//! A segment is one folder, written once by one [`SegmentWriter`] and read by any number of [`SegmentReader`]s, which need
//! no write permission. A [`MultiSearcher`] ranks over several segments with collection statistics summed over them.
//! What a user types is data: it is analyzed into terms, never parsed as a query language.
//!
//! Not here: chunking, storage of text (a segment holds ordinals only), vectors, fusion.
//!
//! ```
//! use std::sync::Arc;
//! use ctx_tantivy::{MultiSearcher, SegmentReader, SegmentWriter};
//!
//! let folder = tempfile::tempdir()?;
//! let mut writer = SegmentWriter::create(folder.path())?;
//! writer.add(0, "Hinges", "SKU-73104: a steel hinge", "en")?;
//! writer.add(1, "Hinges", "SKU-73105: a brass hinge", "en")?;
//! let sealed = writer.seal()?;
//! assert_eq!(sealed.documents, 2);
//!
//! let searcher = MultiSearcher::new(vec![Arc::new(SegmentReader::open(folder.path())?)]);
//! let nothing_deleted = |_segment: usize, _ordinal: u32| false;
//! let found = searcher.search("brass hinges", 10, &nothing_deleted)?;
//! assert_eq!(found.hits[0].ordinal, 1);
//! let found = searcher.search_identifiers("what is sku 73104?", 10, &nothing_deleted)?;
//! assert_eq!((found.hits.len(), found.hits[0].ordinal), (1, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading order: [`language`] → [`analyze`] → [`query`] → [`SegmentWriter`] → [`SegmentReader`] → [`MultiSearcher`].

pub mod analyze;
mod directory;
mod error;
pub mod language;
pub mod query;
mod reader;
mod schema;
mod search;
mod tokenizer;
mod top_k;
mod writer;

pub use analyze::{ANALYSIS_VERSION, Analyzer};
pub use error::TextIndexError;
pub use language::Language;
pub use reader::SegmentReader;
pub use search::{Deleted, Found, MultiSearcher, PREFIX_TERMS_MAX, QUERY_IDENTIFIERS_MAX, QuerySummary, WordSummary};
pub use tokenizer::body_tokenizer;
pub use top_k::TextHit;
pub use writer::{SealedSegment, SegmentWriter, WriterOptions};
