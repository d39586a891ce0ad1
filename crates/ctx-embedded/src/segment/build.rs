//! Building segments: passages in, sealed folders out.
//!
//! ```text
//! caller: read, cut, count, tokenize ──batches──▶ writer thread: database rows, text index ──▶ (tantivy's own thread)
//! ```
//!
//! Queues are bounded, so that memory is. Vectors come last: their weights need every passage of the run.

use super::keys::Keys;
use super::note::{NOTE_VERSION, SegmentNote, identity_bytes};
use super::spool::{self, SpoolWriter};
use super::{IDF_FILE, KEYS_FILE, NOTE_FILE, RANGES_FILE, SPOOL_FILE, TERMS_FILE, TEXT_FOLDER, VECTORS_FILE};
use crate::error::EmbeddedError;
use crossbeam_channel::{Receiver, Sender, bounded};
use ctx_duckdb::{DocumentRow, PassageRow, SEGMENT_FILE};
use ctx_embed::{IdfBuilder, IdfTable, StaticModel};
use ctx_intent::sensitive;
use ctx_store::{
    DictionaryBuilder, DictionaryTotals, PassageRanges, SegmentBuild, SegmentRef, SegmentSize, TermCount, VectorWriter, Writer,
};
use ctx_types::SourceName;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

/// Text of a segment after which the next file begins another one: bounds the vectors held while they are written.
const SEGMENT_TEXT_BYTES: u64 = 192 << 20;
/// Text of a batch on its way to the writer thread.
const BATCH_BYTES: usize = 256 << 10;
/// Batches on their way.
const BATCHES_MAX: usize = 8;

/// A row on its way to the writer thread.
enum Row {
    Document(DocumentRow),
    Passage(PassageRow, String),
}

/// A segment that is written and sealed.
#[derive(Debug)]
pub(crate) struct NewSegment {
    pub(crate) reference: SegmentRef,
}

/// Where a document went: which of the new segments, which ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) segment: usize,
    pub(crate) document: u32,
}

/// Builds the segments of one run over one source.
pub(crate) struct SegmentsBuilder<'a> {
    writer: &'a Writer,
    source: &'a SourceName,
    model: &'a StaticModel,
    scans: bool,
    current: Option<Building>,
    written: Vec<Written>,
    counts: IdfBuilder,
    ids: Vec<u32>,
}

/// The segment that is being filled.
struct Building {
    parts: Parts,
    rows: Sender<Vec<Row>>,
    thread: JoinHandle<Result<(), EmbeddedError>>,
    batch: Vec<Row>,
    batch_bytes: usize,
    text_bytes: u64,
    spool: SpoolWriter,
}

/// What is kept of a segment besides its rows.
struct Parts {
    build: SegmentBuild,
    passages_of: Vec<u32>,
    keys: Keys,
    sensitive: BTreeMap<u32, BTreeMap<String, u64>>,
}

/// A segment whose rows are on disk and whose vectors are not.
struct Written {
    parts: Parts,
}

impl<'a> SegmentsBuilder<'a> {
    /// A builder that looks for sensitive values if `scans`.
    pub(crate) fn new(writer: &'a Writer, source: &'a SourceName, model: &'a StaticModel, scans: bool) -> Self {
        let counts = IdfBuilder::new(model.vocabulary_len());
        SegmentsBuilder { writer, source, model, scans, current: None, written: Vec::new(), counts, ids: Vec::new() }
    }

    /// Begins a file: its documents stand in one segment.
    pub(crate) fn begin_file(&mut self) -> Result<(), EmbeddedError> {
        if self.current.as_ref().is_some_and(|current| current.text_bytes >= SEGMENT_TEXT_BYTES) {
            self.close()?;
        }
        Ok(())
    }

