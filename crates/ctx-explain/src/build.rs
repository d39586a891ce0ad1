//! From decision and trace to the tree.

use crate::actual;
use crate::explanation::{
    EXPLANATION_SCHEMA_VERSION, Explanation, InfeasibleView, NodeView, Numbers, PlanView, RunView, Setting, Shown, Summary,
};
use crate::verbose;
use ctx_graph::{Edge, EdgeKind, ExecutionGraph, LegFusion, Node, NodeId, NodeOp};
use ctx_types::{Certainty, Estimated, Goal, Infeasible, Micros, Plan, SourceName, Trace};

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

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Everything rejected, the best plans, provenance, the Pareto set.
    pub verbose: bool,
    /// Estimates in brackets.
    pub costs: bool,
    /// Times of nodes.
    pub timing: bool,
    /// Chunks and bytes read.
    pub buffers: bool,
    /// Planning time, plan cache, epoch.
    pub summary: bool,
}

impl Default for Options {
    /// As in PostgreSQL: costs, timing and summary on.
    fn default() -> Self {
        Options { verbose: false, costs: true, timing: true, buffers: false, summary: true }
    }
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
    /// What to show.
    pub options: Options,
}

/// Builds the explanation.
pub fn explain(input: &ExplainInput<'_>) -> Explanation {
    let options = input.options;
    let shown = Shown {
        analyze: input.trace.is_some(),
        verbose: options.verbose,
        costs: options.costs,
        timing: options.timing,
        buffers: options.buffers,
    };
    let settings = input.settings.iter().map(|(key, value)| Setting { key: key.clone(), value: value.clone() }).collect();
    match input.decision {
        Decision::Planned { plan, graph } => Explanation {
            schema_version: EXPLANATION_SCHEMA_VERSION,
            goal: plan.goal.text.clone(),
            intent: plan.intent.clone(),
            plan: Some(plan_view(plan, graph, input)),
            infeasible: None,
            sources: plan.sources.clone(),
            notes: notes(plan, input.trace),
            run: input.trace.map(run_view),
            summary: options.summary.then(|| Summary {
                planning_us: input.planning.map(Micros::get),
                plan_cache: input.plan_cache.map(str::to_owned),
                statistics_epoch: plan.statistics_epoch.clone(),
                planner: plan.planner_version.clone(),
            }),
            settings,
            rejected: if options.verbose { verbose::group(&plan.rejected) } else { Vec::new() },
            alternatives: if options.verbose { plan.rejected.clone() } else { Vec::new() },
            options: shown,
        },
        Decision::Infeasible { goal, infeasible } => Explanation {
            schema_version: EXPLANATION_SCHEMA_VERSION,
            goal: goal.text.clone(),
            intent: (*infeasible.intent).clone(),
            plan: None,
            infeasible: Some(InfeasibleView {
                binding: infeasible.binding.clone(),
                missed_by: infeasible.missed_by.clone(),
                conflict: infeasible.conflict.clone(),
                relaxations: infeasible.relaxations.clone(),
                joint: infeasible.joint.clone(),
            }),
            sources: infeasible.sources.clone(),
            notes: Vec::new(),
            run: None,
            summary: options.summary.then(|| Summary {
                planning_us: input.planning.map(Micros::get),
                plan_cache: input.plan_cache.map(str::to_owned),
                ..Summary::default()
            }),
            settings,
            rejected: verbose::group(&infeasible.rejected),
            alternatives: if options.verbose { infeasible.rejected.clone() } else { Vec::new() },
            options: shown,
        },
    }
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
    let mut seen = Vec::new();
    let root = last(graph).map(|node| tree(graph, node, input, &mut seen)).unwrap_or_else(|| NodeView {
        id: "empty".to_owned(),
        title: "Nothing to do".to_owned(),
        estimate: Numbers::default(),
        actual: None,
        provenance: Vec::new(),
        children: Vec::new(),
    });
    PlanView {
        id: plan.id.to_string(),
        gist: plan.gist.to_string(),
        shape: plan.best.first().map(|b| b.shape.clone()).unwrap_or_default(),
        root,
        estimate: plan.estimate.clone(),
        score: plan.score,
        margin: plan.margin.clone(),
        certificate: plan.certificate.clone(),
        candidates: plan.candidates,
        pruned,
        verification: verification(graph),
        token_budget: token_budget(plan, graph),
        best: if input.options.verbose { verbose::complete(plan, &plan.best) } else { Vec::new() },
        frontier: if input.options.verbose { verbose::complete(plan, &plan.frontier) } else { Vec::new() },
    }
}

