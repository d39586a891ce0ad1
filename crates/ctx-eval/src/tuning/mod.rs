//! Offline tuning: settings that serve a labelled collection better than the configured ones, chosen on one half of its queries
//! and judged once on the other.
//!
//! ```text
//! train queries ─▶ screen: which settings move anything ─▶ search (ctx_learn::tune) ─▶ one choice ─▶ test queries ─▶ report
//! ```
//!
//! What is maximised is a run's reward: whether the context that it sends holds a relevant document, less a penalty for its
//! tokens at a stated price (`ctx_learn::reward`). Latency is not part of it: measured times do not repeat, and a choice that
//! depends on them would not either. No model is called, nothing is learned on the way, and queries of the test half are not read
//! before the choice is made.

pub mod knobs;
pub mod report;

use crate::bootstrap::paired;
use crate::collection::{Collection, Half, Query};
use crate::error::EvalError;
use crate::workbench::Workbench;
use ctx_contracts::IndexEvent;
use ctx_learn::reward::{Blend, Components};
use ctx_learn::tune::{Space, Tuner};
use ctx_runtime::{Config, Runtime};
use ctx_types::Passage;
use knobs::{Knob, NOT_TUNED, Value, knobs, why_idle};
use report::{Chosen, Half as HalfReport, Measure, Setting, TUNING_SCHEMA_VERSION, Tuned};
use std::collections::BTreeMap;
use std::path::Path;

/// Queries that the screen asks with every value.
const SCREENED: usize = 24;
/// Price at which the tokens of a context are charged, in dollars per million: that of a mid-sized hosted model. A guess of what
/// would read the context; see `--token-price`.
pub const TOKEN_USD_PER_MILLION: f64 = 3.0;

/// How to tune.
#[derive(Clone, Debug)]
pub struct TuningOptions {
    /// Combinations of settings that are drawn.
    pub trials: usize,
    /// Seed of the search and of the intervals.
    pub seed: u64,
    /// At most so many queries of each half, the first of the file.
    pub queries_max: Option<usize>,
    /// Dollars per million tokens sent.
    pub token_usd_per_million: f64,
}

impl Default for TuningOptions {
    fn default() -> Self {
        TuningOptions { trials: 40, seed: 1, queries_max: None, token_usd_per_million: TOKEN_USD_PER_MILLION }
    }
}

/// What one query was sent under one choice of settings.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    documents: Vec<String>,
    tokens: u64,
    holds: bool,
}

/// Tunes the retrieval settings and weights of `config` on the collection in a folder. `progress` hears about indexing, `done`
/// about runs.
pub async fn tune(
    folder: &Path,
    config: &Config,
    options: &TuningOptions,
    progress: &(dyn Fn(IndexEvent) + Send + Sync),
    done: &(dyn Fn(usize) + Send + Sync),
) -> Result<Tuned, EvalError> {
    let train = half(folder, Half::Train, options)?;
    let bench = Workbench::open_with(&train, config, progress).await?;
    let all = knobs(config, &bench.rerankers());
    let mut trials = Trials { bench: &bench, config, options, variants: BTreeMap::new(), known: BTreeMap::new(), runs: 0, done };
    let reached = trials.screen(&all, &train.queries).await?;
    let moving: Vec<&Knob> = all.iter().zip(&reached).filter(|(_, reached)| **reached).map(|(knob, _)| knob).collect();
    let mut tuner =
        Tuner::new(Space::new(moving.iter().map(|k| k.values.len()).collect()), options.trials, train.queries.len(), options.seed);
    while let Some(wanted) = tuner.wanted() {
        let mut rewards = Vec::with_capacity(wanted.points.len());
        for point in &wanted.points {
            let mut row = Vec::with_capacity(wanted.rows.len());
            for at in &wanted.rows {
                row.push(trials.reward(trials_point(&moving, point), &train.queries[*at]).await?);
            }
            rewards.push(row);
        }
        tuner.tell(rewards);
    }
    let chosen = trials_point(&moving, tuner.best());
    let on_train = trials.half(&train, &chosen).await?;
    // The choice is made: only now is the other half read.
    let test = half(folder, Half::Test, options)?;
    let on_test = trials.half(&test, &chosen).await?;
    Ok(Tuned {
        schema_version: TUNING_SCHEMA_VERSION,
        collection: train.name.clone(),
        seed: options.seed,
        trials: tuner.trials(),
        runs: trials.runs,
        token_usd_per_million: options.token_usd_per_million,
        settings: settings(&all, &reached, &chosen),
        not_tuned: NOT_TUNED.iter().map(|(what, why)| ((*what).to_owned(), (*why).to_owned())).collect(),
        chosen: chosen.iter().map(|(knob, value)| Chosen::new(knob, &knob.values[*value])).collect(),
        train: on_train,
        test: on_test,
    })
}

fn half(folder: &Path, half: Half, options: &TuningOptions) -> Result<Collection, EvalError> {
    let mut collection = Collection::read_half(folder, half)?;
    collection.queries.truncate(options.queries_max.unwrap_or(usize::MAX));
    Ok(collection)
}

/// Settings away from the configured value.
type Changes<'a> = Vec<(&'a Knob, usize)>;

fn trials_point<'a>(moving: &[&'a Knob], point: &[usize]) -> Changes<'a> {
    moving.iter().zip(point).filter(|(_, value)| **value != 0).map(|(knob, value)| (*knob, *value)).collect()
}