    /// Adds a document; its passages follow.
    pub(crate) fn document(&mut self, row: DocumentRow) -> Result<Place, EmbeddedError> {
        if self.current.is_none() {
            self.current = Some(Building::begin(self.writer.begin_segment(self.source)?)?);
        }
        let segment = self.written.len();
        let current = self.current.as_mut().expect("it was begun above");
        let document = current.parts.passages_of.len() as u32;
        current.parts.passages_of.push(0);
        current.push(Row::Document(row), 0)?;
        Ok(Place { segment, document })
    }

    /// Adds a passage of the document added last.
    pub(crate) fn passage(&mut self, row: PassageRow, language: &str) -> Result<(), EmbeddedError> {
        self.ids.clear();
        // The title names what the text is about; a text that holds it has said so already.
        if !row.text.contains(&row.title) {
            self.model.tokenize_into(&row.title, &mut self.ids);
        }
        self.model.tokenize_into(&row.text, &mut self.ids);
        self.counts.add_document(&self.ids);
        let current = self.current.as_mut().expect("a document precedes its passages");
        current.spool.push(&self.ids)?;
        let document = current.parts.passages_of.len() as u32 - 1;
        *current.parts.passages_of.last_mut().expect("a document precedes its passages") += 1;
        current.parts.keys.push(&row.id, &row.fingerprint);
        if self.scans {
            sensitive::for_each(&row.text, |detector, _| {
                let counts = current.parts.sensitive.entry(document).or_default();
                *counts.entry(detector.name().to_owned()).or_insert(0) += 1;
            });
        }
        let bytes = row.text.len();
        current.push(Row::Passage(row, language.to_owned()), bytes)
    }

    fn close(&mut self) -> Result<(), EmbeddedError> {
        if let Some(current) = self.current.take() {
            self.written.push(current.finish()?);
        }
        Ok(())
    }

    /// Makes the vectors (with `frozen` weights, or weights counted in this run) and seals every segment.
    pub(crate) fn finish(mut self, frozen: Option<IdfTable>) -> Result<(Vec<NewSegment>, IdfTable), EmbeddedError> {
        self.close()?;
        let idf = frozen.unwrap_or_else(|| self.counts.finish());
        let segments = self.written.into_iter().map(|written| written.seal(self.model, &idf)).collect::<Result<_, _>>()?;
        Ok((segments, idf))
    }
}

impl Building {
    fn begin(build: SegmentBuild) -> Result<Building, EmbeddedError> {
        let folder = build.path().to_owned();
        let spool = SpoolWriter::create(&folder.join(SPOOL_FILE))?;
        let (rows, batches) = bounded(BATCHES_MAX);
        let thread = std::thread::Builder::new()
            .name("ctx-index".to_owned())
            .spawn(move || write_rows(&folder, &batches))
            .map_err(EmbeddedError::io("starting a thread for", build.path()))?;
        let parts = Parts { build, passages_of: Vec::new(), keys: Keys::default(), sensitive: BTreeMap::new() };
        Ok(Building { parts, rows, thread, batch: Vec::new(), batch_bytes: 0, text_bytes: 0, spool })
    }

    fn push(&mut self, row: Row, bytes: usize) -> Result<(), EmbeddedError> {
        self.batch.push(row);
        self.batch_bytes += bytes;
        self.text_bytes += bytes as u64;
        if self.batch_bytes >= BATCH_BYTES {
            self.batch_bytes = 0;
            let batch = std::mem::take(&mut self.batch);
            // A closed channel means that the writer failed: its error comes out when the segment is finished.
            let _ = self.rows.send(batch);
        }
        Ok(())
    }

    fn finish(self) -> Result<Written, EmbeddedError> {
        let Building { parts, rows, thread, batch, spool, .. } = self;
        let _ = rows.send(batch);
        drop(rows);
        join(thread, "writing a segment")??;
        spool.finish()?;
        Ok(Written { parts })
    }
}

/// A thread's value; a panic becomes an error.
pub(crate) fn join<T>(thread: JoinHandle<T>, doing: &'static str) -> Result<T, EmbeddedError> {
    thread.join().map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        EmbeddedError::Thread { doing, reason: text.unwrap_or_else(|| "it panicked".to_owned()) }
    })
}

