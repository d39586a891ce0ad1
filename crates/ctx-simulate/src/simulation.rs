//! The quote as a value, and the function that makes it.

use crate::SimulateError;
use crate::model::Model;
use crate::outcome::Outcomes;
use crate::spread::Chance;
use crate::walk::{Counters, Replicate, Walker};
use ctx_graph::{ExecutionGraph, LegPath, Node, NodeOp, Resource};
use ctx_types::{Certainty, ContentId, Estimated, Micros, ModelName, NanoUsd, Plan, Ppm, SourceName, Status, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the persisted simulation format.
pub const SIMULATION_SCHEMA_VERSION: u32 = 1;
/// Replicates of one simulation: the ends of a 90 % interval then have a sampling error below half a percentage point of rank.
pub const DRAWS: u32 = 4096;

/// Observations below which an interval is not shown to hold: with fewer than twenty none can be.
pub const SAMPLES_MIN: u32 = 20;

/// A 90 % interval around the median. Invariant: `low ≤ mid ≤ high`, all finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval<T> {
    /// 5 % of the replicates lie below.
    pub low: T,
    /// Median.
    pub mid: T,
    /// 5 % lie above.
    pub high: T,
    /// The weakest certainty among the estimates it rests on.
    pub certainty: Certainty,
}

/// A quote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// [`SIMULATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The plan.
    pub plan: ContentId,
    /// The graph that was walked.
    pub graph: ContentId,
    /// Seed of everything random.
    pub seed: u64,
    /// Replicates.
    pub draws: u32,
    /// Dollars of all calls. A lower bound if `cost_incomplete`.
    pub cost: Interval<NanoUsd>,
    /// Time until the run ends, whatever its end.
    pub latency: Interval<Micros>,
    /// Tokens of all classes over all calls.
    pub tokens: Interval<Tokens>,
    /// P(a right answer is given); the interval is that of the probability.
    pub confidence: Interval<Ppm>,
    /// Share of runs that end for want of evidence.
    pub p_abstain: Ppm,
    /// Share of runs whose answer is withheld because it did not pass its check.
    pub p_verification_failed: Ppm,
    /// Share of runs that break.
    pub p_failed: Ppm,
    /// Share of runs that outlast the latency limit, if there is one.
    pub p_over_latency_limit: Option<Ppm>,
    /// Models, by name.
    pub expected_models: Vec<ModelUse>,
    /// Reads, in graph order.
    pub expected_retrieval: Vec<RetrievalUse>,
    /// Fewest observations behind any estimate that matters; 0: at least one of them is a prior.
    pub based_on_samples: u32,
    /// Estimates that matter and rest on fewer than [`SAMPLES_MIN`] observations, with how many: the interval is wide because of
    /// them, and not shown to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub under_sampled: Vec<String>,
    /// Whether a call's price is unknown: its tokens stand in `unknown_price_tokens` and not in `cost`.
    pub cost_incomplete: bool,
    /// Expected tokens at unknown price.
    pub unknown_price_tokens: Tokens,
    /// Models of the plan whose price is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<ModelName>,
}

/// Expected use of one model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUse {
    /// Which.
    pub model: ModelName,
    /// Expected calls in thousandths, retries of rejected answers included.
    pub calls_milli: u64,
}

/// Expected use of one way of reading one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetrievalUse {
    /// Which source.
    pub source: SourceName,
    /// How.
    pub path: LegPath,
    /// Passages asked for.
    pub k: u32,
    /// Passages it would return, where that is estimated.
    pub hits: Option<Estimated<u32>>,
    /// Share of runs that read it.
    pub p_used: Ppm,
}

/// The quote for a plan. Pure: the same plan, graph and seed give the same bytes.
pub fn simulate(plan: &Plan, graph: &ExecutionGraph, seed: u64) -> Result<Simulation, SimulateError> {
    let model = checked(plan, graph)?;
    let (sample, counters) = drawn(plan, graph, &model, seed, &mut |_, _, own| own);
    summary(plan, graph, seed, sample, &counters, &model)
}

