//! What other policies would have earned, from the traces of runs that explored and what people said of their answers.
//!
//! Of one tenant's runs only. A run counts if it could have been another plan (its trace holds the contenders with their
//! probabilities) and a person or a gold answer said how right it was; what a judging model said alone does not count. Rewards are
//! quality less what the run took, as `ctx_learn::reward` blends them; nothing here changes how plans are chosen.

use crate::feedback::{Feedback, FeedbackBy};
use crate::{Runtime, RuntimeError};
use ctx_learn::off_policy::{self, Evaluated, Logged};
use ctx_learn::reward::{Blend, Components};
use ctx_types::exploration::{Exploration, ExploredArm};
use ctx_types::{Micros, NanoUsd, Ppm, Trace, Weights};
use serde::Serialize;
use std::collections::BTreeMap;

/// A policy to evaluate: which contender it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The best by estimate, always.
    Best,
    /// As it was: with the probabilities of the log.
    AsLogged,
    /// Each contender alike.
    Uniform,
    /// The best contender whose shape holds these words; the best of all where none does.
    Prefer(String),
}

impl std::fmt::Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Policy::Best => f.write_str("best by estimate"),
            Policy::AsLogged => f.write_str("as logged"),
            Policy::Uniform => f.write_str("each alike"),
            Policy::Prefer(words) => write!(f, "prefer {words}"),
        }
    }
}

/// A policy and what it would have earned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyWorth {
    /// The policy in words.
    pub policy: String,
    /// Estimates with their intervals.
    pub evaluated: Evaluated,
}

/// An evaluation over the trace log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// Whose runs.
    pub tenant: String,
    /// Runs in the log.
    pub runs: usize,
    /// Of them, runs with contenders and their probabilities.
    pub explored: usize,
    /// Of these, runs of which a person or a gold answer said how right they were: what is evaluated.
    pub labelled: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Each policy asked for; empty where no run can be used.
    pub policies: Vec<PolicyWorth>,
}

impl Runtime {
    /// What these policies would have earned on a tenant's runs among these.
    pub async fn evaluate(&self, tenant: &str, traces: &[Trace], policies: &[Policy], seed: u64) -> Result<Evaluation, RuntimeError> {
        let own: Vec<&Trace> = traces.iter().filter(|trace| trace.tenant == tenant).collect();
        let said = self.feedback_given(tenant).await?;
        Ok(evaluation(tenant, &own, &said, (policies, &self.config().costmodel.weights), seed))
    }
}

fn evaluation(tenant: &str, traces: &[&Trace], said: &[Feedback], (policies, weights): (&[Policy], &Weights), seed: u64) -> Evaluation {
    let quality = qualities(said);
    let explored: Vec<(&Trace, &Exploration)> = traces.iter().filter_map(|trace| Some((*trace, trace.exploration.as_ref()?))).collect();
    let labelled: Vec<(&Trace, &Exploration, Ppm)> =
        explored.iter().filter_map(|(trace, exploration)| Some((*trace, *exploration, *quality.get(trace.id.as_str())?))).collect();
    let worth = |policy: &Policy| {
        let log: Vec<Logged> = labelled.iter().filter_map(|row| logged(row, policy, weights)).collect();
        Some(PolicyWorth { policy: policy.to_string(), evaluated: off_policy::evaluate(&log, seed)? })
    };
    Evaluation {
        tenant: tenant.to_owned(),
        runs: traces.len(),
        explored: explored.len(),
        labelled: labelled.len(),
        seed,
        policies: policies.iter().filter_map(worth).collect(),
    }
}

/// How right each run was, by the first counted word on it; a gold answer outweighs a person.
fn qualities(said: &[Feedback]) -> BTreeMap<&str, Ppm> {
    let mut out: BTreeMap<&str, Ppm> = BTreeMap::new();
    for by in [FeedbackBy::Gold, FeedbackBy::User] {
        for feedback in said.iter().filter(|feedback| feedback.by == by && feedback.counted) {
            out.entry(&feedback.trace).or_insert(feedback.score);
        }
    }
    out
}

fn logged((trace, exploration, quality): &(&Trace, &Exploration, Ppm), policy: &Policy, weights: &Weights) -> Option<Logged> {
    let relevance = trace.outcome.evidence.map(Ppm::share);
    let spend = &trace.outcome.spend;
    let reward = reward(*quality, (spend.cost, spend.elapsed), relevance, weights)?;
    let expected = |arm: &ExploredArm| reward_expected(arm, relevance, weights);
    Some(Logged {
        action: exploration.chosen,
        propensity: exploration.propensity().share(),
        reward,
        target: target(exploration, policy),
        expected: exploration.arms.iter().map(expected).collect::<Option<_>>()?,
    })
}

fn reward(quality: Ppm, (cost, latency): (NanoUsd, Micros), relevance: Option<f64>, weights: &Weights) -> Option<f64> {
    let share = |value: f64, scale: f64| if value > 0.0 { value / (value + scale) } else { 0.0 };
    let components = Components {
        quality: Some(quality.share()),
        cost: share(cost.get() as f64, weights.cost_scale.get() as f64),
        latency: share(latency.0 as f64, weights.latency_scale.0 as f64),
        relevance,
    };
    components.reward(&Blend::default())
}

/// What planning expected of a contender, as a reward. The evidence is the run's: contenders over the same sources share it.
fn reward_expected(arm: &ExploredArm, relevance: Option<f64>, weights: &Weights) -> Option<f64> {
    reward(arm.accuracy, (arm.cost, arm.latency), relevance, weights)
}

/// Probability of each contender under a policy.
fn target(exploration: &Exploration, policy: &Policy) -> Vec<f64> {
    let arms = &exploration.arms;
    let only = |wanted: usize| (0..arms.len()).map(|at| f64::from(u8::from(at == wanted))).collect();
    match policy {
        Policy::Best => only(0),
        Policy::AsLogged => arms.iter().map(|arm| arm.propensity.share()).collect(),
        Policy::Uniform => vec![1.0 / arms.len().max(1) as f64; arms.len()],
        Policy::Prefer(words) => only(arms.iter().position(|arm| arm.shape.contains(words.as_str())).unwrap_or(0)),
    }
}
