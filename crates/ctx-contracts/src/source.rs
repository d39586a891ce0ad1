//! Where documents come from: discover, read, fingerprint.

use crate::PluginError;
use async_trait::async_trait;

/// A document that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDocument {
    /// Path below the root, or URL.
    pub path: String,
    /// Bytes, if known.
    pub bytes: Option<u64>,
}

/// A collection of documents.
#[async_trait]
pub trait Source: Send + Sync {
    /// Every document, sorted by path.
    async fn discover(&self) -> Result<Vec<SourceDocument>, PluginError>;
    /// Bytes of one document. Paths outside the root are refused.
    async fn read(&self, path: &str) -> Result<Vec<u8>, PluginError>;
    /// Changes exactly when a document is added, removed or edited.
    async fn fingerprint(&self) -> Result<String, PluginError>;
}
