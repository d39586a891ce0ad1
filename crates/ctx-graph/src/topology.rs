//! The graph by index: positions, neighbours without loop-back edges, topological order. Built once, then cheap to ask.

use crate::{Edge, EdgeKind, ExecutionGraph, GraphError, NodeId, NodeOp};
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Indices are positions in [`ExecutionGraph::nodes`] and [`ExecutionGraph::edges`].
#[derive(Clone, Debug)]
pub struct Topology {
    position: BTreeMap<NodeId, usize>,
    order: Vec<usize>,
    incoming: Vec<Vec<usize>>,
    outgoing: Vec<Vec<usize>>,
    ends: Vec<(usize, usize)>,
    back: Vec<bool>,
}

impl Topology {
    /// Indexes a graph. Fails on names that stand twice, edges to nothing, and cycles that no loop closes.
    pub fn of(graph: &ExecutionGraph) -> Result<Topology, GraphError> {
        let position = positions(graph)?;
        let ends = graph.edges.iter().map(|e| resolve(e, &position)).collect::<Result<Vec<_>, _>>()?;
        let starts_body = |from: usize, to: &NodeId| matches!(&graph.nodes[from].op, NodeOp::Loop { body, .. } if body == to);
        let back: Vec<bool> = ends.iter().zip(&graph.edges).map(|((from, _), e)| starts_body(*from, &e.to)).collect();
        let mut incoming = vec![Vec::new(); graph.nodes.len()];
        let mut outgoing = vec![Vec::new(); graph.nodes.len()];
        for (i, (from, to)) in ends.iter().enumerate().filter(|(i, _)| !back[*i]) {
            incoming[*to].push(i);
            outgoing[*from].push(i);
        }
        let mut topology = Topology { position, order: Vec::new(), incoming, outgoing, ends, back };
        topology.order = topology.sorted().ok_or_else(|| topology.name_cycle(graph))?;
        Ok(topology)
    }

    /// Nodes so that every one comes after all its predecessors; among equals the earlier in the graph first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Position of the node of that name.
    pub fn index_of(&self, id: &NodeId) -> Option<usize> {
        self.position.get(id).copied()
    }

    /// Edges into a node, loop-back edges excluded.
    pub fn incoming(&self, node: usize) -> &[usize] {
        &self.incoming[node]
    }

    /// Edges out of a node, loop-back edges excluded.
    pub fn outgoing(&self, node: usize) -> &[usize] {
        &self.outgoing[node]
    }

    /// Source and target of an edge.
    pub fn ends(&self, edge: usize) -> (usize, usize) {
        self.ends[edge]
    }

    /// Whether an edge starts a loop's body again.
    pub fn is_back(&self, edge: usize) -> bool {
        self.back[edge]
    }

    /// Predecessors of a node, one entry per edge.
    pub fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.incoming[node].iter().map(|e| self.ends[*e].0)
    }

    /// Successors of a node, one entry per edge.
    pub fn successors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.outgoing[node].iter().map(|e| self.ends[*e].1)
    }

    /// Nodes from which `node` can be reached, itself included.
    pub fn ancestors(&self, node: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::from([node]);
        let mut open = vec![node];
        while let Some(here) = open.pop() {
            open.extend(self.predecessors(here).filter(|p| seen.insert(*p)));
        }
        seen
    }

    /// For every node whether it runs when nothing fails: it is reached over `then`, `parallel` and `on_success` edges only.
    pub fn primary(&self, graph: &ExecutionGraph) -> Vec<bool> {
        let mut on_path = vec![false; self.incoming.len()];
        for node in &self.order {
            let carries = |e: &usize| match graph.edges[*e].kind {
                EdgeKind::Then | EdgeKind::Parallel | EdgeKind::OnSuccess => on_path[self.ends[*e].0],
                EdgeKind::OnFailure | EdgeKind::When(_) => false,
            };
            on_path[*node] = self.incoming[*node].is_empty() || self.incoming[*node].iter().any(carries);
        }
        on_path
    }

    /// Kahn's algorithm; the smallest ready index first, so that the order is a function of the graph alone.
    fn sorted(&self) -> Option<Vec<usize>> {
        let mut missing: Vec<usize> = self.incoming.iter().map(Vec::len).collect();
        let mut ready: BTreeSet<usize> = (0..missing.len()).filter(|n| missing[*n] == 0).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(node) = ready.pop_first() {
            order.push(node);
            for next in self.successors(node) {
                missing[next] -= 1;
                if missing[next] == 0 {
                    ready.insert(next);
                }
            }
        }
        (order.len() == missing.len()).then_some(order)
    }

    fn name_cycle(&self, graph: &ExecutionGraph) -> GraphError {
        let mut picture = DiGraph::<(), ()>::with_capacity(graph.nodes.len(), self.ends.len());
        graph.nodes.iter().for_each(|_| {
            picture.add_node(());
        });
        let mut own = None;
        for (from, to) in self.ends.iter().zip(&self.back).filter(|(_, back)| !**back).map(|(ends, _)| ends) {
            picture.add_edge(NodeIndex::new(*from), NodeIndex::new(*to), ());
            own = own.or((from == to).then_some(*from));
        }
        let circle = tarjan_scc(&picture).into_iter().find(|component| component.len() > 1);
        let mut indices: Vec<usize> = circle.map_or_else(|| own.into_iter().collect(), |c| c.into_iter().map(NodeIndex::index).collect());
        indices.sort_unstable();
        GraphError::Cycle { nodes: indices.into_iter().map(|i| graph.nodes[i].id.clone()).collect() }
    }
}

fn positions(graph: &ExecutionGraph) -> Result<BTreeMap<NodeId, usize>, GraphError> {
    let mut position = BTreeMap::new();
    for (i, node) in graph.nodes.iter().enumerate() {
        if position.insert(node.id.clone(), i).is_some() {
            return Err(GraphError::DuplicateNode { id: node.id.clone() });
        }
    }
    Ok(position)
}

fn resolve(edge: &Edge, position: &BTreeMap<NodeId, usize>) -> Result<(usize, usize), GraphError> {
    let find = |id: &NodeId| {
        let at = || format!("the edge {} → {}", edge.from, edge.to);
        position.get(id).copied().ok_or_else(|| GraphError::Dangling { at: at(), missing: id.clone() })
    };
    Ok((find(&edge.from)?, find(&edge.to)?))
}
