//! Dense and hybrid access need vectors.

use crate::View;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path, .. }) = (&alternative.stage, &alternative.operator) else { return None };
    let needs = matches!(path, AccessPath::Dense | AccessPath::HybridLinear | AccessPath::HybridRrf);
    let without = view.source(source).is_some_and(|e| e.embedding.as_ref().is_none_or(|v| v.vectors == 0));
    (needs && without).then(|| format!("{path}: source `{source}` has no embeddings"))
}
