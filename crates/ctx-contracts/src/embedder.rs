//! Text to vector.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::catalog::EmbeddingInventory;

/// An embedding model. Vectors of different identities are never mixed.
#[async_trait]
pub trait Embedder: Send + Sync {
    /// Model, dimension, hashes; `vectors` is zero.
    fn identity(&self) -> EmbeddingInventory;
    /// Unit vectors, one per text; an empty vector where the text has nothing to embed.
    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, PluginError>;
}
