//! One source, one run: compare, read, publish, merge. The caller holds the writer's lock.

use super::changes::{Changes, changes, now_ns, stat};
use super::files::{Abandoned, FileReader, Indexed, Outcome, entry};
use super::merge::{self, Moved};
use crate::error::EmbeddedError;
use crate::place::{self, Place};
use crate::segment::{NewSegment, OpenSegment, SegmentsBuilder};
use crate::settings;
use crate::statistics::{STATISTICS_NOTE, SourceStatistics, sensitive_warning};
use crate::tokens::O200k;
use crate::view::{SourceView, Views};
use ctx_contracts::{IndexEvent, IndexOptions, IndexReport, SkippedFile};
use ctx_embed::{IdfTable, StaticModel};
use ctx_ingest::{ChunkOptions, Entry, IngestOptions, Stamp};
use ctx_runtime::config::{AutoLabel, SourceConfig};
use ctx_store::{Change, FileEntry, FileList, Generation, IdfIdentity, SegmentId, SegmentRef, SourceState, SourceUpdate, Writer};
use ctx_types::SourceName;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// Skipped files and warnings that a report lists; all are counted.
const LISTED_MAX: usize = 1_000;

/// What a run needs to know.
pub(crate) struct RunContext<'a> {
    pub(crate) name: &'a SourceName,
    pub(crate) config: &'a SourceConfig,
    pub(crate) model: &'static StaticModel,
    pub(crate) counter: O200k,
    pub(crate) exclude: &'a [PathBuf],
    pub(crate) views: &'a Views,
    pub(crate) progress: &'a dyn Fn(IndexEvent),
    pub(crate) cancelled: &'a dyn Fn() -> bool,
    /// Whether every segment is verified whole before it is trusted.
    pub(crate) verify: bool,
    /// What the run does beyond bringing the source up to date.
    pub(crate) options: IndexOptions,
}

/// The published side of a source.
struct Published {
    state: Option<SourceState>,
    files: Arc<FileList>,
    trusted: BTreeSet<SegmentId>,
    settings_agree: bool,
    damaged: Vec<String>,
    /// How passages are cut from now on.
    chunk: ChunkOptions,
}

