//! Nodes of the tree: which step uses which, what each is called, what it is expected to do and did.

use crate::actual;
use crate::build::ExplainInput;
use crate::explanation::{NodeView, Numbers};
use ctx_graph::{Edge, EdgeKind, ExecutionGraph, LegFusion, LegPath, Node, NodeId, NodeOp};
use ctx_types::{Certainty, Estimated, SourceName};

/// The tree, last step first, and the steps outside it, which run only when something fails.
pub(crate) fn tree(graph: &ExecutionGraph, input: &ExplainInput<'_>) -> (NodeView, Vec<NodeView>) {
    let mut seen = Vec::new();
    let Some(last) = last(graph) else { return (nothing(), Vec::new()) };
    let root = below(graph, last, input, &mut seen);
    let outside = graph.nodes.iter().filter(|n| !seen.contains(&n.id)).map(|n| view(n, input, Vec::new())).collect();
    (root, outside)
}

fn nothing() -> NodeView {
    NodeView {
        id: "empty".to_owned(),
        title: "Nothing to do".to_owned(),
        operator: String::new(),
        estimate: Numbers::default(),
        actual: None,
        provenance: Vec::new(),
        children: Vec::new(),
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

fn below(graph: &ExecutionGraph, node: &Node, input: &ExplainInput<'_>, seen: &mut Vec<NodeId>) -> NodeView {
    seen.push(node.id.clone());
    let mut children = Vec::new();
    for edge in graph.edges.iter().filter(|e| e.to == node.id && feeds(e, graph)) {
        if let Some(from) = graph.nodes.iter().find(|n| n.id == edge.from && !seen.contains(&n.id)) {
            children.push(below(graph, from, input, seen));
        }
    }
    view(node, input, children)
}

fn view(node: &Node, input: &ExplainInput<'_>, children: Vec<NodeView>) -> NodeView {
    let options = &input.options;
    let estimate = if options.costs { numbers(&node.estimate) } else { Numbers::default() };
    NodeView {
        id: node.id.to_string(),
        title: title(node),
        operator: node.op.to_string(),
        provenance: if options.verbose && options.costs { provenance(node) } else { Vec::new() },
        actual: input.trace.map(|trace| actual::view(trace, node.id.as_str(), &estimate, &children, options)),
        estimate,
        children,
    }
}

fn title(node: &Node) -> String {
    match &node.op {
        NodeOp::Access { source, path: LegPath::Table, .. } => format!("Table Query on {source}"),
        NodeOp::Access { source, path, k, quota, .. } => format!("{} on {source} k={k} quota={quota}", access_title(path.as_str())),
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
        NodeOp::Compress { compressor, keep } => format!("Compress by {compressor} keep={:.2}", keep.share()),
        NodeOp::Answer { strategy, model: Some(model) } => format!("Answer {strategy} by {model}"),
        NodeOp::Answer { strategy, model: None } => format!("Answer {strategy}"),
        NodeOp::Verify { verifier } => format!("Verify {verifier}"),
        other => capitalised(&other.to_string()),
    }
}

/// Access paths under their usual names; another one under its own.
fn access_title(path: &str) -> String {
    match path {
        "identifier" => "Identifier Lookup".to_owned(),
        "bm25" => "BM25 Scan".to_owned(),
        "dense" => "Dense Scan".to_owned(),
        "whole" => "Whole Source".to_owned(),
        other => format!("{} Scan", capitalised(&other.replace('_', " "))),
    }
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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
