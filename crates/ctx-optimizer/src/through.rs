//! The best complete plan through every item: the labels of the groups before it and after it, joined, beside the item.

use crate::evaluate::{Evaluator, Ideal};
use crate::labels::{Label, Labels};
use crate::problem::{Item, Totals};
use crate::score::{Shares, Value};
use crate::search::{Reduced, Through, fewer, ideal_of, note};
use ctx_types::AlternativeId;
use std::collections::BTreeMap;

/// Labels over all groups but one.
pub(crate) type Rest = Vec<Label>;

/// Notes the best value through every item that is not dominated, and returns the labels over all other groups, by group.
pub(crate) fn items(
    evaluator: &Evaluator<'_>,
    reduced: &Reduced,
    forward: &Labels,
    promise: &dyn Fn(&Totals) -> i64,
    through: &mut BTreeMap<AlternativeId, Through>,
    nodes: &mut u64,
) -> Vec<Rest> {
    let groups = reduced.items.len();
    let reversed: Vec<&[Item]> = reduced.items.iter().rev().map(Vec::as_slice).collect();
    // The last group's own labels are never needed backwards.
    let backward = Labels::build(&reversed[..groups.saturating_sub(1)], reduced.sense, reduced.limits, promise);
    *nodes += backward.expanded;
    let frames = in_order(evaluator, &reduced.items.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let mut rests = Vec::with_capacity(groups);
    for g in 0..groups {
        let (before, after) = within_reason(forward.of_first(g), backward.of_first(groups - 1 - g));
        let joined = Labels::join(before, after, reduced.sense, reduced.limits, promise);
        *nodes += joined.expanded;
        let rest: Rest = joined.complete().to_vec();
        let ideal = Ideal::of(rest.iter().map(|l| l.totals));
        for item in &reduced.items[g] {
            through_item(evaluator, item, (&rest, &ideal), &frames, through, nodes);
        }
        rests.push(rest);
    }
    rests
}

/// Two lists are joined whole as long as their product stays within reason; beyond it, where many sources are read at once,
/// the first of each, those with most evidence: the values through items are then those of the best plans looked at.
fn within_reason<'a>(before: &'a [Label], after: &'a [Label]) -> (&'a [Label], &'a [Label]) {
    const JOINED_MAX: usize = 250_000;
    const EACH: usize = 500;
    if before.len().saturating_mul(after.len()) <= JOINED_MAX {
        return (before, after);
    }
    (&before[..before.len().min(EACH)], &after[..after.len().min(EACH)])
}

/// Frames in order of what they could come to with any selection, so that most are skipped for every item.
fn in_order(evaluator: &Evaluator<'_>, groups: &[&[Item]]) -> Vec<(Value, usize)> {
    let ideal = ideal_of(groups);
    let mut order: Vec<_> = (0..evaluator.problem.frames.len()).map(|f| (evaluator.optimistic(f, &ideal).0, f)).collect();
    order.sort_by(|a, b| b.cmp(a));
    order
}

/// Selections of the other groups from which it pays to ask first what a frame could come to with all of them.
const WORTH_ASKING: usize = 4;

fn through_item(
    evaluator: &Evaluator<'_>,
    item: &Item,
    (rest, ideal): (&[Label], &Ideal),
    frames: &[(Value, usize)],
    through: &mut BTreeMap<AlternativeId, Through>,
    nodes: &mut u64,
) {
    let own = Totals::default().with(item);
    let joined: Vec<(Totals, Shares)> = rest.iter().map(|l| l.totals.beside(&own)).map(|t| (t, Shares::of(&t))).collect();
    let ideal = ideal.beside(&own);
    let (mut best, mut violations) = (None, None);
    for &(bound, f) in frames {
        if best.is_some_and(|b| bound <= b) {
            break;
        }
        if joined.len() >= WORTH_ASKING && best.is_some_and(|b| evaluator.optimistic(f, &ideal).0 <= b) {
            continue;
        }
        for (totals, shares) in &joined {
            *nodes += 1;
            let evaluated = evaluator.at(f, totals, *shares);
            if evaluated.violations == 0 {
                best = best.max(Some(evaluated.value));
            } else {
                violations = Some(fewer(violations, evaluated.violations));
            }
        }
    }
    note(through, item.id, best, violations);
}
