//! The graph compiled for drawing: indices instead of names, distributions instead of estimates.

use crate::priors::{CPU_LATENCY, OUTPUT_TOKENS, REMOTE_BREAKS, REMOTE_LATENCY, REMOTE_WAIT, STORE_BREAKS, STORE_LATENCY, STORE_WAIT};
use crate::spread::{Spread, Tabulated};
use ctx_graph::{EdgeKind, ExecutionGraph, FailurePolicy, GraphError, Node, NodeOp, Resource, Topology};
use ctx_types::{Certainty, Micros, ModelName, NanoUsd, Plan, Status, Tokens};

/// A graph ready to be walked thousands of times.
pub(crate) struct Model<'a> {
    pub(crate) steps: Vec<Step<'a>>,
    pub(crate) topology: Topology,
    /// Model tiers in the graph, sorted.
    pub(crate) models: Vec<&'a ModelName>,
    pub(crate) max_calls: u32,
    pub(crate) max_cost: f64,
}

/// One node.
pub(crate) struct Step<'a> {
    pub(crate) kind: Kind,
    pub(crate) latency: Tabulated,
    pub(crate) call: Option<Call>,
    /// P(one attempt breaks).
    pub(crate) breaks: f64,
    pub(crate) attempts: u32,
    /// Wait before another attempt, µs.
    pub(crate) wait: f64,
    pub(crate) on_error: FailurePolicy,
    /// Micro-nats of evidence that are lost when it breaks.
    pub(crate) evidence: f64,
    pub(crate) incoming: Vec<(usize, &'a EdgeKind)>,
}

/// What a node's walk depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Work,
    Answer,
    Verify,
    Loop { body: usize, max: u32, resets: Vec<usize> },
    Stop(Status),
}

/// A model call.
pub(crate) struct Call {
    /// Index in [`Model::models`].
    pub(crate) model: usize,
    pub(crate) tokens: Tabulated,
    /// Nano-dollars; `None`: nobody knows the price.
    pub(crate) cost: Option<Tabulated>,
    /// Most that one call can cost, for the ledger.
    pub(crate) bound: f64,
}

impl<'a> Model<'a> {
    pub(crate) fn of(plan: &Plan, graph: &'a ExecutionGraph) -> Result<Model<'a>, GraphError> {
        let topology = Topology::of(graph)?;
        let mut models: Vec<&ModelName> =
            graph.nodes.iter().filter_map(|n| if let Resource::Model(m) = &n.resource { Some(m) } else { None }).collect();
        models.sort_unstable();
        models.dedup();
        let steps = (0..graph.nodes.len()).map(|i| step(plan, graph, &topology, &models, i)).collect();
        let limits = &plan.limits;
        Ok(Model {
            steps,
            topology,
            models,
            max_calls: limits.max_calls.unwrap_or(u32::MAX),
            max_cost: limits.max_cost.map_or(f64::INFINITY, |c| c.0 as f64),
        })
    }
}

impl Model<'_> {
    /// Models with a call that nobody can price, sorted.
    pub(crate) fn unpriced(&self) -> Vec<ModelName> {
        let dark = |index: usize| self.steps.iter().filter_map(|step| step.call.as_ref()).any(|c| c.model == index && c.cost.is_none());
        (0..self.models.len()).filter(|index| dark(*index)).map(|index| self.models[index].clone()).collect()
    }
}

fn step<'a>(plan: &Plan, graph: &'a ExecutionGraph, topology: &Topology, models: &[&ModelName], index: usize) -> Step<'a> {
    let node = &graph.nodes[index];
    let (breaks, wait) = match node.resource {
        Resource::Store => (STORE_BREAKS, STORE_WAIT),
        Resource::Model(_) | Resource::Tool(_) => (REMOTE_BREAKS, REMOTE_WAIT),
        Resource::Cpu | Resource::Person => (0.0, Micros(0)),
    };
    Step {
        kind: kind(graph, topology, node),
        latency: latency(node).tabulated(),
        call: if let Resource::Model(model) = &node.resource {
            Some(call(plan, node, models.binary_search(&model).unwrap_or(0)))
        } else {
            None
        },
        breaks: node.estimate.call.as_ref().map_or(breaks, |call| call.failure.value.share()),
        attempts: node.max_attempts,
        wait: wait.0 as f64,
        on_error: node.on_error,
        evidence: lost_evidence(graph, topology, index),
        incoming: topology.incoming(index).iter().map(|e| (topology.ends(*e).0, &graph.edges[*e].kind)).collect(),
    }
}

