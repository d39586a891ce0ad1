//! What can be typed. The one definition behind parsing, help, completions and the manual page.

use crate::numbers;
use clap::{Args, Parser, Subcommand, ValueEnum};
use ctx_types::{Micros, NanoUsd, Ppm, Principal, Sensitivity, Tokens};
use std::path::PathBuf;

const EXIT_CODES: &str = "\
Exit codes:
  0  completed (a closed pipe too)   1  failed            2  bad input: flags, goal, files, configuration
  3  infeasible                      4  abstained: insufficient evidence
  5  verification failed             6  a budget ran out  7  a provider failed     8  paused
  9  refused or blocked              10 store unavailable 130 Ctrl-C               143 SIGTERM

Answers and tables go to stdout, everything else to stderr. Logs: RUST_LOG=info ctxrt …";

/// Ask files a question: plan it, price it, run it, explain it.
#[derive(Debug, Parser)]
#[command(name = "ctxrt", version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(flatten)]
    pub(crate) script: ScriptArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Statements instead of a command.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Statements (instead of a command): ctxrt -c \"EXPLAIN ANSWER 'Why?' FROM docs\" --source docs=.")]
pub(crate) struct ScriptArgs {
    /// Execute these statements. Repeat for several; before --file.
    #[arg(short = 'c', long = "statement", value_name = "STATEMENTS", allow_hyphen_values = true)]
    pub(crate) statements: Vec<String>,
    /// Execute the statements of this file; - is stdin. Repeat for several.
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Go on after a statement that fails; the exit code is that of the first failure.
    #[arg(long)]
    pub(crate) keep_going: bool,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
}

impl ScriptArgs {
    /// Whether anything of it was typed.
    pub(crate) fn is_given(&self) -> bool {
        let session = &self.session;
        !self.statements.is_empty()
            || !self.files.is_empty()
            || self.keep_going
            || session.no_index
            || !session.sources.source.is_empty()
            || session.sources.sources_from.is_some()
            || session.who.principal() != Principal::default()
    }
}

/// What a session of statements works on. Sources that CREATE SOURCE adds last as long as the session: name those that are to
/// stay in the configuration.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Neither index nor refresh sources before a goal is planned (SET auto_refresh = off).
    #[arg(long)]
    pub(crate) no_index: bool,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// Who asks. No statement changes it.
#[derive(Clone, Debug, Args)]
pub(crate) struct WhoArgs {
    /// Tenant that asks.
    #[arg(long, value_name = "NAME", default_value = "default")]
    tenant: String,
    /// A role of who asks. Repeat for several.
    #[arg(long = "role", value_name = "NAME")]
    roles: Vec<String>,
}

impl Default for WhoArgs {
    fn default() -> Self {
        WhoArgs { tenant: Principal::default().tenant, roles: Vec::new() }
    }
}

impl WhoArgs {
    /// As policy sees them.
    pub(crate) fn principal(&self) -> Principal {
        Principal { tenant: self.tenant.clone(), roles: self.roles.iter().cloned().collect() }
    }
}

/// `sources`
#[derive(Clone, Debug, Args)]
pub(crate) struct SourcesArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// Write exactly one JSON document to stdout, on failure too ({"error": …}).
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Configuration file [default: ./ctxrt.yaml, else ctxrt/config.yaml in the XDG configuration folder].
    #[arg(long, global = true, value_name = "FILE", env = "CTXRT_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// Folder of the store [default: one per working directory in the XDG data folder].
    #[arg(long, global = true, value_name = "DIR", env = "CTXRT_STORE", hide_env_values = true)]
    pub(crate) store: Option<PathBuf>,
    /// Prices and limits of models: a price map in the LiteLLM format [default: costmodel.prices, else a small built-in table].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) prices: Option<PathBuf>,
}

/// Which sources.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SourceArgs {
    /// A source: `name:label=path`, `name:table=path`, `name=path`, a path, or the name of a configured one. Repeat for several.
    #[arg(long = "source", short = 's', value_name = "SOURCE")]
    pub(crate) source: Vec<String>,
    /// A file with one source per line; blank lines and lines that begin with # are skipped.
    #[arg(long, value_name = "FILE")]
    pub(crate) sources_from: Option<PathBuf>,
}

