//! What planning is a function of.

use crate::PlanError;
use ctx_candidates::{PlanSpace, View};
use ctx_cost::statistics::Statistics;
use ctx_graph::ExecutionGraph;
use ctx_scheduler::Schedule;
use ctx_types::goal::Hint;
use ctx_types::plan::Stamp;
use ctx_types::{Catalog, Constraints, Denial, Goal, Plan, Probe, Settings, SourceName};
use std::collections::BTreeSet;

/// Longest accepted goal text.
pub(crate) const GOAL_BYTES_MAX: usize = 1 << 20;

/// Inputs of planning; all borrowed, all values.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The goal.
    pub goal: &'a Goal,
    /// Constraints in force: configured ceilings tightened by the request.
    pub limits: &'a Constraints,
    /// What exists.
    pub catalog: &'a Catalog,
    /// What the sources said about the goal.
    pub probe: &'a Probe,
    /// What was measured.
    pub statistics: &'a Statistics,
    /// What policy refused.
    pub denials: &'a [Denial],
    /// Configuration.
    pub settings: &'a Settings,
    /// What [`versions`](crate::versions) gives for these, where the caller keeps it: hashing all that exists is a good part of
    /// planning. `None`: it is worked out.
    pub versions: Option<&'a [Stamp]>,
}

/// A plan with what it compiles to.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The decision.
    pub plan: Plan,
    /// What to do.
    pub graph: ExecutionGraph,
    /// When and where.
    pub schedule: Schedule,
}

/// The goal's sources, or all configured ones; sorted, each once.
pub(crate) fn permitted(inputs: &Inputs<'_>) -> Result<Vec<SourceName>, PlanError> {
    let text = &inputs.goal.text;
    if text.trim().is_empty() {
        return Err(PlanError::EmptyGoal);
    }
    if text.len() > GOAL_BYTES_MAX {
        return Err(PlanError::GoalTooLong { bytes: text.len(), max: GOAL_BYTES_MAX });
    }
    let known = || inputs.catalog.sources.keys().map(SourceName::as_str).collect::<Vec<_>>().join(", ");
    let mut sources = inputs.goal.sources.clone();
    if sources.is_empty() {
        sources = inputs.catalog.sources.keys().cloned().collect();
    }
    if let Some(missing) = sources.iter().find(|s| !inputs.catalog.sources.contains_key(*s)) {
        return Err(PlanError::UnknownSource { name: missing.to_string(), known: known() });
    }
    sources.sort();
    sources.dedup();
    if sources.is_empty() { Err(PlanError::NoSource) } else { Ok(sources) }
}

/// Limits with what the configuration adds to them.
pub(crate) fn limits(inputs: &Inputs<'_>) -> Constraints {
    let configured = Constraints { final_k: inputs.settings.final_k, ..Constraints::default() };
    configured.tightened_by(inputs.limits)
}

/// A hint that means nothing here is refused by name: an ignored hint would be a lie.
pub(crate) fn check_hints(view: &View<'_>, space: &PlanSpace) -> Result<(), PlanError> {
    let models = || view.catalog.models.keys().map(ToString::to_string).collect::<Vec<_>>();
    if let Some(name) = ctx_candidates::unknown_hints(&view.goal.hints, space).first() {
        let mut known: BTreeSet<String> = view.sources.iter().map(ToString::to_string).chain(models()).collect();
        let all = space.alternatives.iter().chain(space.pruned.iter().map(|p| &p.alternative));
        known.extend(all.filter_map(|a| ctx_candidates::hint_names(&a.operator).into_iter().next()));
        return Err(PlanError::UnknownHint { name: (*name).to_owned(), known: known.into_iter().collect::<Vec<_>>().join(", ") });
    }
    for hint in &view.goal.hints {
        if let Hint::Model(model) = hint
            && !view.catalog.models.contains_key(model)
        {
            return Err(PlanError::UnknownHint { name: model.to_string(), known: models().join(", ") });
        }
    }
    Ok(())
}
