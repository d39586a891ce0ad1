//! What EXPLAIN is made of. Rendering is `ctx-explain`'s; this gathers the ingredients.

use crate::config::{differing, rows};
use crate::prepare::{Mode, Prepared};
use crate::runtime::{RunReport, simulate};
use crate::{Choice, Runtime, RuntimeError, SettingRow};
use ctx_simulate::Simulation;
use ctx_types::Goal;

/// How EXPLAIN was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplainOptions {
    /// EXPLAIN ANALYZE: the goal is run, actuals stand beside estimates.
    pub analyze: bool,
    /// Adds the quote's intervals.
    pub simulate: bool,
    /// GENERIC_PLAN: planned from catalog statistics only. The sources are not asked about the goal, the plan cache is not used,
    /// and it cannot be combined with `analyze`: a run always asks.
    pub generic: bool,
}

/// Ingredients of an explanation. A failed or infeasible goal has one too.
#[derive(Clone, Debug)]
pub struct ExplainInputs {
    /// Goal, decision, catalog, probe, cache remark, planning time.
    pub prepared: Prepared,
    /// The run, with ANALYZE.
    pub report: Option<RunReport>,
    /// Intervals by Monte Carlo, where asked for and feasible.
    pub simulation: Option<Simulation>,
    /// Settings that differ from their default, then what the request asks for beyond them.
    pub settings: Vec<SettingRow>,
}

pub(crate) async fn explain(runtime: &Runtime, goal: &Goal, options: ExplainOptions) -> Result<ExplainInputs, RuntimeError> {
    if options.analyze {
        crate::runtime::not_hypothetical(goal)?;
    }
    let mode = match options {
        ExplainOptions { analyze: true, generic: true, .. } => return Err(RuntimeError::GenericRun),
        ExplainOptions { analyze: true, .. } => Mode::Analyze,
        ExplainOptions { generic: true, .. } => Mode::Generic,
        _ => Mode::Explain,
    };
    let prepared = runtime.inner.prepare(goal, mode).await?;
    let simulation = match &prepared.choice {
        Choice::Planned(planned) if options.simulate => Some(simulate(planned)?),
        _ => None,
    };
    let report = if options.analyze { Some(runtime.execute(prepared.clone()).await?) } else { None };
    let mut settings = runtime.config().settings();
    settings.extend(requested(goal));
    Ok(ExplainInputs { prepared, report, simulation, settings })
}

/// What a request asks for beyond a plain goal: limits, weights, objective, hints, seed, tenant.
fn requested(goal: &Goal) -> Vec<SettingRow> {
    let plain = rows("request", &Goal { sources: goal.sources.clone(), ..Goal::new(goal.text.clone()) });
    differing(rows("request", goal), &plain)
}
