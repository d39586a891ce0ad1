//! Under a cost limit an unknown price cannot be bounded, so the model cannot be planned.

use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { model: Some(model), .. } = &alternative.operator else { return None };
    view.limits.max_cost?;
    let prices = &view.catalog.models.get(model)?.prices;
    (prices.input.is_none() || prices.output.is_none())
        .then(|| format!("the price of model {model} is unknown and max_cost_usd is set; give the tier a `price:`"))
}
