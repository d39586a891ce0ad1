//! From text to terms: the same analysis for documents, for queries and for the term dictionary of the probe.
//!
//! NFKC → `pieces` → lower case → English stop words (English and undetermined text) → Snowball stem of the text's language → term.
//! Runs of Han, Kana, Hangul and other unspaced scripts become overlapping pairs. camelCase names are searchable whole and
//! by part. English text in ASCII comes out exactly as: split on non-alphanumerics, lower-case, 33 stop words, stem.

mod camel;
pub(crate) mod pieces;
pub(crate) mod script;
mod stems;
mod terms;

pub use terms::{Analyzer, TERM_BYTES_MAX};
pub(crate) use terms::{Terms, normalize};

/// Changes whenever the same text would come out as other terms; a segment of another version must be rebuilt.
pub const ANALYSIS_VERSION: u32 = 2;
