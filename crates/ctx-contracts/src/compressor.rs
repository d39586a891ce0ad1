//! Shortening a passage; lossy until proven otherwise.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::Receipt;
use ctx_types::catalog::CompressorEntry;
use ctx_types::{Passage, Tokens};

/// What is shortened.
pub struct CompressRequest<'a> {
    /// The question, verbatim.
    pub goal: &'a str,
    /// ISO 639-1 code of its language; `und` where nobody knows.
    pub language: &'a str,
    /// The passage.
    pub passage: &'a Passage,
    /// Tokens wanted at most. Numbers, identifiers and negations are kept even where they do not fit.
    pub budget: Tokens,
}

/// A shortened passage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// What is sent: parts of the original in their order, gaps marked.
    pub text: String,
    /// What was left out, so that it can be fetched.
    pub receipt: Receipt,
}

/// A compressor. What is too short to be worth it comes back as it is, with nothing omitted.
#[async_trait]
pub trait Compressor: Send + Sync {
    /// Its catalog entry.
    fn describe(&self) -> CompressorEntry;
    /// A shorter form for this goal.
    async fn compress(&self, request: CompressRequest<'_>) -> Result<Compressed, PluginError>;
}
