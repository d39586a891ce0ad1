//! Rejected alternatives, grouped so that a person can read them: one line per stage, fate and reason.

use crate::explanation::RejectedGroup;
use ctx_types::{Fate, Operator, Rejection, Score};
use std::collections::BTreeMap;

/// Groups in canonical order of their first member.
pub(crate) fn group(rejected: &[Rejection]) -> Vec<RejectedGroup> {
    let mut order: Vec<RejectedGroup> = Vec::new();
    let mut index: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut scores: BTreeMap<usize, (Score, Score)> = BTreeMap::new();
    for rejection in rejected {
        let stage = rejection.alternative.stage.to_string();
        let operator = folded(&rejection.alternative.operator);
        let (fate, reason, score) = words(&rejection.fate, rejected);
        // What was outscored or dominated is grouped by operator: its reasons are numbers.
        let key = match rejection.fate {
            Fate::Outscored { .. } | Fate::Dominated { .. } => (stage.clone(), fate.clone(), operator.clone()),
            _ => (stage.clone(), fate.clone(), reason.clone()),
        };
        let at = *index.entry(key).or_insert_with(|| {
            order.push(RejectedGroup { stage, operators: Vec::new(), count: 0, fate, reason });
            order.len() - 1
        });
        order[at].count += 1;
        if !order[at].operators.contains(&operator) {
            order[at].operators.push(operator);
        }
        if let Some((best, gap)) = score {
            let entry = scores.entry(at).or_insert((best, gap));
            if best > entry.0 {
                *entry = (best, gap);
            }
        }
    }
    for (at, (best, gap)) in scores {
        order[at].reason = format!("best plan through it scores {best}, {gap} below the winner");
    }
    order
}

/// The operator without its numbers.
fn folded(operator: &Operator) -> String {
    match operator {
        Operator::Access { path, .. } => path.to_string(),
        Operator::Pack { layout, .. } => layout.to_string(),
        other => other.to_string(),
    }
}

fn words(fate: &Fate, all: &[Rejection]) -> (String, String, Option<(Score, Score)>) {
    match fate {
        Fate::Chosen => ("chosen".into(), String::new(), None),
        Fate::Pruned { rule, reason } => (format!("pruned by {rule}"), reason.clone(), None),
        Fate::Dominated { by } => {
            let winner = all.iter().find(|r| r.alternative.id == *by).map(|r| r.alternative.operator.to_string());
            ("dominated".into(), format!("{} is at least as good in everything", winner.unwrap_or_else(|| "the chosen one".into())), None)
        }
        Fate::Infeasible { reason, .. } => ("infeasible".into(), reason.clone(), None),
        Fate::Outscored { score, difference } => ("outscored".into(), String::new(), Some((*score, *difference))),
    }
}
