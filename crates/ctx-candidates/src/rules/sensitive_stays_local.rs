//! Sensitive data goes only to models that accept its label. The tightest label of goal and permitted sources decides.

use crate::View;
use ctx_types::catalog::Locality;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Answer { model: Some(model), .. } = &alternative.operator else { return None };
    let entry = view.catalog.models.get(model)?;
    let (label, who) = view.sensitivity();
    let place = match entry.locality {
        Locality::Local => "local",
        Locality::Remote => "remote",
    };
    (label > entry.accepts).then(|| format!("model {model} is {place} and accepts {}; {who}", entry.accepts))
}
