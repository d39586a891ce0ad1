//! A computed answer is offered only where some permitted source has a table query to compute.

use crate::View;
use crate::rules::{permissions_of, table_query};
use ctx_types::{AccessPath, Alternative, AlternativeId, Operator, Stage, Strategy, Tokens};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { strategy: Strategy::Computed, .. } = &alternative.operator else { return None };
    let mut reasons = Vec::new();
    for source in view.sources {
        let has_tables = view.source(source).is_some_and(|entry| entry.access.iter().any(|a| a.path == AccessPath::Table));
        if !has_tables {
            continue;
        }
        let query = Alternative {
            id: AlternativeId(0),
            stage: Stage::Access(source.clone()),
            operator: Operator::Access { path: AccessPath::Table, k: 1, quota: Tokens(1) },
        };
        match permissions_of(view, &query).or_else(|| table_query::prune(view, &query)) {
            None => return None,
            Some(reason) => reasons.push(format!("`{source}`: {reason}")),
        }
    }
    Some(if reasons.is_empty() { "no source of the goal has tables".to_owned() } else { reasons.join("; ") })
}