/// The step whose success ends the run: the check, or the answer where nothing is checked.
fn last(graph: &ExecutionGraph) -> Option<&Node> {
    let find = |wanted: fn(&NodeOp) -> bool| graph.nodes.iter().find(|n| wanted(&n.op));
    find(|op| matches!(op, NodeOp::Verify { .. })).or_else(|| find(|op| matches!(op, NodeOp::Answer { .. }))).or_else(|| graph.nodes.last())
}

fn feeds(edge: &Edge, graph: &ExecutionGraph) -> bool {
    let forward = matches!(edge.kind, EdgeKind::Then | EdgeKind::Parallel | EdgeKind::OnSuccess);
    let from_loop = graph.nodes.iter().any(|n| n.id == edge.from && matches!(n.op, NodeOp::Loop { .. }));
    forward && !from_loop
}

fn tree(graph: &ExecutionGraph, node: &Node, input: &ExplainInput<'_>, seen: &mut Vec<NodeId>) -> NodeView {
    seen.push(node.id.clone());
    let mut children = Vec::new();
    for edge in graph.edges.iter().filter(|e| e.to == node.id && feeds(e, graph)) {
        if let Some(from) = graph.nodes.iter().find(|n| n.id == edge.from && !seen.contains(&n.id)) {
            children.push(tree(graph, from, input, seen));
        }
    }
    let traced = input.trace.and_then(|t| t.nodes.iter().find(|n| n.node == node.id.as_str()));
    let estimate = numbers(&node.estimate);
    let actual = input.trace.map(|trace| actual::view(trace, traced, &estimate, &children));
    NodeView {
        id: node.id.to_string(),
        title: title(node),
        provenance: if input.options.verbose { provenance(node) } else { Vec::new() },
        estimate,
        actual,
        children,
    }
}

fn title(node: &Node) -> String {
    match &node.op {
        NodeOp::Access { source, path, k, quota } => format!("{} on {source} k={k} quota={quota}", access_title(path.as_str())),
        NodeOp::FuseLegs { source, method, exact, .. } => {
            let how = match method {
                LegFusion::Single { .. } => "Ranked List".to_owned(),
                LegFusion::Linear { weights } => {
                    let parts: Vec<String> =
                        weights.iter().map(|w| format!("{} × {:.2}", short(&w.leg, source), w.weight.share())).collect();
                    format!("Linear Fusion ({})", parts.join(" + "))
                }
                LegFusion::Rrf { constant } => format!("Reciprocal Rank Fusion ({constant})"),
            };
            let first = if exact.is_some() { ", exact first" } else { "" };
            format!("{how} on {source}{first}")
        }
        NodeOp::Fuse { method } => format!("Fuse sources by {method}"),
        NodeOp::Rerank { reranker } => format!("Rerank by {reranker}"),
        NodeOp::Pack { budget, layout, final_k, .. } => {
            let most = final_k.map(|k| format!(" final_k={k}")).unwrap_or_default();
            format!("Pack {layout} budget={budget}{most}")
        }
        NodeOp::Compress { compressor } => format!("Compress by {compressor}"),
        NodeOp::Answer { strategy, model: Some(model) } => format!("Answer {strategy} by {model}"),
        NodeOp::Answer { strategy, model: None } => format!("Answer {strategy}"),
        NodeOp::Verify { verifier } => format!("Verify {verifier}"),
        other => other.kind().to_owned(),
    }
}

