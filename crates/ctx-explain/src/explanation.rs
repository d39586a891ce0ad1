//! The tree value. Everything that any format shows is in here, already computed.

use ctx_types::estimate::{PlanEstimate, ScoreBreakdown};
use ctx_types::plan::{Certificate, CompletePlan, Margin, Rejection, Relaxation, SearchMemory, SourceUse};
use ctx_types::{Intent, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the explanation format.
pub const EXPLANATION_SCHEMA_VERSION: u32 = 2;

/// Why this plan, and why not the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// [`EXPLANATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The goal, verbatim unless redacted.
    pub goal: String,
    /// What is wanted.
    pub intent: Intent,
    /// The plan; absent when nothing is feasible.
    pub plan: Option<PlanView>,
    /// Why nothing is feasible.
    pub infeasible: Option<InfeasibleView>,
    /// Every permitted source once, used or rejected with the reason.
    pub sources: Vec<SourceUse>,
    /// Remarks.
    pub notes: Vec<String>,
    /// How the run ended, with ANALYZE.
    pub run: Option<RunView>,
    /// SUMMARY.
    pub summary: Option<Summary>,
    /// MEMORY; absent where nothing was searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryView>,
    /// SETTINGS: values that differ from their default.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// VERBOSE: rejected alternatives, grouped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedGroup>,
    /// VERBOSE: every rejected alternative with its estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Rejection>,
    /// Options it was made with.
    pub options: Shown,
}

/// What the reader asked to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// Actuals beside estimates.
    pub analyze: bool,
    /// Everything rejected.
    pub verbose: bool,
    /// Estimates in brackets.
    pub costs: bool,
    /// Times of nodes.
    pub timing: bool,
    /// Chunks and bytes read.
    pub buffers: bool,
    /// Settings that differ from their default.
    #[serde(default)]
    pub settings: bool,
    /// Plan cache, planning time.
    #[serde(default)]
    pub summary: bool,
    /// What the planner held.
    #[serde(default)]
    pub memory: bool,
    /// Planned without asking the sources about this goal.
    #[serde(default)]
    pub generic_plan: bool,
}

/// A chosen plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanView {
    /// Plan id.
    pub id: String,
    /// Hash of the shape.
    pub gist: String,
    /// Shape in words.
    pub shape: String,
    /// The tree, last step first.
    pub root: NodeView,
    /// Steps that run only when something fails: retries, and where the run ends without an answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_failure: Vec<NodeView>,
    /// COSTS: estimate of the whole.
    pub estimate: Option<PlanEstimate>,
    /// COSTS: score, term by term.
    pub score: Option<ScoreBreakdown>,
    /// COSTS: distance to the runner-up.
    pub margin: Option<Margin>,
    /// Proof.
    pub certificate: Certificate,
    /// Complete assignments considered.
    pub candidates: u64,
    /// Alternatives removed by rules.
    pub pruned: u64,
    /// How the answer is checked and what follows when the check fails.
    pub verification: String,
    /// Token budget in words.
    pub token_budget: String,
    /// VERBOSE: best complete plans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<CompleteView>,
    /// VERBOSE: Pareto set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frontier: Vec<CompleteView>,
}

/// A complete plan in brief, with the numbers of its operators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompleteView {
    /// The plan.
    #[serde(flatten)]
    pub plan: CompletePlan,
    /// Its operators with their numbers, in pipeline order: what tells two plans of one shape apart.
    pub operators: String,
}

/// One node of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// Node id in the execution graph.
    pub id: String,
    /// What it does.
    pub title: String,
    /// The operator in the words of traces.
    #[serde(default)]
    pub operator: String,
    /// COSTS: estimate over all attempts.
    pub estimate: Numbers,
    /// Actual over all attempts; absent without ANALYZE.
    pub actual: Option<ActualView>,
    /// VERBOSE: where its numbers come from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance: Vec<String>,
    /// Steps whose results it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<NodeView>,
}

/// Numbers of a node in one unit system. `None`: does not apply or unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numbers {
    /// Nano-dollars.
    pub cost_nano_usd: Option<i64>,
    /// Whether it costs something that nobody knows: never the same as nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_unknown: bool,
    /// Median latency in µs.
    pub latency_us: Option<u64>,
    /// Ninth decile in µs.
    pub latency_p90_us: Option<u64>,
    /// Passages.
    pub passages: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// P(evidence) in ppm.
    pub evidence_ppm: Option<u32>,
    /// P(right | evidence) or P(wrong caught) in ppm.
    pub quality_ppm: Option<u32>,
    /// Weakest certainty among them, as printed.
    pub certainty: String,
}