/// The goal with everything that bounds it.
#[derive(Clone, Debug, Args)]
pub(crate) struct GoalArgs {
    /// What you want to know, in your words.
    #[arg(value_name = "GOAL", required_unless_present = "goal")]
    pub(crate) words: Option<String>,
    /// The same, as a flag.
    #[arg(long, value_name = "GOAL", conflicts_with = "words", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

impl GoalArgs {
    /// The goal's words, however they were given.
    pub(crate) fn text(&self) -> &str {
        self.words.as_deref().or(self.goal.as_deref()).unwrap_or_default()
    }
}

/// What bounds a goal and where it is asked.
#[derive(Clone, Debug, Args)]
pub(crate) struct RequestArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Neither index nor refresh sources first.
    #[arg(long)]
    pub(crate) no_index: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) wishes: WishArgs,
}

/// `ctxrt simulate`
#[derive(Clone, Debug, Args)]
pub(crate) struct SimulateArgs {
    /// What you want to know, in your words.
    #[arg(value_name = "GOAL", required_unless_present_any = ["goal", "goals"])]
    pub(crate) words: Option<String>,
    /// The same, as a flag.
    #[arg(long, value_name = "GOAL", conflicts_with = "words", allow_hyphen_values = true)]
    pub(crate) goal: Option<String>,
    /// A file with a goal per line: each is quoted, and all of them together.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["words", "goal"])]
    pub(crate) goals: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) request: RequestArgs,
}

/// `ctxrt stats`
#[derive(Clone, Debug, Args)]
pub(crate) struct StatsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<StatsCommand>,
}

/// Statistics from store to store.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum StatsCommand {
    /// Write the statistics to a file, for another store to import.
    Export {
        /// The file; `-` is stdout.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Join the statistics of a file to this store's: estimates say that they rest on them in part.
    Import {
        /// A file that `stats export` wrote.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// Hard limits. They tighten the configured budgets and never loosen them.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Limits (they tighten the configured budgets)")]
pub(crate) struct LimitArgs {
    /// Most dollars the run may spend.
    #[arg(long, value_name = "USD", allow_negative_numbers = true, value_parser = numbers::dollars)]
    pub(crate) max_cost_usd: Option<NanoUsd>,
    /// Longest acceptable time.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = numbers::seconds)]
    pub(crate) max_latency_seconds: Option<Micros>,
    /// Most tokens over all calls.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::tokens)]
    pub(crate) max_tokens: Option<Tokens>,
    /// Most model calls.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::count)]
    pub(crate) max_calls: Option<u32>,
    /// Most context tokens of one call.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::tokens)]
    pub(crate) max_context_tokens: Option<Tokens>,
    /// Most output tokens of one call.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::tokens)]
    pub(crate) max_output_tokens: Option<Tokens>,
    /// Most passages in the context.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::positive)]
    pub(crate) final_k: Option<u32>,
    /// Least expected accuracy, 0 to 1.
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = numbers::share)]
    pub(crate) min_accuracy: Option<Ppm>,
    /// Every claim must cite a passage.
    #[arg(long)]
    pub(crate) require_citations: bool,
    /// A check must run.
    #[arg(long, conflicts_with = "no_verification")]
    pub(crate) require_verification: bool,
    /// No check, although the configuration asks for one; EXPLAIN says so.
    #[arg(long)]
    pub(crate) no_verification: bool,
    /// How sensitive the goal is.
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub(crate) sensitivity: Option<Sensitivity>,
    /// Whether a plan whose latency nobody has measured may run under --max-latency-seconds.
    #[arg(long, value_name = "RULE")]
    pub(crate) uncertain_latency: Option<Uncertain>,
    /// Quantile at which random quantities keep their limits [default: 0.9].
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = numbers::quantile)]
    pub(crate) quantile: Option<Ppm>,
}

