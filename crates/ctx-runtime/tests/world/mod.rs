//! A runtime on fakes, with handles to every fake.

#![allow(dead_code)]

use ctx_contracts::{Model, PluginError, Reasoner, Reranker};
use ctx_runtime::{Config, Parts, Runtime};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::{
    FakeExtractive, FakeModel, FakePolicy, FakeRetriever, FakeSingleShot, FakeStore, FakeVerifier, FixedClock, RecordingSink, Reply,
};
use ctx_types::goal::Hint;
use ctx_types::{Goal, ModelEntry, Ppm, Strategy};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) struct World {
    pub(crate) config: Config,
    pub(crate) retriever: Arc<FakeRetriever>,
    pub(crate) store: Arc<FakeStore>,
    pub(crate) model: Option<Arc<FakeModel>>,
    pub(crate) verifiers: Vec<Arc<FakeVerifier>>,
    pub(crate) policy: FakePolicy,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) sink: Arc<RecordingSink>,
    pub(crate) answers_from: Ppm,
    pub(crate) rerankers: Vec<Arc<dyn Reranker>>,
}

pub(crate) const DOCS: &[(&str, &str)] = &[
    ("infeasible.md", "An infeasible plan is reported with the binding constraint and the cheapest relaxation."),
    ("ledger.md", "The ledger reserves the bound of a call before the call is made and settles after it."),
    ("codes.md", "Error E0502 means that a value is borrowed twice."),
    ("cache.md", "The plan cache keeps decisions and names what changed when it misses."),
    ("budget.md", "A budget limits dollars, tokens and seconds of a run."),
];

impl World {
    pub(crate) fn new() -> World {
        World {
            config: Config::default(),
            retriever: Arc::new(FakeRetriever::default().with_source("docs", DOCS)),
            store: Arc::default(),
            model: None,
            verifiers: catalogs::verifiers().into_iter().map(|entry| Arc::new(FakeVerifier::new(entry, Vec::new()))).collect(),
            policy: FakePolicy::default(),
            clock: Arc::default(),
            sink: Arc::default(),
            answers_from: Ppm(0),
            rerankers: Vec::new(),
        }
    }

    pub(crate) fn with_model(mut self, entry: ModelEntry, script: Vec<Reply>) -> World {
        self.model = Some(Arc::new(FakeModel::new("m", entry, script)));
        self
    }

    /// Every verifier starts with these verdicts.
    pub(crate) fn with_verdicts(mut self, script: &[Result<bool, PluginError>]) -> World {
        let fake = |entry| Arc::new(FakeVerifier::new(entry, script.to_vec()));
        self.verifiers = catalogs::verifiers().into_iter().map(fake).collect();
        self
    }

    pub(crate) async fn runtime(&self) -> Runtime {
        let models: BTreeMap<_, Arc<dyn Model>> = self.model.iter().map(|m| (m.name().clone(), m.clone() as Arc<dyn Model>)).collect();
        let mut reasoners: BTreeMap<Strategy, Arc<dyn Reasoner>> =
            BTreeMap::from([(Strategy::Extractive, Arc::new(FakeExtractive { answers_from: self.answers_from }) as Arc<dyn Reasoner>)]);
        if self.model.is_some() {
            reasoners.insert(Strategy::SingleShot, Arc::new(FakeSingleShot));
        }
        let parts = Parts {
            store: self.store.clone(),
            retrievers: vec![self.retriever.clone()],
            models,
            reasoners,
            verifiers: self.verifiers.iter().map(|v| v.clone() as Arc<dyn ctx_contracts::Verifier>).collect(),
            policy: Arc::new(self.policy.clone()),
            sinks: vec![self.sink.clone()],
            counters: BTreeMap::new(),
            rerankers: self.rerankers.clone(),
            compressors: Vec::new(),
            clock: self.clock.clone(),
        };
        Runtime::builder(self.config.clone(), parts).build().await.expect("fakes build")
    }
}

pub(crate) fn goal(text: &str, force: &[&str]) -> Goal {
    let mut goal = Goal::new(text);
    goal.hints = force.iter().map(|name| Hint::Force((*name).to_owned())).collect();
    goal
}

pub(crate) const QUESTION: &str = "How is an infeasible plan reported?";
