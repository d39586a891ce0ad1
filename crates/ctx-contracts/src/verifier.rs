//! Checks with consequences.

use crate::{ContextPassage, PluginError};
use async_trait::async_trait;
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Citation, Goal, Intent, Strategy};

/// What is checked.
pub struct VerifyRequest<'a> {
    /// The goal.
    pub goal: &'a Goal,
    /// The analysed goal.
    pub intent: &'a Intent,
    /// How the answer was made.
    pub strategy: Strategy,
    /// The answer's text.
    pub answer: &'a str,
    /// Its citations.
    pub citations: &'a [Citation],
    /// The context it was made from.
    pub context: &'a [ContextPassage],
}

/// A check. What it finds decides whether the answer is given.
#[async_trait]
pub trait Verifier: Send + Sync {
    /// Its catalog entry.
    fn describe(&self) -> VerifierEntry;
    /// The verdict.
    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError>;
}
