//! What is asked: the words, the sources, the constraints, the weights, who asks.

use crate::{ContentId, Micros, ModelName, NanoUsd, Ppm, Sensitivity, SourceName, Tokens, WhatIf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A goal in natural language with what must hold for its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// The user's words, verbatim. Never rewritten; normal forms exist only in cache keys.
    pub text: String,
    /// Sources it may draw on; empty means every configured source.
    #[serde(default)]
    pub sources: Vec<SourceName>,
    /// Hard limits and requirements.
    #[serde(default)]
    pub constraints: Constraints,
    /// Weights of the score.
    #[serde(default)]
    pub weights: Weights,
    /// What is maximised among feasible plans.
    #[serde(default)]
    pub objective: Objective,
    /// Who asks.
    #[serde(default)]
    pub principal: Principal,
    /// Conversation id, if any. Requests with one bypass the plan cache.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Seed of everything random; derived from the plan id when absent.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Forced and forbidden operators.
    #[serde(default)]
    pub hints: Vec<Hint>,
    /// Neither plan nor answer of an earlier request is used, and none is kept of this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_cache: bool,
    /// A hypothetical catalog to plan over: explained and simulated, never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what_if: Option<Box<WhatIf>>,
}

impl Goal {
    /// A goal over every configured source, with default weights and no constraint of its own.
    pub fn new(text: impl Into<String>) -> Goal {
        Goal {
            text: text.into(),
            sources: Vec::new(),
            constraints: Constraints::default(),
            weights: Weights::default(),
            objective: Objective::default(),
            principal: Principal::default(),
            conversation: None,
            seed: None,
            hints: Vec::new(),
            no_cache: false,
            what_if: None,
        }
    }

    /// The same goal, with one more permitted source.
    pub fn with_source(mut self, source: SourceName) -> Goal {
        self.sources.push(source);
        self
    }

    /// The same goal under other constraints.
    pub fn with_constraints(mut self, constraints: Constraints) -> Goal {
        self.constraints = constraints;
        self
    }
}

/// Who asks. Tenant and roles are exact fields of every cache key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Principal {
    /// Tenant; `default` on a single-user machine.
    pub tenant: String,
    /// Roles, sorted.
    pub roles: BTreeSet<String>,
}

impl Default for Principal {
    fn default() -> Self {
        Principal { tenant: "default".to_owned(), roles: BTreeSet::new() }
    }
}

/// Hard limits of one run. `None` means no limit of this kind. Requests and configuration combine by [`Constraints::tightened_by`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Constraints {
    /// Most dollars a run may spend.
    pub max_cost: Option<NanoUsd>,
    /// Longest acceptable latency of a run.
    pub max_latency: Option<Micros>,
    /// Most tokens of all classes over all model calls of a run.
    pub max_tokens: Option<Tokens>,
    /// Most model calls of a run.
    pub max_calls: Option<u32>,
    /// Most tool calls of a run.
    pub max_tool_calls: Option<u32>,
    /// Most context tokens sent in one call.
    pub max_context_tokens: Option<Tokens>,
    /// Most output tokens of one call.
    pub max_output_tokens: Option<Tokens>,
    /// Least expected accuracy.
    pub min_accuracy: Option<Ppm>,
    /// Most passages in the context.
    pub final_k: Option<u32>,
    /// Every claim of the answer must cite a passage of the context.
    pub require_citations: bool,
    /// A verifier must run. `Some(false)` opts out of the configured default, per request.
    pub require_verification: Option<bool>,
    /// A person must approve (high-risk goals).
    pub require_approval: bool,
    /// Declared sensitivity of the goal. The tightest of this, the sources' and the detected one wins.
    pub sensitivity: Option<Sensitivity>,
    /// What to do about a latency that nobody has measured yet.
    pub uncertain_latency: UncertainLatency,
    /// Quantile at which random quantities keep their limits; 0.9 when nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantile: Option<Ppm>,
}

/// Whether a plan whose latency is not measured may run under a latency limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UncertainLatency {
    /// Feasible, marked unverified, enforced by the run's deadline.
    #[default]
    Allow,
    /// Infeasible until measured.
    Refuse,
}

