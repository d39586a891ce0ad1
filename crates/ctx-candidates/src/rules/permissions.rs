//! A source is read only for principals whose roles allow it. Exact, and never offered as a relaxation.

use crate::View;
use ctx_types::{Alternative, Operator, Stage};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Stage::Access(source) = &alternative.stage else { return None };
    if alternative.operator == Operator::Skip {
        return None;
    }
    let entry = view.source(source)?;
    (!view.may_read(entry)).then(|| format!("the principal has none of the roles that may read `{source}`"))
}