fn kind(graph: &ExecutionGraph, topology: &Topology, node: &Node) -> Kind {
    match &node.op {
        NodeOp::Answer { .. } => Kind::Answer,
        NodeOp::Verify { .. } => Kind::Verify,
        NodeOp::Stop { status } => Kind::Stop(*status),
        NodeOp::Loop { body, max_iterations } => Kind::Loop {
            body: topology.index_of(body).unwrap_or(0),
            max: *max_iterations,
            resets: graph.loop_resets(&node.id).iter().filter_map(|n| topology.index_of(n)).collect(),
        },
        _ => Kind::Work,
    }
}

/// Without an estimate: a wide prior by resource; nothing for nodes that only decide, and for people, whose time no quote knows.
fn latency(node: &Node) -> Spread {
    if let Some(estimate) = &node.estimate.latency {
        return Spread::latency(estimate);
    }
    match (&node.op, &node.resource) {
        (NodeOp::Stop { .. } | NodeOp::Loop { .. } | NodeOp::Branch, _) | (_, Resource::Person) => Spread::NONE,
        (_, Resource::Store) => Spread::unknown(STORE_LATENCY.0 as f64),
        (_, Resource::Cpu) => Spread::unknown(CPU_LATENCY.0 as f64),
        (_, Resource::Model(_) | Resource::Tool(_)) => Spread::unknown(REMOTE_LATENCY.0 as f64),
    }
}

/// Tokens and dollars of one call move together: both follow the length of what is sent and received.
fn call(plan: &Plan, node: &Node, model: usize) -> Call {
    let measured = node.estimate.call.as_ref();
    let tokens = match measured.and_then(|call| call.tokens.as_ref()).or(node.estimate.tokens.as_ref()) {
        Some(e) if e.is_learned() => Spread::measured(e.low.0 as f64, e.value.0 as f64, e.high.0 as f64, e.certainty),
        Some(e) => Spread::interval(e.low.0 as f64, e.value.0 as f64, e.high.0 as f64, e.certainty),
        None => Spread::unknown((plan.estimate.context_tokens.value + Tokens(OUTPUT_TOKENS)).0 as f64),
    };
    let priced = node.estimate.cost.as_ref().filter(|e| e.certainty != Certainty::Unknown);
    let bound = priced.map_or(0.0, |e| e.high.0 as f64);
    let usd = |n: NanoUsd| n.0.max(0) as f64;
    let likely = priced.and_then(|_| measured?.cost.as_ref()).or(priced);
    let cost = likely.map(|e| {
        (if e.is_learned() { Spread::measured } else { Spread::interval })(usd(e.low), usd(e.value), usd(e.high), e.certainty)
            .at_most(bound.max(0.0))
    });
    Call { model, tokens: tokens.tabulated(), cost: cost.map(|c| c.tabulated()), bound }
}

/// A source's list carries its evidence; the legs of a hybrid and the merge of several sources carry none of their own, so
/// that nothing is subtracted twice.
fn lost_evidence(graph: &ExecutionGraph, topology: &Topology, index: usize) -> f64 {
    let node = &graph.nodes[index];
    let is_list = match node.op {
        NodeOp::FuseLegs { .. } => true,
        NodeOp::Access { .. } => !topology.successors(index).any(|s| matches!(graph.nodes[s].op, NodeOp::FuseLegs { .. })),
        _ => false,
    };
    let evidence = node.estimate.evidence.as_ref().filter(|_| is_list);
    evidence.map_or(0.0, |e| e.value.to_micro_nats().0 as f64)
}