fn tighter<T: Ord + Copy>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl Constraints {
    /// The quantile in force.
    pub fn quantile(&self) -> Ppm {
        const NINTH_DECILE: Ppm = Ppm(900_000);
        self.quantile.unwrap_or(NINTH_DECILE)
    }

    /// Both sets at once: the minimum of each ceiling, the union of requirements. A request can tighten, never loosen.
    pub fn tightened_by(&self, other: &Constraints) -> Constraints {
        Constraints {
            max_cost: tighter(self.max_cost, other.max_cost),
            max_latency: tighter(self.max_latency, other.max_latency),
            max_tokens: tighter(self.max_tokens, other.max_tokens),
            max_calls: tighter(self.max_calls, other.max_calls),
            max_tool_calls: tighter(self.max_tool_calls, other.max_tool_calls),
            max_context_tokens: tighter(self.max_context_tokens, other.max_context_tokens),
            max_output_tokens: tighter(self.max_output_tokens, other.max_output_tokens),
            min_accuracy: self.min_accuracy.max(other.min_accuracy),
            final_k: tighter(self.final_k, other.final_k),
            require_citations: self.require_citations || other.require_citations,
            require_verification: other.require_verification.or(self.require_verification),
            require_approval: self.require_approval || other.require_approval,
            sensitivity: self.sensitivity.max(other.sensitivity),
            uncertain_latency: self.uncertain_latency.max(other.uncertain_latency),
            quantile: self.quantile.max(other.quantile),
        }
    }
}

/// Weights of the score's terms, in millionths (1.0 = 1_000_000).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Expected accuracy.
    pub acc: i64,
    /// Provider prefix-cache share.
    pub cache: i64,
    /// Net value of the check.
    pub vrf: i64,
    /// Cost, scaled c/(c + c₀).
    pub cost: i64,
    /// Latency, scaled t/(t + t₀).
    pub lat: i64,
    /// Irreversible unapproved action.
    pub risk: i64,
    /// Wrong answer that passes the check.
    pub hall: i64,
    /// Evidence lost in packing and compression.
    pub loss: i64,
    /// c₀: the cost at which the cost term is ½.
    pub cost_scale: NanoUsd,
    /// t₀: the latency at which the latency term is ½.
    pub latency_scale: Micros,
}

impl Weights {
    /// What this much time costs in the score's unit.
    pub fn cost_of_time(&self, time: Micros) -> i64 {
        let (time, scale) = (time.0 as f64, self.latency_scale.0 as f64);
        if time > 0.0 { (self.lat as f64 * time / (time + scale)).round() as i64 } else { 0 }
    }
}

impl Default for Weights {
    /// The defaults of the configuration reference; c₀ = $0.05, t₀ = 10 s.
    fn default() -> Self {
        Weights {
            acc: 1_000_000,
            cache: 200_000,
            vrf: 500_000,
            cost: 600_000,
            lat: 300_000,
            risk: 800_000,
            hall: 900_000,
            loss: 400_000,
            cost_scale: NanoUsd(50_000_000),
            latency_scale: Micros(10_000_000),
        }
    }
}

/// What is maximised among feasible plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The weighted score.
    #[default]
    Weighted,
    /// Accuracy first, ties by the weighted score.
    MaxAccuracy,
    /// Cost first (with `min_accuracy` as a constraint), ties by the weighted score.
    MinCost,
    /// Latency first, ties by the weighted score.
    MinLatency,
}

/// A demand on the plan's shape, honoured or refused, never ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// Only this operator, access path, model or source, by its EXPLAIN name, where its stage has it. `docs:bm25` means the path
    /// on one source, `source:docs` and `model:local` what may also be the name of an operator.
    Force(String),
    /// Never this one.
    Forbid(String),
    /// Only this model.
    Model(ModelName),
    /// The plan with this gist, or none.
    Gist(ContentId),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_tightens_and_never_loosens() {
        let ceiling = Constraints { max_cost: Some(NanoUsd(100)), max_calls: Some(5), ..Constraints::default() };
        let request = Constraints { max_cost: Some(NanoUsd(900)), max_calls: Some(2), require_citations: true, ..Constraints::default() };
        let both = ceiling.tightened_by(&request);
        assert_eq!((both.max_cost, both.max_calls, both.require_citations), (Some(NanoUsd(100)), Some(2), true));
    }
}
