//! One segment of one source as it stands on disk: written once, read by anyone.
//!
//! ```text
//! segments/<id>/segment.duckdb   documents, and what is counted of passages
//!               passages.bin     passages as they are shown, by ordinal
//!               text/            BM25 and identifiers
//!               terms.fst        term and identifier dictionary, for probes
//!               vectors.i8       int8 vectors, one row a passage
//!               idf.bin          the frozen token weights that the vectors were made with
//!               passages.rng     document → passages
//!               keys.bin         ids and content keys of passages: look-up by id, copies of a passage
//!               note.json        what else the engine wants to know
//! ```

pub(crate) mod build;
pub(crate) mod keys;
pub(crate) mod note;
pub(crate) mod open;
pub(crate) mod spool;
pub(crate) mod stages;

pub(crate) use build::{NewSegment, SegmentsBuilder};
pub(crate) use keys::{Keys, head};
pub(crate) use open::OpenSegment;

/// Passages.
pub(crate) const PASSAGES_FILE: &str = "passages.bin";
/// Folder of the text index.
pub(crate) const TEXT_FOLDER: &str = "text";
/// Term dictionary.
pub(crate) const TERMS_FILE: &str = "terms.fst";
/// Vectors.
pub(crate) const VECTORS_FILE: &str = "vectors.i8";
/// Token weights.
pub(crate) const IDF_FILE: &str = "idf.bin";
/// Document → passages.
pub(crate) const RANGES_FILE: &str = "passages.rng";
/// Ids and content keys.
pub(crate) const KEYS_FILE: &str = "keys.bin";
/// The note.
pub(crate) const NOTE_FILE: &str = "note.json";
/// Token ids of passages whose vectors are not made yet; removed before the segment is sealed.
pub(crate) const SPOOL_FILE: &str = "tokens.spool";
