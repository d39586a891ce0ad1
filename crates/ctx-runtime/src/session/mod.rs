//! Sessions: statements of `ctx-sql` executed over a [`Runtime`], with typed results. What a shell and a service share.
//!
//! ```text
//! text ─ctx_sql::parse─▶ Statement ─Session::execute─▶ Reply
//! ```
//!
//! A session holds settings (limits, wishes, how results are shown), who asks, and which sources a goal draws on when it
//! names none. Limits of a session tighten the configured budgets, limits of a statement tighten both; weights of a
//! statement come before the session's, those before the configured ones. Who asks is given by the program that opens the
//! session and by no statement; rows of other tenants, and sources that the asking roles may not read, are not shown.
//!
//! Sources are created and dropped for the session: the configuration file and other sessions stay as they are. What was
//! indexed stays in the store, so that creating a source again finds its index. Only a session with a [`SessionHost`] does
//! that, or measures sources anew: a service that gives none has statements that read and answer, nothing else.

mod error;
mod execute;
mod reply;
mod settings;
mod sources;

pub use error::SessionError;
pub use reply::{Reply, SettingLine};
pub use settings::SessionSettings;

use crate::{Config, Runtime, RuntimeError};
use async_trait::async_trait;
use ctx_contracts::{IndexEvent, PluginError};
use ctx_sql::{Ask, Located, SqlError};
use ctx_types::goal::Hint;
use ctx_types::{Goal, ModelName, Principal, SourceEntry, SourceName};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What a session needs from the program around it to change sources.
#[async_trait]
pub trait SessionHost: Send + Sync {
    /// A runtime over a configuration with other sources.
    async fn open(&self, config: Config) -> Result<Runtime, RuntimeError>;

    /// Measures the access paths of these sources anew; they are indexed.
    async fn analyze(&self, sources: &[SourceName]) -> Result<(), PluginError>;
}

/// How a statement's work is watched and stopped.
#[derive(Clone)]
pub struct Watch<'a> {
    /// Told about indexing.
    pub progress: &'a (dyn Fn(IndexEvent) + Send + Sync),
    /// Stops the statement. A run that is stopped still settles and leaves its trace.
    pub cancel: CancellationToken,
}

impl Default for Watch<'_> {
    fn default() -> Self {
        Watch { progress: &|_| {}, cancel: CancellationToken::new() }
    }
}

/// Executes statements one after the other.
pub struct Session {
    runtime: Runtime,
    host: Option<Arc<dyn SessionHost>>,
    principal: Principal,
    settings: SessionSettings,
    /// Sources of a goal that names none; empty means all.
    scope: Vec<SourceName>,
}

impl Session {
    /// A session that reads and answers.
    pub fn new(runtime: Runtime) -> Session {
        Session { runtime, host: None, principal: Principal::default(), settings: SessionSettings::default(), scope: Vec::new() }
    }

    /// The same, able to change sources.
    pub fn with_host(mut self, host: Arc<dyn SessionHost>) -> Session {
        self.host = Some(host);
        self
    }

    /// The same for somebody else than the default tenant without roles.
    pub fn with_principal(mut self, principal: Principal) -> Session {
        self.principal = principal;
        self
    }

    /// The same, drawing on these sources where a statement names none.
    pub fn with_scope(mut self, scope: Vec<SourceName>) -> Session {
        self.scope = scope;
        self
    }

    /// The runtime. Another one after sources were created or dropped.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// What was set.
    pub fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// What was set, to be changed by a program (a shell's `\timing`).
    pub fn settings_mut(&mut self) -> &mut SessionSettings {
        &mut self.settings
    }

    /// Sources of a goal that names none; empty means all.
    pub fn scope(&self) -> &[SourceName] {
        &self.scope
    }

    /// The goal that a statement states, with everything that the session adds. Names are checked.
    pub async fn goal(&self, ask: &Ask) -> Result<Goal, SessionError> {
        self.known(&ask.sources).await?;
        for hint in &ask.hints {
            self.known_model(hint)?;
        }
        let mut goal = Goal::new(ask.goal.clone());
        goal.sources = if ask.sources.is_empty() { self.scope.clone() } else { values(&ask.sources) };
        goal.constraints = self.settings.limits();
        goal.constraints = goal.constraints.tightened_by(&settings::constraints(&ask.limits));
        goal.weights = self.settings.weights(self.runtime.config().costmodel.weights);
        (goal.objective, goal.seed) = (self.settings.objective(), self.settings.seed());
        for wish in &ask.wishes {
            settings::wish(&mut goal, wish);
        }
        goal.principal = self.principal.clone();
        goal.hints = ask.hints.iter().map(|hint| hint.value.clone()).collect();
        Ok(goal)
    }

    /// An error that points at the first name that is no source of this session.
    async fn known(&self, names: &[Located<SourceName>]) -> Result<(), SessionError> {
        if names.is_empty() {
            return Ok(());
        }
        let sources = self.visible().await?;
        let Some(unknown) = names.iter().find(|name| !sources.contains_key(&name.value)) else { return Ok(()) };
        let error = SqlError::unknown("source", unknown.value.as_str(), unknown.at, sources.keys().map(SourceName::as_str));
        Err(if sources.is_empty() { error.with_hint("there are none; CREATE SOURCE name FROM 'path' adds one") } else { error }.into())
    }

    fn known_model(&self, hint: &Located<Hint>) -> Result<(), SessionError> {
        match &hint.value {
            Hint::Model(model) if !self.runtime.parts().models.contains_key(model) => Err(self.no_model(model, hint.at).into()),
            _ => Ok(()),
        }
    }

    fn no_model(&self, model: &ModelName, at: ctx_sql::Span) -> SqlError {
        SqlError::unknown("model", model.as_str(), at, self.runtime.parts().models.keys().map(ModelName::as_str))
    }

    /// Sources that who asks may read.
    async fn visible(&self) -> Result<BTreeMap<SourceName, SourceEntry>, SessionError> {
        Ok(self.seen().await?.0)
    }

    /// Sources that who asks may read, and how many there are beside them.
    async fn seen(&self) -> Result<(BTreeMap<SourceName, SourceEntry>, usize), SessionError> {
        let mut sources = BTreeMap::new();
        for retriever in &self.runtime.parts().retrievers {
            for (name, entry) in retriever.describe().await? {
                sources.entry(name).or_insert(entry);
            }
        }
        let all = sources.len();
        sources.retain(|_, entry| entry.readable_to(&self.principal.roles));
        let hidden = all - sources.len();
        Ok((sources, hidden))
    }

    /// Sources of a goal that names none, as far as who asks may read them.
    pub fn sources(&self) -> Vec<SourceName> {
        self.chosen(&[])
    }

    /// The named sources, else those of the session, else all that are configured and that who asks may read.
    fn chosen(&self, names: &[Located<SourceName>]) -> Vec<SourceName> {
        match (names.is_empty(), self.scope.is_empty()) {
            (false, _) => values(names),
            (true, false) => self.scope.clone(),
            (true, true) => self.runtime.config().readable_to(&self.principal.roles),
        }
    }
}

fn values(names: &[Located<SourceName>]) -> Vec<SourceName> {
    names.iter().map(|name| name.value.clone()).collect()
}
