//! The engine behind the contracts. Work that may touch a disk runs on blocking threads; dropping a future of an
//! indexing run stops the run at the next file.

use crate::engine::Engine;
use crate::error::EmbeddedError;
use async_trait::async_trait;
use ctx_contracts::ErrorKind;
use ctx_contracts::{
    Admit, Durability, Fold, Freshness, IndexEvent, IndexOptions, IndexReport, Journal, Metered, PluginError, Recorded, RetrieveRequest,
    Retriever, Store, TraceSink,
};
use ctx_types::computed::ComputedResult;
use ctx_types::passage::Locator;
use ctx_types::{Hit, Micros, Passage, Probe, SourceEntry, SourceName, Trace};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A handle to an engine that serves as store, retriever and trace sink. Clones share the engine.
#[derive(Clone, Debug)]
pub struct Embedded {
    engine: Arc<Engine>,
}

impl Embedded {
    /// Serves this engine.
    pub fn new(engine: Arc<Engine>) -> Embedded {
        Embedded { engine }
    }

    /// The engine.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The values of a computed result, by its statement run again.
    pub(crate) async fn recompute(&self, source: &SourceName, result: &ComputedResult) -> Result<Vec<String>, PluginError> {
        let (source, result) = (source.clone(), result.clone());
        self.blocking(format!("computing a result of {source} again"), move |engine| engine.recompute(&source, &result)).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        doing: String,
        work: impl FnOnce(&Engine) -> Result<T, EmbeddedError> + Send + 'static,
    ) -> Result<T, PluginError> {
        let engine = Arc::clone(&self.engine);
        match tokio::task::spawn_blocking(move || work(&engine)).await {
            Ok(result) => result.map_err(|error| error.into_plugin(doing)),
            Err(join) => Err(PluginError::new(ErrorKind::Internal, doing, join.to_string())),
        }
    }

    /// Runs an indexing job on a blocking thread and hands its events to `progress` here.
    async fn indexing(
        &self,
        doing: &'static str,
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
        work: impl FnOnce(&Engine, &dyn Fn(IndexEvent), &dyn Fn() -> bool) -> Result<Vec<IndexReport>, EmbeddedError> + Send + 'static,
    ) -> Result<Vec<IndexReport>, PluginError> {
        let (events, mut arriving) = tokio::sync::mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let _guard = StopOnDrop(Arc::clone(&stop));
        let engine = Arc::clone(&self.engine);
        let job = tokio::task::spawn_blocking(move || {
            // Nobody listening means that the caller went away; `stop` says so too.
            let send = |event| drop(events.send(event));
            let cancelled = || stop.load(Ordering::Relaxed);
            work(&engine, &send, &cancelled)
        });
        while let Some(event) = arriving.recv().await {
            progress(event);
        }
        match job.await {
            Ok(result) => result.map_err(|error| error.into_plugin(doing)),
            Err(join) => Err(PluginError::new(ErrorKind::Internal, doing, join.to_string())),
        }
    }
}

/// The contract's word for it, in the store's terms.
pub(crate) fn stored(durability: Durability) -> ctx_store::Durability {
    match durability {
        Durability::None => ctx_store::Durability::None,
        Durability::Async => ctx_store::Durability::Async,
        Durability::Sync => ctx_store::Durability::Sync,
    }
}

/// A journal as its owner sees it. A record that is no JSON never passed its checksum.
fn shown(journal: &ctx_store::Journal) -> Journal {
    let recorded = |record: &ctx_store::LogRecord| Some(Recorded { writer: record.log.clone(), record: record.decode().ok()? });
    Journal {
        snapshot: journal.snapshot.clone(),
        records: journal.records.iter().filter_map(recorded).collect(),
        live: journal.live.clone(),
    }
}

struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[async_trait]
impl Store for Embedded {
    async fn index(
        &self,
        sources: &[SourceName],
        options: IndexOptions,
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError> {
        let sources = sources.to_vec();
        self.indexing("indexing", progress, move |engine, send, cancelled| engine.index(&sources, options, send, cancelled)).await
    }

    async fn refresh(
        &self,
        sources: &[SourceName],
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError> {
        let sources = sources.to_vec();
        self.indexing("refreshing the index", progress, move |engine, send, cancelled| engine.refresh(&sources, send, cancelled)).await
    }

    async fn passage(&self, source: &SourceName, id: &str) -> Result<Option<Passage>, PluginError> {
        let (source, id) = (source.clone(), id.to_owned());
        self.blocking(format!("reading a passage of {source}"), move |engine| engine.passage(&source, &id)).await
    }

    async fn recheck(&self, locator: &Locator, fingerprint: &str) -> Result<Freshness, PluginError> {
        // A source that another retriever serves has no files here: its passages are as fresh as that retriever gave them.
        if !self.engine.sources().contains_key(&locator.source) {
            return Ok(Freshness::Current);
        }
        let (locator, fingerprint) = (locator.clone(), fingerprint.to_owned());
        self.blocking(format!("checking {} of {}", locator.path, locator.source), move |engine| engine.recheck(&locator, &fingerprint))
            .await
    }

    async fn traces(&self, limit: usize) -> Result<Vec<Trace>, PluginError> {
        self.blocking("reading traces".to_owned(), move |engine| engine.recorded(limit)).await
    }

    async fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, PluginError> {
        let name = name.to_owned();
        self.blocking(format!("reading {name}"), move |engine| Ok(engine.store().read_blob(&name)?)).await
    }

    async fn write_blob(&self, name: &str, bytes: &[u8]) -> Result<(), PluginError> {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.blocking(format!("storing {name}"), move |engine| Ok(engine.store().write_blob_atomic(&name, &bytes)?)).await
    }

    async fn append(&self, journal: &str, record: serde_json::Value, durability: Durability) -> Result<(), PluginError> {
        let name = journal.to_owned();
        let work = move |engine: &Engine| Ok(engine.journals.append(&name, &record, stored(durability))?);
        self.blocking(format!("appending to the journal of {journal}"), work).await
    }

    async fn append_if(&self, journal: &str, record: serde_json::Value, durability: Durability, admit: Admit) -> Result<bool, PluginError> {
        let name = journal.to_owned();
        let work = move |engine: &Engine| Ok(engine.journals.append_if(&name, &record, stored(durability), |held| admit(&shown(held)))?);
        self.blocking(format!("appending to the journal of {journal}"), work).await
    }

    async fn journal(&self, journal: &str) -> Result<Journal, PluginError> {
        let name = journal.to_owned();
        self.blocking(format!("reading the journal of {journal}"), move |engine| Ok(shown(&engine.journals.read(&name)?))).await
    }

    async fn fold(&self, journal: &str, fold: Fold) -> Result<bool, PluginError> {
        let name = journal.to_owned();
        self.blocking(format!("storing {journal}"), move |engine| engine.fold(&name, |held| fold(&shown(held)))).await
    }
}

#[async_trait]
impl Retriever for Embedded {
    fn name(&self) -> &str {
        "local"
    }

    async fn describe(&self) -> Result<BTreeMap<SourceName, SourceEntry>, PluginError> {
        self.blocking("describing the sources".to_owned(), Engine::describe).await
    }

    async fn probe(&self, goal: &str, sources: &[SourceName]) -> Result<Probe, PluginError> {
        let (goal, sources) = (goal.to_owned(), sources.to_vec());
        self.blocking("probing the sources".to_owned(), move |engine| engine.probe(&goal, &sources)).await
    }

    async fn retrieve(&self, request: &RetrieveRequest) -> Result<Metered<Vec<Hit>>, PluginError> {
        let doing = format!("reading source {} by {}", request.source, request.path);
        let request = request.clone();
        let start = Instant::now();
        let found =
            self.blocking(doing, move |engine| engine.search(&request.source, request.path, &request.query, request.k as usize)).await?;
        let mut metrics = found.metrics;
        metrics.elapsed = Micros(start.elapsed().as_micros() as _);
        Ok(Metered { value: found.hits, metrics })
    }
}

#[async_trait]
impl TraceSink for Embedded {
    async fn record(&self, trace: &Trace) -> Result<(), PluginError> {
        let trace = trace.clone();
        self.blocking("recording a trace".to_owned(), move |engine| engine.traces.record(&trace)).await
    }
}
