//! The execution graph: what to do, as a value. The boundary between planning (what) and scheduling (when and where).
//!
//! [`lower`] turns a [`ctx_types::Plan`] into an [`ExecutionGraph`], [`ExecutionGraph::validate`] checks one that came from
//! elsewhere, [`ExecutionGraph::hash`] names it, [`readiness`] says what may start given what has ended. Executor and
//! simulator walk the graph with that one function, so they cannot disagree about what an edge means.
//!
//! [`latency`] holds the rule by which latencies add up along a path and at a join.
//!
//! Not here: order, concurrency, retries' waiting times, deadlines (`ctx-scheduler`), running anything (`ctx-runtime`).
//!
//! ```text
//! access.docs.bm25 ──parallel──▶ fuse.docs ──▶ fuse ──▶ pack ──▶ answer ──on success──▶ verify
//! access.docs.dense ─parallel──▶     ▲                  │                      │ on failure
//! access.docs.identifier ─parallel───┘                  └on failure▶ abstain   └▶ retry (loop, at most 1) ─▶ answer
//!                                                                                   └on failure▶ verification_failed
//! ```
//!
//! # What an edge means
//!
//! A node ends in one of four ways ([`NodeEnd`]): *passed*, *rejected* (it worked, and said no: a verdict that failed, an
//! answerer that declined, a refused approval, an exhausted loop), *broken* (an error after all attempts) or *skipped*.
//!
//! | edge | fires when its source has |
//! |---|---|
//! | `then`, `parallel` | passed or been rejected |
//! | `on_success` | passed |
//! | `on_failure` | been rejected; or is broken, under the policy `route` |
//! | `when` | ended, not skipped, and the condition holds |
//!
//! A node starts when every `then` into it fired, at least one `parallel` did after all of them were decided, and at least
//! one of its conditional edges did. The edge from a loop to its body is not waited for: it starts the body again.
//!
//! ```
//! use ctx_graph::{EdgeKind, ExecutionGraph};
//! use ctx_types::ContentId;
//!
//! let empty = ExecutionGraph::new(ContentId("plan_0".into()), Vec::new(), Vec::new());
//! assert!(empty.validate().is_err());
//! ```

mod edge;
mod error;
mod graph;
pub mod latency;
mod lower;
mod node;
mod topology;
mod validate;
mod walk;

pub use edge::{CONDITION_DEPTH_MAX, Condition, Edge, EdgeKind};
pub use error::GraphError;
pub use graph::{ExecutionGraph, GRAPH_SCHEMA_VERSION};
pub use lower::{LoweringParameters, lower, lower_with};
pub use node::{FailurePolicy, LegFusion, LegPath, LegWeight, Node, NodeId, NodeOp, Resource};
pub use topology::Topology;
pub use validate::{ATTEMPTS_MAX, EDGES_MAX, LOOP_ITERATIONS_MAX, NODES_MAX};
pub use walk::{Facts, Join, NodeEnd, Readiness, fires, readiness};
