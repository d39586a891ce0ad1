//! A pack budget or quota beyond `max_context_tokens` cannot be honoured.

use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let limit = view.limits.max_context_tokens?;
    let wanted = match &alternative.operator {
        Operator::Pack { budget, .. } => *budget,
        Operator::Access { quota, .. } => *quota,
        _ => return None,
    };
    (wanted > limit).then(|| format!("{wanted} context tokens, max_context_tokens is {limit}"))
}
