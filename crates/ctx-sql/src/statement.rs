//! Statements: what a script says. Values are checked, names are not: which sources and models exist is for whoever
//! executes a statement to say. Every name keeps its place, so that a message about it can point at it.

use crate::limit::Limit;
use crate::setting::{Setting, SettingKey};
use crate::source::Property;
use crate::span::Located;
use crate::wish::Wish;
use ctx_types::goal::Hint;
use ctx_types::{ModelName, SourceName};

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// `ANSWER …`: plan, execute, verify.
    Answer(Ask),
    /// `EXPLAIN …`
    Explain(Explain),
    /// `SIMULATE ANSWER …`: a quote.
    Simulate(Ask),
    /// `ANALYZE [source, …]`: statistics of the sources anew; empty means all.
    Analyze(Vec<Located<SourceName>>),
    /// `SHOW …`
    Show(Show),
    /// `SET name = value`
    Set(Setting),
    /// `RESET name` or `RESET ALL` (`None`)
    Reset(Option<SettingKey>),
    /// `CREATE SOURCE …`
    CreateSource(CreateSource),
    /// `DROP SOURCE [IF EXISTS] name, …`
    DropSource {
        /// Which.
        names: Vec<Located<SourceName>>,
        /// Whether one that does not exist is no error.
        if_exists: bool,
    },
    /// `REFRESH [source, …]`: indexes what changed, as each source's `refresh` says; empty means all.
    Refresh(Vec<Located<SourceName>>),
    /// `INDEX [source, …] [PURGE]`
    Index {
        /// Which; empty means all.
        sources: Vec<Located<SourceName>>,
        /// Whether removed text leaves the disk now.
        purge: bool,
    },
}

/// A goal with what bounds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The words, verbatim.
    pub goal: String,
    /// Where the words stand.
    pub goal_at: Located<()>,
    /// `FROM`; empty means every source of the session.
    pub sources: Vec<Located<SourceName>>,
    /// `WITH`, each key at most once.
    pub limits: Vec<Limit>,
    /// `USING`, each key at most once.
    pub wishes: Vec<Wish>,
    /// `HINT`
    pub hints: Vec<Located<Hint>>,
}

impl Ask {
    /// A goal over every source, without limits of its own.
    pub fn new(goal: impl Into<String>) -> Ask {
        let nowhere = Located::from(());
        Ask { goal: goal.into(), goal_at: nowhere, sources: Vec::new(), limits: Vec::new(), wishes: Vec::new(), hints: Vec::new() }
    }
}

/// `EXPLAIN`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explain {
    /// Options as written, each at most once.
    pub options: Vec<Located<ExplainOption>>,
    /// What is explained.
    pub subject: Subject,
}

/// What `EXPLAIN` explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The plan of a goal.
    Answer(Ask),
    /// `DIFF a b`: how two recorded plans or runs differ, by id.
    Diff(Located<String>, Located<String>),
}

/// An option of `EXPLAIN`, as PostgreSQL has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the option with its name")]
pub enum ExplainOption {
    Analyze(bool),
    Verbose(bool),
    Costs(bool),
    Timing(bool),
    Buffers(bool),
    Settings(bool),
    Summary(bool),
    Memory(bool),
    GenericPlan(bool),
    Redact(bool),
    Format(Format),
}

/// Format of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the format with its name")]
pub enum Format {
    Text,
    Json,
    Yaml,
    Mermaid,
    Dot,
    Html,
    Pg,
}

/// Formats by name.
pub(crate) const FORMATS: [(&str, Format); 7] = [
    ("text", Format::Text),
    ("json", Format::Json),
    ("yaml", Format::Yaml),
    ("mermaid", Format::Mermaid),
    ("dot", Format::Dot),
    ("html", Format::Html),
    ("pg", Format::Pg),
];

impl Format {
    /// As statements write it, in small letters.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("text", |(name, _)| name)
    }
}

/// An option that is on or off: its name, and the option with its value.
pub(crate) type Switch = (&'static str, fn(bool) -> ExplainOption);

/// Every option that is on or off.
pub(crate) const SWITCHES: [Switch; 10] = [
    ("ANALYZE", ExplainOption::Analyze),
    ("VERBOSE", ExplainOption::Verbose),
    ("COSTS", ExplainOption::Costs),
    ("TIMING", ExplainOption::Timing),
    ("BUFFERS", ExplainOption::Buffers),
    ("SETTINGS", ExplainOption::Settings),
    ("SUMMARY", ExplainOption::Summary),
    ("MEMORY", ExplainOption::Memory),
    ("GENERIC_PLAN", ExplainOption::GenericPlan),
    ("REDACT", ExplainOption::Redact),
];

impl ExplainOption {
    /// As statements write it.
    pub fn name(&self) -> &'static str {
        match self {
            ExplainOption::Analyze(_) => "ANALYZE",
            ExplainOption::Verbose(_) => "VERBOSE",
            ExplainOption::Costs(_) => "COSTS",
            ExplainOption::Timing(_) => "TIMING",
            ExplainOption::Buffers(_) => "BUFFERS",
            ExplainOption::Settings(_) => "SETTINGS",
            ExplainOption::Summary(_) => "SUMMARY",
            ExplainOption::Memory(_) => "MEMORY",
            ExplainOption::GenericPlan(_) => "GENERIC_PLAN",
            ExplainOption::Redact(_) => "REDACT",
            ExplainOption::Format(_) => "FORMAT",
        }
    }

    /// Whether it is on; a format always is.
    pub fn is_on(&self) -> bool {
        match self {
            ExplainOption::Analyze(on)
            | ExplainOption::Verbose(on)
            | ExplainOption::Costs(on)
            | ExplainOption::Timing(on)
            | ExplainOption::Buffers(on)
            | ExplainOption::Settings(on)
            | ExplainOption::Summary(on)
            | ExplainOption::Memory(on)
            | ExplainOption::GenericPlan(on)
            | ExplainOption::Redact(on) => *on,
            ExplainOption::Format(_) => true,
        }
    }
}

/// What `SHOW` shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Show {
    /// `SHOW SOURCES`
    Sources,
    /// `SHOW MODELS`
    Models,
    /// `SHOW PLAN CACHE`
    PlanCache,
    /// `SHOW STATISTICS [FOR …]`
    Statistics(Option<Of>),
    /// `SHOW TRACES`
    Traces,
    /// `SHOW TRACE id`: an id or the beginning of one.
    Trace(Located<String>),
    /// `SHOW SETTINGS`: what differs from its default.
    Settings,
    /// `SHOW ALL`: every setting of the session.
    All,
    /// `SHOW name`
    Setting(SettingKey),
}

/// Whose statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Of {
    /// `FOR MODEL name`
    Model(Located<ModelName>),
    /// `FOR SOURCE name`
    Source(Located<SourceName>),
}

/// `CREATE SOURCE [IF NOT EXISTS] name FROM 'path' [WITH (…)]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateSource {
    /// Its name.
    pub name: Located<SourceName>,
    /// Folder or file.
    pub path: Located<String>,
    /// `WITH`, each key at most once.
    pub properties: Vec<Property>,
    /// Whether one of this name is no error.
    pub if_not_exists: bool,
}
