//! From decision and trace to the tree.

use crate::explanation::{
    EXPLANATION_SCHEMA_VERSION, Explanation, InfeasibleView, MemoryView, PlanView, RejectedGroup, RunView, Setting, Shown, Summary,
};
use crate::options::Options;
use crate::{nodes, verbose};
use ctx_graph::{EdgeKind, ExecutionGraph, NodeOp};
use ctx_types::estimate::AlternativeEstimate;
use ctx_types::plan::SearchMemory;
use ctx_types::{Alternative, Goal, Infeasible, Intent, Micros, Plan, Probe, Rejection, Trace};

/// What was decided.
#[derive(Clone, Copy, Debug)]
pub enum Decision<'a> {
    /// A plan with its graph.
    Planned {
        /// The plan.
        plan: &'a Plan,
        /// Its graph.
        graph: &'a ExecutionGraph,
    },
    /// No plan.
    Infeasible {
        /// The goal.
        goal: &'a Goal,
        /// Why.
        infeasible: &'a Infeasible,
    },
}

/// Everything an explanation is made from.
#[derive(Clone, Copy, Debug)]
pub struct ExplainInput<'a> {
    /// The decision.
    pub decision: Decision<'a>,
    /// The run, with ANALYZE.
    pub trace: Option<&'a Trace>,
    /// Plan cache, in words.
    pub plan_cache: Option<&'a str>,
    /// Planning time.
    pub planning: Option<Micros>,
    /// SETTINGS.
    pub settings: &'a [(String, String)],
    /// What the sources said before planning.
    pub probe: Option<&'a Probe>,
    /// What to show.
    pub options: Options,
}

/// Builds the explanation. What an option leaves out is left out of the value, so that it is missing in every format.
pub fn explain(input: &ExplainInput<'_>) -> Explanation {
    match input.decision {
        Decision::Planned { plan, graph } => Explanation {
            plan: Some(plan_view(plan, graph, input)),
            sources: plan.sources.clone(),
            notes: notes(plan, input.trace),
            run: input.trace.map(run_view),
            summary: input.options.summary.then(|| Summary {
                statistics_epoch: plan.statistics_epoch.clone(),
                planner: plan.planner_version.clone(),
                ..summary(input)
            }),
            memory: input.options.memory.then(|| memory(plan.chosen.len() + plan.rejected.len(), plan.certificate.memory)),
            rejected: if input.options.verbose { groups(&plan.rejected, input) } else { Vec::new() },
            alternatives: if input.options.verbose { alternatives(&plan.rejected, input) } else { Vec::new() },
            ..common(&plan.goal, &plan.intent, input)
        },
        Decision::Infeasible { goal, infeasible } => Explanation {
            infeasible: Some(InfeasibleView {
                binding: infeasible.binding.clone(),
                missed_by: infeasible.missed_by.clone(),
                conflict: infeasible.conflict.clone(),
                relaxations: infeasible.relaxations.clone(),
                joint: infeasible.joint.clone(),
            }),
            sources: infeasible.sources.clone(),
            summary: input.options.summary.then(|| summary(input)),
            memory: input.options.memory.then(|| memory(infeasible.rejected.len(), infeasible.memory)),
            rejected: groups(&infeasible.rejected, input),
            alternatives: if input.options.verbose { alternatives(&infeasible.rejected, input) } else { Vec::new() },
            ..common(goal, &infeasible.intent, input)
        },
    }
}

/// What does not depend on the decision; the rest is empty.
fn common(goal: &Goal, intent: &Intent, input: &ExplainInput<'_>) -> Explanation {
    let options = input.options;
    let row = |(key, value): &(String, String)| Setting { key: key.clone(), value: value.clone() };
    Explanation {
        schema_version: EXPLANATION_SCHEMA_VERSION,
        goal: goal.text.clone(),
        intent: intent.clone(),
        plan: None,
        infeasible: None,
        sources: Vec::new(),
        notes: Vec::new(),
        run: None,
        summary: None,
        memory: None,
        settings: if options.settings { input.settings.iter().map(row).collect() } else { Vec::new() },
        rejected: Vec::new(),
        alternatives: Vec::new(),
        options: Shown {
            analyze: input.trace.is_some(),
            verbose: options.verbose,
            costs: options.costs,
            timing: options.timing,
            buffers: options.buffers,
            settings: options.settings,
            summary: options.summary,
            memory: options.memory,
            generic_plan: options.generic_plan,
        },
    }
}

fn summary(input: &ExplainInput<'_>) -> Summary {
    let lookups = |probe: &Probe| probe.sources.values().map(|source| u64::from(source.lookups)).sum();
    Summary {
        planning_us: input.planning.map(Micros::get),
        plan_cache: input.plan_cache.map(str::to_owned),
        planning_lookups: input.probe.filter(|_| input.options.buffers).map(lookups),
        ..Summary::default()
    }
}

fn memory(alternatives: usize, search: SearchMemory) -> MemoryView {
    let alternative_bytes = (alternatives * (size_of::<Alternative>() + size_of::<AlternativeEstimate>())) as u64;
    MemoryView {
        used_bytes: alternative_bytes + search.label_bytes + search.plan_bytes,
        alternatives: alternatives as u64,
        alternative_bytes,
        search,
    }
}