/// What is preferred among feasible plans.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Preferences")]
pub(crate) struct WishArgs {
    /// A weight of the score: acc, cost, lat, risk, hall, loss, cache or vrf. Repeat for several.
    #[arg(long = "weight", value_name = "NAME=NUMBER", value_parser = numbers::weight)]
    pub(crate) weights: Vec<(String, i64)>,
    /// What is maximised.
    #[arg(long, value_name = "WHAT", default_value = "weighted")]
    pub(crate) objective: Aim,
    /// Use this operator, model or source where its stage has it: bm25, docs:dense, source:docs, extractive, citations, …
    /// Repeat for several.
    #[arg(long, value_name = "OPERATOR")]
    pub(crate) force: Vec<String>,
    /// Never use this operator, model or source.
    #[arg(long, value_name = "OPERATOR")]
    pub(crate) forbid: Vec<String>,
    /// Use this model tier only.
    #[arg(long, value_name = "TIER")]
    pub(crate) model: Option<String>,
    /// Use the best plan with this gist (of the JSON explanation), or none.
    #[arg(long, value_name = "GIST")]
    pub(crate) pin: Option<String>,
    /// Assume sources, indexes, models and prices that do not exist (explain and simulate only).
    #[arg(long, value_name = "FILE")]
    pub(crate) what_if: Option<PathBuf>,
    /// Seed of everything random [default: derived from the plan].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Use neither plan nor answer of an earlier request, and keep none of this one.
    #[arg(long)]
    pub(crate) no_cache: bool,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// `--uncertain-latency`
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Uncertain {
    /// It may; the deadline holds anyway.
    Allow,
    /// It may not.
    Refuse,
}

/// `--objective`
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Aim {
    /// The weighted score.
    Weighted,
    /// Accuracy first.
    MaxAccuracy,
    /// Cost first.
    MinCost,
    /// Latency first.
    MinLatency,
}

/// `--format` of explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A tree, as PostgreSQL prints it.
    Text,
    /// The versioned JSON form.
    Json,
    /// The same value as YAML.
    Yaml,
    /// A Mermaid flowchart of the tree.
    Mermaid,
    /// A Graphviz graph of the tree.
    Dot,
    /// One page for a browser that needs no other file.
    Html,
    /// JSON in PostgreSQL's shape, for viewers of its plans.
    Pg,
}

impl From<Format> for ctx_explain::Format {
    fn from(format: Format) -> ctx_explain::Format {
        match format {
            Format::Text => ctx_explain::Format::Text,
            Format::Json => ctx_explain::Format::Json,
            Format::Yaml => ctx_explain::Format::Yaml,
            Format::Mermaid => ctx_explain::Format::Mermaid,
            Format::Dot => ctx_explain::Format::Dot,
            Format::Html => ctx_explain::Format::Html,
            Format::Pg => ctx_explain::Format::Pg,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Plan, execute, verify: an answer with citations.
    Run(RunArgs),
    /// Show the plan, why it won and why the others lost.
    Explain(ExplainArgs),
    /// A quote: cost, time and tokens as intervals. Nothing is executed.
    Simulate(SimulateArgs),
    /// Index what is missing or changed.
    Index(IndexArgs),
    /// Raw retrieval: the passages one access path finds.
    Search(SearchArgs),
    /// Your own SQL over the tables of a source: one SELECT, read-only and bounded.
    Sql(SqlArgs),
    /// Which sources there are and what is known about them.
    Sources(SourcesArgs),
    /// Collect statistics of the sources anew: sizes, vocabulary, latencies, embeddings.
    Analyze(SourceArgs),
    /// What past runs taught: errors of the estimates, with their intervals.
    Stats(StatsArgs),
    /// The plan cache.
    #[command(subcommand)]
    Cache(CacheCommand),
    /// Records of runs.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Plan and execute a recorded run again, with the recorded answers of its models. Spends nothing, leaves nothing.
    Replay(ReplayArgs),
    /// Say how right the answer of a run was: accuracy is learned from this.
    Feedback(FeedbackArgs),
    /// What exploring taught: other ways to choose plans, judged from the log of this one.
    #[command(subcommand)]
    Learn(LearnCommand),
    /// Compare access paths and the planner's choice on a labelled collection.
    Eval(EvalArgs),
    /// What is configured, what can be reached, and how to add a model.
    Doctor(SourceArgs),
    /// A prompt for statements, as psql is one for SQL; reads a script where stdin is no terminal. CREATE SOURCE lasts for the
    /// session.
    Shell(SessionArgs),
    /// Shell completions.
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
    /// The manual page (roff).
    Man,
}

/// `ctxrt run`
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) goal: GoalArgs,
    /// Record everything that planning read and models answered in this file, for `ctxrt replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
}

