//! Configuration: YAML and environment variables become one checked [`Config`].
//!
//! Every key that is accepted is applied; a value that nothing in this build honours is an error that says what to write
//! instead; unknown keys name the nearest known one; secrets come from the environment only and are never part of this
//! value. Whole numbers may be written as `120000`, `120_000` or `1e6`; `1.5` is not one, `90s` is not a number.
//!
//! ```
//! use ctx_runtime::Config;
//!
//! let loaded = Config::from_yaml("ctxrt.yaml", "budgets: {max_cost_usd: 0.5}\n", &[]).unwrap();
//! assert_eq!(loaded.config.budgets.max_cost.unwrap().to_string(), "$0.50");
//! let error = Config::from_yaml("ctxrt.yaml", "budgets: {max_latency_seconds: 90s}\n", &[]).unwrap_err();
//! assert!(error.to_string().contains("ctxrt.yaml:1:"));
//! ```

pub(crate) mod advice;
mod environment;
mod load;
pub(crate) mod reader;
mod secret;
mod sections;
mod settings;
pub(crate) mod tree;

pub use ctx_contracts::Durability;
pub use secret::Secret;
pub use settings::SettingRow;
pub(crate) use settings::{differing, rows};

use ctx_types::catalog::readable;
use ctx_types::{Constraints, ModelName, NanoUsd, PicoUsd, Ppm, Sensitivity, SourceKind, SourceName, Tokens, Weights};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One thing wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// `file:line:column` or `environment variable NAME`.
    pub place: String,
    /// The key's path, dotted.
    pub key: String,
    /// What is wrong. Never quotes what could be a secret.
    pub cause: String,
    /// What to write instead.
    pub hint: Option<String>,
}

impl std::fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}: {}", self.place, self.key, self.cause)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// Something that does not stop the start but must be seen: an unknown variable, a removed key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigWarning(pub String);

impl std::fmt::Display for ConfigWarning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A configuration that cannot be used. Lists everything that is wrong, not only the first thing.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("reading configuration {file}: {cause}")]
    Unreadable {
        /// File.
        file: String,
        /// The system's words.
        cause: String,
    },
    /// It is not YAML, or larger than any configuration is.
    #[error("{file}:{line}:{column}: not readable as YAML: {cause}")]
    NotYaml {
        /// File.
        file: String,
        /// Line, 1-based.
        line: u64,
        /// Column, 1-based.
        column: u64,
        /// The parser's words.
        cause: String,
    },
    /// Keys or values are wrong.
    #[error("{}", lines(.problems))]
    Invalid {
        /// All of them, in file order.
        problems: Vec<ConfigProblem>,
        /// Warnings found on the way.
        warnings: Vec<ConfigWarning>,
    },
}

fn lines(problems: &[ConfigProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A configuration with what its reader should tell the user.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Warnings, to be printed once.
    pub warnings: Vec<ConfigWarning>,
}

/// Everything that can be configured. [`Config::default`] is a working configuration without sources and models.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Plugins, plan cache, durability.
    pub runtime: RuntimeConfig,
    /// Model tiers in the order of the file.
    pub models: Vec<Tier>,
    /// Ceilings of every run. Requests tighten, never raise.
    pub budgets: Constraints,
    /// What the runs of a tenant may spend together, by tenant.
    pub tenant_budgets: BTreeMap<String, TenantBudget>,
    /// Score weights and estimator.
    pub costmodel: CostModelConfig,
    /// Trying plans close to the best.
    pub learning: LearningConfig,
    /// Retrieval defaults.
    pub retrieval: RetrievalConfig,
    /// Defaults of checks.
    pub verification: VerificationConfig,
    /// Policy engine.
    pub policy: PolicyConfig,
    /// Traces.
    pub observability: ObservabilityConfig,
    /// Sources by name.
    pub sources: BTreeMap<SourceName, SourceConfig>,
    /// Folder of the store; the caller decides the default. Not part of the digest.
    #[serde(skip)]
    pub store: Option<PathBuf>,
    /// Where plugin names were written, for messages of the registry.
    #[serde(skip)]
    pub(crate) places: BTreeMap<String, String>,
}

/// `runtime:`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuntimeConfig {
    /// Which plugin serves which contract.
    pub plugins: Plugins,
    /// Plan cache.
    pub plan_cache: PlanCacheConfig,
    /// Stored answers.
    pub result_cache: ResultCacheConfig,
    /// When records reach the disk.
    pub durability: Durability,
}

