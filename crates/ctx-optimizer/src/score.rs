//! What a complete plan is worth. The score ranks feasible plans and nothing else; it knows no limit.
//!
//! Terms as in the shared definitions; with pe = P(evidence in context), pa = P(some permitted source holds an answer):
//!
//! ```text
//! right = pe·q1 + (pa − pe)·q0
//! wrong = pe·(1 − q1 − h1) + (pa − pe)·(1 − q0 − h0) + (1 − pa)·(1 − h0)
//! acc   = right·(1 − rejects) + looked·(1 − pa)·(h0 + (1 − h0)·catches)
//! hall  = wrong·(1 − catches)          vrf = wrong·catches − right·rejects
//! loss  = 1 − exp(−lost)               cost = c/(c + c₀)          lat = t/(t + t₀)
//! ```
//!
//! `looked` is 1 where a source is read and 0 where none is. To say that no source holds an answer is right only of sources
//! that were asked: otherwise reading nothing would be the most accurate plan wherever an answer is unlikely.

use crate::problem::{DILUTION_FREE_TOKENS, Frame, Totals};
use ctx_types::estimate::ScoreBreakdown;
use ctx_types::{MicroNats, Micros, Objective, PicoUsd, Ppm, Score, Weights};

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

/// Doublings of the context beyond the length that dilutes nothing.
fn doublings(tokens: u64) -> f64 {
    let lengths = tokens as f64 / DILUTION_FREE_TOKENS;
    if lengths > 1.0 { libm::log2(lengths) } else { 0.0 }
}

/// P(right | evidence) at this context length: diluted, never below what is right without evidence.
pub fn right_with(frame: &Frame, tokens: u64) -> f64 {
    diluted(frame, (doublings(tokens) + sent_doublings(frame)).max(0.0))
}

/// What shortening takes off the doublings of a context; not positive.
fn sent_doublings(frame: &Frame) -> f64 {
    if frame.sent >= Ppm::ONE { 0.0 } else { libm::log2(frame.sent.share().max(1e-6)) }
}

fn diluted(frame: &Frame, doublings: f64) -> f64 {
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
    /// Doublings of its context beyond the length that dilutes nothing.
    pub doublings: f64,
    /// Whether it reads any source.
    pub looked: bool,
}

impl Shares {
    /// Of a selection.
    pub fn of(totals: &Totals) -> Shares {
        Shares {
            evidence: probability(totals.evidence),
            loss: probability(totals.loss),
            doublings: doublings(totals.tokens.get()),
            looked: totals.reads > 0,
        }
    }
}

/// What of a plan's terms depends on the frame only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameShares {
    /// P(some permitted source holds an answer).
    pub answerable: f64,
    /// Doublings of a full context.
    pub doublings: f64,
    /// What shortening takes off them.
    pub sent: f64,
}

impl FrameShares {
    /// Of a frame.
    pub fn of(frame: &Frame) -> FrameShares {
        FrameShares { answerable: probability(frame.answerable), doublings: doublings(frame.budget.get()), sent: sent_doublings(frame) }
    }
}

/// What merging, reordering and shortening make of the P(evidence) that was read. Reordering brings forward what lies deeper in
/// the lists, never more than they hold.
struct Refined {
    merged: f64,
    gain: f64,
    survives: f64,
    answerable: f64,
}

impl Refined {
    fn of(frame: &Frame, answerable: f64, reads: u8) -> Refined {
        let merged = if reads > 1 { frame.fuse_factor.share() } else { 1.0 };
        Refined { merged, gain: frame.gain.share(), survives: frame.survives.share(), answerable }
    }

    fn evidence(&self, read: f64) -> f64 {
        let merged = read * self.merged;
        let most = self.answerable.max(merged);
        let reordered = if self.gain > 0.0 { (merged * (1.0 + self.gain)).min(most) } else { merged };
        reordered * self.survives
    }

