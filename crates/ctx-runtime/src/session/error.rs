//! Why a statement was not executed. What a run itself meets is a status in its report, not an error.

use crate::RuntimeError;
use ctx_contracts::PluginError;
use ctx_sql::{Span, SqlError};

/// A statement that names what does not exist, or could not be executed.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A name or value of the statement, with its place.
    #[error(transparent)]
    Statement(#[from] SqlError),
    /// The goal, the configuration or the plugins.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The session has no host.
    #[error("{statement}: this session reads and answers only; the program that opened it does not let statements change sources")]
    NotServed {
        /// What was asked for.
        statement: &'static str,
    },
    /// Something that the language has and this build does not.
    #[error("{what} is not in this build")]
    NotInBuild {
        /// An option, a format, a statement.
        what: String,
    },
    /// Stopped by its watch.
    #[error("the statement was stopped; nothing is half written")]
    Cancelled,
}

impl From<PluginError> for SessionError {
    fn from(error: PluginError) -> Self {
        SessionError::Runtime(error.into())
    }
}

impl SessionError {
    /// Where in its script, if it is about a word of the statement.
    pub fn place(&self) -> Option<Span> {
        match self {
            SessionError::Statement(error) => Some(error.at),
            _ => None,
        }
    }

    /// The command line's exit code; a stopped statement has that of its signal.
    pub fn exit_code(&self) -> u8 {
        match self {
            SessionError::Statement(_) | SessionError::NotServed { .. } | SessionError::NotInBuild { .. } => 2,
            SessionError::Runtime(error) => error.exit_code(),
            SessionError::Cancelled => 130,
        }
    }
}
