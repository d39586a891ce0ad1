//! Building segments: passages in, sealed folders out.
//!
//! The rows go through the [`stages`](super::stages) as they come. Vectors come last: their weights need every passage of
//! the run. They are made while the last segment's text index is still being sealed.

use super::note::{NOTE_VERSION, SegmentNote, identity_bytes};
use super::stages::{Facts, Measure, Measured, Row, Stage, Stages};
use super::{IDF_FILE, KEYS_FILE, NOTE_FILE, RANGES_FILE, SPOOL_FILE, VECTORS_FILE, spool};
use crate::error::EmbeddedError;
use ctx_duckdb::DocumentRow;
use ctx_embed::{IdfBuilder, IdfTable, StaticModel};
use ctx_store::{PassageRanges, SegmentBuild, SegmentRef, SegmentSize, VectorWriter, Writer};
use ctx_types::{Passage, SourceName};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Text of a segment after which the next file begins another one: bounds what is kept of a segment in memory.
const SEGMENT_TEXT_BYTES: u64 = 192 << 20;
/// Text of a batch on its way to the next stage.
const BATCH_BYTES: usize = 256 << 10;
/// Rows of a batch: a title may stand for a whole document.
const BATCH_ROWS: usize = 4096;

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
    model: &'static StaticModel,
    scans: bool,
    current: Option<Building>,
    written: Vec<Written>,
    /// Absent while a segment's stage holds it.
    counts: Option<IdfBuilder>,
}

/// The segment that is being filled. Fields are dropped in this order: threads end before their folder goes.
struct Building {
    stages: Stages,
    build: SegmentBuild,
    documents: u32,
    batch: Vec<Row>,
    batch_bytes: usize,
    text_bytes: u64,
}

/// A segment whose passages are measured and whose vectors are not made yet.
struct Written {
    /// `None` once it was waited for.
    writing: Option<Stage<()>>,
    build: SegmentBuild,
    facts: Facts,
}

impl<'a> SegmentsBuilder<'a> {
    /// A builder that looks for sensitive values if `scans`.
    pub(crate) fn new(writer: &'a Writer, source: &'a SourceName, model: &'static StaticModel, scans: bool) -> Self {
        SegmentsBuilder { writer, source, model, scans, current: None, written: Vec::new(), counts: None }
    }

    /// Begins a file: its documents stand in one segment.
    pub(crate) fn begin_file(&mut self) -> Result<(), EmbeddedError> {
        if self.current.as_ref().is_some_and(|current| current.text_bytes >= SEGMENT_TEXT_BYTES) {
            self.measured()?;
            // One segment at a time is written: each has buffers of many megabytes.
            if let Some(writing) = self.written.last_mut().and_then(|written| written.writing.take()) {
                writing.wait()?;
            }
        }
        Ok(())
    }

    /// Adds a document; its passages follow.
    pub(crate) fn document(&mut self, row: DocumentRow) -> Result<Place, EmbeddedError> {
        if self.current.is_none() {
            let counts = self.counts.take().unwrap_or_else(|| IdfBuilder::new(self.model.vocabulary_len()));
            let measure = Measure { model: self.model, scans: self.scans, counts };
            self.current = Some(Building::begin(self.writer.begin_segment(self.source)?, measure)?);
        }
        let segment = self.written.len();
        let current = self.current.as_mut().expect("it was begun above");
        let document = current.documents;
        current.documents += 1;
        self.push(Row::Document(row), 0)?;
        Ok(Place { segment, document })
    }

    /// Adds a passage of the document added last.
    pub(crate) fn passage(&mut self, passage: Passage, language: &str) -> Result<(), EmbeddedError> {
        let bytes = passage.text.len();
        self.push(Row::Passage(passage, language.to_owned()), bytes)
    }

    fn push(&mut self, row: Row, bytes: usize) -> Result<(), EmbeddedError> {
        let current = self.current.as_mut().expect("a document precedes its passages");
        if current.push(row, bytes) {
            return Ok(());
        }
        // A stage has stopped: why, it says when it is waited for.
        let stopped = self.current.take().expect("it was used above");
        let reason = "it stopped before the last row".to_owned();
        Err(stopped.stop().err().unwrap_or(EmbeddedError::Thread { doing: "writing a segment", reason }))
    }

