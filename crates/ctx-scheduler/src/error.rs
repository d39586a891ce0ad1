//! Why a graph has no schedule.

use ctx_graph::GraphError;

/// A graph that cannot be scheduled. Never an empty schedule instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The graph cannot be executed at all.
    #[error("scheduling an execution graph: {0}")]
    Graph(#[from] GraphError),
    /// No time is left.
    #[error("scheduling an execution graph: the latency limit is zero")]
    NoTime,
    /// A resource may run nothing.
    #[error("scheduling an execution graph: {resource} may run nothing at once")]
    NoCapacity {
        /// Which resource.
        resource: String,
    },
}

impl ScheduleError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            ScheduleError::Graph(graph) => graph.hint(),
            ScheduleError::NoTime => "raise max_latency_seconds, or leave it out",
            ScheduleError::NoCapacity { .. } => "allow at least one",
        }
    }
}
