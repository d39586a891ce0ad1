//! Why a plan cannot be lowered, or a graph not be executed.

use crate::{GRAPH_SCHEMA_VERSION, NodeId};

/// A graph that must not run, or a plan that gives none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Written by another version.
    #[error("reading an execution graph: its schema version is {found}, this build reads {GRAPH_SCHEMA_VERSION}")]
    Version {
        /// Its version.
        found: u32,
    },
    /// More nodes or edges than any plan needs.
    #[error("validating an execution graph: it has {found} {what}, the limit is {limit}")]
    TooLarge {
        /// Nodes or edges.
        what: &'static str,
        /// How many.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// An unusable node name.
    #[error("validating an execution graph: the node name {id:?} is empty, too long or unprintable")]
    NodeName {
        /// The name.
        id: String,
    },
    /// One name twice.
    #[error("validating an execution graph: two nodes are named {id}")]
    DuplicateNode {
        /// The name.
        id: NodeId,
    },
    /// One edge twice.
    #[error("validating an execution graph: the edge {from} → {to} stands twice")]
    DuplicateEdge {
        /// Its source.
        from: NodeId,
        /// Its target.
        to: NodeId,
    },
    /// A reference to nothing.
    #[error("validating an execution graph: {at} names {missing}, which is not a node")]
    Dangling {
        /// Who refers.
        at: String,
        /// To what.
        missing: NodeId,
    },
    /// A cycle that no loop bounds.
    #[error("validating an execution graph: {} run in a circle that no bounded loop closes", list(.nodes))]
    Cycle {
        /// The nodes of the cycle.
        nodes: Vec<NodeId>,
    },
    /// A node that nothing leads to.
    #[error("validating an execution graph: nothing leads to {id}")]
    Unreachable {
        /// The node.
        id: NodeId,
    },
    /// A node that breaks a rule of its kind.
    #[error("validating an execution graph: {id} ({kind}) {problem}")]
    Node {
        /// The node.
        id: NodeId,
        /// Kind of its operator.
        kind: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// Not exactly one node answers on the path that is taken when nothing fails.
    #[error("validating an execution graph: {found} nodes answer when nothing fails; exactly one must")]
    AnswerPaths {
        /// How many do.
        found: usize,
    },
    /// The plan lacks what every plan has.
    #[error("lowering plan {plan}: it has no alternative for {stage}")]
    MissingStage {
        /// The plan.
        plan: String,
        /// The stage.
        stage: &'static str,
    },
    /// The plan's operator does not belong to its stage.
    #[error("lowering plan {plan}: {operator} cannot stand at {stage}")]
    WrongOperator {
        /// The plan.
        plan: String,
        /// The stage.
        stage: String,
        /// The operator.
        operator: String,
    },
    /// The graph has no content id.
    #[error("hashing an execution graph: {cause}")]
    Hash {
        /// Why.
        cause: String,
    },
}

impl GraphError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            GraphError::Version { .. } => "plan the goal again with this build",
            GraphError::TooLarge { .. } => "split the goal, or draw on fewer sources",
            GraphError::MissingStage { .. } | GraphError::WrongOperator { .. } => {
                "the plan was built or edited by hand; plan the goal again"
            }
            GraphError::Cycle { .. } => "close the circle with a loop node that has max_iterations",
            GraphError::Dangling { .. } => "add the node, or remove the reference",
            GraphError::AnswerPaths { .. } => "keep one answer node on the main path; others belong behind a condition",
            _ => "correct the graph, or lower it from its plan again",
        }
    }
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(NodeId::as_str).collect::<Vec<_>>().join(", ")
}
