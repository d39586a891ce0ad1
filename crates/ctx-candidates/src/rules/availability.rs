//! A model without key, endpoint or health is not planned: the reason is shown instead of a failed run.

use crate::View;
use ctx_types::catalog::Availability;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { model: Some(model), .. } = &alternative.operator else { return None };
    match &view.catalog.models.get(model)?.availability {
        Availability::Available => None,
        Availability::Unavailable { reason } => Some(format!("model {model} is unavailable: {reason}")),
    }
}
