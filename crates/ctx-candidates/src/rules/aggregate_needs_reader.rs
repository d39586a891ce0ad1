//! Quoting sentences cannot count, add up or compare: extractive answers are not offered for such goals.

use crate::View;
use ctx_types::intent::AnswerShape;
use ctx_types::{Alternative, Operator, Ppm, Strategy};

/// From this probability on the goal is taken to need more than quoting: the point where a wrong answer becomes likelier
/// than a right one.
const THRESHOLD: Ppm = Ppm(500_000);

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { strategy: Strategy::Extractive, .. } = &alternative.operator else { return None };
    let aggregate = view.intent.answer.of(AnswerShape::Aggregate);
    let comparison = view.intent.answer.of(AnswerShape::Comparison);
    let both = aggregate + comparison;
    (both > THRESHOLD).then(|| {
        let verb = if aggregate >= comparison { "aggregate" } else { "compare" };
        format!("extractive cannot {verb} (P = {both}); add a model, or ask for the passages")
    })
}
