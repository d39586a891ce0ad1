//! The one error type that crosses a contract: what was being done, why it failed, whether trying again can help.

use ctx_types::estimate::TokenClasses;
use ctx_types::{Micros, Status};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What kind of failure, as far as the executor must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Cannot be reached or opened now.
    Unavailable,
    /// Did not answer in time.
    Timeout,
    /// Asked to slow down.
    RateLimited,
    /// The request is wrong; sending it again gives the same answer.
    BadRequest,
    /// The input is larger than the model's window.
    ContextOverflow,
    /// Credentials missing or wrong.
    Unauthorized,
    /// The provider refused on content grounds: no fallback, no breaker count.
    Refused,
    /// Stopped by the ledger before a call: dollars.
    BudgetUsd,
    /// Stopped by the ledger before a call: tokens.
    BudgetTokens,
    /// Stopped by the ledger before a call: number of calls.
    BudgetCalls,
    /// Stopped by the deadline.
    BudgetTime,
    /// The caller cancelled.
    Cancelled,
    /// Stored data is damaged.
    Corrupt,
    /// Someone else holds it.
    Locked,
    /// Anything else.
    Internal,
}

/// What a call of a model took that failed, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// The provider may have worked: unknown, never zero. It is charged at its bound.
    #[default]
    Unknown,
    /// No request reached the provider.
    NotSent,
    /// The provider refused it before any work.
    Nothing,
    /// The provider reported this.
    Reported(Box<TokenClasses>),
}

/// An error of a plugin. Display: `DOING: CAUSE`, then the hint if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginError {
    /// Kind.
    pub kind: ErrorKind,
    /// What was being done, to what.
    pub doing: String,
    /// Why it failed. Holds no secret.
    pub cause: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// How long the provider asked to wait.
    pub retry_after: Option<Micros>,
    /// What the failed call took, where a model was called.
    #[serde(default)]
    pub taken: Taken,
}

impl PluginError {
    /// An error without hint. Of kinds that say that a request was turned away, the call took nothing; of others that is unknown.
    pub fn new(kind: ErrorKind, doing: impl Into<String>, cause: impl Into<String>) -> Self {
        let taken = match kind {
            ErrorKind::RateLimited | ErrorKind::BadRequest | ErrorKind::ContextOverflow | ErrorKind::Unauthorized => Taken::Nothing,
            _ => Taken::Unknown,
        };
        PluginError { kind, doing: doing.into(), cause: cause.into(), hint: None, retry_after: None, taken }
    }

    /// The same, with what the call took.
    pub fn having_taken(mut self, taken: Taken) -> Self {
        self.taken = taken;
        self
    }

    /// The same, with what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the same call can succeed later.
    pub fn retryable(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::RateLimited)
    }

    /// Whether the ledger refused a call.
    pub fn is_of_budget(&self) -> bool {
        matches!(self.kind, ErrorKind::BudgetUsd | ErrorKind::BudgetTokens | ErrorKind::BudgetCalls)
    }

    /// The status of a run that ends with this error.
    pub fn status(&self) -> Status {
        match self.kind {
            ErrorKind::Unavailable | ErrorKind::Timeout | ErrorKind::RateLimited | ErrorKind::Unauthorized | ErrorKind::ContextOverflow => {
                Status::ProviderFailed
            }
            ErrorKind::Refused => Status::Refused,
            ErrorKind::BudgetUsd => Status::BudgetUsd,
            ErrorKind::BudgetTokens => Status::BudgetTokens,
            ErrorKind::BudgetCalls => Status::BudgetCalls,
            ErrorKind::BudgetTime => Status::BudgetTime,
            ErrorKind::Cancelled => Status::Cancelled,
            ErrorKind::Corrupt | ErrorKind::Locked => Status::StoreUnavailable,
            ErrorKind::BadRequest | ErrorKind::Internal => Status::Failed,
        }
    }
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.doing, self.cause)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PluginError {}
