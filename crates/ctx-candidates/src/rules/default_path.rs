//! A source without statistics is read by `retrieval.default_strategy`: there is nothing to estimate the others from.

use crate::View;
use ctx_types::catalog::SourceState;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path, .. }) = (&alternative.stage, &alternative.operator) else { return None };
    let default = view.settings.default_path?;
    let blind = view.source(source).is_some_and(|e| e.state == SourceState::NoStatistics && e.access.iter().any(|a| a.path == default));
    let same = *path == default || (default == AccessPath::HybridLinear && *path == AccessPath::HybridRrf);
    (blind && !same).then(|| format!("source `{source}` has no statistics; retrieval.default_strategy is {default}"))
}
