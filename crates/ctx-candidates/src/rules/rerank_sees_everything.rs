//! A reranker reads the passages and the question: like a model, it must accept their label, and under a cost limit its price
//! must be known.

use crate::View;
use ctx_types::catalog::Locality;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Rerank { reranker } = &alternative.operator else { return None };
    let entry = view.catalog.capabilities.rerankers.iter().find(|r| r.name == *reranker)?;
    let (label, who) = view.sensitivity();
    if label > entry.accepts {
        let place = if entry.locality == Locality::Local { "local" } else { "remote" };
        return Some(format!("reranker {reranker} is {place} and accepts {}; {who}", entry.accepts));
    }
    (entry.price.is_none() && view.limits.max_cost.is_some())
        .then(|| format!("the price of reranker {reranker} is unknown and max_cost_usd is set; give it a `price:`"))
}