fn groups(rejected: &[Rejection], input: &ExplainInput<'_>) -> Vec<RejectedGroup> {
    let mut groups = verbose::group(rejected);
    if !input.options.costs {
        groups.iter_mut().filter(|group| group.fate == "outscored").for_each(|group| group.reason = "another plan scores more".to_owned());
    }
    groups
}

fn alternatives(rejected: &[Rejection], input: &ExplainInput<'_>) -> Vec<Rejection> {
    let mut all = rejected.to_vec();
    if !input.options.costs {
        all.iter_mut().for_each(|rejection| rejection.estimate = None);
    }
    all
}

fn notes(plan: &Plan, trace: Option<&Trace>) -> Vec<String> {
    let mut out = plan.notes.clone();
    for note in trace.iter().flat_map(|t| &t.outcome.notes) {
        if !out.contains(note) {
            out.push(note.clone());
        }
    }
    out
}

fn run_view(trace: &Trace) -> RunView {
    let spend = &trace.outcome.spend;
    RunView {
        status: trace.outcome.status,
        trace: trace.id.clone(),
        cost_nano_usd: spend.cost.get(),
        cost_incomplete: spend.cost_incomplete,
        tokens: spend.tokens.total().get(),
        calls: spend.calls,
        elapsed_us: spend.elapsed.get(),
        evidence_ppm: trace.outcome.evidence.map(|p| p.get()),
    }
}

fn plan_view(plan: &Plan, graph: &ExecutionGraph, input: &ExplainInput<'_>) -> PlanView {
    let pruned = plan.rejected.iter().filter(|r| matches!(r.fate, ctx_types::Fate::Pruned { .. })).count() as u64;
    let (root, on_failure) = nodes::tree(graph, input);
    let costs = input.options.costs;
    let complete = |plans| if input.options.verbose && costs { verbose::complete(plan, plans) } else { Vec::new() };
    PlanView {
        id: plan.id.to_string(),
        gist: plan.gist.to_string(),
        shape: plan.best.first().map(|b| b.shape.clone()).unwrap_or_default(),
        root,
        on_failure,
        estimate: costs.then(|| plan.estimate.clone()),
        score: costs.then_some(plan.score),
        margin: plan.margin.clone().filter(|_| costs),
        certificate: plan.certificate.clone(),
        candidates: plan.candidates,
        pruned,
        verification: verification(plan, graph),
        token_budget: token_budget(plan, graph, costs),
        best: complete(&plan.best),
        frontier: complete(&plan.frontier),
    }
}

/// Answers after the first that the limits have room for, at their bound.
fn affordable(plan: &Plan, wanted: u32) -> u32 {
    let estimate = &plan.estimate;
    let times = |limit: Option<u64>, once: u64| limit.map_or(u64::from(wanted) + 1, |limit| limit.checked_div(once).unwrap_or(u64::MAX));
    let nanos = |cost: ctx_types::NanoUsd| u64::try_from(cost.get()).unwrap_or(0);
    let all = times(plan.limits.max_calls.map(u64::from), u64::from(estimate.calls))
        .min(times(plan.limits.max_cost.map(nanos), nanos(estimate.cost_bound)))
        .min(times(plan.limits.max_tokens.map(ctx_types::Tokens::get), estimate.tokens_bound.get()));
    u32::try_from(all.saturating_sub(1)).unwrap_or(u32::MAX).min(wanted)
}

fn verification(plan: &Plan, graph: &ExecutionGraph) -> String {
    let Some(verify) = graph.nodes.iter().find(|n| matches!(n.op, NodeOp::Verify { .. })) else { return "none".to_owned() };
    let NodeOp::Verify { verifier } = &verify.op else { return "none".to_owned() };
    let after = graph
        .edges
        .iter()
        .find(|e| e.from == verify.id && e.kind == EdgeKind::OnFailure)
        .and_then(|e| graph.nodes.iter().find(|n| n.id == e.to));
    match after.map(|n| &n.op) {
        Some(NodeOp::Loop { max_iterations, .. }) => match affordable(plan, *max_iterations) {
            0 => format!("{verifier}; on failure verification_failed: the budget covers no retry"),
            covered if covered < *max_iterations => {
                format!("{verifier}; on failure retry up to {max_iterations}×, the budget covers {covered}, then verification_failed")
            }
            _ => format!("{verifier}; on failure retry {max_iterations}×, then verification_failed"),
        },
        Some(NodeOp::Stop { status: ctx_types::Status::Abstained }) => format!("{verifier}; on failure abstain"),
        Some(NodeOp::Stop { .. }) => format!("{verifier}; on failure verification_failed"),
        _ => verifier.clone(),
    }
}

fn token_budget(plan: &Plan, graph: &ExecutionGraph, costs: bool) -> String {
    let budget = graph.nodes.iter().find_map(|n| if let NodeOp::Pack { budget, .. } = n.op { Some(budget) } else { None });
    let e = &plan.estimate;
    let budget = budget.unwrap_or(ctx_types::Tokens(0));
    let context = if costs { format!("context {} of {budget}", e.context_tokens.value) } else { format!("context at most {budget}") };
    match (e.calls, costs) {
        (0, _) => format!("{context}; no model call"),
        (calls, false) => format!("{context}; calls {calls}, at most {} in all", e.tokens_bound),
        (calls, true) => {
            format!(
                "{context}; calls {calls}, expected {} in + {} out, at most {} in all",
                e.tokens.prompt(),
                e.tokens.output,
                e.tokens_bound
            )
        }
    }
}
