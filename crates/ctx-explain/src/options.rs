//! EXPLAIN's options: names, defaults and what excludes what, as in PostgreSQL. SUMMARY alone differs: it is on.
//!
//! | option | default | meaning |
//! |---|---|---|
//! | `ANALYZE` | off | the goal is run; actuals stand beside estimates |
//! | `VERBOSE` | off | every rejected alternative, the best plans, the Pareto set, each number's origin |
//! | `COSTS` | on | estimates of nodes and of the whole, score and margin |
//! | `SETTINGS` | off | settings that differ from their default |
//! | `GENERIC_PLAN` | off | planned from catalog statistics only, without asking the sources about this goal |
//! | `BUFFERS` | as `ANALYZE` | chunks and bytes read, cache hits, look-ups made for planning |
//! | `TIMING` | as `ANALYZE` | times of nodes; the run's total stays |
//! | `SUMMARY` | on | plan cache, planning time (beside actuals only: it is read from a clock) |
//! | `MEMORY` | off | what the planner held, counted in bytes |

use thiserror::Error;

/// What to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the goal is run. The tree shows actuals where it is given a trace.
    pub analyze: bool,
    /// Everything rejected, the best plans, provenance, the Pareto set.
    pub verbose: bool,
    /// Estimates, score and margin.
    pub costs: bool,
    /// Times of nodes.
    pub timing: bool,
    /// Chunks and bytes read.
    pub buffers: bool,
    /// Settings that differ from their default.
    pub settings: bool,
    /// Planning time, plan cache, epoch.
    pub summary: bool,
    /// What the planner held in memory.
    pub memory: bool,
    /// Whether the plan was made without asking the sources about this goal.
    pub generic_plan: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            analyze: false,
            verbose: false,
            costs: true,
            timing: true,
            buffers: false,
            settings: false,
            summary: true,
            memory: false,
            generic_plan: false,
        }
    }
}

/// Options as they were written: `None` where nothing was said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requested {
    /// ANALYZE
    pub analyze: Option<bool>,
    /// VERBOSE
    pub verbose: Option<bool>,
    /// COSTS
    pub costs: Option<bool>,
    /// TIMING
    pub timing: Option<bool>,
    /// BUFFERS
    pub buffers: Option<bool>,
    /// SETTINGS
    pub settings: Option<bool>,
    /// SUMMARY
    pub summary: Option<bool>,
    /// MEMORY
    pub memory: Option<bool>,
    /// GENERIC_PLAN
    pub generic_plan: Option<bool>,
}

/// An option that cannot be honoured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// Not an option.
    #[error("unrecognized EXPLAIN option {name:?}; there are {known}", known = NAMES.join(", "))]
    Unknown {
        /// What was written.
        name: String,
    },
    /// Neither on nor off.
    #[error("{option} requires a Boolean value, not {value:?}: on, off, true, false, 1 or 0")]
    NotBoolean {
        /// The option.
        option: String,
        /// What was written.
        value: String,
    },
    /// It means nothing without another one.
    #[error("EXPLAIN option {option} requires ANALYZE: without a run there is nothing to time")]
    NeedsAnalyze {
        /// The option.
        option: &'static str,
    },
    /// Two that exclude each other.
    #[error("EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together: a run always asks its sources about the goal")]
    Exclusive,
}

/// Names of the options.
pub const NAMES: [&str; 9] = ["ANALYZE", "VERBOSE", "COSTS", "SETTINGS", "GENERIC_PLAN", "BUFFERS", "TIMING", "SUMMARY", "MEMORY"];

/// A Boolean as PostgreSQL reads it in options.
pub fn boolean(option: &str, value: &str) -> Result<bool, OptionError> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(OptionError::NotBoolean { option: option.to_owned(), value: value.to_owned() }),
    }
}

impl Requested {
    /// Notes that an option was written. Names are case-insensitive; the last word counts.
    pub fn set(&mut self, name: &str, on: bool) -> Result<(), OptionError> {
        let field = match name.to_ascii_uppercase().as_str() {
            "ANALYZE" => &mut self.analyze,
            "VERBOSE" => &mut self.verbose,
            "COSTS" => &mut self.costs,
            "TIMING" => &mut self.timing,
            "BUFFERS" => &mut self.buffers,
            "SETTINGS" => &mut self.settings,
            "SUMMARY" => &mut self.summary,
            "MEMORY" => &mut self.memory,
            "GENERIC_PLAN" => &mut self.generic_plan,
            _ => return Err(OptionError::Unknown { name: name.to_owned() }),
        };
        *field = Some(on);
        Ok(())
    }

    /// Defaults for what was not written; what cannot be is refused.
    pub fn resolve(&self) -> Result<Options, OptionError> {
        let analyze = self.analyze.unwrap_or(false);
        let generic_plan = self.generic_plan.unwrap_or(false);
        if analyze && generic_plan {
            return Err(OptionError::Exclusive);
        }
        if self.timing == Some(true) && !analyze {
            return Err(OptionError::NeedsAnalyze { option: "TIMING" });
        }
        Ok(Options {
            analyze,
            generic_plan,
            verbose: self.verbose.unwrap_or(false),
            costs: self.costs.unwrap_or(true),
            timing: self.timing.unwrap_or(analyze),
            buffers: self.buffers.unwrap_or(analyze),
            settings: self.settings.unwrap_or(false),
            summary: self.summary.unwrap_or(true),
            memory: self.memory.unwrap_or(false),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(words: &[(&str, bool)]) -> Result<Options, OptionError> {
        let mut requested = Requested::default();
        for (name, on) in words {
            requested.set(name, *on)?;
        }
        requested.resolve()
    }

    #[test]
    fn defaults_are_those_of_postgresql_and_summary_is_on() {
        let plain = resolved(&[]).expect("nothing is wrong with nothing");
        let run = resolved(&[("analyze", true)]).expect("an option");
        assert_eq!((plain.costs, plain.timing, plain.buffers, plain.summary, plain.memory), (true, false, false, true, false));
        assert_eq!((run.costs, run.timing, run.buffers, run.summary, run.verbose), (true, true, true, true, false));
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        assert_eq!(resolved(&[("ANALYZE", true), ("generic_plan", true)]), Err(OptionError::Exclusive));
        assert_eq!(resolved(&[("TIMING", true)]), Err(OptionError::NeedsAnalyze { option: "TIMING" }));
        assert!(resolved(&[("TIMING", false)]).is_ok(), "off needs nothing");
        let error = resolved(&[("WAL", true)]).expect_err("not an option here");
        assert!(error.to_string().contains("GENERIC_PLAN"), "{error}");
        assert!(boolean("COSTS", "maybe").is_err() && boolean("COSTS", "OFF") == Ok(false));
    }

    #[test]
    fn every_name_is_an_option() {
        for name in NAMES {
            assert!(Requested::default().set(name, true).is_ok(), "{name}");
        }
    }
}