    /// How much more for more that is read.
    fn slope(&self, read: f64) -> f64 {
        let merged = read * self.merged;
        let reordered = if merged >= self.answerable {
            1.0
        } else if merged * (1.0 + self.gain) >= self.answerable {
            0.0
        } else {
            1.0 + self.gain
        };
        self.merged * reordered * self.survives
    }
}

/// The terms of a complete plan.
pub fn terms(frame: &Frame, totals: &Totals) -> Terms {
    terms_at(frame, FrameShares::of(frame), totals, Shares::of(totals))
}

/// The same from what was computed before.
pub fn terms_at(frame: &Frame, of_frame: FrameShares, totals: &Totals, shares: Shares) -> Terms {
    let evidence = Refined::of(frame, of_frame.answerable, totals.reads).evidence(shares.evidence);
    let answerable = of_frame.answerable.max(evidence);
    let tokens = totals.tokens.get().min(frame.budget.get());
    let q1 = diluted(frame, (shares.doublings.min(of_frame.doublings) + of_frame.sent).max(0.0));
    let (q0, h0) = (frame.right_without.share(), frame.withheld_without.share());
    let h1 = frame.withheld_with.share().min(1.0 - q1);
    let (catches, rejects) = (frame.catches.share(), frame.rejects.share());

    let missed = answerable - evidence;
    let right = evidence * q1 + missed * q0;
    let wrong_without = (1.0 - q0 - h0).max(0.0);
    let wrong = evidence * (1.0 - q1 - h1) + missed * wrong_without + (1.0 - answerable) * (1.0 - h0);
    let rightly_withheld = if shares.looked { (1.0 - answerable) * (h0 + (1.0 - h0) * catches) } else { 0.0 };
    Terms {
        evidence,
        accuracy: right * (1.0 - rejects) + rightly_withheld,
        hallucination: wrong * (1.0 - catches),
        verification: wrong * catches - right * rejects,
        loss: if frame.survives < Ppm::ONE { 1.0 - (1.0 - shares.loss) * frame.survives.share() } else { shares.loss },
        risk: frame.risk.share(),
        cache: frame.cache.share(),
        cost: frame.fixed_cost + totals.cost + frame.context_price.times(ctx_types::Tokens(tokens)),
        latency: frame.latency_p50 + totals.latency_p50 + Micros(frame.latency_per_ktoken.get().saturating_mul(tokens) / 1_000),
    }
}

/// Weighted terms, unrounded, in millionths: acc, cache, vrf, cost, lat, risk, hall, loss. Their sum is the score.
pub fn weighted(terms: &Terms, weights: &Weights) -> [f64; 8] {
    let cost = saturating(terms.cost.get().max(0) as f64 / 1e3, weights.cost_scale.get() as f64);
    let latency = saturating(terms.latency.get() as f64, weights.latency_scale.get() as f64);
    [
        weights.acc as f64 * terms.accuracy,
        weights.cache as f64 * terms.cache,
        weights.vrf as f64 * terms.verification,
        -(weights.cost as f64) * cost,
        -(weights.lat as f64) * latency,
        -(weights.risk as f64) * terms.risk,
        -(weights.hall as f64) * terms.hallucination,
        -(weights.loss as f64) * terms.loss,
    ]
}

/// x/(x + scale), zero for nothing.
pub(crate) fn saturating(x: f64, scale: f64) -> f64 {
    if x <= 0.0 { 0.0 } else { x / (x + scale.max(1.0)) }
}

fn total(parts: &[f64; 8]) -> Score {
    Score(parts.iter().sum::<f64>().round() as i64)
}

/// Weighted terms, quantised. The sum is rounded once, so that it is monotone in every term; what rounding each term on its
/// own leaves over is the accuracy's.
pub fn breakdown(terms: &Terms, weights: &Weights) -> ScoreBreakdown {
    let parts = weighted(terms, weights);
    let [_, cache, vrf, cost, lat, risk, hall, loss] = parts.map(|part| Score(part.round() as i64));
    let total = total(&parts);
    let acc = total - (cache + vrf + cost + lat + risk + hall + loss);
    ScoreBreakdown { acc, cache, vrf, cost, lat, risk, hall, loss, total }
}

