//! The quote of many goals together: what all their runs would cost, one after the other.
//!
//! Each goal keeps its own quote, as [`simulate`](crate::simulate()) makes it. The total is drawn anew: in a replicate all
//! calls of a model share one residual, over all goals, so that a slow or wordy day is slow or wordy for all of them and the
//! total's interval does not shrink as if they were independent.

use crate::simulation::{Interval, Simulation, checked, drawn, interval, simulate};
use crate::spread::Chance;
use crate::{DRAWS, SimulateError};
use ctx_graph::ExecutionGraph;
use ctx_types::id::sha256_hex;
use ctx_types::{Certainty, Micros, ModelName, NanoUsd, Plan, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the persisted form.
pub const BATCH_SCHEMA_VERSION: u32 = 1;

/// What all goals of a batch come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchTotal {
    /// [`BATCH_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Goals with a quote.
    pub goals: u32,
    /// Seed of what the goals share.
    pub seed: u64,
    /// Replicates.
    pub draws: u32,
    /// Dollars. A lower bound if `cost_incomplete`.
    pub cost: Interval<NanoUsd>,
    /// Time, one goal after the other.
    pub latency: Interval<Micros>,
    /// Tokens of all classes.
    pub tokens: Interval<Tokens>,
    /// Expected right answers, in thousandths.
    pub right_milli: u64,
    /// Fewest observations behind any estimate that matters; 0: at least one of them is a prior.
    pub based_on_samples: u32,
    /// Goals with estimates that rest on too few observations.
    pub under_sampled: u32,
    /// Whether the price of some call is unknown.
    pub cost_incomplete: bool,
    /// Expected tokens at unknown price.
    pub unknown_price_tokens: Tokens,
    /// Models whose price is unknown.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unpriced_models: BTreeSet<ModelName>,
}

/// A batch that grows goal by goal; memory does not grow with it.
pub struct Batch {
    seed: u64,
    goals: u32,
    shared: BTreeMap<ModelName, Vec<f64>>,
    cost: Vec<f64>,
    latency: Vec<f64>,
    tokens: Vec<f64>,
    right: f64,
    unpriced: f64,
    incomplete: bool,
    dark: BTreeSet<ModelName>,
    certainty: [Certainty; 3],
    samples: Option<u32>,
    under_sampled: u32,
}

impl Batch {
    /// An empty batch; the same seed gives the same bytes.
    pub fn new(seed: u64) -> Batch {
        let zeros = || vec![0.0; DRAWS as usize];
        Batch {
            seed,
            goals: 0,
            shared: BTreeMap::new(),
            cost: zeros(),
            latency: zeros(),
            tokens: zeros(),
            right: 0.0,
            unpriced: 0.0,
            incomplete: false,
            dark: BTreeSet::new(),
            certainty: [Certainty::Configured; 3],
            samples: None,
            under_sampled: 0,
        }
    }

    /// One more goal: its own quote, with its plan's seed, is returned; its draws join the total.
    pub fn add(&mut self, plan: &Plan, graph: &ExecutionGraph) -> Result<Simulation, SimulateError> {
        let quote = simulate(plan, graph, plan.seed)?;
        let model = checked(plan, graph)?;
        let (seed, all) = (self.seed, &mut self.shared);
        // The same goal twice is two runs: their own residuals differ.
        let own = plan.seed ^ self.seed.rotate_left(17) ^ u64::from(self.goals).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (sample, _) = drawn(plan, graph, &model, own, &mut |name, replicate, drawn| {
            let of_model = all.entry(name.clone()).or_insert_with(|| residuals(seed, name));
            of_model.get(replicate).copied().unwrap_or(drawn)
        });
        for (sum, column) in [(&mut self.cost, &sample.cost), (&mut self.latency, &sample.latency), (&mut self.tokens, &sample.tokens)] {
            sum.iter_mut().zip(column).for_each(|(sum, value)| *sum += value);
        }
        self.goals += 1;
        self.right += sample.right.iter().sum::<f64>() / f64::from(DRAWS);
        self.unpriced += sample.unpriced / f64::from(DRAWS);
        self.incomplete |= quote.cost_incomplete;
        self.dark.extend(quote.unpriced_models.iter().cloned());
        let of_quote = [quote.cost.certainty, quote.latency.certainty, quote.tokens.certainty];
        self.certainty.iter_mut().zip(of_quote).for_each(|(all, own)| *all = all.weaker(own));
        self.samples = Some(self.samples.map_or(quote.based_on_samples, |least| least.min(quote.based_on_samples)));
        self.under_sampled += u32::from(!quote.under_sampled.is_empty());
        Ok(quote)
    }

    /// What they come to together.
    pub fn total(mut self) -> BatchTotal {
        let [cost, latency, tokens] = self.certainty;
        BatchTotal {
            schema_version: BATCH_SCHEMA_VERSION,
            goals: self.goals,
            seed: self.seed,
            draws: DRAWS,
            cost: interval(&mut self.cost, cost, |x| NanoUsd(x.round() as i64)),
            latency: interval(&mut self.latency, latency, |x| Micros(x.round() as u64)),
            tokens: interval(&mut self.tokens, tokens, |x| Tokens(x.round() as u64)),
            right_milli: (self.right * 1e3).round() as u64,
            based_on_samples: self.samples.unwrap_or(0),
            under_sampled: self.under_sampled,
            cost_incomplete: self.incomplete,
            unknown_price_tokens: Tokens(self.unpriced.round() as u64),
            unpriced_models: self.dark,
        }
    }
}

/// What all calls of a model have in common, replicate by replicate.
fn residuals(seed: u64, name: &ModelName) -> Vec<f64> {
    let digest = sha256_hex(format!("{seed}/{name}").as_bytes());
    let mut chance = Chance::seeded(u64::from_str_radix(&digest[..16], 16).unwrap_or(seed));
    (0..DRAWS).map(|_| chance.normal()).collect()
}