/// `ctxrt replay`
#[derive(Clone, Debug, Args)]
pub(crate) struct ReplayArgs {
    /// What `ctxrt run --record FILE` wrote.
    #[arg(value_name = "FILE")]
    pub(crate) bundle: PathBuf,
    /// Make the plan again and compare it; execute nothing. Needs no source.
    #[arg(long)]
    pub(crate) plan_only: bool,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
}

/// `ctxrt explain`
#[derive(Clone, Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) goal: GoalArgs,
    /// With --diff: what GOAL is compared with.
    #[arg(value_name = "OTHER", requires = "diff")]
    pub(crate) other: Option<String>,
    /// Compare two plans or runs instead: each a JSON file of `explain`, `run` or `trace show`, a plan id or a trace id (or its
    /// beginning).
    #[arg(long)]
    pub(crate) diff: bool,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    /// Replace words of the goal by hashes.
    #[arg(long)]
    pub(crate) redact: bool,
    /// Output format; --json means json.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// Options of EXPLAIN: `--costs`, `--costs=on`, `--costs=off`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "EXPLAIN options, as in PostgreSQL (--NAME or --NAME=on|off)")]
pub(crate) struct ShowArgs {
    /// Run the goal and show actuals beside estimates [default: off].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) analyze: Option<bool>,
    /// Every rejected alternative, the best plans, the Pareto set, each number's origin [default: off; on for html].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) verbose: Option<bool>,
    /// Estimates, score and margin [default: on].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) costs: Option<bool>,
    /// Settings that differ from their default, and what the request asks for [default: off].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) settings: Option<bool>,
    /// Plan from catalog statistics only, without asking the sources about this goal; excludes --analyze [default: off].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) generic_plan: Option<bool>,
    /// Chunks and bytes read, cache hits, look-ups made for planning [default: as --analyze].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) buffers: Option<bool>,
    /// Times of nodes; needs --analyze [default: as --analyze].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) timing: Option<bool>,
    /// Plan cache, and with --analyze planning time [default: on].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) summary: Option<bool>,
    /// What the planner held, counted in bytes [default: off].
    #[arg(long, value_name = "on|off", num_args = 0..=1, require_equals = true, default_missing_value = "on", value_parser = switch)]
    pub(crate) memory: Option<bool>,
    /// --costs=off
    #[arg(long, hide = true, conflicts_with = "costs")]
    pub(crate) no_costs: bool,
    /// --timing=off
    #[arg(long, hide = true, conflicts_with = "timing")]
    pub(crate) no_timing: bool,
    /// --summary=off
    #[arg(long, hide = true, conflicts_with = "summary")]
    pub(crate) no_summary: bool,
}

fn switch(text: &str) -> Result<bool, String> {
    ctx_explain::options::boolean("the option", text).map_err(|e| e.to_string())
}

/// `ctxrt index`
#[derive(Clone, Debug, Args)]
pub(crate) struct IndexArgs {
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Take text that was removed out of the store now: out of the index, and out of recorded runs that read it.
    #[arg(long)]
    pub(crate) purge: bool,
    /// Read everything again; the old index is used until the new one is complete.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Largest passage in tokens, kept with the sources; another value cuts them anew [default: 512].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = numbers::chunk_tokens)]
    pub(crate) max_chunk_tokens: Option<u32>,
}

