//! Statement sessions over the embedded default: what `CREATE SOURCE`, `DROP SOURCE` and `ANALYZE` need.

use crate::engine::{Engine, EngineOptions};
use async_trait::async_trait;
use ctx_contracts::{ErrorKind, PluginError};
use ctx_runtime::session::{Session, SessionHost};
use ctx_runtime::{Config, Runtime, RuntimeError};
use ctx_types::SourceName;
use std::sync::{Arc, Mutex, PoisonError};

/// Opens engines over changed configurations and knows the one in use.
pub struct EmbeddedHost {
    options: EngineOptions,
    refreshing: bool,
    engine: Mutex<Arc<Engine>>,
}

impl EmbeddedHost {
    /// A host whose session goes on over `engine`. `refreshing`: whether runtimes look for changes by themselves.
    pub fn new(engine: Arc<Engine>, options: EngineOptions, refreshing: bool) -> EmbeddedHost {
        EmbeddedHost { options, refreshing, engine: Mutex::new(engine) }
    }

    /// The engine in use.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.engine.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl SessionHost for EmbeddedHost {
    async fn open(&self, config: Config) -> Result<Runtime, RuntimeError> {
        let (runtime, engine) = crate::open(config, self.options.clone()).await?;
        *self.engine.lock().unwrap_or_else(PoisonError::into_inner) = engine;
        Ok(if self.refreshing { runtime } else { runtime.without_refresh() })
    }

    async fn analyze(&self, sources: &[SourceName]) -> Result<(), PluginError> {
        let (engine, sources) = (self.engine(), sources.to_vec());
        let timed = tokio::task::spawn_blocking(move || engine.analyze(&sources, &|_| {})).await;
        let timed = timed.map_err(|e| PluginError::new(ErrorKind::Internal, "timing the access paths", e.to_string()))?;
        timed.map_err(|e| e.into_plugin("analyzing sources"))
    }
}

/// A session over the embedded default that may change its sources.
///
/// ```
/// use ctx_runtime::session::{Reply, Watch};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let (files, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
/// std::fs::write(files.path().join("hinges.md"), "# Hinges\n\nSKU-73105 is a brass hinge.\n")?;
/// let mut config = ctx_runtime::Config::default();
/// config.store = Some(store.path().to_owned());
/// let mut session = ctx_embedded::session(config, ctx_embedded::EngineOptions::default()).await?;
///
/// let script = format!("CREATE SOURCE hinges FROM '{}'; ANSWER 'What is SKU-73105?' FROM hinges;", files.path().display());
/// for statement in ctx_sql::parse_script(&script)? {
///     if let Reply::Answered(report) = session.execute(&statement.value, &Watch::default()).await? {
///         assert_eq!(report.outcome.citations[0].locator.path, "hinges.md");
///     }
/// }
/// # Ok(()) }) }
/// ```
pub async fn session(config: Config, options: EngineOptions) -> Result<Session, RuntimeError> {
    let (runtime, engine) = crate::open(config, options.clone()).await?;
    Ok(Session::new(runtime).with_host(Arc::new(EmbeddedHost::new(engine, options, true))))
}
