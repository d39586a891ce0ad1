//! Reordering a list.

use crate::{Metered, PluginError};
use async_trait::async_trait;
use ctx_types::Hit;
use ctx_types::catalog::RerankerEntry;

/// What is reordered.
pub struct RerankRequest<'a> {
    /// The question, verbatim.
    pub query: &'a str,
    /// ISO 639-1 code of its language; `und` where nobody knows.
    pub language: &'a str,
    /// Passages in the order of retrieval; scores are calibrated probabilities of relevance.
    pub hits: Vec<Hit>,
}

/// A second, dearer look at a list.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Its catalog entry.
    fn describe(&self) -> RerankerEntry;
    /// The same hits in a new order, best first, with the reranker's own scores; none added, none dropped.
    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError>;
}
