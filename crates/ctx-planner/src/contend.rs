//! Plans close to the best: what an explorer may run in its place, and how sure their scores are.
//!
//! Every contender is a feasible plan of the same search: limits, rules and policy have been asked about it as about the winner.
//! Who draws among them, and how often, is not decided here.

use crate::write::{Context, gist_of};
use crate::{Inputs, PlanError, Planned, Planner, Wanted};
use ctx_optimizer::score;
use ctx_optimizer::search::Candidate;
use ctx_types::{Certainty, ContentId, Estimated, Micros, NanoUsd, Objective, Ppm, Score, Stage, Weights};
use std::collections::BTreeSet;

/// Most contenders, the best plan among them.
pub const CONTENDERS_MAX: usize = 8;
/// Risk from which a goal is none to try things with.
const RISK_MAX: Ppm = Ppm(50_000);
/// Half the width of a 90 % interval in standard deviations.
const HALF_WIDTH: f64 = 1.645;
/// Share of an evidence interval that two plans over the same sources do not have in common: a source that lacks the answer lacks it
/// for every path. A guess, on the low side: what is explored first is answerers.
const EVIDENCE_APART: f64 = 0.1;

/// One plan that might be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// Hash of its shape.
    pub gist: ContentId,
    /// Its shape in words.
    pub shape: String,
    /// Its score.
    pub score: Score,
    /// Standard deviation of that estimate: what a run would teach.
    pub deviation: Score,
    /// Expected accuracy.
    pub accuracy: Ppm,
    /// Expected cost.
    pub cost: NanoUsd,
    /// Median latency.
    pub latency: Micros,
}

impl Planner {
    /// The plan that `pick` takes of the contenders, which are sorted by score and begin with the best plan; each has another shape.
    /// `pick` is asked once. A goal of high risk, and one whose objective is not the score, has no contenders
    /// but the best plan.
    pub fn plan_among(&self, inputs: &Inputs<'_>, pick: &mut dyn FnMut(&[Contender]) -> usize) -> Result<Planned, PlanError> {
        self.plan_in(inputs, Wanted::OneOf(pick))
    }
}

/// The candidate that `pick` takes; the winner where there is no choice, or where it takes none.
pub(crate) fn picked(
    context: &Context<'_>,
    winner: &Candidate,
    pick: &mut dyn FnMut(&[Contender]) -> usize,
) -> Result<Candidate, PlanError> {
    let (candidates, said): (Vec<Candidate>, Vec<Contender>) = contenders(context, winner)?.into_iter().unzip();
    let at = pick(&said);
    Ok(candidates.into_iter().nth(at).unwrap_or_else(|| winner.clone()))
}

/// The candidates that may be run, with what is said of them; the winner first.
fn contenders(context: &Context<'_>, winner: &Candidate) -> Result<Vec<(Candidate, Contender)>, PlanError> {
    let mut out = vec![(winner.clone(), contender(context, winner)?)];
    if context.view.intent.risk > RISK_MAX || context.view.goal.objective != Objective::Weighted {
        return Ok(out);
    }
    let solution = context.solution;
    let mut others: Vec<&Candidate> = solution.best.iter().chain(&solution.runner_up).chain(&solution.frontier).collect();
    others.sort_by_key(|candidate| std::cmp::Reverse(candidate.value));
    let mut shapes: BTreeSet<ContentId> = out.iter().map(|(_, c)| c.gist.clone()).collect();
    for candidate in others {
        let said = contender(context, candidate)?;
        if out.len() < CONTENDERS_MAX && said.score <= out[0].1.score && shapes.insert(said.gist.clone()) {
            out.push((candidate.clone(), said));
        }
    }
    Ok(out)
}

fn contender(context: &Context<'_>, candidate: &Candidate) -> Result<Contender, PlanError> {
    let complete = context.complete(candidate);
    Ok(Contender {
        gist: gist_of(&complete.shape)?,
        deviation: deviation(context, candidate),
        shape: complete.shape,
        score: complete.score,
        accuracy: complete.accuracy,
        cost: complete.cost,
        latency: complete.latency,
    })
}

/// What the score's accuracy and hallucination terms vary with P(right | evidence) and, as far as it is the plan's own, P(evidence).
fn deviation(context: &Context<'_>, candidate: &Candidate) -> Score {
    let frame = &context.assembled.problem.frames[candidate.frame];
    let terms = score::terms(frame, &candidate.totals);
    let weights: &Weights = &context.view.goal.weights;
    let per_right = weights.acc as f64 + weights.hall as f64 * (1.0 - frame.catches.share());
    let members = context.members(candidate);
    let estimates = || members.iter().map(|&m| (&context.space.alternatives[m].stage, &context.assembled.estimates[m]));
    let right = estimates().filter(|(stage, _)| **stage == Stage::Answer).find_map(|(_, e)| e.quality.as_ref()).map_or(0.0, of_mean);
    let evidence: f64 = estimates().filter_map(|(_, e)| e.evidence.as_ref()).map(|e| half_width(e) * EVIDENCE_APART / HALF_WIDTH).sum();
    let varies = (terms.evidence * right).hypot(frame.right_with.share() * evidence);
    Score((per_right * varies).round() as i64)
}

fn half_width(e: &Estimated<Ppm>) -> f64 {
    (e.high.share() - e.low.share()).max(0.0) / 2.0
}

/// Standard deviation of the mean: of a prior, what its interval says; of a share seen n times, what n outcomes leave open.
fn of_mean(e: &Estimated<Ppm>) -> f64 {
    let prior = half_width(e) / HALF_WIDTH;
    match e.certainty {
        Certainty::Measured { n } if n > 0 => {
            let p = e.value.share().clamp(0.01, 0.99);
            prior.min((p * (1.0 - p) / f64::from(n)).sqrt())
        }
        Certainty::Configured => 0.0,
        _ => prior,
    }
}
