//! When a source holds the goal's identifier literally, a purely dense order may not decide: embeddings blur identifiers.
//! The first of the five classic rules (exact identifier → text index).

use crate::View;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path: AccessPath::Dense, .. }) = (&alternative.stage, &alternative.operator) else {
        return None;
    };
    let hit = view.probed(source)?.identifiers.iter().find(|i| i.passages > 0)?;
    Some(format!("`{}` stands literally in {} passage(s) of `{source}`", hit.identifier, hit.passages))
}