    /// Sends the rest of the current segment and waits until it is measured; writing goes on.
    fn measured(&mut self) -> Result<(), EmbeddedError> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        current.batch.push(Row::End);
        if !current.send() {
            return current.stop();
        }
        // Dropped from the right where something fails: threads end before their folder goes.
        let Building { build, stages: Stages { writing, measuring, rows }, .. } = current;
        drop(rows);
        let Measured { counts, facts } = measuring.wait()?;
        self.counts = Some(counts);
        self.written.push(Written { writing: Some(writing), build, facts });
        Ok(())
    }

    /// Makes the vectors (with `frozen` weights, or weights counted in this run) and seals every segment.
    pub(crate) fn finish(mut self, frozen: Option<IdfTable>) -> Result<(Vec<NewSegment>, IdfTable), EmbeddedError> {
        self.measured()?;
        let counts = self.counts.take().unwrap_or_else(|| IdfBuilder::new(self.model.vocabulary_len()));
        let idf = frozen.unwrap_or_else(|| counts.finish());
        let segments = self.written.into_iter().map(|written| written.seal(self.model, &idf)).collect::<Result<_, _>>()?;
        Ok((segments, idf))
    }
}

impl Building {
    fn begin(build: SegmentBuild, measure: Measure) -> Result<Building, EmbeddedError> {
        let stages = Stages::start(build.path(), measure)?;
        Ok(Building { stages, build, documents: 0, batch: Vec::new(), batch_bytes: 0, text_bytes: 0 })
    }

    /// Whether the stages still take rows.
    fn push(&mut self, row: Row, bytes: usize) -> bool {
        self.batch.push(row);
        self.batch_bytes += bytes;
        self.text_bytes += bytes as u64;
        (self.batch_bytes < BATCH_BYTES && self.batch.len() < BATCH_ROWS) || self.send()
    }

    fn send(&mut self) -> bool {
        self.batch_bytes = 0;
        self.stages.rows.send(std::mem::take(&mut self.batch)).is_ok()
    }

    /// Waits for the stages and gives the error of the one that failed.
    fn stop(self) -> Result<(), EmbeddedError> {
        let Stages { rows, measuring, writing } = self.stages;
        drop(rows);
        measuring.wait()?;
        writing.wait()
    }
}

impl Written {
    fn seal(self, model: &StaticModel, idf: &IdfTable) -> Result<NewSegment, EmbeddedError> {
        let Written { build, facts, writing } = self;
        let Facts { passages_of, keys, sensitive } = facts;
        let folder = build.path().to_owned();
        let file = |name: &str| -> PathBuf { folder.join(name) };
        PassageRanges::write(&file(RANGES_FILE), &passages_of)?;
        keys.write(&file(KEYS_FILE))?;
        let size = SegmentSize { documents: passages_of.len() as u32, passages: passages_of.iter().sum() };
        let note = embed(model, idf, &folder, size.passages, sensitive)?;
        note.write(&file(NOTE_FILE))?;
        std::fs::write(file(IDF_FILE), idf.to_bytes()).map_err(EmbeddedError::io("writing", &file(IDF_FILE)))?;
        std::fs::remove_file(file(SPOOL_FILE)).map_err(EmbeddedError::io("removing", &file(SPOOL_FILE)))?;
        if let Some(writing) = writing {
            writing.wait()?;
        }
        Ok(NewSegment { reference: build.seal(size)? })
    }
}

fn embed(
    model: &StaticModel,
    idf: &IdfTable,
    folder: &Path,
    passages: u32,
    sensitive: BTreeMap<u32, BTreeMap<String, u64>>,
) -> Result<SegmentNote, EmbeddedError> {
    let embedding = model.identity().with_idf(idf);
    let mut vectors = VectorWriter::create(&folder.join(VECTORS_FILE), model.dimension(), identity_bytes(&embedding), passages)?;
    let mut note = SegmentNote { version: NOTE_VERSION, embedding, sensitive, vector_sum: vec![0.0; model.dimension()], vectors: 0 };
    let mut vector = vec![0.0; model.dimension()];
    spool::for_each(&folder.join(SPOOL_FILE), |ids| {
        if model.embed_tokens(ids, idf, &mut vector) {
            note.vectors += 1;
            note.vector_sum.iter_mut().zip(&vector).for_each(|(sum, value)| *sum += value);
        }
        Ok(vectors.push(&vector)?)
    })?;
    vectors.finish()?;
    Ok(note)
}
