//! A source that is empty or cannot be read is skipped, with its state as the reason.

use crate::View;
use ctx_types::catalog::SourceState;
use ctx_types::{Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Stage::Access(source) = &alternative.stage else { return None };
    if alternative.operator == Operator::Skip {
        return None;
    }
    match view.source(source).map(|e| &e.state) {
        Some(SourceState::Empty) => Some(format!("source `{source}` is empty")),
        Some(SourceState::Unavailable { reason }) => Some(format!("source `{source}` is unavailable: {reason}")),
        None => Some(format!("source `{source}` is not in the catalog")),
        Some(SourceState::Ready | SourceState::NoStatistics) => None,
    }
}
