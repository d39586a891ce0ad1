//! Configuration, sources and store of one invocation, and the runtime over them.

use crate::args::{Global, SourceArgs, WhoArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;
use crate::sources::{self, Named};
use ctx_contracts::{ErrorKind, IndexEvent, IndexReport, PluginError};
use ctx_embedded::{Engine, EngineOptions};
use ctx_runtime::config::{Refresh, SourceConfig};
use ctx_runtime::{Config, Runtime};
use ctx_types::catalog::SourceState;
use ctx_types::passage::Locator;
use ctx_types::{Sensitivity, SourceEntry, SourceName};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Configuration file of the working directory.
const CONFIG_HERE: &str = "ctxrt.yaml";

/// What one invocation works on.
pub(crate) struct Session {
    /// The runtime. It never looks for changes itself: [`Session::freshen`] does, where it is wanted, and shows progress.
    pub(crate) runtime: Runtime,
    /// The store behind it.
    pub(crate) engine: Arc<Engine>,
    /// Sources of the command line, empty if none was given.
    pub(crate) named: Vec<SourceName>,
    /// The file that was read.
    pub(crate) config_file: Option<PathBuf>,
    /// The store's folder.
    pub(crate) store: PathBuf,
    /// Where sources stand, as typed or configured.
    roots: BTreeMap<SourceName, PathBuf>,
    /// Why the sources could not be looked at for changes, for documents.
    unrefreshed: Mutex<Option<String>>,
}

impl Session {
    /// Reads the configuration, adds the sources of the command line, opens the store.
    pub(crate) async fn open(global: &Global, args: &SourceArgs, out: &Out) -> Result<Session, Failure> {
        let (mut config, config_file) = configuration(global, out)?;
        if let Some(prices) = &global.prices {
            config.costmodel.prices = Some(prices.clone());
        }
        let mut typed = args.source.clone();
        if let Some(list) = &args.sources_from {
            typed.extend(sources::listed(list)?);
        }
        let place = config_file.as_ref().map_or_else(|| "the environment".to_owned(), |file| file.display().to_string());
        let given = sources::resolve(&typed, sources::Configured { sources: &config.sources, place: &place })?;
        let named = given.iter().map(|source| source.name().clone()).collect();
        for source in given {
            add(&mut config, source);
        }
        let roots = config.sources.iter().map(|(name, source)| (name.clone(), source.path.clone())).collect();
        for source in config.sources.values_mut() {
            source.path =
                std::path::absolute(&source.path).map_err(|e| Failure::input(format!("source {}: {e}", source.path.display())))?;
        }
        let store = store_folder(global)?;
        usable(&store)?;
        config.store = Some(store.clone());
        let (runtime, engine) = ctx_embedded::open(config, engine_options()).await?;
        Ok(Session { runtime: runtime.without_refresh(), engine, named, config_file, store, roots, unrefreshed: Mutex::default() })
    }

    /// Goes on over another configuration of sources.
    pub(crate) fn adopt(&mut self, runtime: Runtime, engine: Arc<Engine>) {
        for (name, source) in &runtime.config().sources {
            self.roots.entry(name.clone()).or_insert_with(|| shown_root(&source.path));
        }
        self.roots.retain(|name, _| runtime.config().sources.contains_key(name));
        (self.runtime, self.engine) = (runtime, engine);
    }

    /// The sources to work on: those of the command line, else all.
    pub(crate) fn sources(&self) -> Vec<SourceName> {
        if self.named.is_empty() { self.runtime.config().sources.keys().cloned().collect() } else { self.named.clone() }
    }

    /// Of these those that who asks may read, and those that were named: what is shown to somebody names no other.
    pub(crate) fn sources_of(&self, who: &WhoArgs) -> Vec<SourceName> {
        if self.named.is_empty() { self.runtime.config().readable_to(&who.principal().roles) } else { self.named.clone() }
    }

    /// Indexes what is missing or changed, with progress. A store that another process holds is read as it stands.
    pub(crate) async fn freshen(&self, who: &WhoArgs, out: &Out, interrupt: &Interrupt) -> Result<(), Failure> {
        self.freshen_these(&self.sources_of(who), out, interrupt).await
    }

    /// The same for some of them.
    pub(crate) async fn freshen_these(&self, sources: &[SourceName], out: &Out, interrupt: &Interrupt) -> Result<(), Failure> {
        if sources.is_empty() {
            return Ok(());
        }
        let progress = Progress::new(out);
        let show = |event: IndexEvent| progress.event(event);
        let done = until(interrupt, self.runtime.refresh(sources, &show)).await?;
        match done {
            Ok(mut reports) => {
                progress.finish(&reports);
                let failed: Vec<PluginError> = reports.iter_mut().filter_map(|report| report.failure.take()).collect();
                warn(&reports, out);
                self.not_refreshed(failed, sources, out).await?;
            }
            Err(error) => {
                progress.finish(&[]);
                self.not_refreshed(vec![error], sources, out).await?;
            }
        }
        Ok(())
    }

    /// Says what could not be brought up to date. What cannot be read and leaves nothing to ask ends the command: it is the user's to
    /// correct.
    async fn not_refreshed(&self, mut errors: Vec<PluginError>, sources: &[SourceName], out: &Out) -> Result<(), Failure> {
        let mut said = Vec::new();
        if !errors.is_empty() {
            let before = self.holds_any(sources).await?;
            if let Some(at) = errors.iter().position(|error| error.kind == ErrorKind::BadRequest).filter(|_| !before) {
                return Err(errors.swap_remove(at).into());
            }
            let planned = if before { "planned on what was indexed before" } else { "nothing was indexed before" };
            said.extend(errors.iter().map(|error| format!("not refreshed, {planned}: {error}")));
        }
        said.iter().for_each(|said| out.note(&format!("note: {said}")));
        *self.unrefreshed.lock().unwrap_or_else(PoisonError::into_inner) = (!said.is_empty()).then(|| said.join("; "));
        Ok(())
    }

    /// Whether something of one of these sources is indexed.
    async fn holds_any(&self, sources: &[SourceName]) -> Result<bool, Failure> {
        let engine = self.engine.clone();
        let described = tokio::task::spawn_blocking(move || engine.describe()).await;
        let entries = described.map_err(|error| Failure::internal(format!("describing the sources: {error}")))?;
        let held = |entry: &SourceEntry| !matches!(entry.state, SourceState::Unavailable { .. });
        Ok(entries.is_ok_and(|entries| sources.iter().filter_map(|name| entries.get(name)).any(held)))
    }

    /// Why the last look for changes failed, if it did: a reader of documents is told as one of the terminal is.
    pub(crate) fn unrefreshed(&self) -> Option<String> {
        self.unrefreshed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Of these sources those that who asks may read: for commands that read without a plan. None at all is a failure.
    pub(crate) async fn readable(&self, who: &WhoArgs, sources: &[SourceName], out: &Out) -> Result<Vec<SourceName>, Failure> {
        let (readable, refused) = self.runtime.readable(&who.principal(), sources).await?;
        let reasons: Vec<String> = refused.iter().map(|denial| format!("{}: {}", denial.rule, denial.reason)).collect();
        if readable.is_empty() && !reasons.is_empty() {
            return Err(Failure::blocked(reasons.join("; ")));
        }
        reasons.iter().for_each(|reason| out.note(&format!("note: not read: {reason}")));
        Ok(readable)
    }

    /// Writes statistics and plan cache. A failure costs what this run taught, not its answer.
    pub(crate) async fn close(&self, out: &Out) {
        if let Err(error) = self.runtime.flush().await {
            out.note(&format!("note: what this run taught is not kept: {error}"));
        }
    }

    /// A path that opens from the working directory.
    pub(crate) fn open_at(&self, locator: &Locator) -> PathBuf {
        let Some(root) = self.roots.get(&locator.source) else { return PathBuf::from(&locator.path) };
        let base = if root.is_dir() { root.as_path() } else { root.parent().unwrap_or(Path::new("")) };
        match base.strip_prefix(".") {
            Ok(below) => below.join(&locator.path),
            Err(_) => base.join(&locator.path),
        }
    }
}

/// The command line looks for changes before every run unless the configuration says otherwise.
pub(crate) fn engine_options() -> EngineOptions {
    EngineOptions { refresh: Refresh::Always, ..EngineOptions::default() }
}

/// `path:first-last`.
pub(crate) fn lines(path: &Path, locator: &Locator) -> String {
    if locator.line_start == locator.line_end {
        format!("{}:{}", path.display(), locator.line_start)
    } else {
        format!("{}:{}-{}", path.display(), locator.line_start, locator.line_end)
    }
}

/// A future, unless a signal comes first. Dropping it stops its work: that is part of every contract.
pub(crate) async fn until<T>(
    interrupt: &Interrupt,
    work: impl Future<Output = Result<T, PluginError>>,
) -> Result<Result<T, PluginError>, Failure> {
    let token = interrupt.token();
    tokio::select! {
        biased;
        () = token.cancelled() => Err(Failure::cancelled(interrupt.code())),
        done = work => Ok(done),
    }
}

/// Remarks of indexing, a few of them.
pub(crate) fn warn(reports: &[IndexReport], out: &Out) {
    const SHOWN_MAX: usize = 5;
    for report in reports {
        if let Some(failure) = &report.failure {
            out.note(&format!("error: {} is not brought up to date: {failure}", report.source));
        }
        for warning in report.warnings.iter().take(SHOWN_MAX) {
            out.note(&format!("warning: {}: {warning}", report.source));
        }
        if report.warnings.len() > SHOWN_MAX {
            out.note(&format!("warning: {}: {} more; see `ctxrt index --json`", report.source, report.warnings.len() - SHOWN_MAX));
        }
    }
}

/// An absolute path as somebody in the working directory would write it.
fn shown_root(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(&here) {
        Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
        Ok(below) => below.to_owned(),
        Err(_) => path.to_owned(),
    }
}

fn add(config: &mut Config, source: Named) {
    if let Named::Path { name, label, kind, path } = source {
        let mut entry = SourceConfig::at(path);
        entry.kind = kind.unwrap_or(entry.kind);
        entry.sensitivity = label.unwrap_or(Sensitivity::Internal);
        config.sources.insert(name, entry);
    }
}

/// `--config`, else `./ctxrt.yaml`, else the XDG folder's, else defaults; the environment over it.
pub(crate) fn configuration(global: &Global, out: &Out) -> Result<(Config, Option<PathBuf>), Failure> {
    let environment: Vec<(String, String)> =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect();
    let file = global.config.clone().or_else(|| {
        let user = xdg("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("ctxrt").join("config.yaml"));
        [Some(PathBuf::from(CONFIG_HERE)), user].into_iter().flatten().find(|path| path.is_file())
    });
    let loaded = match &file {
        Some(path) => Config::load(path, &environment),
        None => Config::from_environment(&environment),
    };
    let warnings = match &loaded {
        Ok(loaded) => loaded.warnings.clone(),
        Err(ctx_runtime::ConfigError::Invalid { warnings, .. }) => warnings.clone(),
        Err(_) => Vec::new(),
    };
    warnings.iter().for_each(|warning| out.note(&format!("warning: {warning}")));
    Ok((loaded?.config, file))
}

/// A store is a folder, or not there yet. Whoever only looks is told too, rather than shown an empty store.
fn usable(store: &Path) -> Result<(), Failure> {
    match std::fs::read_dir(store) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Failure::store(format!("opening the store {}: {error}", store.display()))),
    }
}

/// `--store` or `CTXRT_STORE`, else a folder of the working directory's own in the XDG data folder.
fn store_folder(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(store) = global.store.as_ref().filter(|store| !store.as_os_str().is_empty()) {
        return std::path::absolute(store).map_err(|e| Failure::input(format!("store {}: {e}", store.display())));
    }
    let data = xdg("XDG_DATA_HOME", ".local/share").ok_or_else(|| {
        Failure::input("choosing a folder for the store: neither XDG_DATA_HOME nor HOME is set")
            .with_hint("name one with --store or CTXRT_STORE")
    })?;
    let here = std::env::current_dir().map_err(|e| Failure::input(format!("reading the working directory: {e}")))?;
    let here = here.canonicalize().unwrap_or(here);
    let hash = ctx_types::id::sha256_hex(here.to_string_lossy().as_bytes());
    let name: String = here.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let safe: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).take(40).collect();
    Ok(data.join("ctxrt").join("stores").join(format!("{safe}-{}", &hash[..12])))
}

/// A base folder: the variable if it holds an absolute path, else below the home folder.
pub(crate) fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let windows = || if cfg!(windows) { absolute("LOCALAPPDATA") } else { None };
    absolute(variable).or_else(windows).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}
