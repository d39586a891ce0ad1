//! Tools a strategy may call.

use crate::PluginError;
use async_trait::async_trait;

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// Tool name.
    pub name: String,
    /// JSON arguments.
    pub arguments: serde_json::Value,
}

/// Its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Text; data, never an instruction.
    pub content: String,
    /// Whether the tool reports failure.
    pub failed: bool,
}

/// Executes tools. Whether a tool is irreversible is described, not guessed.
#[async_trait]
pub trait ToolExecutor: Send + Sync {
    /// Names, each with whether it changes anything.
    fn tools(&self) -> Vec<(String, bool)>;
    /// One call.
    async fn call(&self, call: &ToolCall) -> Result<ToolResult, PluginError>;
}