/// The writer thread: rows to database and text index, then the term dictionary.
fn write_rows(folder: &Path, batches: &Receiver<Vec<Row>>) -> Result<(), EmbeddedError> {
    let mut rows = ctx_duckdb::SegmentWriter::create(&folder.join(SEGMENT_FILE), None)?;
    let text_folder = folder.join(TEXT_FOLDER);
    let mut text = ctx_tantivy::SegmentWriter::create(&text_folder)?;
    for batch in batches {
        for row in batch {
            match row {
                Row::Document(document) => {
                    rows.add_document(document)?;
                }
                Row::Passage(passage, language) => {
                    text.add(rows.totals().passages, &passage.title, &passage.text, &language)?;
                    rows.add_passage(passage, None)?;
                }
            }
        }
    }
    let totals = rows.finish()?;
    let sealed = text.seal()?;
    write_terms(
        &text_folder,
        &folder.join(TERMS_FILE),
        DictionaryTotals { documents: u64::from(totals.documents), passages: u64::from(totals.passages), tokens: sealed.tokens },
    )
}

/// The dictionary that probes ask: the text index's terms in a file that is mapped and never searched.
fn write_terms(text_folder: &Path, path: &Path, totals: DictionaryTotals) -> Result<(), EmbeddedError> {
    let reader = ctx_tantivy::SegmentReader::open(text_folder)?;
    let mut terms = DictionaryBuilder::default();
    let mut failed = Ok(());
    reader.for_each_term(|term, passages| {
        if failed.is_ok() {
            failed = terms.add_term(term, TermCount { passages, occurrences: passages });
        }
    })?;
    reader.for_each_identifier(|identifier, passages| {
        if failed.is_ok() {
            failed = terms.add_identifier(identifier, passages);
        }
    })?;
    failed?;
    Ok(terms.finish(path, totals)?)
}

impl Written {
    fn seal(self, model: &StaticModel, idf: &IdfTable) -> Result<NewSegment, EmbeddedError> {
        let Parts { build, passages_of, keys, sensitive } = self.parts;
        let folder = build.path().to_owned();
        let file = |name: &str| -> PathBuf { folder.join(name) };
        PassageRanges::write(&file(RANGES_FILE), &passages_of)?;
        keys.write(&file(KEYS_FILE))?;
        let note = embed(model, idf, &folder, sensitive)?;
        note.write(&file(NOTE_FILE))?;
        std::fs::write(file(IDF_FILE), idf.to_bytes()).map_err(EmbeddedError::io("writing", &file(IDF_FILE)))?;
        std::fs::remove_file(file(SPOOL_FILE)).map_err(EmbeddedError::io("removing", &file(SPOOL_FILE)))?;
        let size = SegmentSize { documents: passages_of.len() as u32, passages: passages_of.iter().sum() };
        Ok(NewSegment { reference: build.seal(size)? })
    }
}

fn embed(
    model: &StaticModel,
    idf: &IdfTable,
    folder: &Path,
    sensitive: BTreeMap<u32, BTreeMap<String, u64>>,
) -> Result<SegmentNote, EmbeddedError> {
    let embedding = model.identity().with_idf(idf);
    let mut vectors = VectorWriter::new(model.dimension(), identity_bytes(&embedding))?;
    let mut note = SegmentNote { version: NOTE_VERSION, embedding, sensitive, vector_sum: vec![0.0; model.dimension()], vectors: 0 };
    let mut vector = vec![0.0; model.dimension()];
    spool::for_each(&folder.join(SPOOL_FILE), |ids| {
        if model.embed_tokens(ids, idf, &mut vector) {
            note.vectors += 1;
            note.vector_sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        }
        Ok(vectors.push(&vector)?)
    })?;
    vectors.finish(&folder.join(VECTORS_FILE))?;
    Ok(note)
}
