//! `retrieval.compress_keep_min` is the least share of a context that shortening may keep. Without it the planner weighs every ratio.

use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Compress { keep, .. } = &alternative.operator else { return None };
    let least = view.settings.compress_keep_min?;
    (*keep < least).then(|| format!("keeps {keep}, retrieval.compress_keep_min is {least}"))
}
