//! The problem's data: integers in, integers out.

use ctx_types::{AlternativeId, Constraints, MicroNats, Micros, Objective, PicoUsd, Ppm, Tokens, Weights};

/// What one alternative of a source adds to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The alternative.
    pub id: AlternativeId,
    /// Evidence, −ln(1 − p).
    pub evidence: MicroNats,
    /// Evidence lost to the quota, ln(p at k / p within quota).
    pub loss: MicroNats,
    /// Expected cost of the access itself.
    pub cost: PicoUsd,
    /// Expected context tokens.
    pub tokens: Tokens,
    /// Most context tokens; quotas of a selection sum to at most the pack budget.
    pub quota: Tokens,
    /// Median latency of the branch.
    pub latency_p50: Micros,
    /// Upper quantile of the branch's latency.
    pub latency_p90: Micros,
    /// Whether it reads the source (a skip does not).
    pub reads: bool,
    /// What it brings into the context, as one bit: [`TEXT`], [`RESULT`]; none for a skip.
    pub brings: u8,
    /// Items of one shape differ in numbers only.
    pub shape: u32,
}

/// Passages of text.
pub const TEXT: u8 = 1;
/// Results computed from tables.
pub const RESULT: u8 = 2;
/// What a frame may need: a selection that brings none of it never stands in for one that does.
pub const NEEDABLE: u8 = RESULT;

/// Coordinates of a selection. Latencies are those of the slowest branch, the rest are sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Evidence.
    pub evidence: MicroNats,
    /// Lost evidence.
    pub loss: MicroNats,
    /// Access cost.
    pub cost: PicoUsd,
    /// Context tokens.
    pub tokens: Tokens,
    /// Quotas.
    pub quota: Tokens,
    /// Slowest branch, median.
    pub latency_p50: Micros,
    /// Slowest branch, upper quantile.
    pub latency_p90: Micros,
    /// Sources read; two and more count the same.
    pub reads: u8,
    /// What the context holds, as bits.
    pub brings: u8,
}

impl Totals {
    /// The totals with one more item.
    pub fn with(self, item: &Item) -> Totals {
        Totals {
            evidence: self.evidence + item.evidence,
            loss: self.loss + item.loss,
            cost: self.cost + item.cost,
            tokens: self.tokens + item.tokens,
            quota: self.quota + item.quota,
            latency_p50: self.latency_p50.max(item.latency_p50),
            latency_p90: self.latency_p90.max(item.latency_p90),
            reads: (self.reads + u8::from(item.reads)).min(2),
            brings: self.brings | item.brings,
        }
    }

    /// The totals of two selections over different groups.
    pub fn beside(self, other: &Totals) -> Totals {
        Totals {
            evidence: self.evidence + other.evidence,
            loss: self.loss + other.loss,
            cost: self.cost + other.cost,
            tokens: self.tokens + other.tokens,
            quota: self.quota + other.quota,
            latency_p50: self.latency_p50.max(other.latency_p50),
            latency_p90: self.latency_p90.max(other.latency_p90),
            reads: (self.reads + other.reads).min(2),
            brings: self.brings | other.brings,
        }
    }
}

/// What of a frame belongs to the call of its model: sensitivity asks what happens when that moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallShare {
    /// Number of the model; equal in all frames that call it.
    pub model: u32,
    /// Part of [`Frame::fixed_cost`] that input prices decide.
    pub input_cost: PicoUsd,
    /// Part of [`Frame::cost_bound`] that input prices decide.
    pub input_bound: PicoUsd,
    /// Median latency of the call.
    pub latency_p50: Micros,
    /// Its upper quantile.
    pub latency_p90: Micros,
}

