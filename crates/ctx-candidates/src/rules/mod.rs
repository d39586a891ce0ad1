//! The rules, one per file. A rule looks at one alternative (or one combination) and either lets it pass or says in words,
//! with the values that decided, why it cannot be part of any plan. Rules never score.

mod aggregate_needs_reader;
mod already_read;
mod availability;
mod budget_within_window;
mod citations_need_proof;
mod compress_configured;
mod compress_dominated;
mod compress_gains;
mod compress_long_contexts;
mod compress_needs_reader;
mod computed_needs_table;
mod context_limit;
mod default_path;
mod embeddings;
mod exact_identifier;
mod fuse_needs_lists;
mod high_risk;
mod hints;
mod identifier_present;
mod layout_needs_model;
mod permissions;
mod policy;
mod price_known;
mod rerank_configured;
mod rerank_gains;
mod rerank_sees_everything;
mod sensitive_stays_local;
mod source_state;
mod table_query;
mod verification_required;
mod verifier_checks_strategy;
mod whole_fits;

use crate::{FrameChoice, View};
use ctx_types::Alternative;
use ctx_types::alternative::ALREADY_READ;

/// A rule over one alternative.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Name, printed by EXPLAIN.
    pub name: &'static str,
    /// `Some(reason)` removes the alternative.
    pub prune: fn(&View<'_>, &Alternative) -> Option<String>,
}

/// The alternative to blame for a refused combination, by index, and the reason; `None` lets it pass.
pub type Refusal = Option<(usize, String)>;

/// A rule over a combination. Returns the index of the alternative to blame, and the reason.
#[derive(Clone, Copy)]
pub struct FrameRule {
    /// Name, printed by EXPLAIN.
    pub name: &'static str,
    /// `Some` removes the combination.
    pub refuse: fn(&View<'_>, &[Alternative], &FrameChoice) -> Refusal,
}

/// Name used when an alternative fits no combination and no rule named it.
pub const NO_FRAME: &str = "no_combination";

/// Rules over alternatives. What is true of the source or model as a whole comes first, so that its reason is the one shown.
pub const RULES: &[Rule] = &[
    Rule { name: "source_state", prune: source_state::prune },
    Rule { name: "permissions", prune: permissions::prune },
    Rule { name: "policy", prune: policy::prune },
    Rule { name: "availability", prune: availability::prune },
    Rule { name: "sensitive_stays_local", prune: sensitive_stays_local::prune },
    Rule { name: "price_known", prune: price_known::prune },
    Rule { name: "hints", prune: hints::prune },
    Rule { name: "embeddings", prune: embeddings::prune },
    Rule { name: "table_query", prune: table_query::prune },
    Rule { name: "identifier_present", prune: identifier_present::prune },
    Rule { name: "exact_identifier", prune: exact_identifier::prune },
    Rule { name: "default_path", prune: default_path::prune },
    Rule { name: "context_limit", prune: context_limit::prune },
    Rule { name: "whole_fits", prune: whole_fits::prune },
    Rule { name: "fuse_needs_lists", prune: fuse_needs_lists::prune },
    Rule { name: "computed_needs_table", prune: computed_needs_table::prune },
    Rule { name: "rerank_configured", prune: rerank_configured::prune },
    Rule { name: "rerank_sees_everything", prune: rerank_sees_everything::prune },
    Rule { name: "compress_configured", prune: compress_configured::prune },
    Rule { name: "compress_gains", prune: compress_gains::prune },
    Rule { name: "compress_dominated", prune: compress_dominated::prune },
    Rule { name: "aggregate_needs_reader", prune: aggregate_needs_reader::prune },
    Rule { name: "high_risk", prune: high_risk::prune },
    Rule { name: "verification_required", prune: verification_required::prune },
    Rule { name: "citations_need_proof", prune: citations_need_proof::prune },
    // Last: what it removes had survived every other rule when the run began.
    Rule { name: ALREADY_READ, prune: already_read::prune },
];

/// Rules over combinations.
pub const FRAME_RULES: &[FrameRule] = &[
    FrameRule { name: "verifier_checks_strategy", refuse: verifier_checks_strategy::refuse },
    FrameRule { name: "verification_default", refuse: verification_required::refuse },
    FrameRule { name: "layout_needs_model", refuse: layout_needs_model::refuse },
    FrameRule { name: "budget_within_window", refuse: budget_within_window::refuse },
];

/// Rules over what reordering and shortening are combined with: they look at those, the pack budget and the answerer only, and
/// blame the reranker or the compressor.
pub const REFINE_RULES: &[FrameRule] = &[
    FrameRule { name: "compress_needs_reader", refuse: compress_needs_reader::refuse },
    FrameRule { name: "compress_long_contexts", refuse: compress_long_contexts::refuse },
    FrameRule { name: "rerank_gains", refuse: rerank_gains::refuse },
];

/// Why a source may not be read at all, if so.
fn permissions_of(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    source_state::prune(view, alternative).or_else(|| permissions::prune(view, alternative)).or_else(|| policy::prune(view, alternative))
}

pub use budget_within_window::PROMPT_OVERHEAD;
pub(crate) use high_risk::HIGH_RISK;
pub(crate) use hints::{names as hint_names, unknown as unknown_hints};