/// `runtime.plugins:` — names in the registry.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plugins {
    /// Wire of tiers that name no provider.
    pub model: String,
    /// Where documents and records live.
    pub store: String,
    /// Who reads sources; several may serve different sources.
    pub retriever: Vec<String>,
    /// Where facts come from; `local` are the sources themselves.
    pub knowledge: String,
    /// Who maps a planned tier to an endpoint; `tiers`: the planner's choice is the endpoint.
    pub router: String,
    /// Rules of the house.
    pub policy: String,
    /// Answer strategies; `None`: those the build registers as default.
    pub reasoners: Option<Vec<String>>,
    /// Verifiers; `None`: those the build registers as default.
    pub verifiers: Option<Vec<String>>,
}

/// `runtime.plan_cache:`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanCacheConfig {
    /// Whether plans are cached.
    pub enabled: bool,
    /// Seconds an entry lives.
    pub ttl_seconds: u64,
    /// Most bytes of all entries.
    pub max_bytes: u64,
    /// Share of semantic matches that may be wrong; `match: exact` is none.
    pub semantic_error: Ppm,
}

/// `runtime.result_cache:`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultCacheConfig {
    /// Whether answers are kept and given again.
    pub enabled: bool,
    /// Seconds an answer lives.
    pub ttl_seconds: u64,
    /// Most bytes of all answers.
    pub max_bytes: u64,
    /// Share of answers given for other words that may be wrong; `match: exact` is none.
    pub semantic_error: Ppm,
}

/// One entry of `models.tiers:`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tier {
    /// Name of the tier.
    pub name: ModelName,
    /// Wire adapter; `runtime.plugins.model` if not given.
    pub provider: Option<String>,
    /// Endpoint without trailing slash.
    pub base_url: Option<String>,
    /// The provider's name of the model; `None`: whatever the endpoint serves.
    pub model: Option<String>,
    /// Environment variable that holds the key. The key itself is never here.
    pub api_key_env: Option<String>,
    /// Declared local; `None`: by address.
    pub local: Option<bool>,
    /// Highest sensitivity it may see; `None`: `restricted` if local, `internal` if remote.
    pub accepts: Option<Sensitivity>,
    /// What it is good for.
    pub good_for: Vec<String>,
    /// Context window, where discovery does not say.
    pub context_window: Option<Tokens>,
    /// Most output tokens of one call.
    pub max_output_tokens: Option<Tokens>,
    /// Prices, where configured.
    pub price: Option<TierPrice>,
    /// Tokenizer family (`o200k`, `cl100k`); `None`: by the model's name.
    pub tokenizer: Option<String>,
    /// Fields that every request carries beside those of the wire: what a server wants to be told (`options: {num_ctx: 32768}`).
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    pub request: serde_json::Map<String, serde_json::Value>,
}

impl Tier {
    /// The window that the server is told to serve, where requests tell it one.
    pub fn requested_window(&self) -> Option<Tokens> {
        let told = self.request.get("options").and_then(|options| options.get("num_ctx")).or_else(|| self.request.get("num_ctx"));
        told.and_then(serde_json::Value::as_u64).map(Tokens)
    }

    /// Whether it reorders passages instead of answering: `good_for: [rerank]`.
    pub fn reranks(&self) -> bool {
        self.good_for.iter().any(|what| what == "rerank")
    }

    /// The key, from the variable that the tier names.
    pub fn api_key(&self) -> Option<Secret> {
        self.api_key_env.as_deref().and_then(Secret::from_variable)
    }
}

/// `price:` of a tier, per million tokens in the file, in pico-dollars per token here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TierPrice {
    /// Fresh input.
    pub input: Option<PicoUsd>,
    /// Input read from the provider's cache.
    pub cached_input: Option<PicoUsd>,
    /// Input written to it.
    pub cache_write: Option<PicoUsd>,
    /// Output.
    pub output: Option<PicoUsd>,
}

/// One entry of `tenant_budgets:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TenantBudget {
    /// Dollars in a window.
    pub max_cost: Option<NanoUsd>,
    /// Tokens of all classes in a window.
    pub max_tokens: Option<Tokens>,
    /// Length of the window.
    pub per: Per,
}

