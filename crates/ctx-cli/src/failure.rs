//! Why a command failed, with the exit code. What a run itself meets is a status (`ctx_types::Status`), not a failure.

use crate::output::Out;
use ctx_contracts::{ErrorKind, PluginError};
use ctx_runtime::session::SessionError;
use ctx_runtime::{ConfigError, RegistryError, RuntimeError};
use ctx_types::Status;
use serde_json::{Value, json};

/// Exit code of wrong flags, goals, files and configurations.
pub(crate) const BAD_INPUT: u8 = 2;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    kind: &'static str,
    message: String,
    hint: Option<String>,
    problems: Vec<Value>,
    drawn: Option<Drawn>,
}

/// A place in a script.
#[derive(Debug)]
struct Drawn {
    /// The line with its caret.
    text: String,
    /// For documents.
    place: Value,
}

impl Failure {
    fn new(code: u8, kind: &'static str, message: impl Into<String>) -> Failure {
        Failure { code, kind, message: message.into(), hint: None, problems: Vec::new(), drawn: None }
    }

    /// Something typed is wrong.
    pub(crate) fn input(message: impl Into<String>) -> Failure {
        Failure::new(BAD_INPUT, "bad_input", message)
    }

    /// Something broke.
    pub(crate) fn internal(message: impl Into<String>) -> Failure {
        Failure::new(1, "failed", message)
    }

    /// Roles or policy do not allow it.
    pub(crate) fn blocked(message: impl Into<String>) -> Failure {
        Failure::new(Status::Blocked.exit_code(), "blocked", message).with_hint("ask with a role that may: --role NAME")
    }

    /// The store cannot be used.
    pub(crate) fn store(message: impl Into<String>) -> Failure {
        Failure::new(Status::StoreUnavailable.exit_code(), "store_unavailable", message)
            .with_hint("name a folder: --store DIR or CTXRT_STORE")
    }

    /// The reader of stdout went away: not a failure of anybody.
    pub(crate) fn closed_pipe() -> Failure {
        Failure::new(0, "closed_pipe", "")
    }

    /// Stopped by a signal.
    pub(crate) fn cancelled(code: u8) -> Failure {
        Failure::new(code, "cancelled", "stopped by a signal; nothing is half written")
    }

    /// The same, with what to do.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// An error in a script, with its line and a caret below the token. `name` is what the script is called.
    pub(crate) fn statement(error: &ctx_sql::SqlError, name: &str, script: &str, columns: usize) -> Failure {
        let position = error.position(script);
        let place = json!({ "file": name, "line": position.line, "column": position.column });
        let mut failure = Failure::input(error.to_string());
        failure.hint.clone_from(&error.hint);
        failure.drawn = Some(Drawn { text: error.render(Some(name), script, columns), place });
        failure
    }

    /// What happened, in words.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Says it: one document on stdout with `--json`, else lines on stderr.
    pub(crate) fn report(&self, out: &Out) {
        if self.code == 0 {
            return;
        }
        if out.json() {
            // If stdout cannot be written there is no better place left.
            let _ = out.document(&json!({ "error": self.value() }));
            return;
        }
        if let Some(drawn) = &self.drawn {
            return out.notes(&drawn.text);
        }
        for line in self.message.lines() {
            out.note(&format!("error: {line}"));
        }
        if let Some(hint) = &self.hint {
            out.note(&format!("hint: {hint}"));
        }
    }

    /// As documents show it.
    pub(crate) fn value(&self) -> Value {
        let mut value = json!({ "kind": self.kind, "message": self.message, "exit_code": self.code });
        if let Some(hint) = &self.hint {
            value["hint"] = json!(hint);
        }
        if let Some(drawn) = &self.drawn {
            value["place"] = drawn.place.clone();
        }
        if !self.problems.is_empty() {
            value["problems"] = json!(self.problems);
        }
        value
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        let mut failure = Failure::new(BAD_INPUT, "configuration", error.to_string());
        if let ConfigError::Invalid { problems, .. } = &error {
            failure.problems = problems.iter().map(problem).collect();
        }
        failure
    }
}

fn problem(problem: &ctx_runtime::ConfigProblem) -> Value {
    json!({ "place": problem.place, "key": problem.key, "cause": problem.cause, "hint": problem.hint })
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Failure {
        let mut failure = Failure::new(BAD_INPUT, "configuration", error.to_string());
        if let RegistryError::Unknown(problems) = &error {
            failure.problems = problems.iter().map(problem).collect();
        }
        failure
    }
}

impl From<PluginError> for Failure {
    /// Outside a run only stores and sources are asked, so what cannot be reached is one of them and no provider.
    fn from(error: PluginError) -> Failure {
        let message = format!("{}: {}", error.doing, error.cause);
        let mut failure = match (error.kind, error.status()) {
            (ErrorKind::BadRequest, _) => Failure::input(message),
            (_, Status::ProviderFailed | Status::StoreUnavailable) => {
                Failure::new(Status::StoreUnavailable.exit_code(), "store_unavailable", message)
            }
            (_, status) => Failure::new(status.exit_code(), crate::output::status_name(status), message),
        };
        failure.hint = error.hint;
        failure
    }
}

impl From<SessionError> for Failure {
    /// An error with a place is drawn by whoever has the script: see [`Failure::statement`].
    fn from(error: SessionError) -> Failure {
        match error {
            SessionError::Runtime(error) => error.into(),
            SessionError::Cancelled => Failure::cancelled(error.exit_code()),
            SessionError::Statement(error) => {
                let mut failure = Failure::input(error.to_string());
                failure.hint = error.hint;
                failure
            }
            other => Failure::input(other.to_string()),
        }
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Failure {
        let code = error.exit_code();
        match error {
            RuntimeError::Config(error) => error.into(),
            RuntimeError::Registry(error) => error.into(),
            RuntimeError::Plugin(error) => error.into(),
            RuntimeError::Hidden { .. } => Failure::blocked(error.to_string()),
            other => {
                let kind = match code {
                    BAD_INPUT => "bad_input",
                    3 => "infeasible",
                    _ => "failed",
                };
                Failure::new(code, kind, other.to_string())
            }
        }
    }
}
