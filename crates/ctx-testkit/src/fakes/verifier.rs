//! A verifier with scripted verdicts; it passes when the script is used up.

use super::lock;
use async_trait::async_trait;
use ctx_contracts::{PluginError, Verifier, VerifyRequest};
use ctx_types::Ppm;
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use std::collections::VecDeque;
use std::sync::Mutex;

/// Rejects as often as told.
pub struct FakeVerifier {
    entry: VerifierEntry,
    script: Mutex<VecDeque<Result<bool, PluginError>>>,
    seen: Mutex<Vec<String>>,
}

impl FakeVerifier {
    /// A verifier described so, with these verdicts first.
    pub fn new(entry: VerifierEntry, script: Vec<Result<bool, PluginError>>) -> FakeVerifier {
        FakeVerifier { entry, script: Mutex::new(script.into()), seen: Mutex::default() }
    }

    /// Answers it was shown.
    pub fn seen(&self) -> Vec<String> {
        lock(&self.seen).clone()
    }
}

#[async_trait]
impl Verifier for FakeVerifier {
    fn describe(&self) -> VerifierEntry {
        self.entry.clone()
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        lock(&self.seen).push(request.answer.to_owned());
        let passed = lock(&self.script).pop_front().unwrap_or(Ok(true))?;
        let findings = if passed { Vec::new() } else { vec!["the test rejects it".to_owned()] };
        Ok(Verdict { verifier: self.entry.name.clone(), passed, confidence: Ppm(800_000), findings })
    }
}
