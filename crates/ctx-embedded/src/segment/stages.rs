//! The threads behind a segment under construction, each behind a bounded queue, so that memory is bounded too.
//!
//! ```text
//! caller: read, cut, count ──▶ measure: token ids, document frequencies, keys, sensitive values
//!                          ──▶ write: passages, database, text index ──▶ (tantivy's own thread)
//! ```
//!
//! Rows pass every stage in order, so a segment is the same however the threads were scheduled. A stage that fails closes
//! its queue; the stages before it stop at their next batch and the error comes out when they are waited for.

use super::keys::Keys;
use super::spool::SpoolWriter;
use super::{PASSAGES_FILE, SPOOL_FILE, TERMS_FILE, TEXT_FOLDER};
use crate::error::EmbeddedError;
use crate::rows::row;
use crossbeam_channel::{Receiver, Sender, bounded};
use ctx_duckdb::{DocumentRow, SEGMENT_FILE};
use ctx_embed::{IdfBuilder, StaticModel, TokenReader};
use ctx_intent::sensitive::{self, Detector};
use ctx_store::{DictionaryBuilder, DictionaryTotals, PassageWriter, TermCount};
use ctx_types::Passage;
use std::collections::BTreeMap;
use std::path::Path;
use std::thread::JoinHandle;

/// Batches before each stage.
const BATCHES_MAX: usize = 8;

/// A row on its way through the stages.
pub(super) enum Row {
    /// A document; its passages follow.
    Document(DocumentRow),
    /// A passage and its language.
    Passage(Passage, String),
    /// Nothing follows. A queue that closes without it was abandoned.
    End,
}

/// How passages are measured.
pub(super) struct Measure {
    pub(super) model: &'static StaticModel,
    /// Whether sensitive values are looked for.
    pub(super) scans: bool,
    /// Document frequencies so far; handed back in [`Measured`].
    pub(super) counts: IdfBuilder,
}

/// What is kept of a segment besides its rows.
pub(super) struct Measured {
    pub(super) counts: IdfBuilder,
    pub(super) facts: Facts,
}

/// Facts about the passages of one segment.
#[derive(Default)]
pub(super) struct Facts {
    /// Passages of each document.
    pub(super) passages_of: Vec<u32>,
    pub(super) keys: Keys,
    /// Sensitive values per document, by detector.
    pub(super) sensitive: BTreeMap<u32, BTreeMap<String, u64>>,
}

/// A thread that is waited for whatever happens, so that none outlives the folder it writes to.
pub(super) struct Stage<T> {
    handle: Option<JoinHandle<Result<T, EmbeddedError>>>,
}

impl<T: Send + 'static> Stage<T> {
    fn spawn(name: &str, folder: &Path, work: impl FnOnce() -> Result<T, EmbeddedError> + Send + 'static) -> Result<Self, EmbeddedError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        Ok(Stage { handle: Some(thread.map_err(EmbeddedError::io("starting a thread for", folder))?) })
    }

    /// Its value; a panic becomes an error.
    pub(super) fn wait(mut self) -> Result<T, EmbeddedError> {
        let doing = "writing a segment";
        let handle = self.handle.take().ok_or_else(|| EmbeddedError::Thread { doing, reason: "it was waited for twice".to_owned() })?;
        handle.join().map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            EmbeddedError::Thread { doing, reason: text.unwrap_or_else(|| "it panicked".to_owned()) }
        })?
    }
}

impl<T> Drop for Stage<T> {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            // Whoever drops it has an error of its own already.
            let _ = handle.join();
        }
    }
}

/// Both stages of one segment and the queue before them.
pub(super) struct Stages {
    /// Dropped before the threads are waited for.
    pub(super) rows: Sender<Vec<Row>>,
    pub(super) measuring: Stage<Measured>,
    pub(super) writing: Stage<()>,
}

