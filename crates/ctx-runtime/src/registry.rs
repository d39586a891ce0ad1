//! Names used in a configuration → constructors of plugins.
//!
//! A binary fills a registry (`ctx_embedded::registry()` for the embedded default), a service adds its own before
//! [`crate::Runtime::from_config`]. A duplicate is an error naming both, an unknown name lists what exists, and nothing
//! acts unless it is configured: registering a plugin makes it available, no more. What acts when the configuration is
//! silent is named with [`Registry::default_names`].

use crate::config::Tier;
use crate::config::advice;
use crate::{Config, ConfigProblem, Shared};
use ctx_contracts::{Compressor, Model, PluginError, Policy, Reasoner, Reranker, Retriever, Store, TokenCounter, TraceSink, Verifier};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A contract that plugins are registered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Contract {
    /// `runtime.plugins.store`
    Store,
    /// `runtime.plugins.retriever`
    Retriever,
    /// `runtime.plugins.model` and `provider` of a tier.
    Model,
    /// `runtime.plugins.reasoners`
    Reasoner,
    /// `runtime.plugins.verifiers`
    Verifier,
    /// `runtime.plugins.policy`
    Policy,
    /// Keeps traces; `observability.traces: false` silences all of them.
    TraceSink,
    /// Exact token counts of one family; every registered default is used.
    TokenCounter,
    /// Second looks at a list; `retrieval.reranker` may name one.
    Reranker,
    /// Ways of shortening passages; every registered default is used.
    Compressor,
}

impl Contract {
    fn key(self) -> &'static str {
        match self {
            Contract::Store => "runtime.plugins.store",
            Contract::Retriever => "runtime.plugins.retriever",
            Contract::Model => "runtime.plugins.model",
            Contract::Reasoner => "runtime.plugins.reasoners",
            Contract::Verifier => "runtime.plugins.verifiers",
            Contract::Policy => "runtime.plugins.policy",
            Contract::TraceSink => "observability.traces",
            Contract::TokenCounter => "token counters",
            Contract::Reranker => "retrieval.reranker",
            Contract::Compressor => "compressors",
        }
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Contract::Store => "store",
            Contract::Retriever => "retriever",
            Contract::Model => "model",
            Contract::Reasoner => "reasoner",
            Contract::Verifier => "verifier",
            Contract::Policy => "policy",
            Contract::TraceSink => "trace sink",
            Contract::TokenCounter => "token counter",
            Contract::Reranker => "reranker",
            Contract::Compressor => "compressor",
        })
    }
}

/// What a constructor gets.
pub struct BuildContext<'a> {
    /// The whole configuration.
    pub config: &'a Config,
    /// Things that several plugins of one runtime share (an opened store).
    pub shared: &'a Shared,
}

