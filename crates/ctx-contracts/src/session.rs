//! Conversations.

use crate::PluginError;
use async_trait::async_trait;

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// Words.
    pub content: String,
}

/// Append-only turns per conversation.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Turns, oldest first.
    async fn turns(&self, conversation: &str) -> Result<Vec<Turn>, PluginError>;
    /// Adds one.
    async fn append(&self, conversation: &str, turn: Turn) -> Result<(), PluginError>;
}
