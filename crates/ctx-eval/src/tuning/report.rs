//! What tuning found: JSON for machines, a table for people, a fragment of configuration where it pays.

use super::knobs::{Knob, Value};
use crate::bootstrap::{Difference, RESAMPLES};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Version of the JSON form.
pub const TUNING_SCHEMA_VERSION: u32 = 1;

/// A tuning of one collection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuned {
    /// [`TUNING_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Name of the collection.
    pub collection: String,
    /// Seed of search and intervals.
    pub seed: u64,
    /// Combinations that were drawn.
    pub trials: usize,
    /// Runs that were made.
    pub runs: usize,
    /// What a token of context was charged at.
    pub token_usd_per_million: f64,
    /// Every setting, with what it could have been.
    pub settings: Vec<Setting>,
    /// What belongs to tuning and is not reached by such a collection, with the reason.
    pub not_tuned: BTreeMap<String, String>,
    /// Settings away from the configured value; empty: the configured ones are the best that was found.
    pub chosen: Vec<Chosen>,
    /// What the choice was made by.
    pub train: Half,
    /// What it is judged by; read after the choice.
    pub test: Half,
}

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Its key in the configuration.
    pub key: String,
    /// Configured value; `-` where the key is not set.
    pub configured: String,
    /// Other values.
    pub tried: Vec<String>,
    /// Value that was chosen.
    pub chosen: String,
    /// Why it was left alone: nothing that was tried moves anything.
    pub idle: Option<String>,
}

/// A setting that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// Section of the configuration, dotted.
    pub section: String,
    /// Key in it.
    pub key: String,
    /// Its value.
    pub value: Value,
}

impl Chosen {
    pub(crate) fn new(knob: &Knob, value: &Value) -> Chosen {
        Chosen { section: knob.section.to_owned(), key: knob.key.to_owned(), value: value.clone() }
    }
}

/// One choice on one half. Means over its queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Measure {
    /// Evidence less what its tokens cost.
    pub reward: f64,
    /// Share of contexts that hold a relevant document.
    pub evidence: f64,
    /// Tokens of the context.
    pub tokens: f64,
}

/// Both choices on one half.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Half {
    /// Its name.
    pub split: String,
    /// Its queries.
    pub queries: usize,
    /// Under the configured settings.
    pub configured: Measure,
    /// Under the chosen ones.
    pub tuned: Measure,
    /// Paired difference in reward, tuned less configured.
    pub reward_gain: Difference,
    /// The same in evidence.
    pub evidence_gain: Difference,
}

impl Tuned {
    /// Whether the chosen settings may be used: something was changed, and on queries that took no part in the choice it is not
    /// worse, not even at the lower end of the interval.
    pub fn pays(&self) -> bool {
        !self.chosen.is_empty() && self.test.queries > 0 && self.test.reward_gain.low >= 0.0
    }

    /// The verdict in words.
    pub fn verdict(&self) -> String {
        let gain = &self.test.reward_gain;
        let interval = format!("{:+.4} [{:+.4}, {:+.4}]", gain.mean, gain.low, gain.high);
        match (self.chosen.is_empty(), self.pays()) {
            (true, _) => "no combination that was tried serves better than the configured settings".to_owned(),
            (false, true) => format!("on held-out queries the chosen settings are not worse: {interval}"),
            (false, false) => format!("on held-out queries the chosen settings may be worse: {interval}; keep the configured ones"),
        }
    }

