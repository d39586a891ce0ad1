//! The client of one tier.

use crate::TierSettings;
use crate::discovery::{self, Discovered};
use crate::failure;
use crate::sse::Decoder;
use crate::wire::{self, Chunk};
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, FinishReason, Model, ModelRequest, ModelResponse, PluginError, Taken};
use ctx_types::estimate::TokenClasses;
use ctx_types::{Micros, ModelEntry, ModelName};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a description is believed.
const DESCRIPTION_TTL: Duration = Duration::from_secs(60);
/// Longest body that is read of a failed call.
const ERROR_BYTES_MAX: usize = 16 << 10;

/// An OpenAI-compatible endpoint serving one model.
#[derive(Debug)]
pub struct OpenAiCompatible {
    pub(crate) settings: TierSettings,
    pub(crate) http: reqwest::Client,
    described: Mutex<Option<(Instant, Discovered)>>,
}

impl OpenAiCompatible {
    /// A client; nothing is sent yet.
    pub fn new(settings: TierSettings) -> Result<OpenAiCompatible, PluginError> {
        // Another part of the process may have installed a provider already: then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("ctxrt/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| PluginError::new(ErrorKind::Internal, format!("preparing model {}", settings.name), e.to_string()))?;
        Ok(OpenAiCompatible { settings, http, described: Mutex::new(None) })
    }

    async fn send(&self, request: &ModelRequest) -> Result<reqwest::Response, PluginError> {
        let name = &self.settings.name;
        let mut call = self
            .http
            .post(self.settings.url("chat/completions"))
            .timeout(Duration::from_micros(request.timeout.get()))
            .json(&self.settings.told(wire::body(&self.settings.model, request)));
        if let Some(key) = &self.settings.api_key {
            call = call.bearer_auth(key.expose());
        }
        let response = call.send().await.map_err(|e| failure::of_transport(name, &e))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let retry_after = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let body = error_body(response).await;
        Err(failure::of_status(name, status, retry_after.as_deref(), &body))
    }
}

async fn error_body(mut response: reqwest::Response) -> String {
    let mut body = Vec::new();
    while let Ok(Some(bytes)) = response.chunk().await {
        body.extend_from_slice(&bytes);
        if body.len() > ERROR_BYTES_MAX {
            break;
        }
    }
    String::from_utf8_lossy(&body[..body.len().min(ERROR_BYTES_MAX)]).into_owned()
}

/// What has arrived so far.
struct Received {
    start: Instant,
    text: String,
    usage: Option<TokenClasses>,
    /// What contradicts itself in the last report of usage.
    contradiction: Option<String>,
    /// The model said that it will not answer.
    refused: bool,
    finish: Option<String>,
    model: Option<String>,
    first: Option<Micros>,
    done: bool,
}

impl Received {
    fn at(start: Instant) -> Received {
        Received {
            start,
            text: String::new(),
            usage: None,
            contradiction: None,
            refused: false,
            finish: None,
            model: None,
            first: None,
            done: false,
        }
    }

    fn take(&mut self, name: &ModelName, payload: &str) -> Result<(), PluginError> {
        if payload.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_str(payload).map_err(|_| failure::of_stream(name, "an event is not JSON"))?;
        if let Some(error) = chunk.error {
            let cause = error["message"].as_str().unwrap_or("the endpoint reported an error in the stream").to_owned();
            return Err(failure::of_stream(name, cause));
        }
        self.model = chunk.model.or(self.model.take());
        if let Some(usage) = chunk.usage {
            self.usage = usage.classes().or(self.usage.take());
            self.contradiction = usage.contradiction();
        }
        // The last chunk carries the usage and may hold no choice.
        for choice in chunk.choices {
            let said = choice.delta.or(choice.message).unwrap_or_default();
            self.refused |= said.refusal.is_some_and(|refusal| !refusal.trim().is_empty());
            let content = said.content.unwrap_or_default();
            if !content.is_empty() && self.first.is_none() {
                self.first = Some(elapsed(self.start));
            }
            self.text.push_str(&content);
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(())
    }
}

fn elapsed(start: Instant) -> Micros {
    Micros(u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX))
}

#[async_trait]
impl Model for OpenAiCompatible {
    fn name(&self) -> &ModelName {
        &self.settings.name
    }

    async fn describe(&self) -> ModelEntry {
        let mut described = self.described.lock().await;
        let stale = described.as_ref().is_none_or(|(at, _)| at.elapsed() > DESCRIPTION_TTL);
        if stale {
            *described = Some((Instant::now(), discovery::discover(self).await));
        }
        match &*described {
            Some((_, found)) => discovery::entry(self, found),
            None => discovery::entry(self, &discovery::unknown()),
        }
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelResponse, PluginError> {
        let name = &self.settings.name;
        let start = Instant::now();
        let mut response = self.send(request).await?;
        let streamed = response.headers().get("content-type").and_then(|v| v.to_str().ok()).is_some_and(|t| t.contains("event-stream"));
        let mut got = Received::at(start);
        if streamed {
            let mut decoder = Decoder::default();
            while let Some(bytes) = response.chunk().await.map_err(|e| failure::of_transport(name, &e))? {
                for payload in decoder.feed(&bytes).map_err(|_| failure::of_stream(name, "an event is endless"))? {
                    got.take(name, &payload)?;
                }
            }
            for payload in decoder.finish() {
                got.take(name, &payload)?;
            }
            if !got.done && got.finish.is_none() {
                return Err(failure::of_stream(name, "the stream ended in the middle"));
            }
        } else {
            let body = response.text().await.map_err(|e| failure::of_transport(name, &e))?;
            got.take(name, &body)?;
        }
        let finish = wire::finish(got.finish.as_deref());
        if finish == FinishReason::Filtered || got.refused {
            let cause = if got.refused { "the model refused to answer" } else { "the provider filtered the answer" };
            let taken = got.usage.map_or(Taken::Unknown, |usage| Taken::Reported(Box::new(usage)));
            return Err(PluginError::new(ErrorKind::Refused, format!("calling model {name}"), cause).having_taken(taken));
        }
        Ok(ModelResponse {
            text: got.text,
            usage: got.usage,
            doubt: got.contradiction,
            finish,
            model: got.model.unwrap_or_else(|| self.settings.model.clone()),
            first_token: got.first,
            elapsed: elapsed(start),
        })
    }
}