/// Value under an objective.
pub fn value(frame: &Frame, totals: &Totals, weights: &Weights, objective: Objective) -> Value {
    value_of(&terms(frame, totals), weights, objective)
}

/// Value of a plan whose terms are known.
pub fn value_of(terms: &Terms, weights: &Weights, objective: Objective) -> Value {
    let score = total(&weighted(terms, weights));
    let primary = match objective {
        Objective::Weighted => 0,
        Objective::MaxAccuracy => (terms.accuracy * 1e6).round() as i64,
        Objective::MinCost => -terms.cost.get(),
        Objective::MinLatency => -(terms.latency.get().min(i64::MAX as u64) as i64),
    };
    Value { primary, score }
}

/// What one unit of P(evidence) adds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EvidenceSlopes {
    /// To the accuracy.
    pub accuracy: f64,
    /// To P(wrong and passes).
    pub hallucination: f64,
    /// To the net value of the check.
    pub verification: f64,
}

impl EvidenceSlopes {
    /// To the score, in millionths.
    pub fn score(&self, weights: &Weights) -> f64 {
        weights.acc as f64 * self.accuracy - weights.hall as f64 * self.hallucination + weights.vrf as f64 * self.verification
    }
}

/// The terms are linear in P(evidence) up to what the sources hold: their slopes, for a selection as it is merged, reordered and
/// shortened in this frame.
pub fn evidence_slopes(frame: &Frame, totals: &Totals) -> EvidenceSlopes {
    let factor = Refined::of(frame, probability(frame.answerable), totals.reads).slope(probability(totals.evidence));
    let q1 = right_with(frame, totals.tokens.get().min(frame.budget.get()));
    let slopes = slopes_at(frame, q1);
    EvidenceSlopes {
        accuracy: slopes.accuracy * factor,
        hallucination: slopes.hallucination * factor,
        verification: slopes.verification * factor,
    }
}

fn slopes_at(frame: &Frame, q1: f64) -> EvidenceSlopes {
    let (q0, h0) = (frame.right_without.share(), frame.withheld_without.share());
    let (c, r) = (frame.catches.share(), frame.rejects.share());
    let h1 = frame.withheld_with.share().min(1.0 - q1);
    let right = q1 - q0;
    let wrong = (1.0 - q1 - h1) - (1.0 - q0 - h0).max(0.0);
    EvidenceSlopes { accuracy: right * (1.0 - r), hallucination: wrong * (1.0 - c), verification: wrong * c - right * r }
}

/// What the score gains per unit of P(evidence), and per unit of P(right | evidence), wherever the search relies on its not
/// being negative: at the least and most diluted context, and where an answer that is not right is always withheld.
pub fn directions(frame: &Frame) -> ([EvidenceSlopes; 3], Option<[EvidenceSlopes; 2]>) {
    let (low, high) = (right_with(frame, frame.budget.get()), right_with(frame, 0));
    let kink = 1.0 - frame.withheld_with.share();
    let evidence = [low, high, kink.clamp(low.min(high), high.max(low))].map(|q1| slopes_at(frame, q1));
    let (c, r) = (frame.catches.share(), frame.rejects.share());
    let quality = |wrong: f64| EvidenceSlopes { accuracy: 1.0 - r, hallucination: wrong * (1.0 - c), verification: wrong * c - r };
    let diluted = (frame.dilution.get() > 0).then(|| [quality(-1.0), quality(0.0)]);
    (evidence, diluted)
}

/// Whether more evidence never lowers the score in this frame, whatever else the selection holds. The score is linear in
/// P(evidence), so its slope decides.
pub fn evidence_helps(frame: &Frame, weights: &Weights) -> bool {
    directions(frame).0.iter().all(|slopes| slopes.score(weights) >= 0.0)
}

/// Whether a shorter context, which dilutes less, never lowers the score. It may where catching wrong answers is worth more
/// than right ones.
pub fn brevity_helps(frame: &Frame, weights: &Weights) -> bool {
    directions(frame).1.iter().flatten().all(|slopes| slopes.score(weights) >= 0.0)
}
