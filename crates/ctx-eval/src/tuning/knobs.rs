//! What is tuned: settings of the configuration, each with the values that are tried. The first value is the configured one.
//!
//! No rule and no limit is among them: budgets, policy, checks and labels stay what they are, and a configured count of passages
//! is only ever lowered.

use ctx_runtime::Config;
use ctx_types::{Ppm, Weights};
use serde::Serialize;

/// Factors by which a weight is tried beside its configured value.
const WEIGHT_FACTORS: [f64; 4] = [0.25, 0.5, 2.0, 4.0];
/// Passages per access, below the largest that is planned anyway.
const TOP_K: [u32; 3] = [5, 10, 20];
/// Passages in the context.
const FINAL_K: [u32; 6] = [1, 2, 3, 5, 8, 12];
/// Least growth of P(evidence) for which a list is looked at again: around what shipped rerankers were measured to bring.
const RERANK_GAINS: [u32; 3] = [10_000, 30_000, 100_000];
/// Least share that shortening keeps; the last one shortens nothing.
const COMPRESS_KEEPS: [u32; 3] = [400_000, 600_000, 1_000_000];
/// Weights beside that of accuracy, which is the unit of the others: only their ratios decide.
const WEIGHTS: [&str; 7] = ["cost", "lat", "risk", "hall", "loss", "cache", "vrf"];

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A weight, in millionths.
    Weight(i64),
    /// A count of passages; none: as many as planning likes.
    Count(Option<u32>),
    /// A name; none: the planner weighs all.
    Name(Option<String>),
    /// A share; none: the planner weighs all.
    Share(Option<Ppm>),
}

impl std::fmt::Display for Value {
    /// As it is written in a configuration; a value that is no key's is `-`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Weight(value) => write!(f, "{}", *value as f64 / 1e6),
            Value::Count(Some(count)) => write!(f, "{count}"),
            Value::Name(Some(name)) => f.write_str(name),
            Value::Share(Some(share)) => write!(f, "{}", f64::from(share.get()) / 1e6),
            Value::Count(None) | Value::Name(None) | Value::Share(None) => f.write_str("-"),
        }
    }
}

/// A setting and the values that are tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Knob {
    /// Section of the configuration.
    pub section: &'static str,
    /// Key in it.
    pub key: &'static str,
    /// Values, the configured one first.
    pub values: Vec<Value>,
}

impl Knob {
    /// `costmodel.weights.lat`
    pub fn path(&self) -> String {
        format!("{}.{}", self.section, self.key)
    }

    /// Sets a value, by its index.
    pub fn apply(&self, value: usize, config: &mut Config) {
        let Some(value) = self.values.get(value) else { return };
        let retrieval = &mut config.retrieval;
        match (self.key, value) {
            ("top_k", Value::Count(count)) => retrieval.top_k = *count,
            ("final_k", Value::Count(count)) => retrieval.final_k = *count,
            ("reranker", Value::Name(name)) => retrieval.reranker.clone_from(name),
            ("rerank_gain_min", Value::Share(share)) => retrieval.rerank_gain_min = *share,
            ("compress_keep_min", Value::Share(share)) => retrieval.compress_keep_min = *share,
            (name, Value::Weight(weight)) => {
                if let Some(slot) = slot(&mut config.costmodel.weights, name) {
                    *slot = *weight;
                }
            }
            _ => {}
        }
    }
}

/// Every setting that is tuned, over a configuration. `rerankers` are those that this build has.
pub fn knobs(config: &Config, rerankers: &[String]) -> Vec<Knob> {
    let retrieval = &config.retrieval;
    let knob = |key: &'static str, values: Vec<Value>| Knob { section: "retrieval", key, values };
    let lower = |configured: Option<u32>, grid: &[u32]| {
        let below = grid.iter().filter(|count| configured.is_none_or(|most| **count < most));
        [configured].into_iter().chain(below.map(|count| Some(*count))).map(Value::Count).collect::<Vec<_>>()
    };
    let share = |configured: Option<Ppm>, grid: &[u32]| {
        let others = grid.iter().map(|share| Some(Ppm(*share))).filter(|share| *share != configured);
        [configured].into_iter().chain(others).map(Value::Share).collect::<Vec<_>>()
    };
    let named = std::iter::once("none").chain(rerankers.iter().map(String::as_str)).map(|name| Some(name.to_owned()));
    let names = [retrieval.reranker.clone()].into_iter().chain(named.filter(|name| *name != retrieval.reranker));
    let mut all: Vec<Knob> = WEIGHTS.iter().filter_map(|name| weight(config, name)).collect();
    all.push(knob("top_k", lower(retrieval.top_k, &TOP_K)));
    all.push(knob("final_k", lower(retrieval.final_k, &FINAL_K)));
    all.push(knob("reranker", names.map(Value::Name).collect()));
    all.push(knob("rerank_gain_min", share(retrieval.rerank_gain_min, &RERANK_GAINS)));
    all.push(knob("compress_keep_min", share(retrieval.compress_keep_min, &COMPRESS_KEEPS)));
    all
}

