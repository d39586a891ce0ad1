//! What policy refused before planning.

use crate::View;
use ctx_types::{Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let denial = view.denials.iter().find(|d| match (&alternative.stage, &alternative.operator) {
        (Stage::Access(source), Operator::Access { .. }) => d.model.is_none() && d.source.as_ref() == Some(source),
        (Stage::Answer, Operator::Answer { model: Some(model), .. }) => {
            d.model.as_ref() == Some(model) && d.source.as_ref().is_none_or(|s| view.sources.contains(s))
        }
        (Stage::Rerank, Operator::Rerank { reranker }) => {
            d.model.as_ref().is_some_and(|model| model.as_str() == reranker) && d.source.as_ref().is_none_or(|s| view.sources.contains(s))
        }
        _ => false,
    })?;
    Some(format!("denied by {}: {}", denial.rule, denial.reason))
}
