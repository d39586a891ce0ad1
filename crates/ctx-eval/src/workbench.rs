//! A collection in a temporary store, ready to be asked: legs, features, plans, runs.

use crate::collection::{Collection, Document};
use crate::corpus::Records;
use crate::error::EvalError;
use ctx_contracts::IndexEvent;
use ctx_cost::evidence::{self, Before};
use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_graph::LegPath;
use ctx_runtime::config::{AutoLabel, Refresh};
use ctx_runtime::ranking::{self, Legs, RankedPassage};
use ctx_runtime::{Config, RunReport, Runtime};
use ctx_types::{AccessPath, Estimated, Goal, Operator, Passage, Ppm, SourceEntry, SourceName, SourceProbe};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name of the collection as a source.
const SOURCE: &str = "collection";

/// An indexed collection. Its store is removed when this goes.
pub struct Workbench {
    engine: Arc<Engine>,
    runtime: Runtime,
    source: SourceName,
    entry: SourceEntry,
    records: Records,
    ids: Vec<String>,
    /// Time that indexing took, embeddings and token counts included.
    pub indexing: Duration,
    _folder: tempfile::TempDir,
}

/// What one access path gave for one query.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Passages, best first.
    pub passages: Vec<RankedPassage>,
    /// Wall time of its legs, one after the other, and of the fusion.
    pub elapsed: Duration,
}

/// What the planner decided and what its plan did.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The path it chose; `None` if it read nothing.
    pub path: Option<AccessPath>,
    /// Passages its plan asked for.
    pub k: u32,
    /// P(evidence) that its plan expected, with the 90 % interval.
    pub expected: Option<Estimated<Ppm>>,
    /// Time from goal to decision.
    pub planning: Duration,
    /// Time of the run, planning apart.
    pub running: Duration,
    /// The run.
    pub report: RunReport,
}

impl Workbench {
    /// Indexes a collection.
    pub async fn open(collection: &Collection, progress: &(dyn Fn(IndexEvent) + Send + Sync)) -> Result<Workbench, EvalError> {
        Workbench::open_with(collection, &Config::default(), progress).await
    }