/// `ctxrt search`
#[derive(Clone, Debug, Args)]
pub(crate) struct SearchArgs {
    /// What to look for; never a query language.
    #[arg(value_name = "WORDS")]
    pub(crate) query: String,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Access path.
    #[arg(long, value_name = "PATH", default_value = "bm25")]
    pub(crate) path: Leg,
    /// Passages per source.
    #[arg(long, short, value_name = "N", default_value = "10", allow_negative_numbers = true, value_parser = numbers::positive)]
    pub(crate) k: u32,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
    /// Neither index nor refresh sources first.
    #[arg(long)]
    pub(crate) no_index: bool,
}

/// `ctxrt sql`
#[derive(Clone, Debug, Args)]
pub(crate) struct SqlArgs {
    /// One SELECT over the tables of the source; `ctxrt sources --json` lists them.
    #[arg(value_name = "SELECT")]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Neither load nor refresh the source first.
    #[arg(long)]
    pub(crate) no_index: bool,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// Access paths that read one list. Hybrids are two of them and a fusion: `explain` and `run` show those.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Leg {
    /// Exact identifiers.
    Identifier,
    /// Words.
    Bm25,
    /// Vectors.
    Dense,
    /// Everything, in order.
    Whole,
}

/// `ctxrt cache`
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Cached plans, most recently used first.
    List,
    /// Write the cached plans to a file, those from `confidential` up left out.
    Export {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Take in plans that another store exported. They serve while everything they depend on is the same here.
    Import {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Hold the decision of a cached plan for every goal of its kind, whatever else the estimates would choose.
    Pin {
        /// The plan's id, or the beginning of it.
        #[arg(value_name = "PLAN")]
        plan: String,
    },
    /// Let go of a held decision, also one that the regression guard holds.
    Unpin {
        /// The beginning of the scope or the shape, as `cache list` shows them.
        #[arg(value_name = "SCOPE")]
        scope: String,
    },
    /// Forget all cached plans. Held decisions stay.
    Clear,
}

/// `ctxrt trace`
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Runs, newest first.
    List {
        /// Most runs listed.
        #[arg(long, short = 'n', value_name = "N", default_value = "20")]
        limit: usize,
    },
    /// One run, step by step.
    Show {
        /// Id or its beginning [default: the newest run].
        #[arg(value_name = "ID", conflicts_with = "all")]
        id: Option<String>,
        /// Every run.
        #[arg(long)]
        all: bool,
    },
}

/// `ctxrt feedback`
#[derive(Clone, Debug, Args)]
#[command(group = clap::ArgGroup::new("said").required(true).args(["right", "wrong", "score"]))]
pub(crate) struct FeedbackArgs {
    /// Id of the run or its beginning; "last" for the newest.
    #[arg(value_name = "TRACE")]
    pub(crate) trace: String,
    /// The answer is right.
    #[arg(long)]
    pub(crate) right: bool,
    /// The answer is wrong.
    #[arg(long)]
    pub(crate) wrong: bool,
    /// How right it is, from 0 to 1.
    #[arg(long, value_name = "X", allow_negative_numbers = true, value_parser = numbers::share)]
    pub(crate) score: Option<Ppm>,
    /// Who says so; what a judging model says is kept and teaches nothing alone.
    #[arg(long, value_enum, default_value = "user")]
    pub(crate) by: SaidBy,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// `ctxrt learn`
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// What other policies would have earned on the runs that explored (learning.explore) and were given feedback: self-normalised
    /// importance sampling and a doubly robust estimate, each with a 95 % interval.
    Evaluate(EvaluateArgs),
    /// Fits the estimators on the latest outcomes and shows how near shipped, learned and neural estimates come on held-out runs:
    /// costmodel.estimator: auto uses, per field and kind of operator, the nearest. With learning.shadow also how often the other
    /// estimator would have planned otherwise.
    Estimators(EstimatorsArgs),
    /// Settings that serve a labelled collection better than the configured ones: weights, counts of passages, reranking, shortening.
    /// Chosen on the train half of its queries, judged once on the test half; no model is called, no rule or limit is touched.
    Tune(TuneArgs),
}

