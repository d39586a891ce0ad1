//! Whether a graph can be executed: names, references, cycles, reachability, and the rules of each kind of node.

use crate::{CONDITION_DEPTH_MAX, EdgeKind, ExecutionGraph, GRAPH_SCHEMA_VERSION, GraphError, LegFusion, Node, NodeId, NodeOp, Topology};
use std::collections::BTreeSet;

/// Most nodes of a graph. A plan over a hundred sources needs about five hundred.
pub const NODES_MAX: usize = 4096;
/// Most edges of a graph.
pub const EDGES_MAX: usize = 16_384;
/// Most times a loop may start its body again.
pub const LOOP_ITERATIONS_MAX: u32 = 16;
/// Most attempts of one node.
pub const ATTEMPTS_MAX: u32 = 10;
/// Longest node name in bytes: a source's name (128) with prefix and path fits.
const NODE_NAME_BYTES_MAX: usize = 256;

pub(crate) fn validate(graph: &ExecutionGraph) -> Result<(), GraphError> {
    if graph.schema_version != GRAPH_SCHEMA_VERSION {
        return Err(GraphError::Version { found: graph.schema_version });
    }
    within("nodes", graph.nodes.len(), NODES_MAX)?;
    within("edges", graph.edges.len(), EDGES_MAX)?;
    graph.nodes.iter().try_for_each(name_is_usable)?;
    let topology = Topology::of(graph)?;
    no_edge_twice(graph)?;
    for (index, node) in graph.nodes.iter().enumerate() {
        starts_legally(node, &topology, index)?;
        attempts_are_bounded(node)?;
        Rules { graph, topology: &topology, node, index }.check()?;
    }
    conditions_speak_of_the_past(graph, &topology)?;
    one_answer(graph, &topology)
}

fn within(what: &'static str, found: usize, limit: usize) -> Result<(), GraphError> {
    if found > limit { Err(GraphError::TooLarge { what, found, limit }) } else { Ok(()) }
}

fn name_is_usable(node: &Node) -> Result<(), GraphError> {
    let id = node.id.as_str();
    let usable = !id.is_empty() && id.len() <= NODE_NAME_BYTES_MAX && !id.chars().any(char::is_control);
    if usable { Ok(()) } else { Err(GraphError::NodeName { id: id.chars().take(40).collect() }) }
}

fn no_edge_twice(graph: &ExecutionGraph) -> Result<(), GraphError> {
    let mut seen = BTreeSet::new();
    match graph.edges.iter().find(|e| !seen.insert((&e.from, &e.to, e.kind.to_string()))) {
        Some(edge) => Err(GraphError::DuplicateEdge { from: edge.from.clone(), to: edge.to.clone() }),
        None => Ok(()),
    }
}

/// A node without predecessors starts the run; kinds that work on something cannot.
fn starts_legally(node: &Node, topology: &Topology, index: usize) -> Result<(), GraphError> {
    let needs_input = matches!(
        node.op,
        NodeOp::FuseLegs { .. }
            | NodeOp::Fuse { .. }
            | NodeOp::Rerank { .. }
            | NodeOp::Compress { .. }
            | NodeOp::Verify { .. }
            | NodeOp::Stop { .. }
            | NodeOp::Merge
            | NodeOp::Rollback { .. }
            | NodeOp::Loop { .. }
            | NodeOp::Branch
    );
    if needs_input && topology.incoming(index).is_empty() {
        return Err(GraphError::Unreachable { id: node.id.clone() });
    }
    Ok(())
}

fn attempts_are_bounded(node: &Node) -> Result<(), GraphError> {
    if (1..=ATTEMPTS_MAX).contains(&node.max_attempts) {
        return Ok(());
    }
    Err(problem(node, format!("has max_attempts {}; 1 to {ATTEMPTS_MAX} are allowed", node.max_attempts)))
}

fn problem(node: &Node, problem: impl Into<String>) -> GraphError {
    GraphError::Node { id: node.id.clone(), kind: node.op.kind(), problem: problem.into() }
}

/// The rules of a node's kind.
struct Rules<'a> {
    graph: &'a ExecutionGraph,
    topology: &'a Topology,
    node: &'a Node,
    index: usize,
}