/// `per:` of a tenant's budget: windows begin at full hours and days of UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// An hour.
    Hour,
    /// A day.
    Day,
}

impl Per {
    /// First second of the window that `now` lies in, both in seconds since the Unix epoch.
    pub fn start(self, now: u64) -> u64 {
        let seconds = match self {
            Per::Hour => 3_600,
            Per::Day => 86_400,
        };
        now - now % seconds
    }
}

impl std::fmt::Display for Per {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Per::Hour => "hour",
            Per::Day => "day",
        })
    }
}

/// `costmodel:`
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostModelConfig {
    /// What corrects the shipped estimates.
    pub estimator: EstimatorName,
    /// Default weights of the score.
    pub weights: Weights,
    /// A price map in the LiteLLM format, absolute or below the configuration file's folder. Not part of the digest: the
    /// prices themselves are among what a cached plan depends on.
    #[serde(skip)]
    pub prices: Option<PathBuf>,
}

/// `costmodel.estimator:`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EstimatorName {
    /// Shipped priors only.
    Prior,
    /// Priors corrected by statistics of past runs.
    #[default]
    Learned,
    /// Priors corrected by a network, where `ctxrt learn estimators` trained one.
    Neural,
    /// Per field and kind of operator whichever of them was nearest on held-out runs.
    Auto,
}

/// `learning:`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LearningConfig {
    /// Largest share of runs that leave the best plan; 0: none does.
    pub explore: Ppm,
    /// How much less than the best a plan may be expected to score and still be tried, in parts per million of the score.
    pub within: Ppm,
    /// Smallest probability with which any plan is tried: what is less likely is not tried.
    pub floor: Ppm,
    /// Whether both estimators are compared after each run.
    pub shadow: bool,
}

impl Default for LearningConfig {
    fn default() -> Self {
        LearningConfig { explore: Ppm(0), within: Ppm(50_000), floor: Ppm(10_000), shadow: false }
    }
}

/// `retrieval:`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetrievalConfig {
    /// Access path preferred where several are equally good; `None`: the planner decides alone.
    pub default_strategy: Option<String>,
    /// Most passages fetched per access.
    pub top_k: Option<u32>,
    /// Most passages in the context.
    pub final_k: Option<u32>,
    /// The one reranker that may be planned, `none` for none; nothing: the planner weighs all.
    pub reranker: Option<String>,
    /// Least growth of P(evidence) for which a list is looked at again; nothing: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerank_gain_min: Option<Ppm>,
    /// Least share of a context that shortening keeps; one: nothing is shortened; nothing: the planner weighs all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compress_keep_min: Option<Ppm>,
}

/// `verification:`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerificationConfig {
    /// Whether a check is required wherever a model answers.
    pub default: bool,
    /// Whether a person must approve high-risk goals.
    pub high_risk_requires_human: bool,
}

/// `policy:`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyConfig {
    /// Rules engine: `builtin`, or `opa` for a Rego file on top of the built-in rules.
    pub engine: String,
    /// The rule file of `opa`, absolute or below the configuration file's folder. Not part of the digest: its text is
    /// part of the policy's version.
    #[serde(skip)]
    pub file: Option<PathBuf>,
    /// Detector of sensitive values: `builtin`, or `presidio` for a server beside the built-in detectors.
    pub pii: String,
    /// Where the Presidio analyzer is.
    pub url: Option<String>,
    /// Labels that found values raise to, by detector name; built-in detectors can only be raised.
    pub labels: BTreeMap<String, Sensitivity>,
}

impl Default for PolicyConfig {
    fn default() -> PolicyConfig {
        PolicyConfig { engine: "builtin".to_owned(), file: None, pii: "builtin".to_owned(), url: None, labels: BTreeMap::new() }
    }
}

/// `observability:`
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObservabilityConfig {
    /// Whether traces are kept.
    pub traces: bool,
}

/// Kinds of sources by the names that people write, here and on the command line.
pub const SOURCE_KINDS: [(&str, SourceKind); 5] = [
    ("files", SourceKind::Files),
    ("logs", SourceKind::Logs),
    ("tables", SourceKind::Tables),
    ("table", SourceKind::Tables),
    ("sql", SourceKind::Tables),
];

