//! Reads one sealed segment. Opening needs no write permission and takes no lock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::index::InvertedIndexReader;
use tantivy::schema::Field;
use tantivy::{DocId, Index, ReloadPolicy, Searcher};

use crate::directory::ReadOnlyDirectory;
use crate::error::{TextIndexError, contained};
use crate::language::Language;
use crate::schema::{Fields, Note, ORDINAL, register_tokenizers, schema};
use crate::writer::SealedSegment;

/// A sealed segment, open for reading. Share it between threads behind an `Arc`.
pub struct SegmentReader {
    path: PathBuf,
    note: Note,
    pub(crate) fields: Fields,
    pub(crate) searcher: Searcher,
    /// Absent where the segment holds no passage.
    part: Option<Part>,
}

/// The one tantivy segment of a sealed folder.
pub(crate) struct Part {
    pub(crate) body: Arc<InvertedIndexReader>,
    pub(crate) identifiers: Arc<InvertedIndexReader>,
    ordinals: Arc<dyn ColumnValues<u64>>,
}

impl Part {
    /// The passage behind a document id. Ordinals are written from `u32`, so the conversion keeps them.
    pub(crate) fn ordinal(&self, document: DocId) -> u32 {
        self.ordinals.get_val(document) as u32
    }
}

impl SegmentReader {
    /// Opens the sealed segment in `path`.
    ///
    /// # Errors
    /// [`TextIndexError::Missing`] where there is none, [`TextIndexError::Incompatible`] for another version,
    /// [`TextIndexError::Damaged`] or [`TextIndexError::Io`] where it cannot be read.
    pub fn open(path: &Path) -> Result<SegmentReader, TextIndexError> {
        let note = Note::read(path)?;
        let doing = "opening";
        let (expected, fields) = schema();
        let (searcher, part) = contained(doing, path, || {
            let index = Index::open(ReadOnlyDirectory::open(path)?)?;
            if index.schema() != expected {
                return Err(tantivy::TantivyError::SchemaError("other fields than this build writes".to_owned()));
            }
            register_tokenizers(&index);
            let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
            let searcher = reader.searcher();
            let part = searcher.segment_readers().first().map(|segment| open_part(segment, fields)).transpose()?;
            Ok((searcher, part))
        })?;
        let (parts, documents) = (searcher.segment_readers().len(), searcher.num_docs());
        if parts > 1 || documents != u64::from(note.documents) {
            let reason = format!("{documents} passages in {parts} parts where {} were sealed in one", note.documents);
            return Err(TextIndexError::Damaged { doing, path: path.to_owned(), reason });
        }
        Ok(SegmentReader { path: path.to_owned(), note, fields, searcher, part })
    }

    /// The segment's folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Passages, deleted ones included.
    pub fn documents(&self) -> u32 {
        self.note.documents
    }

    /// Passages by language.
    pub fn languages(&self) -> BTreeMap<Language, u32> {
        let mut languages = BTreeMap::new();
        for (code, count) in &self.note.languages {
            *languages.entry(Language::from_code(code)).or_insert(0) += count;
        }
        languages
    }

    /// Counts of what the segment holds.
    ///
    /// # Errors
    /// [`TextIndexError::Io`] or [`TextIndexError::Damaged`] where it cannot be read.
    pub fn contents(&self) -> Result<SealedSegment, TextIndexError> {
        let count = |index: &InvertedIndexReader| index.terms().num_terms() as u64;
        Ok(SealedSegment {
            documents: self.note.documents,
            tokens: self.part.as_ref().map_or(0, |part| part.body.total_num_tokens()),
            languages: self.note.languages.clone(),
            terms: self.part.as_ref().map_or(0, |part| count(&part.body)),
            identifiers: self.part.as_ref().map_or(0, |part| count(&part.identifiers)),
        })
    }

    /// Every term with the number of passages that hold it, in the order of its bytes.
    ///
    /// # Errors
    /// [`TextIndexError::Io`] or [`TextIndexError::Damaged`] where the dictionary cannot be read.
    pub fn for_each_term(&self, each: impl FnMut(&str, u32)) -> Result<(), TextIndexError> {
        self.for_each_of(self.part.as_ref().map(|part| &part.body), each)
    }

    /// Every identifier's normal form with the number of passages that hold it, in the order of its bytes.
    ///
    /// # Errors
    /// As [`SegmentReader::for_each_term`].
    pub fn for_each_identifier(&self, each: impl FnMut(&str, u32)) -> Result<(), TextIndexError> {
        self.for_each_of(self.part.as_ref().map(|part| &part.identifiers), each)
    }

    fn for_each_of(&self, index: Option<&Arc<InvertedIndexReader>>, mut each: impl FnMut(&str, u32)) -> Result<(), TextIndexError> {
        let Some(index) = index else {
            return Ok(());
        };
        contained("reading the dictionary of", &self.path, || {
            let mut stream = index.terms().stream()?;
            while let Some((term, postings)) = stream.next() {
                each(&String::from_utf8_lossy(term), postings.doc_freq);
            }
            Ok(())
        })
    }

    /// Compares every file with its checksum. Reads the whole segment: for `doctor`, not for each start.
    ///
    /// # Errors
    /// [`TextIndexError::Damaged`] names the files that differ.
    pub fn verify(&self) -> Result<(), TextIndexError> {
        let doing = "verifying";
        let damaged = contained(doing, &self.path, || self.searcher.index().validate_checksum())?;
        if damaged.is_empty() {
            return Ok(());
        }
        let mut names: Vec<String> = damaged.iter().map(|path| path.display().to_string()).collect();
        names.sort();
        Err(TextIndexError::Damaged { doing, path: self.path.clone(), reason: format!("checksum of {}", names.join(", ")) })
    }

    pub(crate) fn part(&self) -> Option<&Part> {
        self.part.as_ref()
    }

    /// Passages that hold `term` in `field`.
    pub(crate) fn document_frequency(&self, field: Field, term: &str) -> Result<u64, TextIndexError> {
        let Some(part) = &self.part else {
            return Ok(0);
        };
        let index = if field == self.fields.body { &part.body } else { &part.identifiers };
        let postings = contained("looking up a term in", &self.path, || Ok(index.terms().get(term)?))?;
        Ok(postings.map_or(0, |postings| u64::from(postings.doc_freq)))
    }

    /// At most `limit` terms of the body that begin with `prefix`.
    pub(crate) fn terms_beginning(&self, prefix: &str, limit: usize) -> Result<Vec<String>, TextIndexError> {
        let Some(part) = &self.part else {
            return Ok(Vec::new());
        };
        contained("looking up a prefix in", &self.path, || {
            let mut stream = part.body.terms().range().ge(prefix).into_stream()?;
            let mut found = Vec::new();
            while let Some((term, _)) = stream.next() {
                if !term.starts_with(prefix.as_bytes()) || found.len() == limit {
                    break;
                }
                found.push(String::from_utf8_lossy(term).into_owned());
            }
            Ok(found)
        })
    }
}

fn open_part(segment: &tantivy::SegmentReader, fields: Fields) -> tantivy::Result<Part> {
    Ok(Part {
        body: segment.inverted_index(fields.body)?,
        identifiers: segment.inverted_index(fields.identifiers)?,
        ordinals: segment.fast_fields().u64(ORDINAL)?.first_or_default_col(0),
    })
}
