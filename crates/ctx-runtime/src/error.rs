//! Why a request has no run. What a run itself meets is a [`ctx_types::Status`] with a trace, not an error.

use crate::replay::ReplayError;
use crate::{ConfigError, RegistryError};
use ctx_contracts::PluginError;
use ctx_planner::PlanError;
use std::collections::BTreeSet;

/// Bad input, a configuration that cannot be used, or a plugin that cannot be constructed.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// A plugin cannot be constructed or described.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    /// The goal or its options are wrong. [`PlanError::Infeasible`] never stands here when a run was asked for.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A recorded run that cannot be replayed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A label that teaches nothing.
    #[error(transparent)]
    Label(#[from] ctx_cost::labels::LabelError),
    /// Who asks may read none of the sources and named none.
    #[error("blocked by {}: none of the {sources} sources may be read by who asks", rules.iter().cloned().collect::<Vec<_>>().join(", "))]
    Hidden {
        /// How many there are.
        sources: usize,
        /// The rules that say so.
        rules: BTreeSet<String>,
    },
    /// EXPLAIN ANALYZE of a generic plan.
    #[error("explaining a generic plan: it cannot be analyzed, because a run asks its sources about the goal; leave one of the two out")]
    GenericRun,
    /// A graph that this build cannot execute.
    #[error("executing graph of {plan}: node {node} is a {kind}, which nothing in this build executes")]
    Unsupported {
        /// The plan.
        plan: String,
        /// The node.
        node: String,
        /// Its kind.
        kind: String,
    },
    /// A graph and a schedule that do not belong together, or a graph that is not valid.
    #[error("executing graph of {plan}: {cause}")]
    Graph {
        /// The plan.
        plan: String,
        /// What is wrong.
        cause: String,
    },
}

impl RuntimeError {
    /// The command line's exit code: 2 for bad input, the status's code for plugins, 1 for defects.
    pub fn exit_code(&self) -> u8 {
        match self {
            RuntimeError::Config(_) | RuntimeError::Registry(_) | RuntimeError::Label(_) | RuntimeError::GenericRun => 2,
            RuntimeError::Plan(PlanError::Internal(_)) | RuntimeError::Unsupported { .. } | RuntimeError::Graph { .. } => 1,
            RuntimeError::Plan(PlanError::Infeasible(_)) => 3,
            RuntimeError::Plan(_) => 2,
            RuntimeError::Replay(ReplayError::OtherPlan { .. }) => 1,
            RuntimeError::Replay(ReplayError::Redacted { .. }) | RuntimeError::Hidden { .. } => 9,
            RuntimeError::Replay(_) => 2,
            RuntimeError::Plugin(error) => error.status().exit_code(),
        }
    }
}
