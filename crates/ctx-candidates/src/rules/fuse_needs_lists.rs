//! Rank fusion across sources needs at least two lists.

use crate::View;
use ctx_types::{Alternative, FuseMethod, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Fuse { method: FuseMethod::Rrf } = alternative.operator else { return None };
    (view.sources.len() < 2).then(|| "one source gives one list: nothing to fuse by rank".to_owned())
}
