//! The façade: plan, explain, simulate, run, execute, verify; the async executor.
//!
//! ```text
//! Config ─┐
//! Registry┴▶ Runtime ── prepare ──▶ Prepared ── execute ──▶ RunReport
//!                        │ describe → policy → plan cache → probe → plan → insert
//!                        └ explain and simulate take the same way and insert, count, observe and spend nothing
//! ```
//!
//! Everything that touches a disk, a socket or a model is a plugin behind `ctx-contracts`; a binary fills the
//! [`Registry`] and names the plugins in the [`Config`]. This crate holds no provider, no database and no text of a prompt.
//!
//! Reading order: [`config`] → `registry` → `parts` → `runtime` → `prepare` (`snapshot`, `share`, `talk`) → `prompts` → `executor` → `ledger` → `learning` → `estimators` → `feedback` → `explore` → `evaluation` → `shadow` → [`session`] → [`replay`].

pub mod config;

mod clock;
mod denials;
mod error;
mod estimators;
mod evaluation;
mod executor;
mod explain;
mod explore;
mod feedback;
mod flight;
mod learning;
mod ledger;
mod parts;
mod prepare;
mod prompts;
pub mod ranking;
mod registry;
pub mod replay;
mod runtime;
pub mod session;
mod shadow;
mod share;
mod shared;
mod snapshot;
mod stored;
mod talk;
mod what_if;

pub use clock::SystemClock;
// What replies hold.
pub use config::{Config, ConfigError, ConfigProblem, ConfigWarning, Loaded, SettingRow};
pub use ctx_cost::neural::{Estimator, Fitted, Gain, Group};
pub use ctx_cost::statistics::{Origin, StatRow, Statistics, StatisticsError};
pub use ctx_plan_cache::{CacheRow, Counters, LoadReport, Pin, PinnedBy, ResultCounters, Unpinned};
pub use ctx_simulate::{BatchTotal, Simulation};
pub use error::RuntimeError;
pub use evaluation::{Evaluation, Policy, PolicyWorth};
pub use explain::{ExplainInputs, ExplainOptions};
pub use feedback::{Feedback, FeedbackBy};
pub use ledger::accounts::Spent;
pub use ledger::book::AccountRow;
pub use ledger::{Actual, Bound, Ledger, Refusal, Reservation};
pub use parts::Parts;
pub use prepare::{Choice, Prepared};
pub use registry::{BuildContext, Contract, Registry, RegistryError};
pub use runtime::{RunReport, Runtime, RuntimeBuilder};
pub use shadow::{Comparison, EstimatorRow};
pub use shared::Shared;
pub use what_if::{WhatIfError, what_if};
