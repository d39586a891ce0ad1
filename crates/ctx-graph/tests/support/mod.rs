//! Plans for tests of lowering, scheduling and simulation: small, complete, adjustable. Not a planner's output.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test binary uses a part")]

use ctx_types::estimate::{PlanEstimate, ScoreBreakdown, TokenClasses};
use ctx_types::intent::{AnswerShape, Distribution, Entity, EntityKind, EvidenceShape};
use ctx_types::plan::{Certificate, PLAN_SCHEMA_VERSION, PlannedAlternative};
use ctx_types::*;

pub fn estimated<T: Copy + Ord>(low: T, value: T, high: T) -> Estimated<T> {
    Estimated::new(value, low, high, Certainty::Measured { n: 40 }, "test")
}

pub fn source(name: &str) -> SourceName {
    SourceName::new(name).expect("a plain name")
}

pub fn reading(latency: u64, evidence: u32) -> AlternativeEstimate {
    AlternativeEstimate {
        hits: Some(estimated(10, 30, 50)),
        latency: Some(estimated(Micros(latency / 2), Micros(latency), Micros(latency * 2))),
        evidence: Some(estimated(Ppm(evidence / 2), Ppm(evidence), Ppm(evidence))),
        ..AlternativeEstimate::default()
    }
}

pub fn access(path: AccessPath) -> Operator {
    Operator::Access { path, k: 50, quota: Tokens(3000) }
}

/// A plan under construction.
pub struct PlanBuilder {
    pub plan: Plan,
}

impl PlanBuilder {
    /// Pack and extractive answer checked by `answers_question`, no source yet.
    pub fn new(goal: &str) -> PlanBuilder {
        let mut builder = PlanBuilder { plan: empty(goal) };
        builder.choose(Stage::Pack, Operator::Pack { budget: Tokens(4000), layout: Layout::ContextFirst }, latency_only(300));
        builder.choose(
            Stage::Answer,
            Operator::Answer { strategy: Strategy::Extractive, model: None },
            AlternativeEstimate { quality: Some(estimated(Ppm(600_000), Ppm(750_000), Ppm(850_000))), ..latency_only(2_000) },
        );
        builder.choose(
            Stage::Verify,
            Operator::Verify { verifier: "answers_question".into() },
            AlternativeEstimate { quality: Some(estimated(Ppm(400_000), Ppm(500_000), Ppm(600_000))), ..latency_only(500) },
        );
        builder
    }

    pub fn choose(&mut self, stage: Stage, operator: Operator, estimate: AlternativeEstimate) {
        let id = AlternativeId(self.plan.chosen.len() as u32 + self.plan.rejected.len() as u32);
        self.plan.chosen.retain(|c| c.alternative.stage != stage);
        self.plan.chosen.push(PlannedAlternative { alternative: Alternative { id, stage, operator }, estimate });
        self.plan.chosen.sort_by(|a, b| a.alternative.stage.cmp(&b.alternative.stage));
    }

    pub fn reject(&mut self, stage: Stage, operator: Operator, fate: Fate, estimate: Option<AlternativeEstimate>) {
        let id = AlternativeId(self.plan.chosen.len() as u32 + self.plan.rejected.len() as u32);
        self.plan.rejected.push(Rejection { alternative: Alternative { id, stage, operator }, estimate, fate });
    }

    pub fn source(mut self, name: &str, path: AccessPath) -> PlanBuilder {
        self.choose(Stage::Access(source(name)), access(path), reading(2_000, 700_000));
        let reads = self.plan.accesses().count();
        if reads > 1 {
            self.choose(Stage::Fuse, Operator::Fuse { method: FuseMethod::CalibratedScore }, latency_only(50));
        }
        self
    }

    /// A rejected identifier alternative of a source.
    pub fn identifier_alternative(mut self, name: &str, fate: Fate) -> PlanBuilder {
        self.reject(Stage::Access(source(name)), access(AccessPath::Identifier), fate, Some(reading(100, 900_000)));
        self
    }

    pub fn identifier(mut self, text: &str) -> PlanBuilder {
        self.plan.intent.entities.push(Entity {
            kind: EntityKind::Identifier,
            text: text.into(),
            normal: text.to_lowercase(),
            start: 0,
            end: text.len() as u32,
        });
        self
    }

