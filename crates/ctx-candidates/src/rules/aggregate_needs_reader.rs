//! Quoting sentences cannot count, add up or compare: extractive answers are not offered for such goals. Where the sources
//! hold tables only, there are no sentences either: such an answer abstains, and says why the tables were not queried.

use crate::View;
use ctx_types::intent::AnswerShape;
use ctx_types::{AccessPath, Alternative, Operator, Ppm, SourceEntry, SourceKind, Strategy};

/// From this probability on the goal is taken to need more than quoting. Below it the estimate decides: P(right) of a quotation
/// is weighted by the probability that one is enough.
const THRESHOLD: Ppm = Ppm(900_000);

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { strategy: Strategy::Extractive, .. } = &alternative.operator else { return None };
    let text = |entry: &SourceEntry| entry.kind != SourceKind::Tables || entry.access.iter().any(|a| a.path != AccessPath::Table);
    if !view.sources.iter().filter_map(|source| view.source(source)).any(text) {
        return None;
    }
    let aggregate = view.intent.answer.of(AnswerShape::Aggregate);
    let comparison = view.intent.answer.of(AnswerShape::Comparison);
    let both = aggregate + comparison;
    (both > THRESHOLD).then(|| {
        let verb = if aggregate >= comparison { "aggregate" } else { "compare" };
        format!("extractive cannot {verb} (P = {both}); add a model, or ask for the passages")
    })
}