impl Rules<'_> {
    fn check(&self) -> Result<(), GraphError> {
        match &self.node.op {
            NodeOp::FuseLegs { method, exact, .. } => self.fuse_legs(method, exact.as_ref()),
            NodeOp::Verify { .. } => self.require(
                self.has_out(|k| k.is_conditional() && *k != EdgeKind::OnSuccess),
                "has no consequence: no edge leaves it for a failed verdict",
            ),
            NodeOp::Stop { .. } => self.require(self.topology.outgoing(self.index).is_empty(), "ends the run, yet an edge leaves it"),
            NodeOp::Transfer { .. } => {
                self.require(!self.has_out(|k| *k != EdgeKind::OnFailure), "hands the run over, yet an edge leaves it")
            }
            NodeOp::Branch => self.branch(),
            NodeOp::Loop { body, max_iterations } => self.bounded_loop(body, *max_iterations),
            NodeOp::Approval { .. } => self.require(!self.has_out(|k| !k.is_conditional()), "is followed whether approved or not"),
            NodeOp::Merge => self.require(self.topology.incoming(self.index).len() >= 2, "has fewer than two branches to merge"),
            NodeOp::Rollback { compensates } => self.rollback(compensates),
            NodeOp::Access { .. }
            | NodeOp::Fuse { .. }
            | NodeOp::Rerank { .. }
            | NodeOp::Pack { .. }
            | NodeOp::Compress { .. }
            | NodeOp::Answer { .. }
            | NodeOp::Tool { .. }
            | NodeOp::Ask { .. }
            | NodeOp::Delegate { .. } => Ok(()),
        }
    }

    fn require(&self, holds: bool, otherwise: &str) -> Result<(), GraphError> {
        if holds { Ok(()) } else { Err(problem(self.node, otherwise)) }
    }

    fn has_out(&self, wanted: impl Fn(&EdgeKind) -> bool) -> bool {
        self.topology.outgoing(self.index).iter().any(|e| wanted(&self.graph.edges[*e].kind))
    }

    fn index_of(&self, id: &NodeId) -> Result<usize, GraphError> {
        let missing = || GraphError::Dangling { at: self.node.id.to_string(), missing: id.clone() };
        self.topology.index_of(id).ok_or_else(missing)
    }

    fn fuse_legs(&self, method: &LegFusion, exact: Option<&NodeId>) -> Result<(), GraphError> {
        let ranked: Vec<&NodeId> = match method {
            LegFusion::Single { leg } => vec![leg],
            LegFusion::Linear { weights } => weights.iter().map(|w| &w.leg).collect(),
            LegFusion::Rrf { .. } => Vec::new(),
        };
        for leg in ranked.into_iter().chain(exact) {
            let leg = self.index_of(leg)?;
            self.require(self.topology.predecessors(self.index).any(|p| p == leg), "names a leg that no edge connects to it")?;
        }
        match method {
            LegFusion::Linear { weights } => {
                let sum: u64 = weights.iter().map(|w| u64::from(w.weight.0)).sum();
                self.require(sum == 1_000_000, "has weights that do not sum to one")
            }
            LegFusion::Single { .. } | LegFusion::Rrf { .. } => Ok(()),
        }
    }

    fn branch(&self) -> Result<(), GraphError> {
        let ways = self.topology.outgoing(self.index).len();
        self.require(ways >= 2, "has fewer than two ways out")?;
        self.require(!self.has_out(|k| !k.is_conditional()), "has a way out that no condition guards")
    }

    fn bounded_loop(&self, body: &NodeId, max_iterations: u32) -> Result<(), GraphError> {
        let body = self.index_of(body)?;
        if !(1..=LOOP_ITERATIONS_MAX).contains(&max_iterations) {
            return Err(problem(self.node, format!("has max_iterations {max_iterations}; 1 to {LOOP_ITERATIONS_MAX} are allowed")));
        }
        self.require(body != self.index && self.topology.ancestors(self.index).contains(&body), "does not follow its own body")?;
        let closes = |e: usize| self.topology.is_back(e) && self.topology.ends(e) == (self.index, body);
        self.require((0..self.graph.edges.len()).any(closes), "has no edge back to its body")?;
        self.require(self.has_out(|k| *k == EdgeKind::OnFailure), "has no way out when its iterations are used up")
    }

    fn rollback(&self, compensates: &NodeId) -> Result<(), GraphError> {
        let undone = self.index_of(compensates)?;
        self.require(self.graph.nodes[undone].op.has_effect(), "compensates a node that changes nothing")?;
        self.require(self.topology.ancestors(self.index).contains(&undone), "compensates a node that does not come before it")
    }
}

/// A condition may name only nodes that have ended when it is evaluated: the edge's source and what leads to it.
fn conditions_speak_of_the_past(graph: &ExecutionGraph, topology: &Topology) -> Result<(), GraphError> {
    for (i, edge) in graph.edges.iter().enumerate() {
        let EdgeKind::When(condition) = &edge.kind else { continue };
        let (from, _) = topology.ends(i);
        let source = &graph.nodes[from];
        if condition.depth() > CONDITION_DEPTH_MAX {
            return Err(problem(source, format!("has a condition nested deeper than {CONDITION_DEPTH_MAX}")));
        }
        let past = topology.ancestors(from);
        for named in condition.nodes() {
            match topology.index_of(named) {
                None => return Err(GraphError::Dangling { at: format!("the edge {} → {}", edge.from, edge.to), missing: named.clone() }),
                Some(p) if !past.contains(&p) => return Err(problem(source, format!("decides by {named}, which has not ended then"))),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

fn one_answer(graph: &ExecutionGraph, topology: &Topology) -> Result<(), GraphError> {
    let primary = topology.primary(graph);
    let answers = graph.nodes.iter().zip(primary).filter(|(n, on_path)| *on_path && matches!(n.op, NodeOp::Answer { .. }));
    match answers.count() {
        1 => Ok(()),
        found => Err(GraphError::AnswerPaths { found }),
    }
}
