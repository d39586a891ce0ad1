//! Transport to one model.

use crate::PluginError;
use async_trait::async_trait;
use ctx_types::estimate::TokenClasses;
use ctx_types::{Micros, ModelEntry, ModelName, Tokens};
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions.
    System,
    /// The caller: goal and context.
    User,
    /// The model.
    Assistant,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
}

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Tier.
    pub model: ModelName,
    /// Conversation so far.
    pub messages: Vec<Message>,
    /// Caps the output side: with it the cost of the call is bounded before it is made.
    pub max_output: Tokens,
    /// Temperature in thousandths.
    pub temperature_milli: u32,
    /// Seed, where the provider honours one.
    pub seed: Option<u64>,
    /// Time left.
    pub timeout: Micros,
}

/// Why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It reached `max_output`.
    Length,
    /// The provider filtered it.
    Filtered,
    /// Something else.
    Other,
}

/// Its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelResponse {
    /// Text.
    pub text: String,
    /// Tokens as the provider reports them; `None` is unknown, never zero.
    pub usage: Option<TokenClasses>,
    /// What contradicts itself in that report; it is charged by its dearest reading then.
    pub doubt: Option<String>,
    /// Why it stopped.
    pub finish: FinishReason,
    /// The model that answered, in the provider's words.
    pub model: String,
    /// Time to the first token, where measured.
    pub first_token: Option<Micros>,
    /// Time of the whole call.
    pub elapsed: Micros,
}

/// A model.
#[async_trait]
pub trait Model: Send + Sync {
    /// Tier name.
    fn name(&self) -> &ModelName;
    /// Capabilities, discovered (at most 250 ms, cached) and configured; availability included.
    async fn describe(&self) -> ModelEntry;
    /// One completion. Dropping the future aborts the request.
    async fn complete(&self, request: &ModelRequest) -> Result<ModelResponse, PluginError>;
}
