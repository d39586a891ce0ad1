//! What answers and checks do: probabilities of being right, caught, rejected, from the plan's estimates.

use crate::priors::RETRY_DIFFERS;
use crate::spread::{Chance, Share};
use ctx_graph::{ExecutionGraph, NodeOp};
use ctx_types::{Plan, Strategy};

/// Intervals of the plan's probabilities.
#[derive(Clone, Debug)]
pub(crate) struct Outcomes {
    evidence: Share,
    /// P(right | evidence).
    right: Share,
    /// P(right | no evidence).
    right_without: f64,
    /// P(the answerer declines | no evidence).
    declines_without: f64,
    /// P(caught | wrong).
    caught: Share,
    /// P(rejected | right).
    rejected_right: f64,
    /// Times a rejected answer may be produced anew.
    retries: u32,
}

/// One replicate's probabilities.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probabilities {
    pub(crate) evidence: f64,
    pub(crate) right: f64,
    pub(crate) right_without: f64,
    pub(crate) declines_without: f64,
    pub(crate) caught: f64,
    pub(crate) rejected_right: f64,
    retries: u32,
}

impl Outcomes {
    /// What the plan states about answerer and verifier. How often right answers are rejected, and how often an answer is
    /// right without evidence, stand in no node's estimate: they follow from the plan's totals, because
    /// hallucination = P(wrong) × (1 − caught), verification = P(wrong) × caught − P(right and rejected), and
    /// accuracy = P(right) − P(right and rejected) for a strategy that does not decline.
    pub(crate) fn of(plan: &Plan, graph: &ExecutionGraph) -> Outcomes {
        let answer = graph.answer();
        let verify = graph.nodes.iter().find(|n| matches!(n.op, NodeOp::Verify { .. }));
        let extractive = matches!(answer.map(|n| &n.op), Some(NodeOp::Answer { strategy: Strategy::Extractive, .. }));
        let evidence = Share::of(Some(&plan.estimate.evidence));
        let right = Share::of(answer.and_then(|n| n.estimate.quality.as_ref()));
        let caught = verify.map_or(Share::exactly(0.0), |n| Share::of(n.estimate.quality.as_ref()));
        let lost = right_and_rejected(plan, caught.point);
        let produced = plan.estimate.accuracy.value.share() + lost;
        let without = (produced - evidence.point * right.point) / (1.0 - evidence.point).max(1e-6);
        Outcomes {
            right_without: if extractive { 0.0 } else { without.clamp(0.0, right.point) },
            declines_without: if extractive { 1.0 } else { 0.0 },
            rejected_right: if verify.is_some() && produced > 0.0 { (lost / produced).clamp(0.0, 0.5) } else { 0.0 },
            retries: graph.nodes.iter().map(|n| if let NodeOp::Loop { max_iterations, .. } = n.op { max_iterations } else { 0 }).sum(),
            evidence,
            right,
            caught,
        }
    }

    /// Probabilities of one replicate.
    pub(crate) fn draw(&self, chance: &mut Chance) -> Probabilities {
        Probabilities {
            evidence: self.evidence.at(chance.normal()),
            right: self.right.at(chance.normal()),
            right_without: self.right_without,
            declines_without: self.declines_without,
            caught: self.caught.at(chance.normal()),
            rejected_right: self.rejected_right,
            retries: self.retries,
        }
    }
}

fn right_and_rejected(plan: &Plan, caught: f64) -> f64 {
    let missed = (1.0 - caught).max(1e-3);
    let wrong = (plan.estimate.hallucination.share() / missed).min(1.0);
    (wrong * caught - plan.estimate.verification as f64 / 1e6).clamp(0.0, 1.0)
}

impl Probabilities {
    /// P(a right answer is given), retries included. Whether the evidence is there stays the same from one answer to the next.
    pub(crate) fn right_given(&self) -> f64 {
        let with = self.right_given_when(self.right, 0.0);
        let without = self.right_given_when(self.right_without, self.declines_without);
        (self.evidence * with + (1.0 - self.evidence) * without).clamp(0.0, 1.0)
    }

    fn right_given_when(&self, right_if_answered: f64, declines: f64) -> f64 {
        let right = (1.0 - declines) * right_if_answered;
        let wrong = (1.0 - declines) * (1.0 - right_if_answered);
        let passes = right * (1.0 - self.rejected_right);
        let rejects = right * self.rejected_right + wrong * self.caught;
        let (mut given, mut rejected) = (passes, rejects);
        for _ in 0..self.retries {
            given += rejected * RETRY_DIFFERS * passes;
            rejected *= 1.0 - RETRY_DIFFERS * (1.0 - rejects);
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: Probabilities = Probabilities {
        evidence: 0.8,
        right: 0.75,
        right_without: 0.0,
        declines_without: 1.0,
        caught: 0.5,
        rejected_right: 0.1,
        retries: 0,
    };

    #[test]
    fn without_retries_it_is_the_product() {
        assert!((EVEN.right_given() - 0.8 * 0.75 * 0.9).abs() < 1e-12);
    }

    #[test]
    fn retries_help_and_stay_a_probability() {
        let mut last = EVEN.right_given();
        for retries in 1..=16 {
            let now = Probabilities { retries, ..EVEN }.right_given();
            assert!(now > last && now < 1.0, "{retries}: {now} after {last}");
            last = now;
        }
    }
}