/// `ctxrt learn tune`
#[derive(Clone, Debug, Args)]
pub(crate) struct TuneArgs {
    /// Folder with corpus, queries and qrels.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Combinations of settings to draw.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = numbers::at_least_one)]
    pub(crate) trials: usize,
    /// Seed of the search and of the intervals.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Use the first N queries of each half only.
    #[arg(long, value_name = "N", value_parser = numbers::at_least_one)]
    pub(crate) queries: Option<usize>,
    /// Dollars per million tokens that a context is charged at.
    #[arg(long, value_name = "USD", default_value_t = ctx_eval::tuning::TOKEN_USD_PER_MILLION)]
    pub(crate) token_price: f64,
    /// Write the chosen settings here, as configuration; only if they are not worse on the test half.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `ctxrt learn estimators`
#[derive(Clone, Debug, Args)]
pub(crate) struct EstimatorsArgs {
    /// Seed of the fit and of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// `ctxrt learn evaluate`
#[derive(Clone, Debug, Args)]
pub(crate) struct EvaluateArgs {
    /// Also the policy that runs the best plan whose shape holds these words, such as "single_shot premium". Repeat for several.
    #[arg(long, value_name = "WORDS")]
    pub(crate) prefer: Vec<String>,
    /// Seed of the bootstrap.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) who: WhoArgs,
}

/// Who says how right an answer was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SaidBy {
    /// A person.
    User,
    /// A gold answer.
    Gold,
    /// A judging model.
    Judge,
}

/// `ctxrt eval`
#[derive(Clone, Debug, Args)]
pub(crate) struct EvalArgs {
    /// Folder with corpus, queries and qrels.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Judgements to use: a name such as test, or train/test by hash of the query id.
    #[arg(long, value_name = "NAME")]
    pub(crate) split: Option<String>,
    /// Write a TREC run file per access path into this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) run_out: Option<PathBuf>,
    /// Ask the first N queries only.
    #[arg(long, value_name = "N", value_parser = numbers::at_least_one)]
    pub(crate) queries: Option<usize>,
}

fn label(text: &str) -> Result<Sensitivity, String> {
    crate::sources::label(text).ok_or_else(|| format!("labels are {}", crate::sources::LABELS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn json_stands_before_and_after_the_command() {
        for line in [["ctxrt", "--json", "stats"], ["ctxrt", "stats", "--json"]] {
            assert!(Cli::try_parse_from(line).expect("accepted").global.json, "{line:?}");
        }
    }

    #[test]
    fn statements_stand_where_a_command_would() {
        let cli = Cli::try_parse_from(["ctxrt", "-c", "SHOW ALL", "-f", "a.sql", "--source", "docs=."]).expect("accepted");
        assert!(cli.command.is_none() && cli.script.is_given());
        let cli = Cli::try_parse_from(["ctxrt", "run", "why?", "--source", "docs=."]).expect("accepted");
        assert!(cli.command.is_some() && !cli.script.is_given());
    }

    #[test]
    fn feedback_says_one_thing() {
        let parse = |line: &[&str]| Cli::try_parse_from(["ctxrt", "feedback", "run_1"].iter().chain(line).copied());
        assert!(parse(&["--right"]).is_ok() && parse(&["--wrong", "--by", "gold"]).is_ok() && parse(&["--score", "0.5"]).is_ok());
        assert!(parse(&[]).is_err() && parse(&["--right", "--wrong"]).is_err());
        assert!(parse(&["--score", "1.5"]).is_err() && parse(&["--score", "NaN"]).is_err() && parse(&["--by", "me"]).is_err());
    }

    #[test]
    fn a_goal_is_words_or_a_flag_and_not_both() {
        let parse = |line: &[&str]| Cli::try_parse_from(line.iter().copied());
        assert!(parse(&["ctxrt", "run", "why?"]).is_ok());
        assert!(parse(&["ctxrt", "run", "--goal", "-- why?"]).is_ok());
        assert!(parse(&["ctxrt", "run"]).is_err());
        assert!(parse(&["ctxrt", "run", "why?", "--goal", "why?"]).is_err());
    }
}
