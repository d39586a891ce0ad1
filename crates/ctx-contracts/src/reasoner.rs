//! A strategy over zero or more model calls.

use crate::{ModelRequest, ModelResponse, PluginError};
use async_trait::async_trait;
use ctx_types::{Citation, Goal, Intent, Layout, ModelName, Passage, Ppm, Strategy, Tokens};

/// A passage of the context with its label. Labels are 1..=n in the order of the context.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextPassage {
    /// `[label]` in the answer.
    pub label: u32,
    /// The passage.
    pub passage: Passage,
    /// Calibrated probability that it is relevant.
    pub relevance: Ppm,
    /// Whether it holds an identifier of the goal literally.
    pub exact: bool,
}

impl ContextPassage {
    /// The citation of it as a whole.
    pub fn citation(&self) -> Citation {
        Citation {
            label: self.label,
            passage: self.passage.id.clone(),
            locator: self.passage.locator.clone(),
            title: self.passage.title.clone(),
            quote: None,
        }
    }
}

/// The only way to a model: every call is reserved in the run's ledger before it is made and settled after.
#[async_trait]
pub trait ModelAccess: Send + Sync {
    /// One completion within the run's budgets.
    async fn complete(&self, request: ModelRequest) -> Result<ModelResponse, PluginError>;
}

/// What a reasoner gets.
pub struct ReasonRequest<'a> {
    /// The goal, verbatim.
    pub goal: &'a Goal,
    /// The analysed goal.
    pub intent: &'a Intent,
    /// Packed context, in prompt order.
    pub context: &'a [ContextPassage],
    /// Order of context and question.
    pub layout: Layout,
    /// Planned model.
    pub model: Option<&'a ModelName>,
    /// Output cap per call.
    pub max_output: Tokens,
    /// Calibrated P(evidence) over the scores seen.
    pub evidence: Ppm,
    /// Findings of the check that rejected the previous attempt; empty at first.
    pub complaints: &'a [String],
    /// Access to models.
    pub models: &'a dyn ModelAccess,
}

/// What a reasoner gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The answer with `[n]` markers; empty when withheld.
    pub text: String,
    /// Resolved citations, by label.
    pub citations: Vec<Citation>,
    /// Why it is withheld.
    pub abstained: Option<String>,
    /// Hash of each prompt that was sent.
    pub sent: Vec<String>,
}

/// Runs one strategy.
#[async_trait]
pub trait Reasoner: Send + Sync {
    /// The strategy it honours.
    fn strategy(&self) -> Strategy;
    /// Answers from the context, or withholds.
    async fn reason(&self, request: ReasonRequest<'_>) -> Result<Answer, PluginError>;
}
