//! Why there is no plan.

use ctx_types::Infeasible;

/// Planning failed. `Infeasible` is an answer; the others are bad input or a broken invariant.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlanError {
    /// No plan meets the hard constraints.
    #[error("{0}")]
    Infeasible(Box<Infeasible>),
    /// The goal has no words.
    #[error("planning a goal: the goal is empty; say in words what you want to know")]
    EmptyGoal,
    /// The goal is longer than anything a person types or a program should send.
    #[error("planning a goal: its text has {bytes} bytes, at most {max} are accepted; put documents into a source instead")]
    GoalTooLong {
        /// Bytes of the text.
        bytes: usize,
        /// The limit.
        max: usize,
    },
    /// A source that is not configured.
    #[error("planning over source `{name}`: it is not configured; configured are: {known}")]
    UnknownSource {
        /// The name.
        name: String,
        /// Configured names.
        known: String,
    },
    /// No source at all.
    #[error("planning a goal: no source is configured; name one, for example --source docs=./docs")]
    NoSource,
    /// A hint that no stage knows.
    #[error("planning with hint `{name}`: no operator has this name; known are: {known}")]
    UnknownHint {
        /// The name.
        name: String,
        /// Known names.
        known: String,
    },
    /// The pinned plan is not among the feasible ones.
    #[error("planning with a pinned plan: no feasible plan has the gist {gist}; the best one has {best}")]
    GistNotFound {
        /// The pinned gist.
        gist: String,
        /// Gist of the winner.
        best: String,
    },
    /// An invariant does not hold: a defect of this program.
    #[error("planning: an invariant is broken: {0}; please report it with the goal and the configuration")]
    Internal(String),
}
