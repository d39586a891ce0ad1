//! What must hold between stages. Cheap, so it runs in release builds too: a wrong plan is worse than no plan.

use crate::PlanError;
use ctx_candidates::PlanSpace;
use ctx_types::{Fate, Plan};
use std::collections::BTreeSet;

fn broken(what: impl Into<String>) -> Result<(), PlanError> {
    Err(PlanError::Internal(what.into()))
}

/// Every alternative survives or is pruned, never both; every index resolves.
pub fn space(space: &PlanSpace) -> Result<(), PlanError> {
    let mut seen = BTreeSet::new();
    let ids = space.alternatives.iter().map(|a| a.id).chain(space.pruned.iter().map(|p| p.alternative.id));
    for id in ids {
        if !seen.insert(id) {
            return broken(format!("alternative {} is both kept and pruned", id.0));
        }
    }
    let members = space.groups.iter().flat_map(|(_, g)| g.iter().copied());
    let frames = space.frames.iter().flat_map(|f| [f.fuse, f.rerank, f.pack, f.compress, f.answer, f.verify]);
    match members.chain(frames).find(|i| *i >= space.alternatives.len()) {
        Some(i) => broken(format!("index {i} names no alternative")),
        None => Ok(()),
    }
}

/// Chosen xor rejected, one choice per stage, the certificate covers the winner, the limits hold.
pub fn plan(plan: &Plan, space: &PlanSpace) -> Result<(), PlanError> {
    let chosen: BTreeSet<_> = plan.chosen.iter().map(|c| c.alternative.id).collect();
    let rejected: BTreeSet<_> = plan.rejected.iter().map(|r| r.alternative.id).collect();
    if chosen.len() != plan.chosen.len() || rejected.len() != plan.rejected.len() || !chosen.is_disjoint(&rejected) {
        return broken("an alternative has two fates");
    }
    if chosen.len() + rejected.len() != space.alternatives.len() + space.pruned.len() {
        return broken("an alternative has no fate");
    }
    if plan.rejected.iter().any(|r| r.fate == Fate::Chosen) {
        return broken("a rejected alternative is marked chosen");
    }
    let stages: BTreeSet<_> = plan.chosen.iter().map(|c| c.alternative.stage.clone()).collect();
    if stages.len() != plan.chosen.len() {
        return broken("a stage has two choices");
    }
    if plan.certificate.stopped_by.is_none() && plan.certificate.bound != plan.certificate.value {
        return broken("a finished search has a gap");
    }
    if plan.limits.max_cost.is_some_and(|m| plan.estimate.cost_bound > m) {
        return broken("the plan's cost bound exceeds max_cost_usd");
    }
    if plan.limits.max_tokens.is_some_and(|m| plan.estimate.tokens_bound > m) {
        return broken("the plan's token bound exceeds max_tokens");
    }
    Ok(())
}
