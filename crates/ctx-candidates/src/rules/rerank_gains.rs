//! A list is looked at again where that was seen to bring something: not where the context holds so much of the list that its
//! order matters no more, not where it brings less than
//! `retrieval.rerank_gain_min`, and not before a computed result, which is no list.

use super::hints::forced;
use crate::{FrameChoice, View};
use ctx_types::{Alternative, Operator, Strategy};

pub(super) fn refuse(view: &View<'_>, alternatives: &[Alternative], frame: &FrameChoice) -> Option<(usize, String)> {
    let Operator::Rerank { reranker } = &alternatives[frame.rerank].operator else { return None };
    if matches!(alternatives[frame.answer].operator, Operator::Answer { strategy: Strategy::Computed, .. }) {
        return Some((frame.rerank, format!("{reranker}: a computed result is no list")));
    }
    if forced(view, &alternatives[frame.rerank]) {
        return None;
    }
    let Operator::Pack { budget, .. } = alternatives[frame.pack].operator else { return None };
    let entry = view.catalog.capabilities.rerankers.iter().find(|entry| entry.name == *reranker)?;
    let Some(gain) = entry.gain_at(budget).filter(|gain| gain.value.get() > 0) else {
        return Some((frame.rerank, format!("{reranker}: no gain is known for a context of {budget} tokens")));
    };
    let least = view.settings.rerank_gain_min?;
    let (brings, asked) = (gain.value, least);
    (brings < asked)
        .then(|| (frame.rerank, format!("{reranker} brings {brings} for {budget} tokens, retrieval.rerank_gain_min is {asked}")))
}