impl Stages {
    /// Starts the threads for a segment in `folder`.
    pub(super) fn start(folder: &Path, measure: Measure) -> Result<Stages, EmbeddedError> {
        let spool = SpoolWriter::create(&folder.join(SPOOL_FILE))?;
        let (rows, to_measure) = bounded(BATCHES_MAX);
        let (measured, to_write) = bounded(BATCHES_MAX);
        let target = folder.to_owned();
        let writing = Stage::spawn("ctx-write", folder, move || write(&target, &to_write))?;
        let measuring = Stage::spawn("ctx-measure", folder, move || measure.run(spool, &to_measure, &measured))?;
        Ok(Stages { rows, measuring, writing })
    }
}

impl Measure {
    fn run(mut self, mut spool: SpoolWriter, rows: &Receiver<Vec<Row>>, measured: &Sender<Vec<Row>>) -> Result<Measured, EmbeddedError> {
        let (mut facts, mut ids, mut reader) = (Facts::default(), Vec::new(), self.model.token_reader());
        for batch in rows {
            for row in &batch {
                match row {
                    Row::Document(_) => facts.passages_of.push(0),
                    Row::Passage(passage, _) => {
                        token_ids(&mut reader, passage, &mut ids);
                        self.counts.add_document(&ids);
                        spool.push(&ids)?;
                        facts.add(passage, self.scans);
                    }
                    Row::End => {}
                }
            }
            if measured.send(batch).is_err() {
                break;
            }
        }
        spool.finish()?;
        Ok(Measured { counts: self.counts, facts })
    }
}

/// The title names what the text is about; a text that holds it has said so already.
fn token_ids(reader: &mut TokenReader<'_>, passage: &Passage, ids: &mut Vec<u32>) {
    ids.clear();
    if !passage.text.contains(&passage.title) {
        reader.read(&passage.title, ids);
    }
    reader.read(&passage.text, ids);
}

impl Facts {
    fn add(&mut self, passage: &Passage, scans: bool) {
        let document = self.passages_of.len().saturating_sub(1) as u32;
        if let Some(last) = self.passages_of.last_mut() {
            *last += 1;
        }
        self.keys.push(&passage.id, &passage.fingerprint);
        if scans {
            sensitive::for_each(&passage.text, |detector, _| {
                if detector == Detector::Url {
                    return;
                }
                let counts = self.sensitive.entry(document).or_default();
                *counts.entry(detector.name().to_owned()).or_insert(0) += 1;
            });
        }
    }
}

/// The last stage: rows to passage file, database and text index, then the term dictionary.
fn write(folder: &Path, batches: &Receiver<Vec<Row>>) -> Result<(), EmbeddedError> {
    let mut passages = PassageWriter::create(&folder.join(PASSAGES_FILE))?;
    let mut rows = ctx_duckdb::SegmentWriter::create(&folder.join(SEGMENT_FILE), None)?;
    let text_folder = folder.join(TEXT_FOLDER);
    let mut text = ctx_tantivy::SegmentWriter::create(&text_folder)?;
    let mut is_complete = false;
    for item in batches.iter().flatten() {
        match item {
            Row::Document(document) => {
                rows.add_document(document)?;
            }
            Row::Passage(passage, language) => {
                text.add(rows.totals().passages, &passage.title, &passage.text, &language)?;
                passages.push(&passage)?;
                rows.add_passage(row(&passage), None)?;
            }
            Row::End => is_complete = true,
        }
    }
    if !is_complete {
        return Err(EmbeddedError::Thread { doing: "writing a segment", reason: "it was abandoned".to_owned() });
    }
    // The text index has a thread of its own to wait for; the database is sealed meanwhile.
    let (sealed, totals) = std::thread::scope(|scope| {
        let sealing = scope.spawn(move || text.seal());
        let totals = passages.finish().map_err(EmbeddedError::from).and_then(|()| Ok(rows.finish()?));
        (sealing.join(), totals)
    });
    let totals = totals?;
    let sealed = sealed.map_err(|_| EmbeddedError::Thread { doing: "sealing a text index", reason: "it panicked".to_owned() })??;
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
