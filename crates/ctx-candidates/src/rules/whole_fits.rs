//! A whole source is sent only if it is known to fit the largest pack budget.

use crate::{View, grid};
use ctx_types::catalog::SourceState;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path: AccessPath::Whole, .. }) = (&alternative.stage, &alternative.operator) else {
        return None;
    };
    let largest = grid::budgets(view.limits).into_iter().max()?;
    let entry = view.source(source)?;
    if entry.state == SourceState::NoStatistics {
        return Some(format!("`{source}` has no statistics: nobody knows whether it fits"));
    }
    if entry.tokens > largest {
        return Some(format!("`{source}` holds {} tokens, the largest context is {largest}", entry.tokens));
    }
    let most = view.limits.final_k.or(view.settings.final_k)?;
    (entry.passages > u64::from(most)).then(|| format!("`{source}` holds {} passages, final_k is {most}", entry.passages))
}