fn weight(config: &Config, name: &'static str) -> Option<Knob> {
    let configured = *slot(&mut config.costmodel.weights.clone(), name)?;
    let others = WEIGHT_FACTORS.iter().map(|factor| (configured as f64 * factor).round() as i64).filter(|other| *other != configured);
    let values = [configured].into_iter().chain(others).map(Value::Weight).collect();
    Some(Knob { section: "costmodel.weights", key: name, values })
}

fn slot<'a>(weights: &'a mut Weights, name: &str) -> Option<&'a mut i64> {
    Some(match name {
        "cost" => &mut weights.cost,
        "lat" => &mut weights.lat,
        "risk" => &mut weights.risk,
        "hall" => &mut weights.hall,
        "loss" => &mut weights.loss,
        "cache" => &mut weights.cache,
        "vrf" => &mut weights.vrf,
        _ => return None,
    })
}

/// Why a setting that no value of changes anything cannot matter here, where that is known.
pub fn why_idle(key: &str) -> &'static str {
    match key {
        "cost" | "cache" => "nothing that is planned here costs anything: no model is called",
        "risk" => "no question asks for an action",
        "hall" | "vrf" => "sentences are quoted, so the check weighs the same for every plan",
        "compress_keep_min" => "nothing is shortened before a quotation: that takes a model that reads",
        _ => "no value that was tried changes what any of the questions is sent",
    }
}

/// What belongs to tuning and cannot be reached by questions with relevant documents, with the reason.
pub const NOT_TUNED: [(&str, &str); 2] = [
    (
        "parallel workers",
        "no setting: how much runs at once follows from the execution graph, and it moves latency only, which no judgment here measures",
    ),
    ("prompt layout", "alternatives of every plan with a model; they move what a model answers, and tuning calls none"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn all(config: &Config) -> Vec<Knob> {
        knobs(config, &["features".to_owned()])
    }

    #[test]
    fn the_first_value_is_the_configured_one_and_every_value_is_applied() {
        let mut config = Config::default();
        config.retrieval.final_k = Some(4);
        for knob in all(&config) {
            let mut same = config.clone();
            knob.apply(0, &mut same);
            assert_eq!(same, config, "{}", knob.path());
            for value in 1..knob.values.len() {
                let mut other = config.clone();
                knob.apply(value, &mut other);
                assert_ne!(other, config, "{} = {}", knob.path(), knob.values[value]);
            }
        }
    }

    #[test]
    fn a_configured_count_is_only_lowered_and_limits_stay() {
        let mut config = Config::default();
        config.retrieval.final_k = Some(4);
        config.retrieval.top_k = Some(7);
        let tried = |key: &str| all(&config).into_iter().find(|knob| knob.key == key).unwrap().values;
        assert!(tried("final_k").iter().all(|value| matches!(value, Value::Count(Some(count)) if *count <= 4)));
        assert!(tried("top_k").iter().all(|value| matches!(value, Value::Count(Some(count)) if *count <= 7)));
        let mut moved = config.clone();
        for knob in all(&config) {
            knob.apply(knob.values.len() - 1, &mut moved);
        }
        assert_eq!((&moved.budgets, &moved.policy, &moved.verification), (&config.budgets, &config.policy, &config.verification));
        assert_eq!(moved.costmodel.weights.acc, config.costmodel.weights.acc, "the unit of the others");
    }

    #[test]
    fn a_weight_of_nothing_has_nothing_to_try() {
        let mut config = Config::default();
        config.costmodel.weights.lat = 0;
        let lat = all(&config).into_iter().find(|knob| knob.key == "lat").unwrap();
        assert_eq!(lat.values, [Value::Weight(0)]);
    }
}
