//! The decision: a complete value that explains itself and can be executed, cached, compared and replayed.

use crate::estimate::{AlternativeEstimate, PlanEstimate, ScoreBreakdown};
use crate::{Alternative, Constraints, ContentId, Fate, Goal, Intent, Operator, Ppm, Score, SourceName, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Version of the persisted plan format.
pub const PLAN_SCHEMA_VERSION: u32 = 1;

/// A chosen plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// [`PLAN_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Content hash of everything below that decides what is executed.
    pub id: ContentId,
    /// Hash of the shape: operators, sources, models and order, no number.
    pub gist: ContentId,
    /// The plan this one replaced within a run.
    pub parent: Option<ContentId>,
    /// The goal, verbatim.
    pub goal: Goal,
    /// Constraints in force: configuration and request together.
    pub limits: Constraints,
    /// The analysed goal.
    pub intent: Intent,
    /// The chosen alternative of every stage, in pipeline order, with its estimate.
    pub chosen: Vec<PlannedAlternative>,
    /// Every other alternative, with where it ended.
    pub rejected: Vec<Rejection>,
    /// Sources considered, used or not, each once.
    pub sources: Vec<SourceUse>,
    /// The whole plan's estimate.
    pub estimate: PlanEstimate,
    /// The score.
    pub score: ScoreBreakdown,
    /// The runner-up of another gist, and what would flip the choice.
    pub margin: Option<Margin>,
    /// The best complete plans, best first, the winner included; at most [`BEST_PLANS_MAX`].
    pub best: Vec<CompletePlan>,
    /// Pareto set over (accuracy, cost, latency), best score first; at most [`FRONTIER_MAX`].
    pub frontier: Vec<CompletePlan>,
    /// Proof that the winner is optimal, or how far it may be from it.
    pub certificate: Certificate,
    /// Complete assignments left after pruning.
    pub candidates: u64,
    /// What the plan depends on: (object, version), losers too.
    pub stamps: Vec<Stamp>,
    /// Epoch of the statistics that were read.
    pub statistics_epoch: String,
    /// Version of the planner.
    pub planner_version: String,
    /// Seed of simulation.
    pub seed: u64,
    /// Remarks a reader of EXPLAIN must see: priors in use, unverified latency, opted-out checks, coverage.
    pub notes: Vec<String>,
}

/// Most complete plans kept for EXPLAIN VERBOSE.
pub const BEST_PLANS_MAX: usize = 10;
/// Most Pareto points kept.
pub const FRONTIER_MAX: usize = 32;

impl Plan {
    /// The chosen alternative of a stage.
    pub fn chosen(&self, stage: &Stage) -> Option<&PlannedAlternative> {
        self.chosen.iter().find(|c| c.alternative.stage == *stage)
    }

    /// Whether both decide the same: every stage's operator with its numbers, estimates apart.
    pub fn decides_as(&self, other: &Plan) -> bool {
        let same = |a: &PlannedAlternative, b: &PlannedAlternative| {
            (&a.alternative.stage, &a.alternative.operator) == (&b.alternative.stage, &b.alternative.operator)
        };
        self.chosen.len() == other.chosen.len() && self.chosen.iter().zip(&other.chosen).all(|(a, b)| same(a, b))
    }

    /// Accesses that read something: (source, operator, estimate).
    pub fn accesses(&self) -> impl Iterator<Item = (&SourceName, &Operator, &AlternativeEstimate)> {
        self.chosen.iter().filter_map(|c| match (&c.alternative.stage, &c.alternative.operator) {
            (Stage::Access(source), op @ Operator::Access { .. }) => Some((source, op, &c.estimate)),
            _ => None,
        })
    }
}

/// An alternative with its estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedAlternative {
    /// The alternative.
    pub alternative: Alternative,
    /// Its estimate.
    pub estimate: AlternativeEstimate,
}

/// A rejected alternative and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejection {
    /// The alternative.
    pub alternative: Alternative,
    /// Its estimate, where it got that far.
    pub estimate: Option<AlternativeEstimate>,
    /// Where it ended; never [`Fate::Chosen`].
    pub fate: Fate,
}

/// A source in the plan's eyes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceUse {
    /// Which.
    pub source: SourceName,
    /// Whether the plan reads it.
    pub used: bool,
    /// Why it does or does not.
    pub reason: String,
    /// Fingerprint seen.
    pub fingerprint: String,
    /// Generation seen.
    pub generation: u64,
    /// Passages it holds, for coverage.
    pub passages: u64,
}

