//! A table is queried only where the goal has one reading over it that is likely enough: never a guess.

use crate::View;
use ctx_types::{AccessPath, Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let (Stage::Access(source), Operator::Access { path: AccessPath::Table, .. }) = (&alternative.stage, &alternative.operator) else {
        return None;
    };
    match view.probed(source).and_then(|probe| probe.table.as_ref()) {
        None => Some("the goal was not read against its tables".to_owned()),
        Some(table) => table.refusal.clone(),
    }
}
