//! The engine: one store, the configured sources, everything synchronous. The contracts are in `contracts`.

use crate::describe;
use crate::error::EmbeddedError;
use crate::index::run::RunContext;
use crate::place;
use crate::probe::probe;
use crate::search::{Found, search};
use crate::tables::TableSources;
use crate::tokens::O200k;
use crate::traces::Traces;
use crate::view::{SourceView, Views};
use ctx_contracts::{Freshness, IndexEvent, IndexOptions, IndexReport};
use ctx_embed::StaticModel;
use ctx_ingest::passage_is_current;
use ctx_runtime::config::{Refresh, SourceConfig};
use ctx_store::{Generation, Journal, Journals, Store, StoreError, Writer};
use ctx_types::passage::Locator;
use ctx_types::{AccessPath, Passage, Probe, SourceEntry, SourceKind, SourceName, SourceProbe, Tokens};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Waited for another writer before saying so.
const QUIET_WAIT: Duration = Duration::from_millis(250);

/// How the engine behaves.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Longest wait for another writer of the same store.
    pub lock_wait: Duration,
    /// When sources without a `refresh:` of their own are looked at again.
    pub refresh: Refresh,
    /// When records reach the disk.
    pub durability: ctx_store::Durability,
}

impl Default for EngineOptions {
    /// Thirty seconds, every five seconds, within ten milliseconds.
    fn default() -> Self {
        EngineOptions { lock_wait: Duration::from_secs(30), refresh: Refresh::Interval(5), durability: ctx_store::Durability::Async }
    }
}

/// One store and its sources. Share it behind an `Arc`; every method takes `&self`.
pub struct Engine {
    store: Store,
    sources: BTreeMap<SourceName, SourceConfig>,
    options: EngineOptions,
    model: &'static StaticModel,
    counter: O200k,
    views: Views,
    pub(crate) tables: TableSources,
    checked: Mutex<BTreeMap<SourceName, Instant>>,
    pub(crate) journals: Arc<Journals>,
    pub(crate) traces: Traces,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("store", &self.store.root()).field("sources", &self.sources.len()).finish_non_exhaustive()
    }
}

/// The report of a source, or one that says why there is none. A caller that went away ends everything.
fn or_failed(done: Result<IndexReport, EmbeddedError>, name: &SourceName) -> Result<IndexReport, EmbeddedError> {
    match done {
        Err(error) if !matches!(error, EmbeddedError::Cancelled { .. }) => {
            let failure = Some(error.into_plugin(format!("indexing source {name}")));
            Ok(IndexReport { source: name.to_string(), failure, ..IndexReport::default() })
        }
        done => done,
    }
}

impl Engine {
    /// An engine over the store in `root`. Nothing is read or created yet.
    pub fn open(root: impl Into<PathBuf>, sources: BTreeMap<SourceName, SourceConfig>, options: EngineOptions) -> Engine {
        let store = Store::open(root);
        let journals = Arc::new(Journals::new(store.clone()));
        Engine {
            traces: Traces::new(Arc::clone(&journals), options.durability),
            journals,
            store,
            sources,
            options,
            model: StaticModel::embedded(),
            counter: O200k::new(),
            views: Views::default(),
            tables: TableSources::default(),
            checked: Mutex::default(),
        }
    }

    /// The store's folder.
    pub fn root(&self) -> &Path {
        self.store.root()
    }

    /// The files of the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Configured sources.
    pub fn sources(&self) -> &BTreeMap<SourceName, SourceConfig> {
        &self.sources
    }

    pub(crate) fn source(&self, name: &SourceName) -> Result<&SourceConfig, EmbeddedError> {
        self.sources.get(name).ok_or_else(|| EmbeddedError::UnknownSource {
            name: name.to_string(),
            known: self.sources.keys().map(SourceName::as_str).collect::<Vec<_>>().join(", "),
        })
    }

