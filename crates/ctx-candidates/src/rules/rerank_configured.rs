//! `retrieval.reranker` names the one reranker that may be planned, or `none`. Without it the planner weighs them all.

use crate::View;
use ctx_types::{Alternative, Operator};

pub(super) fn prune(view: &View<'_>, alternative: &Alternative) -> Option<String> {
    let Operator::Rerank { reranker } = &alternative.operator else { return None };
    let configured = view.settings.reranker.as_ref()?;
    (configured != reranker).then(|| format!("retrieval.reranker is {configured}"))
}