fn access_title(path: &str) -> &'static str {
    match path {
        "identifier" => "Identifier Lookup",
        "bm25" => "BM25 Scan",
        "dense" => "Dense Scan",
        "whole" => "Whole Source",
        _ => "Access",
    }
}

fn short(leg: &NodeId, source: &SourceName) -> String {
    let prefix = format!("access.{source}.");
    leg.as_str().strip_prefix(&prefix).unwrap_or(leg.as_str()).to_owned()
}

/// Estimate in the units of the explanation.
pub(crate) fn numbers(e: &ctx_types::AlternativeEstimate) -> Numbers {
    let mut certainty: Option<Certainty> = None;
    let mut note = |c: Certainty| certainty = Some(certainty.map_or(c, |known| known.weaker(c)));
    let (hits, tokens) = (e.hits.as_ref(), e.tokens.as_ref());
    hits.into_iter().for_each(|v| note(v.certainty));
    tokens.into_iter().for_each(|v| note(v.certainty));
    e.latency.iter().for_each(|v| note(v.certainty));
    e.evidence.iter().for_each(|v| note(v.certainty));
    e.quality.iter().for_each(|v| note(v.certainty));
    e.cost.iter().for_each(|v| note(v.certainty));
    Numbers {
        cost_nano_usd: e.cost.as_ref().filter(|c| c.certainty != Certainty::Unknown).map(|c| c.value.get()),
        cost_unknown: e.cost.as_ref().is_some_and(|c| c.certainty == Certainty::Unknown),
        latency_us: e.latency.as_ref().map(|l| l.value.get()),
        latency_p90_us: e.latency.as_ref().map(|l| l.high.get()),
        passages: hits.map(|h| u64::from(h.value)),
        tokens: tokens.map(|t| t.value.get()),
        evidence_ppm: e.evidence.as_ref().map(|p| p.value.get()),
        quality_ppm: e.quality.as_ref().map(|p| p.value.get()),
        certainty: certainty.map(|c| c.to_string()).unwrap_or_default(),
    }
}

fn provenance(node: &Node) -> Vec<String> {
    fn line<T: std::fmt::Display>(name: &str, e: &Option<Estimated<T>>) -> Option<String> {
        e.as_ref().map(|e| format!("{name} {} [{}, {}] {} {}", e.value, e.low, e.high, e.certainty, e.provenance))
    }
    let e = &node.estimate;
    [
        line("passages", &e.hits),
        line("tokens", &e.tokens),
        line("cost", &e.cost),
        line("latency", &e.latency),
        line("evidence", &e.evidence),
        line("quality", &e.quality),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn verification(graph: &ExecutionGraph) -> String {
    let Some(verify) = graph.nodes.iter().find(|n| matches!(n.op, NodeOp::Verify { .. })) else { return "none".to_owned() };
    let NodeOp::Verify { verifier } = &verify.op else { return "none".to_owned() };
    let after = graph
        .edges
        .iter()
        .find(|e| e.from == verify.id && e.kind == EdgeKind::OnFailure)
        .and_then(|e| graph.nodes.iter().find(|n| n.id == e.to));
    match after.map(|n| &n.op) {
        Some(NodeOp::Loop { max_iterations, .. }) => format!("{verifier}; on failure retry {max_iterations}×, then verification_failed"),
        Some(NodeOp::Stop { status: ctx_types::Status::Abstained }) => format!("{verifier}; on failure abstain"),
        Some(NodeOp::Stop { .. }) => format!("{verifier}; on failure verification_failed"),
        _ => verifier.clone(),
    }
}

fn token_budget(plan: &Plan, graph: &ExecutionGraph) -> String {
    let budget = graph.nodes.iter().find_map(|n| if let NodeOp::Pack { budget, .. } = n.op { Some(budget) } else { None });
    let e = &plan.estimate;
    let context = format!("context {} of {}", e.context_tokens.value, budget.unwrap_or(ctx_types::Tokens(0)));
    if e.calls == 0 {
        return format!("{context}; no model call");
    }
    format!("{context}; calls {}, expected {} in + {} out, at most {} in all", e.calls, e.tokens.input, e.tokens.output, e.tokens_bound)
}
