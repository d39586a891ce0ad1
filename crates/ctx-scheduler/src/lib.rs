//! Execution graph to schedule: in which order, how many at once, how often again, until when.
//!
//! [`schedule`] is a pure function of the graph and the constraints. It runs nothing and reads no clock: times are
//! microseconds from the run's start. Which edge fires is the graph's business (`ctx_graph::readiness`); a schedule says
//! what a node must wait for at least, and what to prefer when several may start.
//!
//! Not here: the ledger that pays for attempts, and the executor that keeps these times (`ctx-runtime`).
//!
//! ```
//! use ctx_graph::{ExecutionGraph, FailurePolicy, Node, NodeId, NodeOp, Resource};
//! use ctx_types::{AlternativeEstimate, Constraints, ContentId, Micros, Strategy};
//!
//! let answer = Node {
//!     id: NodeId::new("answer"),
//!     op: NodeOp::Answer { strategy: Strategy::Extractive, model: None },
//!     estimate: AlternativeEstimate::default(),
//!     resource: Resource::Cpu,
//!     on_error: FailurePolicy::Fail,
//!     max_attempts: 1,
//! };
//! let graph = ExecutionGraph::new(ContentId("plan_0".into()), vec![answer], Vec::new());
//! let limits = Constraints { max_latency: Some(Micros(2_000_000)), ..Constraints::default() };
//! let schedule = ctx_scheduler::schedule(&graph, &limits).unwrap();
//! assert_eq!(schedule.steps[0].deadline, Some(Micros(2_000_000)));
//! ```

mod error;
mod policy;
mod schedule;
mod timing;

pub use ctx_graph::latency::{critical_path, join_quantile, path_quantile};
pub use error::ScheduleError;
pub use policy::{Concurrency, RUN_RETRIES_MAX, ResourceLimit, RetryPolicy};
pub use schedule::{SCHEDULE_SCHEMA_VERSION, Schedule, Step, schedule, schedule_with};