/// The graph ready to be walked, if it is the plan's and can be executed.
pub(crate) fn checked<'a>(plan: &Plan, graph: &'a ExecutionGraph) -> Result<Model<'a>, SimulateError> {
    if plan.id != graph.plan {
        return Err(SimulateError::OtherPlan { plan: plan.id.clone(), graph: graph.plan.clone() });
    }
    graph.validate()?;
    Ok(Model::of(plan, graph)?)
}

/// All replicates. `shared` says what the calls of a model have in common in a replicate, given what was drawn for it.
pub(crate) fn drawn(
    plan: &Plan,
    graph: &ExecutionGraph,
    model: &Model<'_>,
    seed: u64,
    shared: &mut dyn FnMut(&ModelName, usize, f64) -> f64,
) -> (Sample, Counters) {
    let outcomes = Outcomes::of(plan, graph);
    let mut chance = Chance::seeded(seed);
    let mut walker = Walker::new(model);
    let mut sample = Sample::default();
    for replicate in 0..DRAWS as usize {
        let odds = outcomes.draw(&mut chance);
        let drawn = walker.replicate(&odds, &mut chance, &mut |name, own| shared(name, replicate, own));
        sample.add(&drawn, odds.right_given());
    }
    (sample, walker.counters)
}

/// All replicates, column by column.
#[derive(Default)]
pub(crate) struct Sample {
    pub(crate) latency: Vec<f64>,
    pub(crate) cost: Vec<f64>,
    pub(crate) tokens: Vec<f64>,
    pub(crate) right: Vec<f64>,
    pub(crate) unpriced: f64,
    abstained: u32,
    unverified: u32,
    failed: u32,
}

impl Sample {
    fn add(&mut self, replicate: &Replicate, right: f64) {
        self.latency.push(replicate.latency);
        self.cost.push(replicate.cost);
        self.tokens.push(replicate.tokens);
        self.right.push(right);
        self.unpriced += replicate.unpriced_tokens;
        match replicate.stopped {
            None => {}
            Some(Status::Abstained) => self.abstained += 1,
            Some(Status::VerificationFailed) => self.unverified += 1,
            Some(_) => self.failed += 1,
        }
    }
}

fn summary(
    plan: &Plan,
    graph: &ExecutionGraph,
    seed: u64,
    mut sample: Sample,
    counters: &Counters,
    model: &Model<'_>,
) -> Result<Simulation, SimulateError> {
    let certainty = Certainties::of(plan, graph);
    let served = 1.0 - f64::from(sample.failed) / f64::from(DRAWS);
    let over = plan.limits.max_latency.map(|limit| share(sample.latency.iter().filter(|t| **t > limit.0 as f64).count()));
    let incomplete = plan.estimate.cost_incomplete || sample.unpriced > 0.0;
    Ok(Simulation {
        schema_version: SIMULATION_SCHEMA_VERSION,
        plan: plan.id.clone(),
        graph: graph.hash()?,
        seed,
        draws: DRAWS,
        cost: interval(&mut sample.cost, certainty.cost, |x| NanoUsd(x.round() as i64)),
        latency: interval(&mut sample.latency, certainty.latency, |x| Micros(x.round() as u64)),
        tokens: interval(&mut sample.tokens, certainty.tokens, |x| Tokens(x.round() as u64)),
        confidence: interval(&mut sample.right, certainty.confidence, |x| Ppm::from_share(x * served)),
        p_abstain: share(sample.abstained as usize),
        p_verification_failed: share(sample.unverified as usize),
        p_failed: share(sample.failed as usize),
        p_over_latency_limit: over,
        expected_models: model.models.iter().zip(&counters.calls).map(|(m, calls)| model_use(m, *calls)).collect(),
        expected_retrieval: graph.nodes.iter().zip(&counters.runs).filter_map(|(n, runs)| retrieval_use(n, *runs)).collect(),
        based_on_samples: certainty.samples(),
        under_sampled: under_sampled(graph),
        cost_incomplete: incomplete,
        unknown_price_tokens: Tokens((sample.unpriced / f64::from(DRAWS)).round() as u64),
        unpriced_models: model.unpriced(),
    })
}

