//! Sensitive values by a Presidio server: `POST /analyze` with JSON, as its analyzer serves it.
//!
//! Whatever is not a well-formed answer is an error, never "nothing found": a server that is down, slow, answers another
//! status or offsets that lie outside the text. After a failure the next questions fail at once for a while, so that a
//! server that hangs costs one wait and not one per passage.

use crate::{Labels, PolicyError};
use ctx_contracts::{ErrorKind, PluginError};
use ctx_types::intent::SensitiveSpan;
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest wait for one answer.
const ANALYZE_MAX: Duration = Duration::from_secs(3);
/// How long a failure is believed.
const DOWN_FOR: Duration = Duration::from_secs(2);
/// Findings below this are guesses; Presidio's own default is to report them all.
const SCORE_MIN: f64 = 0.35;
/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 8 << 20;

/// A client of one server.
#[derive(Debug)]
pub struct Presidio {
    url: String,
    http: reqwest::Client,
    patience: Duration,
    failed: Mutex<Option<(Instant, PluginError)>>,
}

/// One finding: offsets count characters.
#[derive(Debug, Deserialize)]
struct Finding {
    entity_type: String,
    start: usize,
    end: usize,
}

impl Presidio {
    /// A client of the server at `url` (without `/analyze`). Nothing is sent yet.
    pub fn new(url: &str) -> Result<Presidio, PolicyError> {
        let url = url.trim().trim_end_matches('/').trim_end_matches("/analyze").to_owned();
        // Another part of the process may have installed a provider already: then that one serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .user_agent(concat!("ctxrt/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|e| PolicyError::Client { url: url.clone(), cause: e.to_string() })?;
        Ok(Presidio { url, http, patience: ANALYZE_MAX, failed: Mutex::default() })
    }

    /// The same, with another longest wait for one answer.
    pub fn with_patience(mut self, patience: Duration) -> Presidio {
        self.patience = patience;
        self
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What the server finds in a text, in byte offsets.
    pub async fn analyze(&self, text: &str, labels: &Labels) -> Result<Vec<SensitiveSpan>, PluginError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(error) = self.recently() {
            return Err(error);
        }
        let result = self.ask(text).await.and_then(|findings| self.spans(text, &findings, labels));
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = result.as_ref().err().map(|error| (Instant::now(), error.clone()));
        result
    }

    fn recently(&self) -> Option<PluginError> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.as_ref().filter(|(at, _)| at.elapsed() < DOWN_FOR).map(|(_, error)| error.clone())
    }

    fn error(&self, kind: ErrorKind, cause: impl Into<String>) -> PluginError {
        PluginError::new(kind, format!("asking the detector at {}", self.url), cause).with_hint("is the Presidio analyzer running?")
    }

    async fn ask(&self, text: &str) -> Result<Vec<Finding>, PluginError> {
        let body = serde_json::json!({ "text": text, "language": "en", "score_threshold": SCORE_MIN });
        let sent = self.http.post(format!("{}/analyze", self.url)).timeout(self.patience).json(&body).send().await;
        let mut response = sent.map_err(|e| self.broken(&e))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.error(ErrorKind::Unavailable, format!("it answered {}", status.as_u16())));
        }
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|e| self.broken(&e))? {
            bytes.extend_from_slice(&part);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(self.error(ErrorKind::Unavailable, format!("its answer is longer than {ANSWER_BYTES_MAX} bytes")));
            }
        }
        // The parser's message may quote the answer, which quotes the text.
        serde_json::from_slice(&bytes).map_err(|_| self.error(ErrorKind::Unavailable, "its answer is not a list of findings"))
    }

    fn broken(&self, error: &reqwest::Error) -> PluginError {
        match (error.is_timeout(), error.is_connect()) {
            (true, _) => self.error(ErrorKind::Timeout, format!("no answer within {} ms", self.patience.as_millis())),
            (_, true) => self.error(ErrorKind::Unavailable, "it cannot be reached"),
            _ => self.error(ErrorKind::Unavailable, "the connection broke"),
        }
    }

    fn spans(&self, text: &str, findings: &[Finding], labels: &Labels) -> Result<Vec<SensitiveSpan>, PluginError> {
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let offset = |character: usize| starts.get(character).and_then(|at| u32::try_from(*at).ok());
        let span = |finding: &Finding| {
            let (start, end) = (offset(finding.start)?, offset(finding.end)?);
            let (detector, raises_to) = labels.of_entity(&finding.entity_type);
            (start < end).then_some(SensitiveSpan { detector, raises_to, start, end })
        };
        let outside = || self.error(ErrorKind::Unavailable, "a finding lies outside the text");
        findings.iter().map(|finding| span(finding).ok_or_else(outside)).collect()
    }
}