impl RunContext<'_> {
    /// What is published and how much of it can be kept.
    fn published(&self, base: &Arc<Generation>) -> Result<Published, EmbeddedError> {
        let chunk = settings::chunk(self.options.max_chunk_tokens, base.source(self.name))?;
        let Some(view) = self.views.get(base, self.name) else {
            return Ok(Published {
                chunk,
                state: None,
                files: Arc::default(),
                trusted: BTreeSet::new(),
                settings_agree: true,
                damaged: Vec::new(),
            });
        };
        let mut damaged = Vec::new();
        let files = match base.files(self.name).map_err(EmbeddedError::from) {
            Ok(files) => files,
            Err(error) if error.is_damage() => {
                damaged.push(error.to_string());
                Arc::default()
            }
            Err(error) => return Err(error),
        };
        let is_kept = !self.options.rebuild && view.state.settings_digest == settings::digest(self.model, chunk);
        let settings_agree = is_kept && damaged.is_empty();
        let mut trusted = BTreeSet::new();
        for segment in view.segments.iter().filter(|_| settings_agree) {
            match if self.verify { segment.open.check() } else { segment.open.is_complete() } {
                Ok(()) => {
                    trusted.insert(segment.open.id.clone());
                }
                Err(error) if error.is_damage() => damaged.push(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        Ok(Published { state: Some(view.state.clone()), files, trusted, settings_agree, damaged, chunk })
    }

    fn compare(&self, published: &Published) -> Result<Changes, EmbeddedError> {
        let is_trusted = |entry: &FileEntry| {
            published.settings_agree && entry.segment.as_ref().is_none_or(|segment| published.trusted.contains(segment))
        };
        changes(&self.config.path, self.exclude, &published.files, is_trusted)
    }

    /// Whether an indexing run would publish anything. Takes no lock.
    pub(crate) fn is_stale(&self, base: &Arc<Generation>) -> Result<bool, EmbeddedError> {
        let published = self.published(base)?;
        if published.state.is_none() || !published.damaged.is_empty() || !published.settings_agree {
            return Ok(true);
        }
        Ok(self.moved(&published) || !self.compare(&published)?.is_empty())
    }

    /// Whether the source's path leads elsewhere than where what is published was read from.
    fn moved(&self, published: &Published) -> bool {
        published.state.as_ref().is_some_and(|state| !place::is_published_from(state, &self.config.path))
    }

    /// Brings the source up to date.
    pub(crate) fn index(&self, writer: &mut Writer) -> Result<IndexReport, EmbeddedError> {
        let base = Arc::clone(writer.base());
        let published = self.published(&base)?;
        let changes = self.compare(&published)?;
        (self.progress)(IndexEvent::Found { source: self.name.clone(), files: (changes.to_read.len() + changes.unchanged.len()) as u64 });
        let mut report = Reporter::new(self.name, &published, &changes);
        let is_new = published.state.is_none() || !published.damaged.is_empty() || !published.settings_agree;
        if is_new || self.moved(&published) || !changes.is_empty() {
            self.update(writer, &base, &published, &changes, &mut report)?;
        }
        drop(base);
        if let Some(refresh_idf) = self.wants_merge(writer)? {
            self.merge(writer, refresh_idf)?;
            report.report.merged = true;
        }
        self.views.clear();
        if self.options.purge {
            writer.sweep()?;
        }
        let generation = Arc::clone(writer.base());
        Ok(report.finish(&generation, self))
    }

    /// Reads what changed and publishes it.
    fn update(
        &self,
        writer: &mut Writer,
        base: &Arc<Generation>,
        published: &Published,
        changes: &Changes,
        report: &mut Reporter,
    ) -> Result<(), EmbeddedError> {
        let changed = changes.to_read.len() + changes.gone.len();
        // Reading all of a source costs no more than reading half of it and merging.
        let frozen = if changed >= changes.unchanged.len() { None } else { self.frozen(base, published) };
        let everything = frozen.is_none();
        let mut to_read = changes.to_read.clone();
        if everything {
            to_read.extend(changes.unchanged.iter().map(|(path, entry)| Entry { path: path.clone(), stamp: stamp(entry) }));
            to_read.sort();
        }
        let options = IngestOptions { chunk: published.chunk, ..IngestOptions::new(self.name.clone()) };
        let reader = FileReader { root: &changes.root, options, counter: self.counter };
        let read = self.read(writer, &reader, &to_read, frozen, report)?;
        let mut files = FileList::default();
        if !everything {
            for (path, entry) in &changes.unchanged {
                files.insert(path.clone(), entry.clone());
            }
        }
        let mut update = SourceUpdate::new(self.name.clone(), changes.root.to_string_lossy());
        for indexed in &read.indexed {
            let segment = indexed.first.map(|place| read.segments[place.segment].reference.id.clone());
            files.insert(indexed.head.path.clone(), FileEntry { segment, ..entry(indexed) });
        }
        for skipped in &read.skipped {
            let entry = FileEntry { stat: stat(&skipped.stamp), indexed_at_ns: now_ns(), ..FileEntry::new("") };
            files.insert(skipped.path.clone(), entry);
        }
        for abandoned in &read.abandoned {
            let id = read.segments[abandoned.first.segment].reference.id.clone();
            let range = abandoned.first.document..abandoned.first.document + abandoned.documents;
            update.tombstones.entry(id).or_default().extend(range);
        }
        self.bury(published, &files, everything, &mut update);
        update.add_segments = read.segments.into_iter().map(|segment| segment.reference).collect();
        update.files = Some(files);
        self.describe(&mut update, base, published, &read.idf)?;
        writer.publish(vec![Change::Update(update)])?;
        Ok(())
    }

    /// The weights that the kept vectors were made with; `None` where there is nothing to keep or it cannot be told.
    fn frozen(&self, base: &Arc<Generation>, published: &Published) -> Option<IdfTable> {
        let view = self.views.get(base, self.name)?;
        view.embedding(self.model).ok()?;
        let kept = view.segments.iter().find(|segment| published.trusted.contains(&segment.open.id))?;
        kept.open.idf().ok().cloned()
    }

    fn read(
        &self,
        writer: &Writer,
        reader: &FileReader<'_>,
        to_read: &[Entry],
        frozen: Option<IdfTable>,
        report: &mut Reporter,
    ) -> Result<Read, EmbeddedError> {
        let mut builder = SegmentsBuilder::new(writer, self.name, self.model, self.config.auto_label != AutoLabel::Off);
        let (mut indexed, mut abandoned, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for (done, entry) in to_read.iter().enumerate() {
            if (self.cancelled)() {
                return Err(EmbeddedError::Cancelled { name: self.name.to_string() });
            }
            match reader.add(&mut builder, entry, &mut abandoned)? {
                Outcome::Indexed(file) => {
                    report.indexed(&file);
                    indexed.push(file);
                }
                Outcome::Skipped { reason } => {
                    report.skipped(&entry.path, reason);
                    skipped.push(entry.clone());
                }
            }
            (self.progress)(IndexEvent::Progress { source: self.name.clone(), done: done as u64 + 1, total: to_read.len() as u64 });
        }
        let (segments, idf) = builder.finish(frozen)?;
        Ok(Read { indexed, abandoned, skipped, segments, idf })
    }

    /// Tombstones for documents of files that changed or went, and whole segments that are not kept.
    fn bury(&self, published: &Published, files: &FileList, everything: bool, update: &mut SourceUpdate) {
        let old = published.state.as_ref().map(|state| state.segments.as_slice()).unwrap_or_default();
        let kept = |id: &SegmentId| !everything && published.trusted.contains(id);
        update.drop_segments = old.iter().map(|segment| &segment.id).filter(|id| !kept(id)).cloned().collect();
        for (path, entry) in published.files.iter() {
            let Some(segment) = entry.segment.as_ref().filter(|id| kept(id)) else { continue };
            let stays =
                files.get(path).is_some_and(|now| now.segment.as_ref() == Some(segment) && now.first_document == entry.first_document);
            if !stays && old.iter().any(|reference| reference.id == *segment) {
                update.tombstones.entry(segment.clone()).or_default().extend(entry.document_range());
            }
        }
    }

    /// Statistics, weights and settings of the state that this update leads to.
    fn describe(
        &self,
        update: &mut SourceUpdate,
        base: &Arc<Generation>,
        published: &Published,
        idf: &IdfTable,
    ) -> Result<(), EmbeddedError> {
        let after = after(update, published.state.as_ref());
        let open: Vec<(SegmentRef, Arc<OpenSegment>)> = after
            .into_iter()
            .map(|reference| {
                let folder = base.segment_path(&reference.id);
                let segment = Arc::new(OpenSegment::new(reference.id.clone(), folder));
                (reference, segment)
            })
            .collect();
        let mut statistics = SourceStatistics::count(&open)?;
        statistics.keep_timings(published.state.as_ref().and_then(SourceStatistics::of));
        let statistics = (STATISTICS_NOTE.to_owned(), statistics.to_note()?);
        update.notes = Some(
            [statistics].into_iter().chain(settings::chunk_note(published.chunk)).chain(Place::of(&self.config.path).note()).collect(),
        );
        update.settings_digest = Some(settings::digest(self.model, published.chunk));
        let identity = self.model.identity().with_idf(idf);
        update.idf = Some(IdfIdentity {
            identity: format!("{}/{}", identity.hash, identity.idf_version),
            blob: crate::segment::IDF_FILE.to_owned(),
        });
        Ok(())
    }

    /// Whether segments should be merged, and if so whether with newly counted weights.
    fn wants_merge(&self, writer: &Writer) -> Result<Option<bool>, EmbeddedError> {
        let Some(view) = self.views.get(writer.base(), self.name) else { return Ok(None) };
        let outgrown = match view.idf()? {
            Some(idf) => idf.is_outgrown_by(view.live_passages()?),
            None => false,
        };
        let purges = self.options.purge && (view.state.deleted_documents() > 0 || view.segments.len() > 1);
        Ok((outgrown || purges || view.state.needs_merge().is_some()).then_some(outgrown))
    }

    /// Replaces all segments of the source by new ones without deleted documents.
    pub(crate) fn merge(&self, writer: &mut Writer, refresh_idf: bool) -> Result<(), EmbeddedError> {
        let base = Arc::clone(writer.base());
        let Some(view) = self.views.get(&base, self.name) else { return Ok(()) };
        let frozen = if refresh_idf { None } else { view.idf()?.cloned() };
        let (update, published) = self.merged(writer, &base, &view, frozen)?;
        drop((view, published));
        self.views.clear();
        drop(base);
        writer.publish(vec![Change::Update(update)])?;
        Ok(())
    }

    fn merged(
        &self,
        writer: &Writer,
        base: &Arc<Generation>,
        view: &SourceView,
        frozen: Option<IdfTable>,
    ) -> Result<(SourceUpdate, Published), EmbeddedError> {
        let mut builder = SegmentsBuilder::new(writer, self.name, self.model, self.config.auto_label != AutoLabel::Off);
        let mut moved = Moved::default();
        for segment in &view.segments {
            if (self.cancelled)() {
                return Err(EmbeddedError::Cancelled { name: self.name.to_string() });
            }
            merge::copy(self.name, segment, &mut builder, &mut moved)?;
        }
        let (segments, idf) = builder.finish(frozen)?;
        let mut files = base.files(self.name)?.as_ref().clone();
        for (_, file) in files.iter_mut() {
            let place = file.segment.as_ref().and_then(|segment| moved.place(segment, file.first_document));
            if let Some(place) = place {
                file.segment = Some(segments[place.segment].reference.id.clone());
                file.first_document = place.document;
            }
        }
        let mut update = SourceUpdate::new(self.name.clone(), view.state.root.clone());
        update.drop_segments = view.state.segments.iter().map(|segment| segment.id.clone()).collect();
        update.add_segments = segments.into_iter().map(|segment| segment.reference).collect();
        update.files = Some(files);
        let published = Published {
            state: Some(view.state.clone()),
            files: Arc::default(),
            trusted: BTreeSet::new(),
            settings_agree: true,
            damaged: Vec::new(),
            chunk: settings::chunk(None, Some(&view.state))?,
        };
        self.describe(&mut update, base, &published, &idf)?;
        Ok((update, published))
    }
}

/// What was read.
struct Read {
    indexed: Vec<Indexed>,
    abandoned: Vec<Abandoned>,
    /// Not tried again before they change.
    skipped: Vec<Entry>,
    segments: Vec<NewSegment>,
    idf: IdfTable,
}

/// The segments that an update leaves visible; what the store will make of it.
fn after(update: &SourceUpdate, old: Option<&SourceState>) -> Vec<SegmentRef> {
    let kept = old.into_iter().flat_map(|state| &state.segments).filter(|segment| !update.drop_segments.contains(&segment.id));
    let mut segments: Vec<SegmentRef> = kept.chain(&update.add_segments).cloned().collect();
    for segment in &mut segments {
        if let Some(more) = update.tombstones.get(&segment.id) {
            let all: BTreeSet<u32> = segment.tombstones.iter().chain(more).copied().collect();
            segment.tombstones = all.into_iter().collect();
        }
    }
    segments.retain(|segment| segment.tombstones.len() < segment.documents as usize);
    segments
}

fn stamp(entry: &FileEntry) -> Stamp {
    let stat = entry.stat;
    Stamp { size: stat.size, mtime_ns: stat.mtime_ns, ctime_ns: stat.ctime_ns, inode: stat.inode }
}

/// Collects the report.
struct Reporter {
    report: IndexReport,
    changed: BTreeSet<String>,
}

impl Reporter {
    fn new(name: &SourceName, published: &Published, changes: &Changes) -> Reporter {
        let mut report = IndexReport {
            source: name.to_string(),
            unchanged: changes.unchanged.len() as u64,
            removed: changes.gone.len() as u64,
            ..IndexReport::default()
        };
        report.warnings.extend(published.damaged.iter().map(|problem| format!("built again: {problem}")));
        let mut reporter = Reporter { report, changed: changes.to_read.iter().map(|entry| entry.path.clone()).collect() };
        for skip in &changes.skips {
            reporter.skip(&skip.path, skip.reason.to_string());
        }
        reporter
    }

    fn skip(&mut self, path: &str, reason: String) {
        self.report.skipped_total += 1;
        if self.report.skipped.len() < LISTED_MAX {
            self.report.skipped.push(SkippedFile { path: path.to_owned(), reason });
        }
    }

    fn skipped(&mut self, path: &str, reason: String) {
        if !self.changed.contains(path) {
            self.report.unchanged = self.report.unchanged.saturating_sub(1);
        }
        self.skip(path, reason);
    }

    fn indexed(&mut self, file: &Indexed) {
        self.report.indexed += u64::from(self.changed.contains(&file.head.path));
        for warning in &file.head.warnings {
            if self.report.warnings.len() < LISTED_MAX {
                self.report.warnings.push(format!("{}: {warning}", file.head.path));
            }
        }
    }

    fn finish(mut self, generation: &Generation, context: &RunContext<'_>) -> IndexReport {
        self.report.generation = generation.number();
        if let Some(state) = generation.source(context.name) {
            self.report.fingerprint.clone_from(&state.fingerprint);
            let statistics = SourceStatistics::of(state).unwrap_or_default();
            self.report.passages = statistics.passages;
            self.report.warnings.extend(sensitive_warning(context.config, &statistics.sensitive));
        }
        self.report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.report
    }
}