/// One entry of `sources:`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceConfig {
    /// Folder or file, absolute or below the configuration file's folder. Not part of the digest.
    #[serde(skip)]
    pub path: PathBuf,
    /// What it is made of.
    pub kind: SourceKind,
    /// Declared label.
    pub sensitivity: Sensitivity,
    /// When changes on disk are looked for; `None`: the caller's default.
    pub refresh: Option<Refresh>,
    /// What sensitive values found at indexing do.
    pub auto_label: AutoLabel,
    /// Roles that may read it; empty: everyone.
    pub readable_by: BTreeSet<String>,
}

impl SourceConfig {
    /// A folder or file with every default.
    pub fn at(path: impl Into<PathBuf>) -> SourceConfig {
        SourceConfig {
            path: path.into(),
            kind: SourceKind::Files,
            sensitivity: Sensitivity::Internal,
            refresh: None,
            auto_label: AutoLabel::Warn,
            readable_by: BTreeSet::new(),
        }
    }
}

/// `refresh:` of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Refresh {
    /// Before every run.
    Always,
    /// At most every so many seconds.
    Interval(u64),
    /// Only when asked.
    Manual,
}

/// `auto_label:` of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AutoLabel {
    /// Sensitive values are not looked for at indexing.
    Off,
    /// They are counted and reported.
    #[default]
    Warn,
    /// They raise the source's label.
    Raise,
}

impl Default for Config {
    fn default() -> Self {
        let text = |name: &str| name.to_owned();
        Config {
            runtime: RuntimeConfig {
                plugins: Plugins {
                    model: text("openai_compatible"),
                    store: text("duckdb"),
                    retriever: vec![text("local")],
                    knowledge: text("local"),
                    router: text("tiers"),
                    policy: text("builtin"),
                    reasoners: None,
                    verifiers: None,
                },
                plan_cache: PlanCacheConfig { enabled: true, ttl_seconds: 3600, max_bytes: 64 << 20, semantic_error: Ppm(0) },
                result_cache: ResultCacheConfig { enabled: false, ttl_seconds: 3600, max_bytes: 16 << 20, semantic_error: Ppm(0) },
                durability: Durability::Async,
            },
            models: Vec::new(),
            budgets: default_budgets(),
            tenant_budgets: BTreeMap::new(),
            costmodel: CostModelConfig { estimator: EstimatorName::Learned, weights: Weights::default(), prices: None },
            learning: LearningConfig::default(),
            retrieval: RetrievalConfig::default(),
            verification: VerificationConfig { default: true, high_risk_requires_human: false },
            policy: PolicyConfig::default(),
            observability: ObservabilityConfig { traces: true },
            sources: BTreeMap::new(),
            store: None,
            places: BTreeMap::new(),
        }
    }
}

/// The ceilings of the configuration reference: $5, 120,000 tokens, 120 s, 50 calls, 50 tool calls per run.
fn default_budgets() -> Constraints {
    Constraints {
        max_cost: Some(NanoUsd(5_000_000_000)),
        max_tokens: Some(Tokens(120_000)),
        max_latency: Some(ctx_types::Micros(120_000_000)),
        max_calls: Some(50),
        max_tool_calls: Some(50),
        ..Constraints::default()
    }
}

impl Config {
    /// Reads a file and applies `environment` (name, value) over it.
    pub fn load(path: &Path, environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| ConfigError::Unreadable { file: file.clone(), cause: e.to_string() })?;
        let mut loaded = Config::from_yaml(&file, &text, environment)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for source in loaded.config.sources.values_mut() {
            source.path = folder.join(&source.path);
        }
        let config = &mut loaded.config;
        for file in [&mut config.policy.file, &mut config.costmodel.prices].into_iter().flatten() {
            *file = folder.join(&*file);
        }
        Ok(loaded)
    }

    /// Parses text; `file` is used in messages only. Relative paths stay as they are.
    pub fn from_yaml(file: &str, text: &str, environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
        load::load(file, text, environment)
    }

    /// Configured sources that somebody with these roles may read.
    pub fn readable_to(&self, roles: &BTreeSet<String>) -> Vec<SourceName> {
        self.sources.iter().filter(|(_, source)| readable(&source.readable_by, roles)).map(|(name, _)| name.clone()).collect()
    }

    /// Defaults with `environment` over them: what a run without a file uses.
    pub fn from_environment(environment: &[(String, String)]) -> Result<Loaded, ConfigError> {
        load::load("(no configuration file)", "", environment)
    }
}
