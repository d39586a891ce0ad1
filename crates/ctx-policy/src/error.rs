//! What can go wrong with rules, at the place where it went wrong.

use ctx_contracts::{ErrorKind, PluginError};

/// Why rules cannot be used or could not decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The rule file cannot be read.
    #[error("reading policy rules {file}: {cause}; policy.file is looked for beside the configuration file")]
    Unreadable {
        /// File.
        file: String,
        /// The system's words.
        cause: String,
    },
    /// It is not Rego.
    #[error("reading policy rules {place}: {cause}")]
    NotRego {
        /// `file:line:column`, or the file alone where the parser gives no place.
        place: String,
        /// The parser's words.
        cause: String,
    },
    /// It is Rego, and holds no rule that decides.
    #[error("reading policy rules {file}: {package} decides nothing; define `deny contains …`, or `allow`, or both")]
    DecidesNothing {
        /// File.
        file: String,
        /// Its package.
        package: String,
    },
    /// Evaluation failed: the question is denied.
    #[error("deciding by policy rules {place}: {cause}")]
    Evaluation {
        /// `file:line:column`.
        place: String,
        /// The evaluator's words.
        cause: String,
    },
    /// The HTTP client cannot be made.
    #[error("preparing the detector at {url}: {cause}")]
    Client {
        /// Address.
        url: String,
        /// Why.
        cause: String,
    },
}

impl From<PolicyError> for PluginError {
    fn from(error: PolicyError) -> PluginError {
        let kind = match error {
            PolicyError::Evaluation { .. } | PolicyError::Client { .. } => ErrorKind::Internal,
            _ => ErrorKind::BadRequest,
        };
        let text = error.to_string();
        let (doing, cause) = text.split_once(": ").map_or((text.as_str(), ""), |(doing, cause)| (doing, cause));
        PluginError::new(kind, doing, cause)
    }
}
