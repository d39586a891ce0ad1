//! The record of one run, complete enough to explain and replay it.

use crate::estimate::{AlternativeEstimate, TokenClasses};
use crate::exploration::Exploration;
use crate::outcome::Outcome;
use crate::passage::{ByteRange, Locator};
use crate::probe::Probe;
use crate::{ContentId, Micros, NanoUsd, Passage, Ppm, SourceName, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the persisted trace format.
pub const TRACE_SCHEMA_VERSION: u32 = 1;

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trace {
    /// [`TRACE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Unique id of the run; not part of any plan id.
    pub id: String,
    /// RFC 3339 with offset.
    pub started_at: String,
    /// Tenant.
    pub tenant: String,
    /// Why it ran: `user`, `benchmark`, `shadow`.
    pub purpose: String,
    /// Goal text, or its hash from `confidential` up.
    pub goal: String,
    /// Plan that was executed.
    pub plan: ContentId,
    /// Replaced plan.
    pub parent_plan: Option<ContentId>,
    /// Hash of the execution graph.
    pub graph: ContentId,
    /// Plan cache: hit or miss and why.
    pub plan_cache: String,
    /// Statistics epoch.
    pub epoch: String,
    /// Generation per source.
    pub generations: Vec<(String, u64)>,
    /// Probability with which an explorer chose this plan, ppm; 1,000,000 without exploration.
    pub propensity: Ppm,
    /// What else the explorer could have run; absent without exploration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<Exploration>,
    /// What the sources said before planning.
    pub probe: Probe,
    /// Digest of the configuration, without secrets.
    pub configuration: String,
    /// Nodes in start order.
    pub nodes: Vec<NodeTrace>,
    /// Passages that the answer was made from, by place and content hash: what of them is deleted later is not shown any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<PassageRef>,
    /// Every call of a model or reranking model, in the order in which they ended: one per request, failed attempts too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRow>,
    /// Planning time.
    pub planning: Micros,
    /// The result.
    pub outcome: Outcome,
}

/// A passage without its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PassageRef {
    /// The source it belongs to.
    pub source: SourceName,
    /// Path below the source's root.
    pub path: String,
    /// Bytes in the file on disk.
    pub bytes: ByteRange,
    /// SHA-256 hex of these bytes.
    pub fingerprint: String,
}

impl PassageRef {
    /// Of this passage.
    pub fn of(passage: &Passage) -> PassageRef {
        let Locator { source, path, bytes, .. } = &passage.locator;
        PassageRef { source: source.clone(), path: path.clone(), bytes: *bytes, fingerprint: passage.fingerprint.clone() }
    }
}

/// How a call of a model ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// It was answered.
    #[default]
    Answered,
    /// The provider refused it before any work: nothing is due.
    Refused,
    /// It failed, and the provider may have worked.
    Failed,
    /// It was given up in flight, and the provider may have worked.
    Cancelled,
    /// No request reached the provider.
    NotSent,
}

/// One call as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRow {
    /// What for: `answer`, `rerank`.
    pub purpose: String,
    /// Tier.
    pub model: String,
    /// How it ended.
    pub end: CallEnd,
    /// Tokens as the provider reports them; absent: unknown, never zero.
    pub usage: Option<TokenClasses>,
    /// What it cost; absent where the price or, at a price, the usage is unknown.
    pub cost: Option<NanoUsd>,
    /// What budgets are charged: where the cost is unknown, our count or the bound that was set aside.
    pub charged: NanoUsd,
    /// Whether the model has no price.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpriced: bool,
}

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// Finished.
    Done,
    /// Failed; the plan went on without it.
    Degraded,
    /// Failed.
    Failed,
    /// Never started.
    NotRun,
    /// Started and cancelled.
    Cancelled,
}

/// One node of the graph: estimate beside actual, same scope (all attempts), same units.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTrace {
    /// Node id in the graph.
    pub node: String,
    /// Operator in words.
    pub operator: String,
    /// How it ended.
    pub status: NodeStatus,
    /// Start, from the run's start.
    pub start: Micros,
    /// End, from the run's start.
    pub end: Micros,
    /// Attempts made.
    pub attempts: u32,
    /// Estimate from the plan.
    pub estimate: AlternativeEstimate,
    /// Actuals.
    pub actual: NodeActual,
    /// Error text of the last failure, secrets removed.
    pub error: Option<String>,
}

/// Measured values of one node over all its attempts. `None`: does not apply or unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeActual {
    /// Passages returned.
    pub hits: Option<u32>,
    /// Tokens.
    pub tokens: Option<Tokens>,
    /// Dollars.
    pub cost: Option<NanoUsd>,
    /// Calibrated evidence over the scores seen.
    pub evidence: Option<Ppm>,
    /// Wall time of all attempts together; between them the node waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy: Option<Micros>,
    /// Chunks visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u64>,
    /// Bytes read.
    pub bytes: Option<u64>,
    /// Cache hits.
    pub cache_hits: Option<u64>,
    /// Passages dropped and why.
    pub dropped: Vec<String>,
    /// What shortened passages leave out, and where the originals stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<crate::Receipt>,
    /// Hash of what was sent to a model.
    pub sent: Option<String>,
    /// Model that answered.
    pub model: Option<String>,
    /// What the prompt of the only call counts here and there: what unknown tokenizers are learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptCount>,
    /// How the only call went: what latencies and lengths of answers are learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallTiming>,
}

/// One undisturbed call as it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallTiming {
    /// Time to the first token, where the answer was streamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token: Option<Micros>,
    /// Time of the whole call.
    pub elapsed: Micros,
    /// Tokens of the answer as the provider reports them, reasoning included.
    pub output: Tokens,
}

/// One prompt under two tokenizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCount {
    /// Our count, o200k.
    pub counted: Tokens,
    /// Input tokens that the provider reported, cached ones included.
    pub reported: Tokens,
    /// Of these the ones that it read from its prompt cache.
    #[serde(default)]
    pub cached: Tokens,
}
