//! Execution graph to schedule: in which order, how many at once, how often again, until when.
//!
//! [`schedule`] is a pure function of the graph and the constraints. It runs nothing and reads no clock: times are
//! microseconds from the run's start. Which edge fires is the graph's business (`ctx_graph::readiness`); a schedule says
//! what a node must wait for at least, and what to prefer when several may start.
//!
//! Not here: the ledger that pays for attempts, and the executor that keeps these times (`ctx-runtime`).

mod error;
mod policy;
mod schedule;
mod timing;

pub use ctx_graph::latency::{critical_path, join_quantile, path_quantile};
pub use error::ScheduleError;
pub use policy::{Concurrency, ResourceLimit, RetryPolicy, RUN_RETRIES_MAX};
pub use schedule::{schedule, schedule_with, Schedule, Step, SCHEDULE_SCHEMA_VERSION};
