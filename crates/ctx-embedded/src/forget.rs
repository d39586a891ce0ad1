//! Recorded runs whose text is gone: what their traces repeat of it is not shown, and a purge takes it out of the store.
//!
//! A run rests on the passages of its context. One of them is gone when no passage with the same content stands in its source
//! and its bytes stand nowhere in its file, or the file is not indexed any more: so text that moved, or that is cut otherwise
//! now, is not gone. What cannot be told (a source of another store, a folder that cannot be read) is taken to stand.

use crate::engine::Engine;
use crate::error::EmbeddedError;
use crate::segment::{Keys, head};
use crate::view::SourceView;
use ctx_contracts::Freshness;
use ctx_ingest::passage_stands;
use ctx_store::{Generation, Writer};
use ctx_types::passage::Locator;
use ctx_types::trace::PassageRef;
use ctx_types::{Citation, SourceName, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How the mark begins that stands in place of what is not shown.
const MARK: &str = "not shown: this run read text of source ";
/// In place of words that came from a source.
const REMOVED: &str = "(removed)";

/// What of the traces' text still stands, in one generation.
pub(crate) struct Standing<'a> {
    engine: &'a Engine,
    generation: Arc<Generation>,
    known: BTreeMap<PassageRef, bool>,
}

impl<'a> Standing<'a> {
    pub(crate) fn of(engine: &'a Engine, generation: Arc<Generation>) -> Standing<'a> {
        Standing { engine, generation, known: BTreeMap::new() }
    }

    /// Takes out of a trace what it repeats of text that is gone; gives the source, if that was done now. `of` are the sources
    /// that are looked at; empty: all.
    pub(crate) fn blank(&mut self, trace: &mut Trace, of: &BTreeSet<SourceName>) -> Option<SourceName> {
        if is_blank(trace) {
            return None;
        }
        let gone = self.gone(trace, of)?;
        blank(trace, &gone);
        Some(gone)
    }

    fn gone(&mut self, trace: &Trace, of: &BTreeSet<SourceName>) -> Option<SourceName> {
        let wanted = |source: &SourceName| of.is_empty() || of.contains(source);
        if trace.context.is_empty() {
            // An answer that was given again: its own run's context is not at hand.
            let mut cited = trace.outcome.citations.iter().filter(|citation| wanted(&citation.locator.source));
            return cited.find(|citation| !self.is_cited(citation)).map(|citation| citation.locator.source.clone());
        }
        let mut read = trace.context.iter().filter(|passage| wanted(&passage.source));
        read.find(|passage| !self.stands(passage)).map(|passage| passage.source.clone())
    }

    fn stands(&mut self, passage: &PassageRef) -> bool {
        if let Some(known) = self.known.get(passage) {
            return *known;
        }
        let found = self.look(passage).unwrap_or_else(|error| {
            tracing::debug!(%error, source = %passage.source, "whether a recorded passage still stands cannot be told");
            true
        });
        self.known.insert(passage.clone(), found);
        found
    }

    fn look(&self, passage: &PassageRef) -> Result<bool, EmbeddedError> {
        let locator = Locator {
            source: passage.source.clone(),
            path: passage.path.clone(),
            bytes: passage.bytes,
            line_start: 1,
            line_end: 1,
            section: String::new(),
            also_at: Vec::new(),
        };
        if self.engine.sources().contains_key(&passage.source)
            && let Some(freshness) = self.engine.recheck_rows(&locator, &passage.fingerprint)?
        {
            return Ok(freshness == Freshness::Current);
        }
        let Some(view) = self.engine.seen(&self.generation, &passage.source) else { return Ok(true) };
        if holds(&view, |keys| keys.with_content(head(&passage.fingerprint)).to_vec())? {
            return Ok(true);
        }
        let files = self.generation.files(&passage.source)?;
        let indexed = files.get(&passage.path).is_some_and(|file| file.segment.is_some());
        Ok(indexed && passage_stands(Path::new(&view.state.root), &locator, &passage.fingerprint)?)
    }

    /// Whether a passage stands at the cited place and holds what is quoted.
    fn is_cited(&self, citation: &Citation) -> bool {
        let source = &citation.locator.source;
        let Some(view) = self.engine.seen(&self.generation, source) else { return true };
        let quoted = |text: &str| citation.quote.as_deref().is_none_or(|quote| text.contains(quote));
        let look = || {
            for segment in &view.segments {
                let filter = segment.filter()?;
                for at in segment.open.keys()?.with_id(&citation.passage).into_iter().filter(|at| filter.is_live(*at)) {
                    let passage = segment.open.passages()?.read(at, source)?;
                    if passage.id == citation.passage {
                        return Ok(quoted(&passage.text));
                    }
                }
            }
            Ok::<bool, EmbeddedError>(false)
        };
        look().unwrap_or(true)
    }
}

/// Whether one of these passages may be shown.
fn holds(view: &SourceView, ordinals: impl Fn(&Keys) -> Vec<u32>) -> Result<bool, EmbeddedError> {
    for segment in &view.segments {
        let filter = segment.filter()?;
        if ordinals(segment.open.keys()?).into_iter().any(|at| filter.is_live(at)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_blank(trace: &Trace) -> bool {
    trace.outcome.notes.first().is_some_and(|note| note.starts_with(MARK))
}

/// Everything that may repeat a source's text goes: answer, quotations, headings, findings, remarks, values of tables. What was
/// asked, planned, measured and spent stays.
fn blank(trace: &mut Trace, gone: &SourceName) {
    let mark = format!("{MARK}`{gone}` that was changed or deleted since");
    let outcome = &mut trace.outcome;
    if !outcome.answer.is_empty() {
        outcome.answer = format!("({mark})");
    }
    for citation in &mut outcome.citations {
        citation.quote = None;
        citation.title = REMOVED.to_owned();
        citation.locator.section.clear();
    }
    if let Some(verdict) = &mut outcome.verdict {
        verdict.findings.clear();
    }
    outcome.notes = vec![mark];
    for source in trace.probe.sources.values_mut() {
        source.table = None;
    }
    for node in &mut trace.nodes {
        node.actual.dropped.clear();
        for receipt in &mut node.actual.receipts {
            receipt.omitted = REMOVED.to_owned();
            receipt.locator.section.clear();
        }
    }
}

impl Engine {
    /// Blanks what recorded runs repeat of text of these sources that is gone, in the store. Gives the number of traces by source.
    pub(crate) fn forget_deleted(&self, writer: &Writer, of: &[SourceName]) -> Result<BTreeMap<SourceName, u64>, EmbeddedError> {
        let mut standing = Standing::of(self, Arc::clone(writer.base()));
        let of: BTreeSet<SourceName> = of.iter().cloned().collect();
        self.traces.purge(writer, |trace| standing.blank(trace, &of))
    }

    /// Traces, newest first, at most `limit`, without what they repeat of text that is gone.
    pub(crate) fn recorded(&self, limit: usize) -> Result<Vec<Trace>, EmbeddedError> {
        let mut traces = self.traces.newest(limit)?;
        // A store that holds no generation holds no text that could be gone.
        let Ok(generation) = self.store().current() else { return Ok(traces) };
        let mut standing = Standing::of(self, generation);
        for trace in &mut traces {
            standing.blank(trace, &BTreeSet::new());
        }
        Ok(traces)
    }
}
