//! The infeasible answer: what binds, what would suffice, where every alternative ended.

use crate::write::{self, Context};
use ctx_types::{Infeasible, Stage};

/// The diagnosis as a value.
pub(crate) fn infeasible(context: &Context<'_>) -> Infeasible {
    let rejected = write::rejections(context, None);
    let sources = write::sources(context, None);
    let intent = Box::new(context.view.intent.clone());
    if let Some((stage, rule, reason)) = emptied(context) {
        return Infeasible {
            binding: rule,
            missed_by: format!("{stage}: {reason}"),
            relaxations: Vec::new(),
            joint: Vec::new(),
            rejected,
            sources,
            intent,
        };
    }
    match &context.solution.diagnosis {
        Some(d) => Infeasible {
            binding: d.binding.key().to_owned(),
            missed_by: d.missed_by.clone(),
            relaxations: d.relaxations.clone(),
            joint: d.joint.clone(),
            rejected,
            sources,
            intent,
        },
        None => Infeasible {
            binding: "plan space".to_owned(),
            missed_by: "no complete plan exists".to_owned(),
            relaxations: Vec::new(),
            joint: Vec::new(),
            rejected,
            sources,
            intent,
        },
    }
}

/// A stage that pruning left empty, with the rule that removed most of it and its reason. What rules refuse (sensitivity,
/// permissions, policy) is never offered as a relaxation.
fn emptied(context: &Context<'_>) -> Option<(String, String, String)> {
    let stages = [Stage::Answer, Stage::Verify, Stage::Pack, Stage::Fuse];
    let empty = stages.into_iter().find(|s| !context.space.alternatives.iter().any(|a| a.stage == *s))?;
    let removed: Vec<_> = context.space.pruned.iter().filter(|p| p.alternative.stage == empty).collect();
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
