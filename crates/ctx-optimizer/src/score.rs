//! What a complete plan is worth. The score ranks feasible plans and nothing else; it knows no limit.
//!
//! Terms as in the shared definitions; with pe = P(evidence in context), pa = P(some permitted source holds an answer):
//!
//! ```text
//! right = pe·q1 + (pa − pe)·q0
//! wrong = pe·(1 − q1 − h1) + (pa − pe)·(1 − q0 − h0) + (1 − pa)·(1 − h0)
//! acc   = right·(1 − rejects) + (1 − pa)·(h0 + (1 − h0)·catches)
//! hall  = wrong·(1 − catches)          vrf = wrong·catches − right·rejects
//! loss  = 1 − exp(−lost)               cost = c/(c + c₀)          lat = t/(t + t₀)
//! ```

use crate::problem::{DILUTION_FREE_TOKENS, Frame, Totals};
use ctx_types::estimate::ScoreBreakdown;
use ctx_types::{MicroNats, Micros, Objective, PicoUsd, Score, Weights};

/// Value of a complete plan: objective first, weighted score second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// What the objective maximises, in its own unit.
    pub primary: i64,
    /// The weighted score.
    pub score: Score,
}

/// The terms before weighting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Terms {
    /// P(evidence in context).
    pub evidence: f64,
    /// Accuracy.
    pub accuracy: f64,
    /// Wrong and passes.
    pub hallucination: f64,
    /// Caught wrong minus rejected right.
    pub verification: f64,
    /// Share of evidence lost.
    pub loss: f64,
    /// Risk.
    pub risk: f64,
    /// Prefix-cache share.
    pub cache: f64,
    /// Expected cost.
    pub cost: PicoUsd,
    /// Median latency.
    pub latency: Micros,
}

fn probability(nats: MicroNats) -> f64 {
    1.0 - libm::exp(-(nats.get() as f64) / 1e6)
}

/// P(right | evidence) at this context length: diluted, never below what is right without evidence.
pub fn right_with(frame: &Frame, tokens: u64) -> f64 {
    let lengths = tokens as f64 / DILUTION_FREE_TOKENS;
    let doublings = if lengths > 1.0 { libm::log2(lengths) } else { 0.0 };
    (frame.right_with.share() * (1.0 - frame.dilution.share() * doublings)).max(frame.right_without.share())
}

/// What of a plan's terms does not depend on the other half of it: the search computes it once per frame and once per
/// selection instead of once per pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// P(evidence), before lists are merged.
    pub evidence: f64,
    /// Share of evidence lost.
    pub loss: f64,
}

impl Shares {
    /// Of a selection.
    pub fn of(totals: &Totals) -> Shares {
        Shares { evidence: probability(totals.evidence), loss: probability(totals.loss) }
    }
}

/// P(some permitted source holds an answer).
pub fn answerable(frame: &Frame) -> f64 {
    probability(frame.answerable)
}

/// The terms of a complete plan.
pub fn terms(frame: &Frame, totals: &Totals) -> Terms {
    terms_at(frame, answerable(frame), totals, Shares::of(totals))
}

/// The same from what was computed before: [`answerable`] of the frame and [`Shares`] of the selection.
pub fn terms_at(frame: &Frame, answerable: f64, totals: &Totals, shares: Shares) -> Terms {
    let merged = if totals.reads > 1 { frame.fuse_factor.share() } else { 1.0 };
    let evidence = shares.evidence * merged;
    let answerable = answerable.max(evidence);
    let tokens = totals.tokens.get().min(frame.budget.get());
    let q1 = right_with(frame, tokens);
    let (q0, h0) = (frame.right_without.share(), frame.withheld_without.share());
    let h1 = frame.withheld_with.share().min(1.0 - q1);
    let (catches, rejects) = (frame.catches.share(), frame.rejects.share());

    let missed = answerable - evidence;
    let right = evidence * q1 + missed * q0;
    let wrong_without = (1.0 - q0 - h0).max(0.0);
    let wrong = evidence * (1.0 - q1 - h1) + missed * wrong_without + (1.0 - answerable) * (1.0 - h0);
    let rightly_withheld = (1.0 - answerable) * (h0 + (1.0 - h0) * catches);
    Terms {
        evidence,
        accuracy: right * (1.0 - rejects) + rightly_withheld,
        hallucination: wrong * (1.0 - catches),
        verification: wrong * catches - right * rejects,
        loss: shares.loss,
        risk: frame.risk.share(),
        cache: frame.cache.share(),
        cost: frame.fixed_cost + totals.cost + frame.context_price.times(ctx_types::Tokens(tokens)),
        latency: frame.latency_p50 + totals.latency_p50,
    }
}

/// Weighted terms, quantised, adding up to `total`.
pub fn breakdown(terms: &Terms, weights: &Weights) -> ScoreBreakdown {
    let cost = terms.cost.get().max(0) as f64 / 1e3;
    let latency = terms.latency.get() as f64;
    let term = |weight: i64, value: f64| Score((weight as f64 * value).round() as i64);
    let saturating = |x: f64, scale: f64| if x <= 0.0 { 0.0 } else { x / (x + scale.max(1.0)) };
    let mut out = ScoreBreakdown {
        acc: term(weights.acc, terms.accuracy),
        cache: term(weights.cache, terms.cache),
        vrf: term(weights.vrf, terms.verification),
        cost: term(-weights.cost, saturating(cost, weights.cost_scale.get() as f64)),
        lat: term(-weights.lat, saturating(latency, weights.latency_scale.get() as f64)),
        risk: term(-weights.risk, terms.risk),
        hall: term(-weights.hall, terms.hallucination),
        loss: term(-weights.loss, terms.loss),
        total: Score(0),
    };
    out.total = out.acc + out.cache + out.vrf + out.cost + out.lat + out.risk + out.hall + out.loss;
    out
}

/// Value under an objective.
pub fn value(frame: &Frame, totals: &Totals, weights: &Weights, objective: Objective) -> Value {
    value_of(&terms(frame, totals), weights, objective)
}

/// Value of a plan whose terms are known.
pub fn value_of(terms: &Terms, weights: &Weights, objective: Objective) -> Value {
    let score = breakdown(terms, weights).total;
    let primary = match objective {
        Objective::Weighted => 0,
        Objective::MaxAccuracy => (terms.accuracy * 1e6).round() as i64,
        Objective::MinCost => -terms.cost.get(),
        Objective::MinLatency => -(terms.latency.get().min(i64::MAX as u64) as i64),
    };
    Value { primary, score }
}

/// Whether more evidence never lowers the score in this frame, whatever else the selection holds. The score is linear in
/// P(evidence), so its slope decides: it is taken at the most diluted context, where it is smallest.
pub fn evidence_helps(frame: &Frame, weights: &Weights) -> bool {
    let q0 = frame.right_without.share();
    let h0 = frame.withheld_without.share();
    let (c, r) = (frame.catches.share(), frame.rejects.share());
    let slope_at = |q1: f64| {
        let h1 = frame.withheld_with.share().min(1.0 - q1);
        let right = q1 - q0;
        let wrong = (1.0 - q1 - h1) - (1.0 - q0 - h0).max(0.0);
        weights.acc as f64 * right * (1.0 - r) - weights.hall as f64 * wrong * (1.0 - c) + weights.vrf as f64 * (wrong * c - right * r)
    };
    slope_at(right_with(frame, 0)) >= 0.0 && slope_at(right_with(frame, frame.budget.get())) >= 0.0
}