fn share(count: usize) -> Ppm {
    Ppm::from_share(count as f64 / f64::from(DRAWS))
}

/// The sample is partially sorted in place; ranks are nearest-rank quantiles.
pub(crate) fn interval<T>(sample: &mut [f64], certainty: Certainty, unit: impl Fn(f64) -> T) -> Interval<T> {
    let mut at = |q: f64| {
        let rank = ((sample.len() as f64 * q).ceil() as usize).clamp(1, sample.len()) - 1;
        *sample.select_nth_unstable_by(rank, f64::total_cmp).1
    };
    Interval { low: unit(at(0.05)), mid: unit(at(0.5)), high: unit(at(0.95)), certainty }
}

fn model_use(model: &ModelName, calls: u32) -> ModelUse {
    ModelUse { model: model.clone(), calls_milli: (u64::from(calls) * 1000 + u64::from(DRAWS) / 2) / u64::from(DRAWS) }
}

fn retrieval_use(node: &Node, runs: u32) -> Option<RetrievalUse> {
    let NodeOp::Access { source, path, k, .. } = &node.op else { return None };
    Some(RetrievalUse { source: source.clone(), path: *path, k: *k, hits: node.estimate.hits.clone(), p_used: share(runs as usize) })
}

/// The weakest certainty behind each interval, over the nodes that run when nothing fails.
pub(crate) struct Certainties {
    pub(crate) cost: Certainty,
    pub(crate) latency: Certainty,
    pub(crate) tokens: Certainty,
    confidence: Certainty,
}

impl Certainties {
    fn of(plan: &Plan, graph: &ExecutionGraph) -> Certainties {
        let mut all = Certainties {
            cost: Certainty::Configured,
            latency: Certainty::Configured,
            tokens: Certainty::Configured,
            confidence: plan.estimate.evidence.certainty,
        };
        for node in &graph.nodes {
            let decides = matches!(node.op, NodeOp::Stop { .. } | NodeOp::Loop { .. } | NodeOp::Branch);
            if !decides {
                all.latency = all.latency.weaker(of(node.estimate.latency.as_ref()));
            }
            if matches!(node.resource, Resource::Model(_)) {
                all.tokens = all.tokens.weaker(of(node.estimate.tokens.as_ref()));
                all.cost = all.cost.weaker(of(node.estimate.cost.as_ref()));
            }
            if matches!(node.op, NodeOp::Answer { .. } | NodeOp::Verify { .. }) {
                all.confidence = all.confidence.weaker(of(node.estimate.quality.as_ref()));
            }
        }
        all
    }

    /// Numbers that hold by construction need no observations, so they do not count against the rest.
    fn samples(&self) -> u32 {
        let estimated = [self.cost, self.latency, self.tokens, self.confidence].into_iter().filter(|c| *c != Certainty::Configured);
        estimated.map(Certainty::observations).min().unwrap_or(0)
    }
}

/// Estimates of calls, and of every step that takes a twentieth of the time or more, that too few observations stand behind.
fn under_sampled(graph: &ExecutionGraph) -> Vec<String> {
    let latency = |node: &Node| node.estimate.latency.as_ref().map_or(0, |latency| latency.value.0);
    let whole: u64 = graph.nodes.iter().map(latency).sum();
    let mut out = Vec::new();
    for node in &graph.nodes {
        let mut few = |what: &str, certainty: Certainty| {
            let known = certainty == Certainty::Configured || certainty.observations() >= SAMPLES_MIN;
            if !known {
                out.push(format!("{what} of {} (n={})", node.op, certainty.observations()));
            }
        };
        let called = matches!(node.resource, Resource::Model(_));
        if called || latency(node) > 0 && latency(node) * 20 >= whole {
            few("time", of(node.estimate.latency.as_ref()));
        }
        if let Some(call) = node.estimate.call.as_ref().filter(|_| called) {
            few("tokens", call.tokens.as_ref().map_or(Certainty::Prior, |tokens| tokens.certainty));
        }
    }
    out
}

fn of<T>(estimate: Option<&Estimated<T>>) -> Certainty {
    estimate.map_or(Certainty::Unknown, |e| e.certainty)
}