    /// The same, planned under the weights, limits and retrieval settings of `settings`. Its models are not used.
    pub async fn open_with(
        collection: &Collection,
        settings: &Config,
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Workbench, EvalError> {
        let folder = tempfile::tempdir().map_err(EvalError::io("creating a folder in", &std::env::temp_dir()))?;
        let (corpus, store) = (folder.path().join("corpus"), folder.path().join("store"));
        std::fs::create_dir(&corpus).map_err(EvalError::io("creating", &corpus))?;
        let records = Records::write(&collection.documents, &corpus)?;
        let source = SourceName::new(SOURCE).map_err(EvalError::engine("naming the source"))?;
        let mut config = config(store);
        config.costmodel.weights = settings.costmodel.weights;
        config.budgets = settings.budgets.clone();
        config.retrieval = settings.retrieval.clone();
        let indexed = SourceConfig { refresh: Some(Refresh::Manual), auto_label: AutoLabel::Off, ..SourceConfig::at(&corpus) };
        config.sources.insert(source.clone(), indexed);
        let opened = ctx_embedded::open(config, EngineOptions::default()).await;
        let (runtime, engine) = opened.map_err(EvalError::engine("opening a temporary store"))?;
        let start = Instant::now();
        let reports =
            engine.index(&[], IndexOptions::default(), progress, &|| false).map_err(EvalError::engine("indexing the collection"))?;
        if let Some(failure) = reports.into_iter().find_map(|report| report.failure) {
            return Err(EvalError::engine("indexing the collection")(failure));
        }
        let indexing = start.elapsed();
        let mut described = engine.describe().map_err(EvalError::engine("describing the collection"))?;
        let entry = described
            .remove(&source)
            .ok_or_else(|| EvalError::Engine { doing: "describing the collection", cause: "it is not there".to_owned() })?;
        let ids = collection.documents.iter().map(|Document { id, .. }| id.clone()).collect();
        Ok(Workbench { engine, runtime: runtime.without_refresh(), source, entry, records, ids, indexing, _folder: folder })
    }

    /// The collection's catalog entry.
    pub fn entry(&self) -> &SourceEntry {
        &self.entry
    }

    /// Id of the document that a passage was cut from.
    pub fn document(&self, passage: &Passage) -> Option<&str> {
        self.ids.get(self.records.document(passage)?).map(String::as_str)
    }

    /// Ids of the documents of a list, each at its best passage.
    pub fn documents<'a>(&'a self, passages: impl IntoIterator<Item = &'a Passage>) -> Vec<&'a str> {
        let mut seen = BTreeSet::new();
        passages.into_iter().filter_map(|passage| self.document(passage)).filter(|id| seen.insert(*id)).collect()
    }

    /// What the collection says about a query.
    pub fn probe(&self, query: &str) -> Result<SourceProbe, EvalError> {
        let sources = [self.source.clone()];
        let mut probe = self.engine.probe(query, &sources).map_err(EvalError::engine("probing the collection"))?;
        Ok(probe.sources.remove(&self.source).unwrap_or_default())
    }

    /// Features of a query before retrieval.
    pub fn before(&self, query: &str) -> Result<Option<Before>, EvalError> {
        Ok(evidence::before(Some(&self.probe(query)?), &self.entry))
    }

    /// The legs of these paths, each read once, with the look-up of identifiers where the collection holds one of the query's.
    pub fn legs(&self, query: &str, wanted: &[LegPath], k: u32) -> Result<Legs, EvalError> {
        let features = self.before(query)?.unwrap_or_default();
        let mut legs = Legs { source: self.source.clone(), hits: Vec::new(), ceiling: features.ceiling, coverage: 1.0 };
        let exact = (features.identifier_passages > 0).then_some(LegPath::Identifier);
        for leg in wanted.iter().copied().chain(exact) {
            let found = self.engine.search(&self.source, leg.access_path(), query, k as usize);
            legs.hits.push((leg, found.map_err(EvalError::engine("searching the collection"))?.hits));
        }
        Ok(legs)
    }

    /// One access path, timed.
    pub fn list(&self, query: &str, path: AccessPath, k: u32) -> Result<Listed, EvalError> {
        let start = Instant::now();
        let legs = self.legs(query, ranking::legs_of(path), k)?;
        let passages = ranking::ranked(path, &legs, k);
        Ok(Listed { passages, elapsed: start.elapsed() })
    }

    /// Plans a query and runs the plan.
    pub async fn plan_and_run(&self, query: &str) -> Result<PlannedRun, EvalError> {
        self.plan_and_run_by(&self.runtime, query).await
    }

    /// What this collection is planned with, but for what `change` changes; what its runs show is not kept.
    pub async fn variant(&self, change: impl FnOnce(&mut Config)) -> Result<Runtime, EvalError> {
        let mut config = self.runtime.config().clone();
        change(&mut config);
        self.runtime.variant(config).await.map_err(EvalError::engine("planning with other settings"))
    }

    /// Names of the rerankers that may be planned.
    pub fn rerankers(&self) -> Vec<String> {
        self.runtime.parts().rerankers.iter().map(|reranker| reranker.describe().name).collect()
    }

    /// Plans a query by a [variant](Workbench::variant) and runs the plan.
    pub async fn plan_and_run_by(&self, runtime: &Runtime, query: &str) -> Result<PlannedRun, EvalError> {
        let goal = Goal::new(query);
        let prepared = runtime.prepare(&goal).await.map_err(EvalError::engine("planning"))?;
        let access = prepared.planned().and_then(|planned| {
            planned.plan.accesses().find_map(|(_, operator, _)| match operator {
                Operator::Access { path, k, .. } => Some((*path, *k)),
                _ => None,
            })
        });
        let expected = prepared.planned().map(|planned| planned.plan.estimate.evidence.clone());
        let planning = Duration::from_micros(prepared.planning.0);
        let start = Instant::now();
        let report = runtime.execute(prepared).await.map_err(EvalError::engine("running a plan"))?;
        let (path, k) = access.unzip();
        Ok(PlannedRun { path, k: k.unwrap_or(0), expected, planning, running: start.elapsed(), report })
    }
}

/// Nothing is cached, traced or learned: every query is planned cold, as the first of its kind.
pub(crate) fn config(store: std::path::PathBuf) -> Config {
    let mut config = Config::default();
    config.store = Some(store);
    config.runtime.plan_cache.enabled = false;
    config.observability.traces = false;
    config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
    config
}
