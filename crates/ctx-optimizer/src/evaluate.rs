//! One complete plan: its value, what it breaks, where it stands among the others.

use crate::constraints::Usage;
use crate::problem::{Problem, Totals};
use crate::score::{self, FrameShares, Shares, Value};
use std::cmp::Reverse;

/// What a complete plan comes to.
pub(crate) struct Evaluated {
    /// Its value.
    pub value: Value,
    /// What it uses of every limit.
    pub usage: Usage,
    /// Broken limits, as bits.
    pub violations: u8,
    /// Accuracy, cost and latency, each the smaller the better.
    pub point: Point,
}

/// Accuracy (negated), cost and latency: each the smaller the better.
pub(crate) type Point = (i64, i64, u64);

fn point(terms: &score::Terms) -> Point {
    (-(terms.accuracy * 1e6).round() as i64, terms.cost.get(), terms.latency.get())
}

/// A problem with what is computed once per frame.
pub(crate) struct Evaluator<'a> {
    pub problem: &'a Problem,
    frames: Vec<FrameShares>,
    /// Frames whose score cannot be bounded by the best coordinates.
    odd: Vec<bool>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(problem: &'a Problem) -> Evaluator<'a> {
        Evaluator {
            problem,
            frames: problem.frames.iter().map(FrameShares::of).collect(),
            odd: problem.frames.iter().map(|f| !score::brevity_helps(f, &problem.weights)).collect(),
        }
    }

    pub(crate) fn terms(&self, frame: usize, totals: &Totals, shares: Shares) -> score::Terms {
        score::terms_at(&self.problem.frames[frame], self.frames[frame], totals, shares)
    }

    pub(crate) fn at(&self, frame: usize, totals: &Totals, shares: Shares) -> Evaluated {
        let terms = self.terms(frame, totals, shares);
        let usage = Usage::of(&self.problem.frames[frame], totals, terms.accuracy);
        Evaluated {
            value: score::value_of(&terms, &self.problem.weights, self.problem.objective),
            violations: usage.violations(&self.problem.limits),
            usage,
            point: point(&terms),
        }
    }

    /// A value and a point that no selection between the two ideals surpasses in this frame: the value is linear in
    /// P(evidence), so one of the ends is best, and monotone in everything else.
    pub(crate) fn optimistic(&self, frame: usize, ideal: &Ideal) -> (Value, Point) {
        let most = self.terms(frame, &ideal.most, ideal.most_shares);
        let least = self.terms(frame, &ideal.least, ideal.least_shares);
        let value = |terms: &score::Terms| score::value_of(terms, &self.problem.weights, self.problem.objective);
        let (high, low) = (value(&most), value(&least));
        let value = Value { primary: high.primary.max(low.primary), score: high.score.max(low.score) };
        if self.odd[frame] {
            // Shares and net values are at most one.
            let w = &self.problem.weights;
            return (Value { score: ctx_types::Score(w.acc.max(0) + w.cache.max(0) + w.vrf.max(0)), ..value }, point(&most));
        }
        (value, point(&most))
    }
}

/// The coordinates nothing can beat: least of everything else, with most and with least evidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ideal {
    most: Totals,
    least: Totals,
    most_shares: Shares,
    least_shares: Shares,
}

impl Ideal {
    /// Of the given selections.
    pub(crate) fn of(totals: impl Iterator<Item = Totals>) -> Ideal {
        let (mut most, mut least): (Option<Totals>, Option<Totals>) = (None, None);
        for t in totals {
            let cheapest = |a: Totals, evidence| Totals {
                evidence,
                loss: a.loss.min(t.loss),
                cost: a.cost.min(t.cost),
                tokens: a.tokens.min(t.tokens),
                quota: a.quota.min(t.quota),
                latency_p50: a.latency_p50.min(t.latency_p50),
                latency_p90: a.latency_p90.min(t.latency_p90),
                reads: a.reads.min(t.reads),
                brings: a.brings & t.brings,
            };
            most = Some(most.map_or(t, |m| cheapest(m, m.evidence.max(t.evidence))));
            // Merging lists costs evidence: the least is what is left of the least when lists are merged.
            least = Some(least.map_or(t, |l| Totals { reads: l.reads.max(t.reads), ..cheapest(l, l.evidence.min(t.evidence)) }));
        }
        Ideal::between(most.unwrap_or_default(), least.unwrap_or_default())
    }

    /// The same beside one more part of a selection.
    pub(crate) fn beside(&self, totals: &Totals) -> Ideal {
        Ideal::between(self.most.beside(totals), self.least.beside(totals))
    }

    /// The same beside another ideal.
    pub(crate) fn joined(&self, other: &Ideal) -> Ideal {
        Ideal::between(self.most.beside(&other.most), self.least.beside(&other.least))
    }

    /// The same with no more evidence than this.
    pub(crate) fn with_evidence(&self, most: ctx_types::MicroNats) -> Ideal {
        Ideal::between(Totals { evidence: self.most.evidence.min(most), ..self.most }, self.least)
    }

    fn between(most: Totals, least: Totals) -> Ideal {
        // Where any of the selections looks, the bound does.
        let looked = least.reads > 0;
        let shares = |totals: &Totals| Shares { looked, ..Shares::of(totals) };
        Ideal { most, least, most_shares: shares(&most), least_shares: shares(&least) }
    }
}

/// Place in the order of complete plans: higher value, then fewer calls, fewer tokens, lowest canonical ordinals.
pub(crate) type Rank = (Value, Reverse<(u32, u64, usize, usize)>);

/// The rank of a plan; `label` is its canonical ordinal within the frame.
pub(crate) fn rank(problem: &Problem, value: Value, frame: usize, totals: &Totals, label: usize) -> Rank {
    (value, Reverse((problem.frames[frame].calls, totals.tokens.get(), frame, label)))
}
