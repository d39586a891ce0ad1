//! What a statement gives back, typed. Printing is somebody else's.

use crate::{AccountRow, ExplainInputs, RunReport};
use ctx_contracts::IndexReport;
use ctx_cost::statistics::StatRow;
use ctx_plan_cache::{CacheRow, Counters, Pin};
use ctx_simulate::Simulation;
use ctx_sql::{ExplainOption, Setting, SettingKey};
use ctx_types::{ModelEntry, ModelName, SourceEntry, SourceName, Trace};
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of a statement.
#[derive(Clone, Debug)]
pub enum Reply {
    /// `ANSWER`
    Answered(Box<RunReport>),
    /// `EXPLAIN`
    Explained {
        /// What the explanation is made of.
        inputs: Box<ExplainInputs>,
        /// How it is to be shown.
        options: Vec<ExplainOption>,
    },
    /// `EXPLAIN DIFF`: the two recorded runs.
    Compared {
        /// The first.
        a: Box<Trace>,
        /// The second.
        b: Box<Trace>,
        /// How the difference is to be shown.
        options: Vec<ExplainOption>,
    },
    /// `SIMULATE`
    Quoted(Box<Simulation>),
    /// `REFRESH`, `INDEX`
    Indexed(Vec<IndexReport>),
    /// `ANALYZE`: what was indexed on the way, and the sources with their statistics.
    Analyzed {
        /// What was indexed on the way.
        reports: Vec<IndexReport>,
        /// The sources.
        sources: BTreeMap<SourceName, SourceEntry>,
    },
    /// `SHOW SOURCES`, and how many there are that who asks may not read.
    Sources(BTreeMap<SourceName, SourceEntry>, usize),
    /// `SHOW STATISTICS FOR SOURCE`
    SourceStatistics(SourceName, Box<SourceEntry>),
    /// `SHOW MODELS`
    Models(BTreeMap<ModelName, ModelEntry>),
    /// `SHOW PLAN CACHE`
    PlanCache(Vec<CacheRow>, Counters, Vec<(String, Pin)>),
    /// `SHOW STATISTICS`, for a model, or in all with what the tenant has spent.
    Statistics(Vec<StatRow>, Option<Vec<AccountRow>>),
    /// `SHOW TRACES`, newest first.
    Traces(Vec<Trace>),
    /// `SHOW TRACE`
    Trace(Box<Trace>),
    /// `SHOW SETTINGS`, `SHOW ALL`, `SHOW setting`
    Settings(Vec<SettingLine>),
    /// `SET`
    Set {
        /// What was set.
        setting: Setting,
        /// The value that holds, where it is another: a ceiling of the configuration is tighter.
        in_force: Option<String>,
    },
    /// `RESET`; `None`: all.
    Reset(Option<SettingKey>),
    /// `CREATE SOURCE`; false if one of this name was there.
    Created(SourceName, bool),
    /// `DROP SOURCE`: those that were there.
    Dropped(Vec<SourceName>),
}

/// A setting as `SHOW` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingLine {
    /// Its name.
    pub name: String,
    /// Its value; `None`: nothing is set.
    pub value: Option<String>,
    /// `session`, `configuration` or `default`.
    pub origin: &'static str,
    /// What it means, or its default.
    pub about: String,
}
