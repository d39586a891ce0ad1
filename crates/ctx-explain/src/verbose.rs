//! Rejected alternatives, grouped so that a person can read them: one line per stage, fate and reason.

use crate::explanation::{CompleteView, RejectedGroup};
use ctx_types::plan::CompletePlan;
use ctx_types::{Alternative, AlternativeId, Fate, Operator, Plan, Rejection, Score};
use std::collections::BTreeMap;

/// Groups in canonical order of their first member.
pub(crate) fn group(rejected: &[Rejection]) -> Vec<RejectedGroup> {
    let mut order: Vec<RejectedGroup> = Vec::new();
    let mut index: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut scores: BTreeMap<usize, (Score, Score)> = BTreeMap::new();
    for rejection in rejected {
        let stage = rejection.alternative.stage.to_string();
        let operator = rejection.alternative.operator.shape();
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
    for group in order.iter_mut().filter(|g| g.fate == "dominated") {
        group.reason = match group.count {
            1 => format!("{} is at least as good in everything", group.reason),
            _ => format!("each by one that is at least as good in everything, the first by {}", group.reason),
        };
    }
    for (at, (best, gap)) in scores {
        order[at].reason = format!("best plan through it scores {best}, {gap} below the winner");
    }
    order
}

/// Complete plans with the numbers of their operators; stages in which nothing is done are left out.
pub(crate) fn complete(plan: &Plan, plans: &[CompletePlan]) -> Vec<CompleteView> {
    let chosen = plan.chosen.iter().map(|c| &c.alternative);
    let all: BTreeMap<AlternativeId, &Alternative> =
        chosen.chain(plan.rejected.iter().map(|r| &r.alternative)).map(|a| (a.id, a)).collect();
    let fused = plan.sources.len() > 1;
    let word = |id: &AlternativeId| {
        let alternative = all.get(id)?;
        match (&alternative.stage, &alternative.operator) {
            (_, Operator::NoRerank | Operator::NoCompress) => None,
            (_, Operator::Fuse { .. }) if !fused => None,
            (_, Operator::NoVerify) => Some("no check".to_owned()),
            (ctx_types::Stage::Access(source), operator) if fused => Some(format!("{source} {operator}")),
            (_, operator) => Some(operator.to_string()),
        }
    };
    let operators = |p: &CompletePlan| p.alternatives.iter().filter_map(word).collect::<Vec<_>>().join(" → ");
    plans.iter().map(|p| CompleteView { plan: p.clone(), operators: operators(p) }).collect()
}

fn words(fate: &Fate, all: &[Rejection]) -> (String, String, Option<(Score, Score)>) {
    match fate {
        Fate::Chosen => ("chosen".into(), String::new(), None),
        Fate::Pruned { rule, reason } => (format!("pruned by {rule}"), reason.clone(), None),
        Fate::Dominated { by } => {
            let winner = all.iter().find(|r| r.alternative.id == *by).map(|r| r.alternative.operator.to_string());
            ("dominated".into(), winner.unwrap_or_else(|| "the chosen one".into()), None)
        }
        Fate::Infeasible { reason, .. } => ("infeasible".into(), reason.clone(), None),
        Fate::Outscored { score, difference } => ("outscored".into(), String::new(), Some((*score, *difference))),
    }
}