    /// The writer's lock, waited for with a word after a quarter of a second.
    fn writer(&self, progress: &dyn Fn(IndexEvent)) -> Result<Writer, StoreError> {
        match self.store.writer(QUIET_WAIT.min(self.options.lock_wait)) {
            Err(StoreError::Busy { holder, waited, .. }) if waited < self.options.lock_wait => {
                progress(IndexEvent::Waiting { holder: holder.to_string() });
                self.store.writer(self.options.lock_wait - waited)
            }
            other => other,
        }
    }

    fn run<'a>(
        &'a self,
        name: &'a SourceName,
        exclude: &'a [PathBuf],
        progress: &'a dyn Fn(IndexEvent),
        cancelled: &'a dyn Fn() -> bool,
    ) -> Result<RunContext<'a>, EmbeddedError> {
        let config = self.source(name)?;
        Ok(RunContext {
            name,
            config,
            exclude,
            progress,
            cancelled,
            model: self.model,
            counter: self.counter,
            views: &self.views,
            verify: false,
            options: IndexOptions::default(),
        })
    }

    /// Brings the sources up to date; all of them if none is named.
    /// A store whose manifest is damaged is built again from the sources. A source that cannot be indexed does not keep the others
    /// from it: its report says why.
    pub fn index(
        &self,
        sources: &[SourceName],
        options: IndexOptions,
        progress: &dyn Fn(IndexEvent),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<IndexReport>, EmbeddedError> {
        let mut names: Vec<SourceName> = sources.to_vec();
        let (mut writer, rebuilt) = match self.writer(progress) {
            Ok(writer) => (writer, false),
            Err(StoreError::Corrupt { .. }) => (self.store.writer_rebuilding(self.options.lock_wait)?, true),
            Err(error) => return Err(error.into()),
        };
        if names.is_empty() || rebuilt {
            names = self.sources.keys().cloned().collect();
        }
        for name in &names {
            self.source(name)?;
        }
        let exclude = [self.root().to_owned()];
        let mut reports = Vec::new();
        for name in &names {
            let context = RunContext { verify: true, options, ..self.run(name, &exclude, progress, cancelled)? };
            let mut report = or_failed(self.bring(&context, &mut writer), name)?;
            if rebuilt && report.failure.is_none() {
                report.warnings.push("the store's manifest was damaged: everything was indexed again".to_owned());
            }
            reports.push(report);
        }
        if options.purge {
            let done: Vec<SourceName> = reports.iter().zip(&names).filter(|(r, _)| r.failure.is_none()).map(|(_, n)| n.clone()).collect();
            let mut blanked = if done.is_empty() { BTreeMap::new() } else { self.forget_deleted(&writer, &done)? };
            for (report, name) in reports.iter_mut().zip(&names) {
                report.traces_blanked = blanked.remove(name).unwrap_or(0);
            }
        } else {
            self.traces.absorb(&writer)?;
        }
        Ok(reports)
    }

    /// Brings one source up to date, text and rows.
    fn bring(&self, context: &RunContext<'_>, writer: &mut Writer) -> Result<IndexReport, EmbeddedError> {
        let name = context.name;
        let report = if self.holds_tables(name)? {
            self.tables.index(self.root(), name, context.config, context.progress)?
        } else {
            let mut report = context.index(writer)?;
            report.warnings.extend(self.index_rows(name, context.progress)?);
            report
        };
        self.mark_checked(name);
        Ok(report)
    }

    /// Whether a source has changed since it was looked at, if it is time to look again.
    fn has_changed(&self, context: &RunContext<'_>, generation: &Arc<Generation>) -> Result<bool, EmbeddedError> {
        let name = context.name;
        let changed = if self.holds_tables(name)? {
            let due = self.tables.is_unpublished(self.root(), name)? || self.is_due(name, generation)?;
            due && self.tables.is_stale(self.root(), name, context.config)?
        } else if self.is_due(name, generation)? {
            context.is_stale(generation)? || self.rows_are_stale(name)?
        } else {
            return Ok(false);
        };
        if !changed {
            self.mark_checked(name);
        }
        Ok(changed)
    }

    /// A source in this generation, whether or not it is configured.
    pub(crate) fn seen(&self, generation: &Arc<Generation>, name: &SourceName) -> Option<Arc<SourceView>> {
        self.views.get(generation, name)
    }

    /// Looks for changes as each source's `refresh:` says and indexes what changed. Takes the writer's lock only if
    /// something did. A source that cannot be refreshed does not keep the others from it: its report says why.
    pub fn refresh(
        &self,
        sources: &[SourceName],
        progress: &dyn Fn(IndexEvent),
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<IndexReport>, EmbeddedError> {
        let generation = self.store.current()?;
        let exclude = [self.root().to_owned()];
        let (mut stale, mut reports) = (Vec::new(), Vec::new());
        for name in sources {
            let context = self.run(name, &exclude, progress, cancelled)?;
            match self.has_changed(&context, &generation) {
                Ok(true) => stale.push(context),
                Ok(false) => {}
                failed => reports.push(or_failed(failed.map(|_| IndexReport::default()), name)?),
            }
        }
        drop(generation);
        if stale.is_empty() {
            return Ok(reports);
        }
        let mut writer = self.writer(progress)?;
        for context in stale {
            reports.push(or_failed(self.bring(&context, &mut writer), context.name)?);
        }
        if let Err(error) = self.traces.absorb(&writer) {
            tracing::warn!(%error, "traces stay in their logs");
        }
        Ok(reports)
    }

    /// A source that was never published is always due.
    fn is_due(&self, name: &SourceName, generation: &Generation) -> Result<bool, EmbeddedError> {
        let config = self.source(name)?;
        if generation.source(name).is_none() && config.kind != SourceKind::Tables {
            return Ok(true);
        }
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied();
        Ok(match config.refresh.unwrap_or(self.options.refresh) {
            Refresh::Always => true,
            Refresh::Manual => false,
            Refresh::Interval(seconds) => checked.is_none_or(|at| at.elapsed() >= Duration::from_secs(seconds)),
        })
    }

    fn mark_checked(&self, name: &SourceName) {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner).insert(name.clone(), Instant::now());
    }

    fn view(&self, name: &SourceName) -> Result<Arc<SourceView>, EmbeddedError> {
        let config = self.source(name)?;
        let generation = self.store.current()?;
        let view = self.views.get(&generation, name).ok_or_else(|| EmbeddedError::NotIndexed { name: name.to_string() })?;
        place::check(&view.state, name, &config.path)?;
        Ok(view)
    }

    /// Catalog entries of all configured sources.
    pub fn describe(&self) -> Result<BTreeMap<SourceName, SourceEntry>, EmbeddedError> {
        let generation = match self.store.current() {
            Ok(generation) => generation,
            Err(error) => {
                let error = EmbeddedError::from(error);
                return Ok(self.sources.iter().map(|(name, config)| (name.clone(), describe::unpublished(config, Some(&error)))).collect());
            }
        };
        let entry = |name: &SourceName, config: &SourceConfig| match self.views.get(&generation, name) {
            _ if config.kind == SourceKind::Tables => self.describe_tables(name, config),
            Some(view) => match place::check(&view.state, name, &config.path) {
                Ok(()) => self.with_rows(describe::entry(&view, config, self.model), name),
                Err(error) => describe::unpublished(config, Some(&error)),
            },
            None => describe::unpublished(config, None),
        };
        Ok(self.sources.iter().map(|(name, config)| (name.clone(), entry(name, config))).collect())
    }

    /// What the sources know about a goal. A source that cannot be probed is left out and planned with priors.
    pub fn probe(&self, goal: &str, sources: &[SourceName]) -> Result<Probe, EmbeddedError> {
        let mut found = Probe { goal_tokens: Tokens(u64::from(self.counter.tokens(goal))), ..Probe::default() };
        for name in sources {
            match self.probe_one(goal, name) {
                Ok(source) => drop(found.sources.insert(name.clone(), source)),
                Err(error @ EmbeddedError::UnknownSource { .. }) => return Err(error),
                Err(error) => tracing::warn!(source = %name, %error, "not probed"),
            }
        }
        Ok(found)
    }

    fn probe_one(&self, goal: &str, name: &SourceName) -> Result<SourceProbe, EmbeddedError> {
        if self.holds_tables(name)? {
            return Ok(self.tables(name)?.probe(goal));
        }
        let said = self.view(name).and_then(|view| probe(&view, self.model, goal))?;
        Ok(self.with_reading(said, name, goal))
    }

    /// One leg over one source: at most `k` hits, best first.
    pub fn search(&self, source: &SourceName, path: AccessPath, query: &str, k: usize) -> Result<Found, EmbeddedError> {
        if path == AccessPath::Table || self.holds_tables(source)? {
            if path != AccessPath::Table {
                let reason = "the source holds tables, which are read by SQL".to_owned();
                return Err(EmbeddedError::PathUnavailable { name: source.to_string(), path: path.to_string(), reason });
            }
            return self.tables(source)?.compute(query, &self.counter);
        }
        let view = self.view(source)?;
        search(&view, self.model, path, query, k)
    }

    /// The passage with this id in the current generation.
    pub fn passage(&self, source: &SourceName, id: &str) -> Result<Option<Passage>, EmbeddedError> {
        if self.holds_tables(source)? {
            return Ok(None);
        }
        let view = self.view(source)?;
        for segment in &view.segments {
            let filter = segment.filter()?;
            let mut ordinals = segment.open.keys()?.with_id(id);
            ordinals.retain(|ordinal| filter.is_live(*ordinal));
            for ordinal in ordinals {
                let passage = segment.open.passages()?.read(ordinal, source)?;
                if passage.id == id {
                    return Ok(Some(passage));
                }
            }
        }
        Ok(None)
    }

    /// Whether the bytes of a passage still stand in its file. Paths outside the source are refused.
    pub fn recheck(&self, locator: &Locator, fingerprint: &str) -> Result<Freshness, EmbeddedError> {
        if let Some(freshness) = self.recheck_rows(locator, fingerprint)? {
            return Ok(freshness);
        }
        let view = self.view(&locator.source)?;
        let root = PathBuf::from(&view.state.root);
        if passage_is_current(&root, locator, fingerprint)? {
            return Ok(Freshness::Current);
        }
        let exists = root.join(&locator.path).symlink_metadata().is_ok();
        Ok(if exists { Freshness::Changed } else { Freshness::Gone })
    }

    /// Folds a journal as the writer; `false` where another one is at work or `fold` leaves the journal as it is. Traces are
    /// moved by the way.
    pub(crate) fn fold(&self, journal: &str, fold: impl FnOnce(&Journal) -> Option<Vec<u8>>) -> Result<bool, EmbeddedError> {
        let writer = match self.store.writer(QUIET_WAIT.min(self.options.lock_wait)) {
            Ok(writer) => writer,
            Err(StoreError::Busy { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let folded = self.journals.fold(&writer, journal, fold)?;
        if folded {
            self.traces.absorb(&writer)?;
        }
        Ok(folded)
    }

    /// Times a few real queries per source and keeps the timings in the catalog; counts are exact after every index.
    pub fn analyze(&self, sources: &[SourceName], progress: &dyn Fn(IndexEvent)) -> Result<(), EmbeddedError> {
        let names: Vec<SourceName> = if sources.is_empty() { self.sources.keys().cloned().collect() } else { sources.to_vec() };
        let mut timed = Vec::new();
        for name in &names {
            if self.holds_tables(name)? {
                continue;
            }
            let view = self.view(name)?;
            timed.push((name, crate::analyze::timings(&view, self.model)?));
        }
        let mut writer = self.writer(progress)?;
        for (name, timings) in timed {
            crate::analyze::publish(&mut writer, name, timings)?;
        }
        self.views.clear();
        Ok(())
    }
}
