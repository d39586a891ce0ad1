//! Quotes: seeded Monte Carlo over an execution graph. What a run would cost, how long it would take, how often it would
//! abstain, as intervals. Nothing is executed, spent or observed.
//!
//! [`simulate`] draws [`DRAWS`] replicates. In each, probabilities are drawn from their intervals, every node's latency and
//! every call's tokens and cost from theirs, and the graph is walked by the same rules that the executor follows: branches
//! that are not taken cost nothing, broken attempts are retried, rejected answers are produced anew. One residual per model
//! and replicate is shared by all its calls (a slow day is slow for all of them), one belongs to each call.
//!
//! Every number comes from an estimate of the plan, or from a constant of [`priors`] that says where it is from. Where an
//! estimate is missing or unknown, the prior is wide and the interval is marked so. The same seed gives the same bytes.
//!
//! Not here: feasibility. A latency limit is decided by the bound of `ctx_graph::latency`, not by these intervals.
//!
//! ```no_run
//! # fn quote(plan: &ctx_types::Plan) -> Result<(), Box<dyn std::error::Error>> {
//! let graph = ctx_graph::lower(plan)?;
//! let quote = ctx_simulate::simulate(plan, &graph, plan.seed)?;
//! assert!(quote.cost.low <= quote.cost.mid && quote.cost.mid <= quote.cost.high);
//! # Ok(()) }
//! ```

mod batch;
mod error;
mod model;
mod outcome;
pub mod priors;
mod simulation;
mod spread;
mod walk;

pub use batch::{BATCH_SCHEMA_VERSION, Batch, BatchTotal};
pub use error::SimulateError;
pub use simulation::{DRAWS, Interval, ModelUse, RetrievalUse, SAMPLES_MIN, SIMULATION_SCHEMA_VERSION, Simulation, simulate};
