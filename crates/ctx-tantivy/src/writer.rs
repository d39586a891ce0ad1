//! Writes one segment, once.
//!
//! One thread indexes in the background while the caller prepares the next passages; beyond its memory budget it spills,
//! and sealing merges the spills in ordinal order, so that document ids follow ordinals and ties are reproducible.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ctx_intent::identifiers::for_each_identifier;
use tantivy::index::SegmentId;
use tantivy::indexer::NoMergePolicy;
use tantivy::schema::document::TantivyDocument;
use tantivy::store::Compressor;
use tantivy::{Index, IndexBuilder, IndexSettings, IndexWriter, ReloadPolicy};

use crate::error::{TextIndexError, contained};
use crate::language::Language;
use crate::reader::SegmentReader;
use crate::schema::{Fields, Note, ORDINAL, register_tokenizers, schema};
use crate::tokenizer::{language_tag, push_identifier};

/// Tantivy refuses a smaller budget.
const MEMORY_BYTES_MIN: usize = 15_000_000;

/// How a segment is written.
#[derive(Debug, Clone, Copy)]
pub struct WriterOptions {
    /// Memory for postings before they spill to disk, in bytes; at least 15 MB. Default 64 MB: a source of about 100 MB of
    /// text stays in memory and is not merged.
    pub memory_bytes: usize,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { memory_bytes: 64_000_000 }
    }
}

/// What a sealed segment holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSegment {
    /// Passages.
    pub documents: u32,
    /// Terms over all passages, repetitions included; divided by `documents`, the mean length that BM25 uses.
    pub tokens: u64,
    /// Passages by language code (`und` where undetermined).
    pub languages: BTreeMap<String, u32>,
    /// Distinct terms.
    pub terms: u64,
    /// Distinct identifiers.
    pub identifiers: u64,
}

/// Writes a segment into its own folder.
pub struct SegmentWriter {
    path: PathBuf,
    fields: Fields,
    index: Index,
    writer: IndexWriter,
    last: Option<u32>,
    documents: u32,
    languages: BTreeMap<String, u32>,
}

impl SegmentWriter {
    /// Starts a segment in the empty or absent folder `path`.
    ///
    /// # Errors
    /// [`TextIndexError::Busy`] if another writer holds the folder, [`TextIndexError::Io`] if it cannot be written.
    pub fn create(path: &Path) -> Result<SegmentWriter, TextIndexError> {
        SegmentWriter::create_with(path, WriterOptions::default())
    }

    /// As [`SegmentWriter::create`], with options.
    ///
    /// # Errors
    /// As [`SegmentWriter::create`].
    pub fn create_with(path: &Path, options: WriterOptions) -> Result<SegmentWriter, TextIndexError> {
        let doing = "creating";
        fs::create_dir_all(path).map_err(|error| TextIndexError::Io { doing, path: path.to_owned(), reason: error.to_string() })?;
        let (schema, fields) = schema();
        let (index, writer) = contained(doing, path, || {
            let settings = IndexSettings {
                docstore_compression: Compressor::None,
                docstore_compress_dedicated_thread: false,
                ..IndexSettings::default()
            };
            let index = IndexBuilder::new().schema(schema).settings(settings).create_in_dir(path)?;
            register_tokenizers(&index);
            let writer = index.writer_with_num_threads(1, options.memory_bytes.max(MEMORY_BYTES_MIN))?;
            writer.set_merge_policy(Box::new(NoMergePolicy));
            Ok((index, writer))
        })?;
        let path = path.to_owned();
        Ok(SegmentWriter { path, fields, index, writer, last: None, documents: 0, languages: BTreeMap::new() })
    }

    /// Adds a passage. `language` is an ISO 639 code, or empty where unknown; see [`crate::language::detect`].
    ///
    /// # Errors
    /// [`TextIndexError::OutOfOrder`] unless ordinals ascend; an I/O error of an earlier passage may surface here.
    pub fn add(&mut self, ordinal: u32, title: &str, text: &str, language: &str) -> Result<(), TextIndexError> {
        if let Some(last) = self.last.filter(|last| *last >= ordinal) {
            return Err(TextIndexError::OutOfOrder { path: self.path.clone(), ordinal, last });
        }
        let language = Language::from_code(language);
        let document = self.document(ordinal, title, text, language);
        contained("adding to", &self.path, || self.writer.add_document(document))?;
        self.last = Some(ordinal);
        self.documents += 1;
        match self.languages.get_mut(language.code()) {
            Some(count) => *count += 1,
            None => drop(self.languages.insert(language.code().to_owned(), 1)),
        }
        Ok(())
    }

