//! The graph as a value: versioned, hashed, readable by others.

use crate::{Edge, EdgeKind, GraphError, Node, NodeId, NodeOp, validate};
use ctx_types::{ContentId, content_id};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the persisted graph format.
pub const GRAPH_SCHEMA_VERSION: u32 = 1;

/// What to do: nodes and the edges between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionGraph {
    /// [`GRAPH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The plan it executes.
    pub plan: ContentId,
    /// Steps, in pipeline order.
    pub nodes: Vec<Node>,
    /// What follows what.
    pub edges: Vec<Edge>,
}

impl ExecutionGraph {
    /// A graph of this version. It is not validated yet.
    pub fn new(plan: ContentId, nodes: Vec<Node>, edges: Vec<Edge>) -> ExecutionGraph {
        ExecutionGraph { schema_version: GRAPH_SCHEMA_VERSION, plan, nodes, edges }
    }

    /// Whether it can be executed as it stands.
    pub fn validate(&self) -> Result<(), GraphError> {
        validate::validate(self)
    }

    /// Content id over nodes, edges, estimates and the plan's id.
    pub fn hash(&self) -> Result<ContentId, GraphError> {
        content_id("graph", self).map_err(|e| GraphError::Hash { cause: e.to_string() })
    }

    /// The node of that name.
    pub fn node(&self, id: &NodeId) -> Option<&Node> {
        self.nodes.iter().find(|n| n.id == *id)
    }

    /// Edges into a node.
    pub fn incoming<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |e| e.to == *id)
    }

    /// Edges out of a node.
    pub fn outgoing<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = &'a Edge> {
        self.edges.iter().filter(move |e| e.from == *id)
    }

    /// Whether the edge starts a loop's body again. Such edges are not waited for and do not count as cycles.
    pub fn is_back_edge(&self, edge: &Edge) -> bool {
        matches!(self.node(&edge.from).map(|n| &n.op), Some(NodeOp::Loop { body, .. }) if *body == edge.to)
    }

    /// The node that answers when nothing fails.
    pub fn answer(&self) -> Option<&Node> {
        self.nodes.iter().find(|n| matches!(n.op, NodeOp::Answer { .. }))
    }

    /// What the loop at `id` may run again: its body's first node and everything after it, the loop and the stops included,
    /// in graph order. The executor forgets how these ended before it starts the body again: a node that was skipped because
    /// the first answer was given may be what follows the second. Empty if `id` is not a loop.
    pub fn loop_resets(&self, id: &NodeId) -> Vec<NodeId> {
        let Some(NodeOp::Loop { body, .. }) = self.node(id).map(|n| &n.op) else { return Vec::new() };
        let mut after = vec![body];
        let mut next = 0;
        while next < after.len() {
            let here = after[next];
            next += 1;
            for edge in self.outgoing(here).filter(|e| !self.is_back_edge(e)) {
                if !after.contains(&&edge.to) {
                    after.push(&edge.to);
                }
            }
        }
        self.nodes.iter().map(|n| &n.id).filter(|n| after.contains(n)).cloned().collect()
    }

    /// Nodes whose result a node works on: sources of its `then`, `parallel` and `on_success` edges, in edge order.
    pub fn inputs<'a>(&'a self, id: &'a NodeId) -> impl Iterator<Item = &'a NodeId> {
        let carries = |e: &&Edge| matches!(e.kind, EdgeKind::Then | EdgeKind::Parallel | EdgeKind::OnSuccess);
        self.incoming(id).filter(carries).filter(|e| !self.is_back_edge(e)).map(|e| &e.from)
    }
}
