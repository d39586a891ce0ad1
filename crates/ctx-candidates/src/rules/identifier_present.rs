//! Identifier lookup needs an identifier that the source holds.

use crate::View;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path: AccessPath::Identifier, .. }) = (&alternative.stage, &alternative.operator) else {
        return None;
    };
    if view.intent.identifiers().next().is_none() {
        return Some("the goal names no identifier".to_owned());
    }
    (view.probed(source).is_some() && view.identifier_hits(source) == 0).then(|| format!("no identifier of the goal is in `{source}`"))
}
