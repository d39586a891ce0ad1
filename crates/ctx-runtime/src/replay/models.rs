//! A model that writes down what it is asked and answers, and one that answers from such a record.

use super::{RecordedCall, RecordedRerank};
use crate::executor::sent_hash;
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, Model, ModelRequest, ModelResponse, PluginError};
use ctx_types::{ModelEntry, ModelName};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What all recorders of a run write to.
#[derive(Default)]
pub(super) struct Tape {
    calls: Mutex<Vec<RecordedCall>>,
    reranks: Mutex<Vec<RecordedRerank>>,
}

impl Tape {
    pub(super) fn calls(&self) -> Vec<RecordedCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn reranks(&self) -> Vec<RecordedRerank> {
        self.reranks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn reranked(&self, list: RecordedRerank) {
        self.reranks.lock().unwrap_or_else(PoisonError::into_inner).push(list);
    }
}

/// Passes calls on and writes them down. A call that was cancelled had no answer and is not written.
pub(super) struct Recorder {
    model: Arc<dyn Model>,
    tape: Arc<Tape>,
}

impl Recorder {
    pub(super) fn new(model: Arc<dyn Model>, tape: Arc<Tape>) -> Recorder {
        Recorder { model, tape }
    }
}

#[async_trait]
impl Model for Recorder {
    fn name(&self) -> &ModelName {
        self.model.name()
    }

    async fn describe(&self) -> ModelEntry {
        self.model.describe().await
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelResponse, PluginError> {
        let result = self.model.complete(request).await;
        let call = RecordedCall { model: request.model.clone(), request: sent_hash(request), result: Some(result.clone()) };
        self.tape.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        result
    }
}

type Answers = VecDeque<Result<ModelResponse, PluginError>>;

/// Recorded answers by what was sent, each in the order of its calls.
pub(super) struct Reel(Mutex<BTreeMap<(ModelName, String), Answers>>);

impl Reel {
    pub(super) fn of(calls: &[RecordedCall]) -> Reel {
        let mut reel: BTreeMap<(ModelName, String), Answers> = BTreeMap::new();
        for call in calls {
            reel.entry((call.model.clone(), call.request.clone())).or_default().extend(call.result.clone());
        }
        Reel(Mutex::new(reel))
    }
}

/// Answers from a record.
pub(super) struct Player {
    name: ModelName,
    entry: ModelEntry,
    reel: Arc<Reel>,
}

impl Player {
    pub(super) fn new(name: ModelName, entry: ModelEntry, reel: Arc<Reel>) -> Player {
        Player { name, entry, reel }
    }
}

#[async_trait]
impl Model for Player {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn describe(&self) -> ModelEntry {
        self.entry.clone()
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelResponse, PluginError> {
        let sent = sent_hash(request);
        let mut reel = self.reel.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = reel.get_mut(&(request.model.clone(), sent.clone()));
        let cause = match known {
            Some(answers) => match answers.pop_front() {
                Some(result) => return result,
                None => format!("this request ({sent}) was made more often than it was recorded"),
            },
            None => format!("no answer to this request ({sent}) was recorded"),
        };
        Err(PluginError::new(ErrorKind::Internal, format!("replaying a call of model {}", request.model), cause)
            .with_hint("the sources or the prompt have changed since the run was recorded"))
    }
}