type Constructor<T> = Arc<dyn Fn(&BuildContext<'_>) -> Result<Arc<T>, PluginError> + Send + Sync>;
type RerankConstructor = Arc<dyn Fn(&Tier, &BuildContext<'_>) -> Result<Arc<dyn Reranker>, PluginError> + Send + Sync>;
type ModelConstructor = Arc<dyn Fn(&Tier, &BuildContext<'_>) -> Result<Arc<dyn Model>, PluginError> + Send + Sync>;

/// Why a registry refused.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two plugins claim one name.
    #[error("registering {contract} {name:?} from {second}: {first} already registered that name; give one of them another")]
    Duplicate {
        /// Contract.
        contract: Contract,
        /// Name.
        name: String,
        /// Who came first.
        first: String,
        /// Who came second.
        second: String,
    },
    /// The configuration names plugins that nobody registered.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Unknown(Vec<ConfigProblem>),
}

struct Entry<T> {
    by: String,
    make: T,
}

type Table<T> = BTreeMap<String, Entry<T>>;

/// Plugins by contract and name.
#[derive(Default)]
pub struct Registry {
    stores: Table<Constructor<dyn Store>>,
    retrievers: Table<Constructor<dyn Retriever>>,
    models: Table<ModelConstructor>,
    reasoners: Table<Constructor<dyn Reasoner>>,
    verifiers: Table<Constructor<dyn Verifier>>,
    policies: Table<Constructor<dyn Policy>>,
    sinks: Table<Constructor<dyn TraceSink>>,
    counters: Table<Constructor<dyn TokenCounter>>,
    rerankers: Table<Constructor<dyn Reranker>>,
    reranking: Table<RerankConstructor>,
    compressors: Table<Constructor<dyn Compressor>>,
    defaults: BTreeMap<Contract, Vec<String>>,
}

macro_rules! register {
    ($($(#[$doc:meta])* $method:ident: $table:ident, $trait:ident, $contract:ident;)+) => {$(
        $(#[$doc])*
        pub fn $method<F>(&mut self, name: &str, by: &str, make: F) -> Result<&mut Self, RegistryError>
        where
            F: Fn(&BuildContext<'_>) -> Result<Arc<dyn $trait>, PluginError> + Send + Sync + 'static,
        {
            insert(&mut self.$table, Contract::$contract, name, by, Arc::new(make))?;
            Ok(self)
        }
    )+};
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Registry {
        Registry::default()
    }

    register! {
        /// Registers a store under `name`; `by` names the registering crate in messages.
        store: stores, Store, Store;
        /// Registers a retriever.
        retriever: retrievers, Retriever, Retriever;
        /// Registers an answer strategy.
        reasoner: reasoners, Reasoner, Reasoner;
        /// Registers a verifier.
        verifier: verifiers, Verifier, Verifier;
        /// Registers a policy.
        policy: policies, Policy, Policy;
        /// Registers a place that keeps traces.
        trace_sink: sinks, TraceSink, TraceSink;
        /// Registers an exact counter of a token family.
        token_counter: counters, TokenCounter, TokenCounter;
        /// Registers a reranker.
        reranker: rerankers, Reranker, Reranker;
        /// Registers a compressor.
        compressor: compressors, Compressor, Compressor;
    }

    /// Registers a wire adapter: called once per tier that names it.
    pub fn model<F>(&mut self, name: &str, by: &str, make: F) -> Result<&mut Self, RegistryError>
    where
        F: Fn(&Tier, &BuildContext<'_>) -> Result<Arc<dyn Model>, PluginError> + Send + Sync + 'static,
    {
        insert(&mut self.models, Contract::Model, name, by, Arc::new(make))?;
        Ok(self)
    }

    /// Registers how a wire reranks: called once per tier that is `good_for: [rerank]`.
    pub fn reranking<F>(&mut self, wire: &str, by: &str, make: F) -> Result<&mut Self, RegistryError>
    where
        F: Fn(&Tier, &BuildContext<'_>) -> Result<Arc<dyn Reranker>, PluginError> + Send + Sync + 'static,
    {
        insert(&mut self.reranking, Contract::Reranker, wire, by, Arc::new(make))?;
        Ok(self)
    }

    /// Names that act where the configuration says nothing (reasoners, verifiers, trace sinks). Replaces earlier ones.
    pub fn default_names(&mut self, contract: Contract, names: &[&str]) -> &mut Self {
        self.defaults.insert(contract, names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    /// Registered names of a contract, sorted.
    pub fn names(&self, contract: Contract) -> Vec<&str> {
        match contract {
            Contract::Store => names(&self.stores),
            Contract::Retriever => names(&self.retrievers),
            Contract::Model => names(&self.models),
            Contract::Reasoner => names(&self.reasoners),
            Contract::Verifier => names(&self.verifiers),
            Contract::Policy => names(&self.policies),
            Contract::TraceSink => names(&self.sinks),
            Contract::TokenCounter => names(&self.counters),
            Contract::Reranker => names(&self.rerankers),
            Contract::Compressor => names(&self.compressors),
        }
    }

    /// Whether every plugin that the configuration names exists. Reports all that do not, with the place in the file.
    pub fn check(&self, config: &Config) -> Result<(), RegistryError> {
        let plugins = &config.runtime.plugins;
        let mut unknown = Vec::new();
        let mut wanted: Vec<(Contract, String, &str)> = vec![
            (Contract::Store, Contract::Store.key().to_owned(), &plugins.store),
            (Contract::Policy, Contract::Policy.key().to_owned(), &plugins.policy),
        ];
        let lists = [
            (Contract::Retriever, plugins.retriever.clone()),
            (Contract::Reasoner, self.active(Contract::Reasoner, plugins.reasoners.as_ref())),
            (Contract::Verifier, self.active(Contract::Verifier, plugins.verifiers.as_ref())),
            (Contract::TraceSink, self.active(Contract::TraceSink, None)),
            (Contract::TokenCounter, self.active(Contract::TokenCounter, None)),
            (Contract::Reranker, self.rerankers(config)),
            (Contract::Compressor, self.active(Contract::Compressor, None)),
        ];
        for (contract, list) in &lists {
            wanted.extend(list.iter().map(|name| (*contract, contract.key().to_owned(), name.as_str())));
        }
        if !config.models.is_empty() {
            wanted.push((Contract::Model, Contract::Model.key().to_owned(), &plugins.model));
        }
        for (at, tier) in config.models.iter().enumerate() {
            if let Some(provider) = &tier.provider {
                wanted.push((Contract::Model, format!("models.tiers[{at}].provider"), provider));
            }
        }
        for (contract, key, name) in wanted {
            if !self.names(contract).contains(&name) {
                unknown.push(self.unknown(config, contract, key, name));
            }
        }
        if unknown.is_empty() { Ok(()) } else { Err(RegistryError::Unknown(unknown)) }
    }

    fn unknown(&self, config: &Config, contract: Contract, key: String, name: &str) -> ConfigProblem {
        let known = self.names(contract);
        let listed = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let table_key = if key.ends_with(".provider") { "provider" } else { key.as_str() };
        ConfigProblem {
            place: config.places.get(&key).cloned().unwrap_or_else(|| "default".to_owned()),
            cause: format!("no {contract} named {name:?} is registered; registered: {listed}"),
            hint: advice::instead(table_key, name).map(str::to_owned),
            key,
        }
    }

    /// The defaults, or the one that `retrieval.reranker` names; none where it says so.
    fn rerankers(&self, config: &Config) -> Vec<String> {
        match config.retrieval.reranker.as_deref() {
            None => self.active(Contract::Reranker, None),
            Some("none") => Vec::new(),
            Some(name) if config.models.iter().any(|tier| tier.reranks() && tier.name.as_str() == name) => Vec::new(),
            Some(name) => vec![name.to_owned()],
        }
    }

    /// The registered ones that act, then the tiers that rerank.
    fn make_rerankers(&self, context: &BuildContext<'_>) -> Result<Vec<Arc<dyn Reranker>>, PluginError> {
        let mut made = make_all(&self.rerankers, &self.rerankers(context.config), context)?;
        let wanted = context.config.retrieval.reranker.as_deref();
        for tier in context.config.models.iter().filter(|tier| tier.reranks()) {
            if wanted.is_none_or(|name| name == tier.name.as_str()) {
                let wire = tier.provider.as_ref().unwrap_or(&context.config.runtime.plugins.model);
                let entry = self.reranking.get(wire).ok_or_else(|| unregistered(wire))?;
                made.push((entry.make)(tier, context)?);
            }
        }
        Ok(made)
    }

    fn active(&self, contract: Contract, configured: Option<&Vec<String>>) -> Vec<String> {
        configured.or_else(|| self.defaults.get(&contract)).cloned().unwrap_or_default()
    }

    /// Constructs what the configuration names.
    pub(crate) fn build(&self, config: &Config, shared: &Shared) -> Result<Plugins, PluginError> {
        let context = BuildContext { config, shared };
        let plugins = &config.runtime.plugins;
        let sinks = if config.observability.traces { self.active(Contract::TraceSink, None) } else { Vec::new() };
        Ok(Plugins {
            store: make(&self.stores, &plugins.store, &context)?,
            policy: make(&self.policies, &plugins.policy, &context)?,
            retrievers: make_all(&self.retrievers, &plugins.retriever, &context)?,
            reasoners: make_all(&self.reasoners, &self.active(Contract::Reasoner, plugins.reasoners.as_ref()), &context)?,
            verifiers: make_all(&self.verifiers, &self.active(Contract::Verifier, plugins.verifiers.as_ref()), &context)?,
            sinks: make_all(&self.sinks, &sinks, &context)?,
            counters: make_all(&self.counters, &self.active(Contract::TokenCounter, None), &context)?,
            rerankers: self.make_rerankers(&context)?,
            compressors: make_all(&self.compressors, &self.active(Contract::Compressor, None), &context)?,
            models: config.models.iter().filter(|tier| !tier.reranks()).map(|tier| self.tier(tier, &context)).collect::<Result<_, _>>()?,
        })
    }

    fn tier(&self, tier: &Tier, context: &BuildContext<'_>) -> Result<Arc<dyn Model>, PluginError> {
        let wire = tier.provider.as_ref().unwrap_or(&context.config.runtime.plugins.model);
        match self.models.get(wire) {
            Some(entry) => (entry.make)(tier, context),
            None => Err(unregistered(wire)),
        }
    }
}

/// What a registry built, in order of configuration.
pub(crate) struct Plugins {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) policy: Arc<dyn Policy>,
    pub(crate) retrievers: Vec<Arc<dyn Retriever>>,
    pub(crate) reasoners: Vec<Arc<dyn Reasoner>>,
    pub(crate) verifiers: Vec<Arc<dyn Verifier>>,
    pub(crate) sinks: Vec<Arc<dyn TraceSink>>,
    pub(crate) counters: Vec<Arc<dyn TokenCounter>>,
    pub(crate) rerankers: Vec<Arc<dyn Reranker>>,
    pub(crate) compressors: Vec<Arc<dyn Compressor>>,
    pub(crate) models: Vec<Arc<dyn Model>>,
}

fn names<T>(table: &Table<T>) -> Vec<&str> {
    table.keys().map(String::as_str).collect()
}

fn insert<T>(table: &mut Table<T>, contract: Contract, name: &str, by: &str, make: T) -> Result<(), RegistryError> {
    if let Some(first) = table.get(name) {
        return Err(RegistryError::Duplicate { contract, name: name.to_owned(), first: first.by.clone(), second: by.to_owned() });
    }
    table.insert(name.to_owned(), Entry { by: by.to_owned(), make });
    Ok(())
}

fn unregistered(name: &str) -> PluginError {
    PluginError::new(ctx_contracts::ErrorKind::BadRequest, format!("constructing plugin {name:?}"), "no plugin of that name is registered")
}

fn make<T: ?Sized>(table: &Table<Constructor<T>>, name: &str, context: &BuildContext<'_>) -> Result<Arc<T>, PluginError> {
    let entry = table.get(name).ok_or_else(|| unregistered(name))?;
    (entry.make)(context)
}

fn make_all<T: ?Sized>(table: &Table<Constructor<T>>, names: &[String], context: &BuildContext<'_>) -> Result<Vec<Arc<T>>, PluginError> {
    names.iter().map(|name| make(table, name, context)).collect()
}