    /// The chosen settings as configuration; `None` where they do not [pay](Tuned::pays).
    pub fn fragment(&self) -> Option<String> {
        if !self.pays() {
            return None;
        }
        let gain = &self.test.reward_gain;
        let mut out = format!(
            "# Tuned on {}: {} queries of {} chose, {} of {} judged; seed {}, {} trials.\n# Reward {:+.4} [{:+.4}, {:+.4}].\n",
            one_line(&self.collection),
            self.train.queries,
            one_line(&self.train.split),
            self.test.queries,
            one_line(&self.test.split),
            self.seed,
            self.trials,
            gain.mean,
            gain.low,
            gain.high
        );
        let mut sections: BTreeMap<&str, Vec<&Chosen>> = BTreeMap::new();
        self.chosen.iter().for_each(|chosen| sections.entry(&chosen.section).or_default().push(chosen));
        for (section, chosen) in sections {
            let mut indent = 0;
            for name in section.split('.') {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "{:indent$}{name}:", "");
                indent += 2;
            }
            for Chosen { key, value, .. } in chosen {
                let _ = writeln!(out, "{:indent$}{key}: {}", "", written(value));
            }
        }
        Some(out)
    }

    /// As a table.
    pub fn table(&self) -> String {
        let mut out = format!("{}: {} runs of {} combinations, seed {}\n", self.collection, self.runs, self.trials + 1, self.seed);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<32} {:>10} {:>10}  tried", "setting", "configured", "chosen");
        for setting in &self.settings {
            let tried = setting.idle.as_ref().map_or_else(|| setting.tried.join(" "), |why| format!("idle: {why}"));
            let _ = writeln!(out, "{:<32} {:>10} {:>10}  {tried}", setting.key, setting.configured, setting.chosen);
        }
        for (what, why) in &self.not_tuned {
            let _ = writeln!(out, "not tuned: {what}: {why}");
        }
        let _ = writeln!(out, "{:<14} {:>7} {:>17} {:>17} {:>17}  reward gain [95 %]", "half", "queries", "reward", "evidence", "tokens");
        for half in [&self.train, &self.test] {
            let (a, b, d) = (&half.configured, &half.tuned, &half.reward_gain);
            let _ = writeln!(
                out,
                "{:<14} {:>7} {:>8.4} {:>8.4} {:>8.3} {:>8.3} {:>8.0} {:>8.0}  {:+.4} [{:+.4}, {:+.4}]",
                half.split, half.queries, a.reward, b.reward, a.evidence, b.evidence, a.tokens, b.tokens, d.mean, d.low, d.high
            );
        }
        let _ = writeln!(
            out,
            "each pair: configured, tuned; reward: evidence sent, less {} $ per million tokens on the scale of costs; intervals: paired\nbootstrap, {RESAMPLES} draws, seed {}; {} was read after the choice",
            self.token_usd_per_million, self.seed, self.test.split
        );
        let _ = writeln!(out, "{}", self.verdict());
        out
    }
}

/// A value as YAML: names are quoted, so that no name is anything else.
fn written(value: &Value) -> String {
    match value {
        Value::Name(Some(name)) => serde_json::to_string(name).expect("a string is JSON"),
        Value::Count(None) | Value::Name(None) | Value::Share(None) => "~".to_owned(),
        other => other.to_string(),
    }
}

/// A folder's name in a comment: it may hold anything but must not end the line.
fn one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::knobs::knobs;
    use ctx_runtime::Config;

    fn tuned(low: f64) -> Tuned {
        let config = Config::default();
        let all = knobs(&config, &["features".to_owned()]);
        let chosen = all.iter().map(|knob| Chosen::new(knob, &knob.values[knob.values.len() - 1])).collect();
        let half = |split: &str| Half {
            split: split.to_owned(),
            queries: 10,
            configured: Measure::default(),
            tuned: Measure::default(),
            reward_gain: Difference { mean: 0.1, low, high: 0.2, n: 10 },
            evidence_gain: Difference::default(),
        };
        Tuned {
            schema_version: TUNING_SCHEMA_VERSION,
            collection: "a\nb: {".to_owned(),
            seed: 1,
            trials: 3,
            runs: 7,
            token_usd_per_million: 3.0,
            settings: Vec::new(),
            not_tuned: BTreeMap::new(),
            chosen,
            train: half("train"),
            test: half("test"),
        }
    }

    #[test]
    fn the_fragment_is_configuration_that_says_what_was_chosen() {
        let found = tuned(0.0);
        let text = found.fragment().unwrap();
        let loaded = Config::from_yaml("tuned.yaml", &text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut wanted = Config::default();
        for knob in knobs(&Config::default(), &["features".to_owned()]) {
            knob.apply(knob.values.len() - 1, &mut wanted);
        }
        assert_eq!((loaded.config.costmodel, loaded.config.retrieval), (wanted.costmodel, wanted.retrieval));
    }

    #[test]
    fn nothing_is_offered_that_may_be_worse() {
        let found = tuned(-0.001);
        assert_eq!((found.fragment(), found.pays()), (None, false));
        assert!(found.verdict().contains("may be worse") && found.table().contains("may be worse"));
        let unchanged = Tuned { chosen: Vec::new(), ..tuned(0.0) };
        assert_eq!(unchanged.fragment(), None);
    }
}