/// What happened at a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ActualView {
    /// `done`, `degraded`, `failed`, `not run`, `cancelled`.
    pub status: String,
    /// TIMING: wall time of all attempts together in µs; `None` when it never ran.
    pub elapsed_us: Option<u64>,
    /// TIMING: wall time minus the union of its children's.
    pub own_us: Option<u64>,
    /// TIMING: share of the run's time that is its own, in ppm.
    #[serde(default)]
    pub own_share_ppm: Option<u32>,
    /// TIMING: start of the first attempt, in µs from the run's start.
    #[serde(default)]
    pub start_us: Option<u64>,
    /// TIMING: end of the last attempt, in µs from the run's start.
    #[serde(default)]
    pub end_us: Option<u64>,
    /// Attempts: retries and loop iterations.
    pub loops: u32,
    /// Actuals over all attempts, the scope of the estimate. Passages and evidence are those of the last one.
    pub numbers: Numbers,
    /// The additive ones per attempt, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_loop: Option<Numbers>,
    /// q-error per field: max(estimate/actual, actual/estimate), both raised to at least one unit.
    pub q_errors: Vec<QError>,
    /// BUFFERS: chunks visited.
    #[serde(default)]
    pub chunks: Option<u64>,
    /// BUFFERS: bytes read.
    pub bytes: Option<u64>,
    /// BUFFERS: chunks served from a cache.
    pub cache_hits: Option<u64>,
    /// Passages dropped and why.
    pub dropped: Vec<String>,
    /// The last error.
    pub error: Option<String>,
}

/// Ratio of estimate and actual.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QError {
    /// `passages`, `tokens`, `latency`, `cost`.
    pub field: String,
    /// In thousandths, at least 1000; finite.
    pub milli: u64,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InfeasibleView {
    /// Binding constraint or rule.
    pub binding: String,
    /// By how much.
    pub missed_by: String,
    /// Constraints that cannot hold together, irreducibly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflict: Vec<String>,
    /// Per constraint: what alone would suffice.
    pub relaxations: Vec<Relaxation>,
    /// What must move together.
    pub joint: Vec<Relaxation>,
}

/// The run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunView {
    /// How it ended.
    pub status: Status,
    /// Trace id.
    pub trace: String,
    /// Nano-dollars settled.
    pub cost_nano_usd: i64,
    /// Whether part of the cost is unknown.
    pub cost_incomplete: bool,
    /// Tokens over all calls.
    pub tokens: u64,
    /// Calls.
    pub calls: u32,
    /// Wall time in µs.
    pub elapsed_us: u64,
    /// Calibrated P(evidence) in ppm.
    pub evidence_ppm: Option<u32>,
}

/// SUMMARY.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Planning time in µs; absent where output must not depend on the clock.
    pub planning_us: Option<u64>,
    /// Plan cache: hit, or miss and why.
    pub plan_cache: Option<String>,
    /// Statistics epoch.
    pub statistics_epoch: String,
    /// Planner version.
    pub planner: String,
    /// BUFFERS: look-ups that the sources made to say what they know about the goal; none after a plan-cache hit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning_lookups: Option<u64>,
}

/// MEMORY: what the planner held, counted (number × size of the type).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryView {
    /// All of it in bytes.
    pub used_bytes: u64,
    /// Alternatives with their estimates.
    pub alternatives: u64,
    /// Bytes they take.
    pub alternative_bytes: u64,
    /// Labels and complete plans at the peak of the search.
    #[serde(flatten)]
    pub search: SearchMemory,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Key.
    pub key: String,
    /// Value.
    pub value: String,
}

/// Rejected alternatives of one stage with one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RejectedGroup {
    /// Stage.
    pub stage: String,
    /// Operators, numbers folded.
    pub operators: Vec<String>,
    /// How many alternatives.
    pub count: u64,
    /// `pruned by RULE`, `dominated`, `infeasible`, `outscored`.
    pub fate: String,
    /// In words.
    pub reason: String,
}
