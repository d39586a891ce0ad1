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
    #[error("planning with hint `{name}`: no operator, model or source has this name here; known are: {known}")]
    UnknownHint {
        /// The name.
        name: String,
        /// Known names.
        known: String,
    },
    /// Nothing that is possible has the pinned plan's shape.
    #[error("planning with a pinned plan: no plan has the gist {gist}; {best}")]
    GistNotFound {
        /// The pinned gist.
        gist: String,
        /// What would be planned without the pin, in words.
        best: String,
    },
    /// A pinned plan cannot be looked for.
    #[error("planning with a pinned plan: {shapes} shapes are possible, at most {most} are tried; name fewer sources")]
    TooManyShapes {
        /// Possible shapes.
        shapes: u64,
        /// The limit.
        most: u64,
    },
    /// An assumption about something that is not there.
    #[error("planning over a hypothetical catalog: `{name}`: {cause}")]
    WhatIf {
        /// The name.
        name: String,
        /// What is wrong.
        cause: String,
    },
    /// A hypothetical plan was to be run.
    #[error("running a goal over a hypothetical catalog: nothing of it exists; use explain or simulate, or leave the what-if out")]
    HypotheticalRun,
    /// An invariant does not hold: a defect of this program.
    #[error("planning: an invariant is broken: {0}; please report it with the goal and the configuration")]
    Internal(String),
}
