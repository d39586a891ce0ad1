//! What one runtime is made of: plugins by the name that plans use.

use crate::registry::Plugins;
use ctx_contracts::{
    Clock, Compressor, ErrorKind, Model, PluginError, Policy, Reasoner, Reranker, Retriever, Store, TokenCounter, TraceSink, Verifier,
};
use ctx_types::catalog::Capabilities;
use ctx_types::{Catalog, FuseMethod, Layout, ModelName, SourceName, Strategy};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The plugins of one runtime.
#[derive(Clone)]
pub struct Parts {
    /// Documents, passages and records.
    pub store: Arc<dyn Store>,
    /// Readers of sources; each source belongs to the first that describes it.
    pub retrievers: Vec<Arc<dyn Retriever>>,
    /// Model tiers.
    pub models: BTreeMap<ModelName, Arc<dyn Model>>,
    /// Answer strategies.
    pub reasoners: BTreeMap<Strategy, Arc<dyn Reasoner>>,
    /// Verifiers, in order of preference.
    pub verifiers: Vec<Arc<dyn Verifier>>,
    /// Rules of the house.
    pub policy: Arc<dyn Policy>,
    /// Where traces go.
    pub sinks: Vec<Arc<dyn TraceSink>>,
    /// Exact token counts by family; a family without one is bounded by bytes.
    pub counters: BTreeMap<String, Arc<dyn TokenCounter>>,
    /// Second looks at a list.
    pub rerankers: Vec<Arc<dyn Reranker>>,
    /// Ways of shortening passages.
    pub compressors: Vec<Arc<dyn Compressor>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

impl Parts {
    pub(crate) fn from_plugins(plugins: Plugins, clock: Arc<dyn Clock>) -> Parts {
        Parts {
            store: plugins.store,
            retrievers: plugins.retrievers,
            models: plugins.models.into_iter().map(|model| (model.name().clone(), model)).collect(),
            reasoners: plugins.reasoners.into_iter().map(|reasoner| (reasoner.strategy(), reasoner)).collect(),
            verifiers: plugins.verifiers,
            policy: plugins.policy,
            sinks: plugins.sinks,
            counters: plugins.counters.into_iter().map(|counter| (counter.family().to_owned(), counter)).collect(),
            rerankers: plugins.rerankers,
            compressors: plugins.compressors,
            clock,
        }
    }

    /// What exists now, and which retriever reads which source. A retriever that cannot describe itself is an error: a plan
    /// over half the sources would look like a plan over all of them.
    pub(crate) async fn describe(&self) -> Result<(Catalog, BTreeMap<SourceName, usize>), PluginError> {
        let mut catalog = Catalog { capabilities: self.capabilities(), ..Catalog::default() };
        let mut readers = BTreeMap::new();
        for (at, retriever) in self.retrievers.iter().enumerate() {
            for (name, entry) in retriever.describe().await? {
                if readers.contains_key(&name) {
                    continue;
                }
                readers.insert(name.clone(), at);
                catalog.sources.insert(name, entry);
            }
        }
        for (name, model) in &self.models {
            catalog.models.insert(name.clone(), model.describe().await);
        }
        Ok((catalog, readers))
    }

    /// Operators that this runtime executes itself, and what its plugins add. No person can be asked in this build.
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            fuse: FuseMethod::ALL.to_vec(),
            layouts: Layout::ALL.to_vec(),
            strategies: self.reasoners.keys().copied().collect(),
            verifiers: self.verifiers.iter().map(|verifier| verifier.describe()).collect(),
            rerankers: self.rerankers.iter().map(|reranker| reranker.describe()).collect(),
            compressors: self.compressors.iter().map(|compressor| compressor.describe()).collect(),
            approval: false,
        }
    }

    pub(crate) fn retriever(&self, readers: &BTreeMap<SourceName, usize>, source: &SourceName) -> Result<Arc<dyn Retriever>, PluginError> {
        let found = readers.get(source).and_then(|at| self.retrievers.get(*at)).cloned();
        found.ok_or_else(|| missing(&format!("reading source {source}"), "no retriever serves it"))
    }

    pub(crate) fn reasoner(&self, strategy: Strategy) -> Result<Arc<dyn Reasoner>, PluginError> {
        self.reasoners.get(&strategy).cloned().ok_or_else(|| missing(&format!("answering by {strategy}"), "no reasoner honours it"))
    }

    pub(crate) fn verifier(&self, name: &str) -> Result<Arc<dyn Verifier>, PluginError> {
        let found = self.verifiers.iter().find(|verifier| verifier.describe().name == name).cloned();
        found.ok_or_else(|| missing(&format!("verifying by {name}"), "no verifier has this name"))
    }

    pub(crate) fn reranker(&self, name: &str) -> Result<Arc<dyn Reranker>, PluginError> {
        let found = self.rerankers.iter().find(|reranker| reranker.describe().name == name).cloned();
        found.ok_or_else(|| missing(&format!("reranking by {name}"), "no reranker has this name"))
    }

    pub(crate) fn compressor(&self, name: &str) -> Result<Arc<dyn Compressor>, PluginError> {
        let found = self.compressors.iter().find(|compressor| compressor.describe().name == name).cloned();
        found.ok_or_else(|| missing(&format!("shortening by {name}"), "no compressor has this name"))
    }
}

fn missing(doing: &str, cause: &str) -> PluginError {
    PluginError::new(ErrorKind::Internal, doing, cause).with_hint("the plan was made with other plugins than it is executed with")
}
