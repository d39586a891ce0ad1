//! Within a run, what was read is read: the rest is planned around it. Quotas stay open, they cost no second retrieval.

use crate::View;
use ctx_types::{Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path, k, .. }) = (&alternative.stage, &alternative.operator) else { return None };
    if view.probe.read.is_empty() {
        return None;
    }
    match view.probe.read.get(source) {
        Some(list) if (list.path, list.k) == (*path, *k) => None,
        Some(list) => Some(format!("the run has read source `{source}` by {} k={}", list.path, list.k)),
        None => Some(format!("the run has not read source `{source}`")),
    }
}