/// One choice of everything that is not a source.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its alternatives, one per stage, ascending.
    pub alternatives: Vec<AlternativeId>,
    /// Frames of one shape differ in numbers only.
    pub shape: u32,
    /// The same without the fuse method, which does nothing when at most one source is read.
    pub shape_of_one: u32,
    /// What its answerer can work on, as bits: a selection that brings anything else is not combined with it.
    pub accepts: u8,
    /// What its answerer cannot do without, as bits within [`NEEDABLE`].
    pub needs: u8,
    /// P(right | evidence in context).
    pub right_with: Ppm,
    /// P(right | an answer exists but is not in the context).
    pub right_without: Ppm,
    /// P(withheld | evidence in context).
    pub withheld_with: Ppm,
    /// P(withheld | no evidence in context).
    pub withheld_without: Ppm,
    /// Loss of P(right | evidence) per doubling of the context beyond [`DILUTION_FREE_TOKENS`].
    pub dilution: Ppm,
    /// P(a wrong answer is caught).
    pub catches: Ppm,
    /// P(a right answer is rejected).
    pub rejects: Ppm,
    /// Evidence over all permitted sources at their best: how likely any of them holds an answer. No selection has more: the
    /// search relies on it.
    pub answerable: MicroNats,
    /// Factor on evidence when two or more sources are merged this way.
    pub fuse_factor: Ppm,
    /// Growth of P(evidence) by reordering the list, as a share of itself; never beyond what the sources hold.
    pub gain: Ppm,
    /// Share of the packed tokens that is sent after shortening; `context_price` counts it already.
    pub sent: Ppm,
    /// P(the evidence is still in the text after shortening | it was before).
    pub survives: Ppm,
    /// Expected cost apart from context tokens.
    pub fixed_cost: PicoUsd,
    /// Price of a context token.
    pub context_price: PicoUsd,
    /// Provable upper bound of the primary path.
    pub cost_bound: PicoUsd,
    /// Upper bound of tokens over all calls.
    pub tokens_bound: Tokens,
    /// Model calls.
    pub calls: u32,
    /// Everything after retrieval: median, apart from context tokens.
    pub latency_p50: Micros,
    /// Median time that 1,000 context tokens take. The upper quantile is that of a full context.
    pub latency_per_ktoken: Micros,
    /// Everything after retrieval: upper quantile.
    pub latency_p90: Micros,
    /// Whether the upper quantile is measured well enough to decide feasibility.
    pub latency_measured: bool,
    /// Pack budget.
    pub budget: Tokens,
    /// P(irreversible) × (1 − approved).
    pub risk: Ppm,
    /// Expected share of the prompt that is read from the provider's cache, at a full context. Cost counts what that saves; the
    /// score counts beside it what has no price (rate limits, time of others).
    pub cache: Ppm,
    /// The model's part, where one is called.
    pub call: Option<CallShare>,
}

/// Context up to this many tokens does not dilute an answer. Prior: drops with context length were published from about
/// two thousand tokens on (Liu et al. 2024, "Lost in the Middle").
pub const DILUTION_FREE_TOKENS: f64 = 1_000.0;

/// Everything the search needs.
#[derive(Clone, Debug)]
pub struct Problem {
    /// One group per source; exactly one item of each is chosen.
    pub groups: Vec<Vec<Item>>,
    /// Frames.
    pub frames: Vec<Frame>,
    /// Score weights.
    pub weights: Weights,
    /// What is maximised.
    pub objective: Objective,
    /// Hard limits.
    pub limits: Constraints,
    /// Most labels kept per group; counted, not timed, so that plans stay deterministic.
    pub labels_max: usize,
}

/// Default of [`Problem::labels_max`].
pub const LABELS_MAX: usize = 4_000;

/// Most comparisons of two labels in one search: some milliseconds.
pub const COMPARED_MAX: u64 = 4_000_000;

impl Frame {
    /// Whether its answerer can work on what a selection brings.
    pub fn takes(&self, totals: &Totals) -> bool {
        totals.brings & !self.accepts == 0 && self.needs & !totals.brings == 0
    }
}

impl Problem {
    /// Complete assignments.
    pub fn candidates(&self) -> u64 {
        let selections = self.groups.iter().map(|g| g.len() as u64).fold(1u64, u64::saturating_mul);
        selections.saturating_mul(self.frames.len() as u64)
    }
}
