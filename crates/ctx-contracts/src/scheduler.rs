//! When and where. The default is `ctx-scheduler`; a cluster engine can take its place.

use crate::PluginError;
use ctx_graph::ExecutionGraph;
use ctx_types::Constraints;

/// Turns a graph into an order of execution, as canonical JSON of a schedule.
pub trait Scheduler: Send + Sync {
    /// Name in the registry.
    fn name(&self) -> &str;
    /// A schedule, or why there is none.
    fn schedule(&self, graph: &ExecutionGraph, limits: &Constraints) -> Result<serde_json::Value, PluginError>;
}
