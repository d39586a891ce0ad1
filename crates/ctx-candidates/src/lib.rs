//! What plans are possible: intent × catalog → plan space.
//!
//! [`generate`] enumerates every alternative of every stage and lets the rules prune; a pruned alternative keeps the
//! rule's name and its reason. What remains is a [`PlanSpace`]: one group per source and the list of *frames* (one choice
//! of fuse method, pack, strategy with model, and verifier). Pruning never falls back to something forbidden: a stage may
//! end up empty, and then there is no plan.
//!
//! Rules are one per file under [`rules`]; the order of [`rules::RULES`] decides only which reason is shown.

pub mod grid;
pub mod rules;
mod space;
mod view;

pub use space::{FrameChoice, PlanSpace, Pruned, generate, generate_of};
pub use view::View;

/// Whether an intent counts as high risk.
pub fn is_high_risk(intent: &ctx_types::Intent) -> bool {
    intent.risk >= rules::HIGH_RISK
}

/// Names of hints that mean no alternative of this plan space, pruned ones included.
pub fn unknown_hints<'a>(hints: &'a [ctx_types::goal::Hint], space: &PlanSpace) -> Vec<&'a str> {
    let all: Vec<_> = space.alternatives.iter().chain(space.pruned.iter().map(|p| &p.alternative)).collect();
    rules::unknown_hints(hints, &all)
}

/// Names by which hints can mean an operator.
pub fn hint_names(operator: &ctx_types::Operator) -> Vec<String> {
    rules::hint_names(operator)
}