/// A complete assignment in brief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletePlan {
    /// One alternative per stage.
    pub alternatives: Vec<crate::AlternativeId>,
    /// In words: operators in pipeline order.
    pub shape: String,
    /// Its score.
    pub score: Score,
    /// Expected accuracy.
    pub accuracy: Ppm,
    /// Expected cost.
    pub cost: crate::NanoUsd,
    /// Median latency.
    pub latency: crate::Micros,
}

/// Distance to the runner-up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Margin {
    /// The best plan of another shape.
    pub runner_up: String,
    /// Winner's score minus its.
    pub difference: Score,
    /// Single changes of a weight, a price or an estimate that would make another shape win, smallest first, in words; empty
    /// when none within a factor of ten does, and in plans that were made to be executed: EXPLAIN looks for them.
    pub flips: Vec<String>,
}

/// How the search ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// Score of the winner.
    pub value: Score,
    /// Upper bound on any feasible plan's score.
    pub bound: Score,
    /// Nodes (labels) expanded.
    pub nodes: u64,
    /// The limit that stopped the search; `None` when it finished.
    pub stopped_by: Option<String>,
    /// What the search held in memory.
    #[serde(default)]
    pub memory: SearchMemory,
}

/// What the search held at its peak, counted (number × size of the type), so that it is the same for the same inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchMemory {
    /// Labels held at once.
    pub labels: u64,
    /// Bytes they take.
    pub label_bytes: u64,
    /// Complete plans held at once.
    pub plans: u64,
    /// Bytes they take.
    pub plan_bytes: u64,
}

/// Something a plan depends on, with its version. Versions are compared for equality only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Stamp {
    /// `source docs`, `model local`, `policy`, `statistics bm25/docs`, …
    pub object: String,
    /// Its version: a hash or a number.
    pub version: String,
}

/// What good plans for goals of one kind are made of: a search among these parts is a small one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// What those plans chose behind retrieval, by stage.
    pub parts: BTreeSet<(Stage, Operator)>,
    /// What they depend on, in its versions of now.
    pub stamps: Vec<Stamp>,
}

impl Known {
    /// Whether a search among the parts looks at this alternative. Every way of reading the sources is looked at.
    pub fn holds(&self, alternative: &Alternative) -> bool {
        matches!(alternative.stage, Stage::Access(_))
            || self.parts.iter().any(|(s, o)| (s, o) == (&alternative.stage, &alternative.operator))
    }

    /// Whether they leave a choice: two parts of one stage.
    pub fn chooses(&self) -> bool {
        self.parts.iter().zip(self.parts.iter().skip(1)).any(|((a, _), (b, _))| a == b)
    }

    /// Takes a plan's choices in.
    pub fn add(&mut self, plan: &Plan) {
        let chosen = plan.chosen.iter().map(|chosen| &chosen.alternative).filter(|a| !matches!(a.stage, Stage::Access(_)));
        self.parts.extend(chosen.map(|a| (a.stage.clone(), a.operator.clone())));
    }
}

/// No plan meets the hard constraints. An answer, not an accident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("no plan meets the constraints: {binding}; {missed_by}")]
pub struct Infeasible {
    /// The binding constraint.
    pub binding: String,
    /// By how much the best plan misses it.
    pub missed_by: String,
    /// Constraints that cannot hold together, while without any one of them the others can: an irreducible set. Empty when what forbids every plan is no constraint of the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflict: Vec<String>,
    /// Per constraint: what alone would suffice, cheapest first.
    pub relaxations: Vec<Relaxation>,
    /// The smallest set of constraints that must move together when no single one suffices; empty otherwise.
    pub joint: Vec<Relaxation>,
    /// Every alternative and where it ended.
    pub rejected: Vec<Rejection>,
    /// Sources considered.
    pub sources: Vec<SourceUse>,
    /// The analysed goal.
    pub intent: Box<Intent>,
    /// What the search held in memory.
    #[serde(default)]
    pub memory: SearchMemory,
}

/// One constraint and the amount that would make the goal feasible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relaxation {
    /// Its name in the configuration.
    pub constraint: String,
    /// Its present value.
    pub now: String,
    /// The value that would suffice; `None`: not alone.
    pub suffices: Option<String>,
}
