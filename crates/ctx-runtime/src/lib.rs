//! The façade: plan, explain, simulate, run, execute, verify; the async executor.
//!
//! ```text
//! Config ─┐
//! Registry┴▶ Runtime ── plan ──▶ Prepared ── execute ──▶ RunReport
//!                        │ describe → policy → cache → probe → plan
//!                        └ explain, simulate: the same, but nothing is inserted, counted, observed or spent
//! ```
//!
//! Everything that touches a disk, a socket or a model is a plugin behind `ctx-contracts`; a binary fills the
//! [`Registry`] and names the plugins in the [`Config`]. This crate holds no provider, no database and no text of a prompt.

pub mod config;

pub use config::{Config, ConfigError, ConfigProblem, ConfigWarning, Loaded, SettingRow};

mod registry;
mod shared;

pub use registry::{BuildContext, Contract, Registry, RegistryError};
pub use shared::Shared;
