//! Several collections in one temporary store, each a source of its own or all of them one: what a plan over them ranks first.

use crate::collection::Document;
use crate::corpus::Records;
use crate::error::EvalError;
use crate::workbench::config;
use ctx_cost::evidence;
use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_graph::LegPath;
use ctx_runtime::Runtime;
use ctx_runtime::config::{AutoLabel, Refresh};
use ctx_runtime::ranking::{self, Legs};
use ctx_types::{AccessPath, Goal, Operator, SourceEntry, SourceName, SourceProbe};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

struct Volume {
    entry: SourceEntry,
    records: Records,
    ids: Vec<String>,
}

/// Sources over collections. Their store is removed when this goes.
pub struct Shelf {
    engine: Arc<Engine>,
    runtime: Runtime,
    volumes: BTreeMap<SourceName, Volume>,
    _folder: tempfile::TempDir,
}

/// What a plan over the shelf ranks.
#[derive(Clone, Debug)]
pub struct Shelved {
    /// Sources that it reads.
    pub sources: Vec<SourceName>,
    /// Documents by source and id, best first, each at its best passage.
    pub documents: Vec<(SourceName, String)>,
}

impl Shelf {
    /// Indexes documents under the names of sources.
    pub async fn open(volumes: &[(SourceName, Vec<Document>)]) -> Result<Shelf, EvalError> {
        let folder = tempfile::tempdir().map_err(EvalError::io("creating a folder in", &std::env::temp_dir()))?;
        let mut settings = config(folder.path().join("store"));
        let mut records = BTreeMap::new();
        for (name, documents) in volumes {
            let corpus = folder.path().join(name.as_str());
            std::fs::create_dir(&corpus).map_err(EvalError::io("creating", &corpus))?;
            records.insert(name.clone(), Records::write(documents, &corpus)?);
            let source = SourceConfig { refresh: Some(Refresh::Manual), auto_label: AutoLabel::Off, ..SourceConfig::at(&corpus) };
            settings.sources.insert(name.clone(), source);
        }
        let opened = ctx_embedded::open(settings, EngineOptions::default()).await;
        let (runtime, engine) = opened.map_err(EvalError::engine("opening a temporary store"))?;
        let reports =
            engine.index(&[], IndexOptions::default(), &|_| {}, &|| false).map_err(EvalError::engine("indexing the collections"))?;
        if let Some(failure) = reports.into_iter().find_map(|report| report.failure) {
            return Err(EvalError::engine("indexing the collections")(failure));
        }
        let mut described = engine.describe().map_err(EvalError::engine("describing the collections"))?;
        let absent = || EvalError::Engine { doing: "describing the collections", cause: "one is not there".to_owned() };
        let mut shelved = BTreeMap::new();
        for (name, documents) in volumes {
            let entry = described.remove(name).ok_or_else(absent)?;
            let records = records.remove(name).ok_or_else(absent)?;
            shelved.insert(name.clone(), Volume { entry, records, ids: documents.iter().map(|d| d.id.clone()).collect() });
        }
        Ok(Shelf { engine, runtime: runtime.without_refresh(), volumes: shelved, _folder: folder })
    }

    /// Plans a query over all sources and ranks what the plan's access paths read, merged as runs merge it.
    pub async fn ask(&self, query: &str, k: usize) -> Result<Shelved, EvalError> {
        let prepared = self.runtime.prepare(&Goal::new(query)).await.map_err(EvalError::engine("planning"))?;
        let names: Vec<SourceName> = self.volumes.keys().cloned().collect();
        let probe = self.engine.probe(query, &names).map_err(EvalError::engine("probing the collections"))?;
        let coverages = evidence::shared_coverage(&prepared.catalog, &probe);
        let mut read: Vec<(AccessPath, u32, Legs)> = Vec::new();
        for (source, operator, _) in prepared.planned().iter().flat_map(|planned| planned.plan.accesses()) {
            if let Operator::Access { path, k, .. } = operator {
                let coverage = coverages.get(source).copied().unwrap_or(1.0);
                let said = probe.sources.get(source).cloned().unwrap_or_default();
                read.push((*path, *k, self.legs(query, source, (*path, *k), &said, coverage)?));
            }
        }
        let sources = read.iter().map(|(_, _, legs)| legs.source.clone()).collect();
        let mut seen = BTreeSet::new();
        let found = ranking::across(&read).into_iter().filter_map(|(source, item)| {
            let volume = self.volumes.get(&source)?;
            let id = volume.ids.get(volume.records.document(&item.passage)?)?.clone();
            seen.insert((source.clone(), id.clone())).then_some((source, id))
        });
        Ok(Shelved { documents: found.take(k).collect(), sources })
    }

    fn legs(
        &self,
        query: &str,
        source: &SourceName,
        (path, k): (AccessPath, u32),
        said: &SourceProbe,
        coverage: f64,
    ) -> Result<Legs, EvalError> {
        let features = self.volumes.get(source).and_then(|volume| evidence::before(Some(said), &volume.entry)).unwrap_or_default();
        let mut legs = Legs { source: source.clone(), hits: Vec::new(), ceiling: features.ceiling, coverage };
        let exact = (features.identifier_passages > 0).then_some(LegPath::Identifier);
        for leg in ranking::legs_of(path).iter().copied().chain(exact) {
            let found = self.engine.search(source, leg.access_path(), query, k as usize);
            legs.hits.push((leg, found.map_err(EvalError::engine("searching a collection"))?.hits));
        }
        Ok(legs)
    }
}
