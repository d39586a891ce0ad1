//! Why there is no quote.

use ctx_graph::GraphError;
use ctx_types::ContentId;

/// A plan that cannot be simulated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// The graph cannot be executed, so it cannot be quoted.
    #[error("simulating a plan: {0}")]
    Graph(#[from] GraphError),
    /// Plan and graph do not belong together.
    #[error("simulating plan {plan}: the graph executes {graph}")]
    OtherPlan {
        /// The plan.
        plan: ContentId,
        /// The plan that the graph names.
        graph: ContentId,
    },
}

impl SimulateError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SimulateError::Graph(graph) => graph.hint(),
            SimulateError::OtherPlan { .. } => "lower the plan again and simulate that graph",
        }
    }
}
