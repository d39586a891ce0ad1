//! What one file becomes: a head that describes it and the pieces cut from it.

use crate::kind::DocumentKind;
use crate::walk::Stamp;
use ctx_types::Passage;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Everything about a file but its passages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentHead {
    /// Path below the root, `/`-separated.
    pub path: String,
    /// Front matter title, first heading, or file name.
    pub title: String,
    /// ISO 639-1 code (`en`), or `und` if the text is too short or mixed to tell.
    pub language: String,
    /// How it was cut.
    pub kind: DocumentKind,
    /// Lower-case hex SHA-256 of the file's bytes.
    pub content_hash: String,
    /// Metadata at the time of reading; `size` is the bytes read.
    pub stamp: Stamp,
    /// Passages delivered.
    pub passages: u64,
    /// Documents in the file: records of a collection, else 1.
    pub units: u64,
    /// What was repaired on the way, worst first; at most one of each kind.
    pub warnings: Vec<Warning>,
}

/// A file with all its passages in memory. For small files; see [`crate::ingest_file_streaming`] for large ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its description.
    pub head: DocumentHead,
    /// Its passages in file order.
    pub passages: Vec<Piece>,
}

/// One passage with the unit it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The passage. `also_at` is empty: duplicates across files are the caller's to find.
    pub passage: Passage,
    /// Ordinal of the document unit within the file: the record of a collection, else 0.
    pub unit: u64,
    /// ISO 639-1 code of the unit's text, or `und`.
    pub language: &'static str,
}

/// Something that was repaired in a file rather than refused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "warning")]
pub enum Warning {
    /// Bytes that no encoding explains became U+FFFD.
    Lossy {
        /// Encoding the rest was read as.
        encoding: String,
        /// Replaced sequences.
        count: u64,
    },
    /// The file is not UTF-8; it was read as another encoding.
    Transcoded {
        /// Name of the encoding, as in the Encoding Standard.
        encoding: String,
    },
    /// NUL characters became spaces.
    NulReplaced {
        /// How many.
        count: u64,
    },
    /// Records that are not what the file's kind promises were taken as plain text.
    MalformedRecords {
        /// How many.
        count: u64,
        /// Line of the first, 1-based.
        line_first: u32,
    },
    /// A limit made a structured file be cut as plain text.
    FellBackToText {
        /// Which limit or failure.
        because: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Lossy { encoding, count } => write!(f, "{count} byte sequences are not {encoding} and were replaced"),
            Warning::Transcoded { encoding } => write!(f, "read as {encoding}"),
            Warning::NulReplaced { count } => write!(f, "{count} NUL characters were replaced by spaces"),
            Warning::MalformedRecords { count, line_first } => {
                write!(f, "{count} malformed records were taken as text, the first at line {line_first}")
            }
            Warning::FellBackToText { because } => write!(f, "cut as plain text: {because}"),
        }
    }
}