    /// One call of `model`: 1 to 2 s, about 3,000 tokens and a cent.
    pub fn single_shot(mut self, model: &str) -> PlanBuilder {
        let estimate = AlternativeEstimate {
            tokens: Some(estimated(Tokens(2_000), Tokens(3_000), Tokens(4_500))),
            cost: Some(estimated(NanoUsd(6_000_000), NanoUsd(10_000_000), NanoUsd(20_000_000))),
            latency: Some(estimated(Micros(500_000), Micros(1_000_000), Micros(2_000_000))),
            quality: Some(estimated(Ppm(700_000), Ppm(800_000), Ppm(900_000))),
            ..AlternativeEstimate::default()
        };
        let model = ModelName::new(model).expect("a plain name");
        self.choose(Stage::Answer, Operator::Answer { strategy: Strategy::SingleShot, model: Some(model) }, estimate);
        self
    }

    pub fn unverified(mut self) -> PlanBuilder {
        self.choose(Stage::Verify, Operator::NoVerify, AlternativeEstimate::default());
        self
    }

    pub fn limits(mut self, limits: Constraints) -> PlanBuilder {
        self.plan.limits = limits;
        self
    }

    pub fn build(self) -> Plan {
        self.plan
    }
}

pub fn latency_only(median: u64) -> AlternativeEstimate {
    AlternativeEstimate {
        latency: Some(estimated(Micros(median / 2), Micros(median), Micros(median * 2))),
        ..AlternativeEstimate::default()
    }
}

fn empty(goal: &str) -> Plan {
    Plan {
        schema_version: PLAN_SCHEMA_VERSION,
        id: ContentId("plan_00000000000000000000000000000000".into()),
        gist: ContentId("gist_00000000000000000000000000000000".into()),
        parent: None,
        goal: Goal::new(goal),
        limits: Constraints::default(),
        intent: intent(),
        chosen: Vec::new(),
        rejected: Vec::new(),
        sources: Vec::new(),
        estimate: totals(),
        score: ScoreBreakdown::default(),
        margin: None,
        best: Vec::new(),
        frontier: Vec::new(),
        certificate: Certificate { value: Score(0), bound: Score(0), nodes: 0, stopped_by: None, memory: Default::default() },
        candidates: 1,
        stamps: Vec::new(),
        statistics_epoch: "0".into(),
        planner_version: "test".into(),
        seed: 1,
        notes: Vec::new(),
    }
}

fn intent() -> Intent {
    Intent {
        answer: Distribution(vec![(AnswerShape::Lookup, Ppm::ONE)]),
        evidence: Distribution(vec![(EvidenceShape::OnePassage, Ppm::ONE)]),
        sources: Distribution(vec![(SourceKind::Files, Ppm::ONE)]),
        entities: Vec::new(),
        risk: Ppm(0),
        sensitivity: Sensitivity::Internal,
        sensitive_spans: Vec::new(),
        sensitive_topics: Vec::new(),
        time: None,
        language: "en".into(),
        negated: false,
        operands: Vec::new(),
        content_words: 3,
        hardness_milli: 0,
        bucket: Bucket::Unknown,
        model: "test".into(),
    }
}

/// P(evidence) .8 from .7 to .9; accuracy and hallucination agree with an answerer right in three of four cases.
fn totals() -> PlanEstimate {
    PlanEstimate {
        evidence: estimated(Ppm(700_000), Ppm(800_000), Ppm(900_000)),
        accuracy: estimated(Ppm(500_000), Ppm(600_000), Ppm(700_000)),
        hallucination: Ppm(100_000),
        verification: 100_000,
        risk: Ppm(0),
        loss: Ppm(0),
        cache: Ppm(0),
        cost: estimated(NanoUsd(0), NanoUsd(0), NanoUsd(0)),
        cost_incomplete: false,
        cost_bound: NanoUsd(0),
        latency: estimated(Micros(1_000), Micros(5_000), Micros(9_000)),
        tokens: TokenClasses::default(),
        tokens_bound: Tokens(0),
        context_tokens: estimated(Tokens(2_000), Tokens(3_000), Tokens(4_000)),
        calls: 0,
    }
}
