//! The infeasible answer: what binds, what would suffice, where every alternative ended.

use crate::conflict::Findings;
use crate::write::{self, Context};
use ctx_candidates::rules::NO_FRAME;
use ctx_optimizer::constraints::Limit;
use ctx_types::plan::Relaxation;
use ctx_types::{Infeasible, Operator, Stage};

/// The diagnosis as a value: what the search found about limits, and what planning again found about the other demands.
pub(crate) fn infeasible(context: &Context<'_>, findings: Findings) -> Infeasible {
    let diagnosis = context.solution.diagnosis.as_ref();
    let (binding, missed_by) = match (emptied(context), diagnosis) {
        (Some((stage, rule, reason)), _) => (rule, format!("{stage}: {reason}")),
        (None, Some(d)) => (d.binding.key().to_owned(), d.missed_by.clone()),
        (None, None) => ("plan space".to_owned(), "no complete plan exists".to_owned()),
    };
    let late = diagnosis.is_some_and(|d| matches!(d.binding, Limit::Latency | Limit::UnmeasuredLatency)) && emptied(context).is_none();
    let missed_by = match fastest_model(context).filter(|_| late) {
        Some(model) => format!("{missed_by}; {model}"),
        None => missed_by,
    };
    let (mut relaxations, mut joint) =
        diagnosis.filter(|_| emptied(context).is_none()).map_or_else(Default::default, |d| (d.relaxations.clone(), d.joint.clone()));
    let alone = |list: &[Relaxation]| list.iter().any(|r| r.suffices.is_some());
    relaxations.extend(findings.relaxations);
    if alone(&relaxations) {
        joint.clear();
    } else if !findings.joint.is_empty() && (joint.is_empty() || findings.joint.len() < joint.len()) {
        joint = findings.joint;
    }
    Infeasible {
        binding,
        missed_by,
        conflict: findings.conflict,
        relaxations,
        joint,
        rejected: write::rejections(context, None),
        sources: write::sources(context, None),
        intent: Box::new(context.view.intent.clone()),
        memory: context.solution.memory,
    }
}

/// How long the fastest of the permitted models takes, in words.
fn fastest_model(context: &Context<'_>) -> Option<String> {
    let space = context.space.alternatives.iter().zip(&context.assembled.estimates);
    let calls = space.filter_map(|(alternative, estimate)| match &alternative.operator {
        Operator::Answer { model: Some(model), .. } => Some((model, estimate.latency.as_ref()?)),
        _ => None,
    });
    calls.min_by_key(|(_, latency)| latency.high).map(|(model, latency)| write::call_latency(model, latency))
}

/// A stage that pruning left empty, with the rule that removed most of it and its reason. What rules refuse (sensitivity,
/// permissions, policy) is never offered as a relaxation.
fn emptied(context: &Context<'_>) -> Option<(String, String, String)> {
    let stages = [Stage::Answer, Stage::Verify, Stage::Pack, Stage::Fuse, Stage::Rerank, Stage::Compress];
    let removed_of = |stage: &Stage| context.space.pruned.iter().filter(|p| p.alternative.stage == *stage).collect::<Vec<_>>();
    let empty: Vec<Stage> = stages.into_iter().filter(|s| !context.space.alternatives.iter().any(|a| a.stage == *s)).collect();
    // What is left without a partner is emptied by another stage: that one has a rule for each of its alternatives.
    let by_rules = |stage: &&Stage| removed_of(stage).iter().all(|pruned| pruned.rule != NO_FRAME);
    let empty = empty.iter().find(by_rules).or(empty.first())?;
    let removed = removed_of(empty);
    let Some(first) = removed.first() else {
        return Some((empty.to_string(), "capabilities".to_owned(), "nothing in this build offers one".to_owned()));
    };
    let mut reasons: Vec<&str> = Vec::new();
    for pruned in &removed {
        if !reasons.contains(&pruned.reason.as_str()) {
            reasons.push(&pruned.reason);
        }
    }
    Some((empty.to_string(), first.rule.to_owned(), reasons.join("; ")))
}