    fn document(&self, ordinal: u32, title: &str, text: &str, language: Language) -> TantivyDocument {
        let mut body = String::with_capacity(title.len() + text.len() + 5);
        body.push(language_tag(language));
        body.push_str(title);
        body.push('\n');
        body.push_str(text);
        let mut names = String::new();
        for part in [title, text] {
            for_each_identifier(part, |identifier| push_identifier(&mut names, &identifier.normal));
        }
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.body, body);
        if !names.is_empty() {
            document.add_text(self.fields.identifiers, names);
        }
        document.add_u64(self.fields.ordinal, u64::from(ordinal));
        document
    }

    /// Makes everything durable as one immutable tantivy segment and checks that it opens.
    ///
    /// # Errors
    /// Any [`TextIndexError`]; the folder is then to be thrown away.
    pub fn seal(self) -> Result<SealedSegment, TextIndexError> {
        let SegmentWriter { path, index, mut writer, documents, languages, .. } = self;
        contained("sealing", &path, || {
            writer.commit()?;
            let spills = spills_in_order(&index)?;
            if spills.len() > 1 {
                writer.merge(&spills).wait()?;
                writer.garbage_collect_files().wait()?;
            }
            writer.wait_merging_threads()
        })?;
        Note::new(documents, languages).write(&path)?;
        share_permissions(&path);
        let reader = SegmentReader::open(&path)?;
        reader.contents()
    }
}

/// The spilled segments by their first ordinal: passages came in ascending order, so spills do not overlap.
fn spills_in_order(index: &Index) -> tantivy::Result<Vec<SegmentId>> {
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    let searcher = reader.searcher();
    let mut spills = Vec::new();
    for segment in searcher.segment_readers() {
        let first = segment.fast_fields().u64(ORDINAL)?.first(0).unwrap_or(0);
        spills.push((first, segment.segment_id()));
    }
    spills.sort();
    Ok(spills.into_iter().map(|(_, id)| id).collect())
}

/// Tantivy writes its metadata for the owner alone and the rest for everyone the umask allows; whoever may read the
/// postings needs the metadata too.
#[cfg(unix)]
fn share_permissions(path: &Path) {
    let Ok(pattern) = fs::metadata(path.join(crate::schema::NOTE_FILE)).map(|metadata| metadata.permissions()) else {
        return;
    };
    for name in ["meta.json", ".managed.json"] {
        // Failing is harmless: the owner can still read.
        let _ = fs::set_permissions(path.join(name), pattern.clone());
    }
}

#[cfg(not(unix))]
fn share_permissions(_path: &Path) {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::search::MultiSearcher;

    fn writer(path: &Path, memory_bytes: usize) -> SegmentWriter {
        let mut writer = SegmentWriter::create_with(path, WriterOptions { memory_bytes }).expect("an empty folder");
        for ordinal in 0..2_500 {
            // A hundred digits a word: many distinct terms fill the budget soonest.
            let rare: String = (0..8).map(|part| format!("{:0>100} ", ordinal * 8 + part)).collect();
            let text = format!("common tail{} {rare}", ordinal % 3);
            writer.add(ordinal, "", &text, "en").expect("ascending ordinals");
        }
        writer.writer.commit().expect("a writable folder");
        writer
    }

    /// Spills are merged into one part whose documents stand in the order of their ordinals.
    #[test]
    fn a_spilled_segment_ranks_like_one_that_fits() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let hits = |name: &str, memory_bytes: usize| {
            let path = folder.path().join(name);
            let writer = writer(&path, memory_bytes);
            let spills = spills_in_order(&writer.index).expect("readable spills").len();
            writer.seal().expect("mergeable spills");
            let reader = Arc::new(SegmentReader::open(&path).expect("a sealed segment"));
            reader.verify().expect("sound files");
            let searcher = MultiSearcher::new(vec![reader]);
            (spills, searcher.search("common tail1", 50, &|_, _| false).expect("a readable segment").hits)
        };
        let ((small, spilled), (large, whole)) = (hits("small", MEMORY_BYTES_MIN), hits("large", 200_000_000));
        assert!(small > 1 && large == 1, "spills: {small} and {large}");
        assert_eq!(spilled, whole);
        assert_eq!(spilled[0].ordinal, 1);
    }
}
