//! The fields of a segment, the tokenizers behind them, and the note that stands beside the index.
//!
//! Nothing is stored: a hit is an ordinal, the text lives in the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::Index;
use tantivy::schema::{FAST, Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

use crate::analyze::ANALYSIS_VERSION;
use crate::error::TextIndexError;
use crate::tokenizer::{IdentifierTokenizer, WordTokenizer};

/// Version of the folder's layout: fields, note, order of passages.
pub(crate) const FORMAT_VERSION: u32 = 1;

pub(crate) const NOTE_FILE: &str = "text-segment.json";
const WORDS: &str = "ctx_words";
const IDENTIFIERS: &str = "ctx_identifiers";

/// The three fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Title and text, analyzed.
    pub(crate) body: Field,
    /// Normal forms of identifiers, each one term.
    pub(crate) identifiers: Field,
    /// The passage's ordinal in the store's segment.
    pub(crate) ordinal: Field,
}

/// The field that holds ordinals as a column.
pub(crate) const ORDINAL: &str = "ordinal";

pub(crate) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default().set_tokenizer(WORDS).set_index_option(IndexRecordOption::WithFreqs);
    let names = TextFieldIndexing::default().set_tokenizer(IDENTIFIERS).set_index_option(IndexRecordOption::Basic).set_fieldnorms(false);
    let fields = Fields {
        body: builder.add_text_field("body", TextOptions::default().set_indexing_options(words)),
        identifiers: builder.add_text_field("identifiers", TextOptions::default().set_indexing_options(names)),
        ordinal: builder.add_u64_field(ORDINAL, FAST),
    };
    (builder.build(), fields)
}

/// Tokenizers are not saved with an index: both writer and reader register them.
pub(crate) fn register_tokenizers(index: &Index) {
    index.tokenizers().register(WORDS, WordTokenizer::new());
    index.tokenizers().register(IDENTIFIERS, IdentifierTokenizer::new());
}

/// What a reader must know before it trusts the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) format: u32,
    pub(crate) analysis: u32,
    pub(crate) documents: u32,
    /// Passages by language code.
    pub(crate) languages: BTreeMap<String, u32>,
}

impl Note {
    pub(crate) fn new(documents: u32, languages: BTreeMap<String, u32>) -> Note {
        Note { format: FORMAT_VERSION, analysis: ANALYSIS_VERSION, documents, languages }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<(), TextIndexError> {
        let bytes = serde_json::to_vec(self).expect("a note holds numbers and strings only");
        let path = folder.join(NOTE_FILE);
        fs::write(&path, bytes).and_then(|()| fs::File::open(&path)?.sync_all()).map_err(|error| TextIndexError::Io {
            doing: "sealing",
            path: folder.to_owned(),
            reason: error.to_string(),
        })
    }

    pub(crate) fn read(folder: &Path) -> Result<Note, TextIndexError> {
        let (doing, path) = ("opening", folder.to_owned());
        let bytes = fs::read(folder.join(NOTE_FILE)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => TextIndexError::Missing { doing, path: path.clone(), reason: NOTE_FILE.to_owned() },
            _ => TextIndexError::Io { doing, path: path.clone(), reason: error.to_string() },
        })?;
        let note: Note = serde_json::from_slice(&bytes).map_err(|error| TextIndexError::Damaged {
            doing,
            path: path.clone(),
            reason: format!("{NOTE_FILE}: {error}"),
        })?;
        note.checked(folder)
    }

    fn checked(self, folder: &Path) -> Result<Note, TextIndexError> {
        if (self.format, self.analysis) == (FORMAT_VERSION, ANALYSIS_VERSION) {
            return Ok(self);
        }
        Err(TextIndexError::Incompatible {
            path: folder.to_owned(),
            found: format!("format {} and analysis {}", self.format, self.analysis),
            expected: format!("format {FORMAT_VERSION} and analysis {ANALYSIS_VERSION}"),
        })
    }
}
