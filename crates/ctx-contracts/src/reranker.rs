//! Reordering a list.

use crate::{Metered, PluginError};
use async_trait::async_trait;
use ctx_types::Hit;

/// A second, dearer look at a list.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;
    /// The same hits in a new order with new scores; none added.
    async fn rerank(&self, query: &str, hits: Vec<Hit>) -> Result<Metered<Vec<Hit>>, PluginError>;
}