fn settings(all: &[Knob], reached: &[bool], chosen: &Changes) -> Vec<Setting> {
    let row = |(knob, reached): (&Knob, &bool)| {
        let changed = chosen.iter().find(|(other, _)| other.key == knob.key).map(|(_, value)| &knob.values[*value]);
        Setting {
            key: knob.path(),
            configured: knob.values[0].to_string(),
            tried: knob.values[1..].iter().map(Value::to_string).collect(),
            chosen: changed.unwrap_or(&knob.values[0]).to_string(),
            idle: (!reached).then(|| why_idle(knob.key).to_owned()),
        }
    };
    all.iter().zip(reached).map(row).collect()
}

/// Settings that are not the configured ones, and a query's id.
type Asked = (Vec<(&'static str, usize)>, String);

/// Runs, each made once.
struct Trials<'a> {
    bench: &'a Workbench,
    config: &'a Config,
    options: &'a TuningOptions,
    variants: BTreeMap<Vec<(&'static str, usize)>, Runtime>,
    known: BTreeMap<Asked, Sent>,
    runs: usize,
    done: &'a (dyn Fn(usize) + Send + Sync),
}

impl Trials<'_> {
    /// Which settings move anything: whether any of their values alone changes what any of some queries is sent.
    async fn screen(&mut self, all: &[Knob], queries: &[Query]) -> Result<Vec<bool>, EvalError> {
        let mut reached = Vec::with_capacity(all.len());
        for knob in all {
            reached.push(self.moves(knob, &queries[..queries.len().min(SCREENED)]).await?);
        }
        Ok(reached)
    }

    async fn moves(&mut self, knob: &Knob, queries: &[Query]) -> Result<bool, EvalError> {
        for value in 1..knob.values.len() {
            for query in queries {
                if self.sent(&vec![(knob, value)], query).await? != self.sent(&Vec::new(), query).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn sent(&mut self, changes: &Changes<'_>, query: &Query) -> Result<Sent, EvalError> {
        let name: Vec<(&'static str, usize)> = changes.iter().map(|(knob, value)| (knob.key, *value)).collect();
        let place = (name, query.id.clone());
        if let Some(sent) = self.known.get(&place) {
            return Ok(sent.clone());
        }
        if !self.variants.contains_key(&place.0) {
            let variant = self.bench.variant(|config| changes.iter().for_each(|(knob, value)| knob.apply(*value, config))).await?;
            self.variants.insert(place.0.clone(), variant);
        }
        let run = self.bench.plan_and_run_by(&self.variants[&place.0], &query.text).await?;
        let passages: Vec<&Passage> = run.report.context.iter().map(|item| &item.passage).collect();
        let documents: Vec<String> = self.bench.documents(passages.iter().copied()).into_iter().map(str::to_owned).collect();
        let sent = Sent {
            holds: documents.iter().any(|id| query.relevant.contains_key(id)),
            tokens: passages.iter().map(|passage| u64::from(passage.tokens)).sum(),
            documents,
        };
        self.runs += 1;
        (self.done)(self.runs);
        self.known.insert(place, sent.clone());
        Ok(sent)
    }

    async fn reward(&mut self, changes: Changes<'_>, query: &Query) -> Result<f64, EvalError> {
        let sent = self.sent(&changes, query).await?;
        Ok(reward(&sent, self.config, self.options))
    }

    /// Both choices on every query of a half.
    async fn half(&mut self, half: &Collection, chosen: &Changes<'_>) -> Result<HalfReport, EvalError> {
        let (mut configured, mut tuned) = (Vec::new(), Vec::new());
        for query in &half.queries {
            configured.push(self.sent(&Vec::new(), query).await?);
            tuned.push(self.sent(chosen, query).await?);
        }
        let rewards = |sent: &[Sent]| sent.iter().map(|one| reward(one, self.config, self.options)).collect::<Vec<f64>>();
        let held = |sent: &[Sent]| sent.iter().map(|one| f64::from(u8::from(one.holds))).collect::<Vec<f64>>();
        Ok(HalfReport {
            split: half.split.clone(),
            queries: half.queries.len(),
            configured: measure(&configured, &rewards(&configured)),
            tuned: measure(&tuned, &rewards(&tuned)),
            reward_gain: paired(&rewards(&tuned), &rewards(&configured), self.options.seed),
            evidence_gain: paired(&held(&tuned), &held(&configured), self.options.seed),
        })
    }
}

/// Whether the evidence was sent, less what sending it costs. The scale of costs is the configured one, never a tuned one.
fn reward(sent: &Sent, config: &Config, options: &TuningOptions) -> f64 {
    let cost = sent.tokens as f64 * options.token_usd_per_million * 1e3;
    let scale = config.costmodel.weights.cost_scale.get() as f64;
    let components = Components {
        quality: Some(if sent.holds { 1.0 } else { 0.0 }),
        cost: if cost > 0.0 { cost / (cost + scale) } else { 0.0 },
        latency: 0.0,
        relevance: None,
    };
    components.reward(&Blend::default()).unwrap_or(0.0)
}

fn measure(sent: &[Sent], rewards: &[f64]) -> Measure {
    let n = sent.len().max(1) as f64;
    Measure {
        reward: rewards.iter().sum::<f64>() / n,
        evidence: sent.iter().filter(|one| one.holds).count() as f64 / n,
        tokens: sent.iter().map(|one| one.tokens).sum::<u64>() as f64 / n,
    }
}
