//! `CREATE SOURCE` and `DROP SOURCE`: the session goes on over a configuration with other sources.

use super::{Session, SessionError, SessionHost};
use crate::{Config, ConfigError};
use ctx_sql::source::{LabelRule, Property, RefreshRule};
use ctx_sql::{CreateSource, Located, Problem, SqlError};
use ctx_types::SourceName;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

impl Session {
    fn host(&self, statement: &'static str) -> Result<Arc<dyn SessionHost>, SessionError> {
        self.host.clone().ok_or(SessionError::NotServed { statement })
    }

    pub(super) async fn create(&mut self, create: &CreateSource) -> Result<bool, SessionError> {
        let host = self.host("CREATE SOURCE")?;
        let name = &create.name.value;
        if self.runtime.config().sources.contains_key(name) {
            if create.if_not_exists {
                return Ok(false);
            }
            let problem = Problem::Value { key: format!("source {name}"), cause: "there is one of this name".to_owned() };
            let hint = "choose another name, or DROP SOURCE first, or write CREATE SOURCE IF NOT EXISTS";
            return Err(SqlError::new(problem, create.name.at).with_hint(hint).into());
        }
        let mut config = self.runtime.config().clone();
        config.sources.insert(name.clone(), described(create)?);
        self.reopen(host.as_ref(), config).await?;
        if !self.scope.is_empty() {
            self.scope.push(name.clone());
        }
        Ok(true)
    }

    pub(super) async fn forget(&mut self, names: &[Located<SourceName>], if_exists: bool) -> Result<Vec<SourceName>, SessionError> {
        let host = self.host("DROP SOURCE")?;
        let mut config = self.runtime.config().clone();
        let mut dropped = Vec::new();
        for name in names {
            if config.sources.remove(&name.value).is_some() {
                dropped.push(name.value.clone());
            } else if !if_exists {
                let known = self.runtime.config().sources.keys().map(SourceName::as_str);
                return Err(SqlError::unknown("source", name.value.as_str(), name.at, known).into());
            }
        }
        if !dropped.is_empty() {
            self.reopen(host.as_ref(), config).await?;
            let had_scope = !self.scope.is_empty();
            self.scope.retain(|name| !dropped.contains(name));
            // A scope that becomes empty would mean all sources: the rest of them is what is left.
            if had_scope && self.scope.is_empty() {
                self.scope = self.runtime.config().sources.keys().cloned().collect();
            }
        }
        Ok(dropped)
    }

    /// What was learnt so far is written first, so that the next runtime knows it.
    async fn reopen(&mut self, host: &dyn SessionHost, config: Config) -> Result<(), SessionError> {
        if let Err(error) = self.runtime.flush().await {
            tracing::warn!(%error, "what this session taught so far is not kept");
        }
        self.runtime = host.open(config).await?;
        Ok(())
    }

    pub(super) async fn measure(&self, sources: &[SourceName]) -> Result<(), SessionError> {
        Ok(self.host("ANALYZE")?.analyze(sources).await?)
    }
}

/// The source as the configuration would describe it. Its own reader checks it, so that both accept the same.
fn described(create: &CreateSource) -> Result<crate::config::SourceConfig, SessionError> {
    let (name, path) = (&create.name.value, &create.path);
    let wrong = |cause: String, hint: Option<String>| {
        let error = SqlError::new(Problem::Value { key: format!("source {name}"), cause }, path.at);
        SessionError::from(SqlError { hint, ..error })
    };
    if path.value.trim().is_empty() {
        return Err(wrong("the path is empty".to_owned(), Some("name a folder or a file".to_owned())));
    }
    if !path.value.contains("://") {
        std::fs::metadata(&path.value).map_err(|error| wrong(format!("{}: {error}", path.value), None))?;
    }
    let mut entry = json!({ "path": path.value });
    for property in &create.properties {
        entry[property.key().name()] = written(property);
    }
    let text = json!({ "sources": { name.as_str(): entry } }).to_string();
    let loaded = Config::from_yaml("statement", &text, &[]).map_err(|error| match &error {
        ConfigError::Invalid { problems, .. } => problems.first().map_or_else(
            || wrong(error.to_string(), None),
            |problem| wrong(format!("{}: {}", problem.key, problem.cause), problem.hint.clone()),
        ),
        other => wrong(other.to_string(), None),
    })?;
    let Some(mut source) = loaded.config.sources.get(name).cloned() else { return Err(wrong("it was not understood".to_owned(), None)) };
    source.path = std::path::absolute(PathBuf::from(&path.value)).map_err(|error| wrong(error.to_string(), None))?;
    Ok(source)
}

/// A property as the configuration writes it.
fn written(property: &Property) -> Value {
    match property {
        Property::Kind(kind) => json!(kind),
        Property::Sensitivity(label) => json!(label.to_string()),
        Property::Refresh(RefreshRule::Always) => json!("always"),
        Property::Refresh(RefreshRule::Manual) => json!("manual"),
        Property::Refresh(RefreshRule::Interval(seconds)) => json!(format!("interval {seconds}")),
        Property::AutoLabel(LabelRule::Off) => json!("off"),
        Property::AutoLabel(LabelRule::Warn) => json!("warn"),
        Property::AutoLabel(LabelRule::Raise) => json!("raise"),
        Property::ReadableBy(roles) => json!(roles),
    }
}
