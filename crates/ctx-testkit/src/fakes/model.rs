//! A model that says what it is told to, with usage, failures and latency.

use super::lock;
use async_trait::async_trait;
use ctx_contracts::{FinishReason, Model, ModelRequest, ModelResponse, PluginError};
use ctx_types::estimate::TokenClasses;
use ctx_types::{Micros, ModelEntry, ModelName, Tokens};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// One scripted reply.
#[derive(Clone, Debug)]
pub struct Reply {
    result: Result<String, PluginError>,
    usage: Option<TokenClasses>,
    latency: Duration,
}

impl Reply {
    /// An answer with 100 input and 20 output tokens reported.
    pub fn text(text: &str) -> Reply {
        let usage = TokenClasses { input: Tokens(100), output: Tokens(20), ..TokenClasses::default() };
        Reply { result: Ok(text.to_owned()), usage: Some(usage), latency: Duration::ZERO }
    }

    /// A failure.
    pub fn error(error: PluginError) -> Reply {
        Reply { result: Err(error), usage: None, latency: Duration::ZERO }
    }

    /// The same reply with this usage reported.
    pub fn using(self, usage: TokenClasses) -> Reply {
        Reply { usage: Some(usage), ..self }
    }

    /// The same reply without a usage report.
    pub fn without_usage(self) -> Reply {
        Reply { usage: None, ..self }
    }

    /// The same reply after a while.
    pub fn after(self, latency: Duration) -> Reply {
        Reply { latency, ..self }
    }
}

/// A scripted model; the last reply repeats.
pub struct FakeModel {
    name: ModelName,
    entry: ModelEntry,
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<ModelRequest>>,
    aborted: AtomicU32,
}

/// Counts calls whose future was dropped before its end.
struct InFlight<'a>(Option<&'a AtomicU32>);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if let Some(aborted) = self.0 {
            aborted.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl FakeModel {
    /// A model that describes itself as `entry` and answers from `script`.
    pub fn new(name: &str, entry: ModelEntry, script: Vec<Reply>) -> FakeModel {
        FakeModel {
            name: ModelName::new(name).expect("a literal name"),
            entry,
            script: Mutex::new(script.into()),
            requests: Mutex::default(),
            aborted: AtomicU32::new(0),
        }
    }

    /// Every request so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        lock(&self.requests).clone()
    }

    /// Calls whose future was dropped before its end.
    pub fn aborted(&self) -> u32 {
        self.aborted.load(Ordering::SeqCst)
    }

    fn next(&self) -> Reply {
        let mut script = lock(&self.script);
        if script.len() > 1 { script.pop_front().expect("more than one") } else { script.front().cloned().expect("a script has a reply") }
    }
}

#[async_trait]
impl Model for FakeModel {
    fn name(&self) -> &ModelName {
        &self.name
    }

    async fn describe(&self) -> ModelEntry {
        self.entry.clone()
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelResponse, PluginError> {
        lock(&self.requests).push(request.clone());
        let reply = self.next();
        let mut in_flight = InFlight(Some(&self.aborted));
        if !reply.latency.is_zero() {
            tokio::time::sleep(reply.latency).await;
        }
        in_flight.0 = None;
        Ok(ModelResponse {
            text: reply.result?,
            usage: reply.usage,
            doubt: None,
            finish: FinishReason::Stop,
            model: self.entry.model.clone(),
            first_token: None,
            elapsed: Micros(1_000),
        })
    }
}
