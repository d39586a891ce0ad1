//! Second looks: reordering the merged list, shortening the packed passages. Neither adds a passage, neither is trusted to: what
//! a plugin returns is checked against what it was given.
//!
//! A reranking model sees passages, so it is held to what models are held to: policy, labels, values found in the text, the ledger.

use super::lists::Merged;
use super::models::failed;
use super::node::{Done, Inputs, Packed};
use super::{Context, Value};
use crate::ledger::book::Intent;
use crate::ledger::{Actual, Bound, Refusal, Reservation, Tag, incomplete};
use ctx_contracts::{CompressRequest, ContextPassage, ErrorKind, PluginError, RerankRequest};
use ctx_cost::model::UNKNOWN_FAMILY_MOST;
use ctx_graph::Node;
use ctx_types::catalog::{Locality, RerankerEntry};
use ctx_types::estimate::TokenClasses;
use ctx_types::trace::{CallEnd, NodeActual};
use ctx_types::{Hit, NanoUsd, PicoUsd, Ppm, Sensitivity, Tokens};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Family whose counts stand in passages.
const COUNTED_IN: &str = "o200k";

/// Place of a passage in the merged lists.
type Place = (usize, usize);

/// The top of the list in the reranker's order. Literal identifier hits stay first, and the calibrated probabilities are dealt
/// out along the new order, so that packing prefers what reranking prefers on the scale that evidence is measured in. A
/// reranker that breaks costs its gain, not the run.
pub(super) async fn reranked(context: &Context, node: &Node, name: &str, merged: Arc<Merged>) -> Result<Done, PluginError> {
    let reranker = context.inner.parts.reranker(name)?;
    let entry = reranker.describe();
    permitted(context, &entry)?;
    let depth = usize::try_from(entry.depth).unwrap_or(usize::MAX).min(merged.order.len());
    let (shown, mut notes) = shown(context, &entry, &merged, depth).await;
    let hits: Vec<Hit> = shown.iter().enumerate().map(|(rank, at)| hit(&merged, *at, rank)).collect();
    let request = RerankRequest { query: &context.prepared.goal.text, language: language(context), hits };
    let mut actual = NodeActual { hits: u32::try_from(merged.order.len()).ok(), ..NodeActual::default() };
    let stands = |notes: Vec<String>, actual: NodeActual| Done { notes, ..Done::passed(Value::Lists(merged.clone()), actual) };
    let call = match Call::open(context, &entry, &request).await {
        Ok(call) => call,
        Err(refusal) => {
            notes.push(format!("reranking was left out, the order of retrieval stands: {refusal}"));
            return Ok(stands(notes, actual));
        }
    };
    let found = reranker.rerank(request).await;
    if let Some(call) = call {
        actual.model = Some(name.to_owned());
        (actual.tokens, actual.cost) = call.close(found.as_ref().err(), entry.price).await;
    }
    let order = match found {
        Ok(found) => {
            actual.bytes = found.metrics.bytes;
            new_order(&merged, &shown, &found.value)
                .ok_or_else(|| format!("reranker {name} did not return the passages it was given; the order of retrieval stands"))
        }
        Err(error) => Err(format!("reranking failed and the order of retrieval stands: {error}")),
    };
    match order {
        Ok(order) => {
            let gain = node.estimate.quality.as_ref().map_or(Ppm(0), |share| share.value);
            let merged = Arc::new(Merged { gain, ..dealt(&merged, order) });
            Ok(Done { notes, ..Done::passed(Value::Lists(merged), actual) })
        }
        Err(note) => {
            notes.push(note);
            Ok(stands(notes, actual))
        }
    }
}

fn language(context: &Context) -> &str {
    context.prepared.planned().map_or("und", |planned| planned.plan.intent.language.as_str())
}

/// What a plan would not have chosen is not called either, whoever asks.
fn permitted(context: &Context, entry: &RerankerEntry) -> Result<(), PluginError> {
    let refused = |cause: String| Err(PluginError::new(ErrorKind::Refused, format!("reranking by {}", entry.name), cause));
    let denials = &context.prepared.denials;
    let denied = denials.iter().find(|d| d.source.is_none() && d.model.as_ref().is_some_and(|model| model.as_str() == entry.name));
    if let Some(denial) = denied {
        return refused(format!("policy {}: {}", denial.rule, denial.reason));
    }
    if entry.accepts < context.sensitivity {
        return refused(format!("it accepts up to {}, the run is {}", entry.accepts, context.sensitivity));
    }
    Ok(())
}

/// Places of the passages that the reranker may see, in the order of retrieval. Values found in retrieved text raise its label;
/// what a remote reranker may not see keeps its place. Fails closed.
async fn shown(context: &Context, entry: &RerankerEntry, merged: &Merged, depth: usize) -> (Vec<Place>, Vec<String>) {
    let top = &merged.order[..depth];
    if entry.accepts >= Sensitivity::Restricted && entry.locality == Locality::Local {
        return (top.to_vec(), Vec::new());
    }
    let mut shown = Vec::with_capacity(top.len());
    for at in top {
        let label = match context.inner.parts.policy.scan(&merged.lists[at.0].items[at.1].passage.text).await {
            Ok(spans) => spans.iter().map(|span| span.raises_to).max().unwrap_or(Sensitivity::Public),
            Err(_) => Sensitivity::Restricted,
        };
        if label <= entry.accepts {
            shown.push(*at);
        }
    }
    let notes = match top.len() - shown.len() {
        0 => Vec::new(),
        withheld => vec![format!("{withheld} passages hold values that reranker {} may not see and kept their place", entry.name)],
    };
    (shown, notes)
}

/// A model call that was reserved and written down before it is made. What runs in this process costs nothing and has none.
struct Call {
    reservation: Reservation,
    intent: Intent,
    tag: Tag,
    bound: Bound,
}

impl Call {
    async fn open(context: &Context, entry: &RerankerEntry, request: &RerankRequest<'_>) -> Result<Option<Call>, PluginError> {
        if entry.calls == 0 || request.hits.is_empty() {
            return Ok(None);
        }
        let tokens = tokens_read(context, request);
        let bound = Bound { cost: entry.price.unwrap_or(PicoUsd(0)).times(tokens).ceil_nano(), tokens };
        let tag = Tag { purpose: "rerank", model: entry.name.clone(), unpriced: entry.price.is_none() };
        let refused = |refusal: Refusal| PluginError::new(refusal.kind(), format!("reranking by {}", entry.name), refusal.to_string());
        let mut reservation = context.ledger.reserve(tag.clone(), bound).await.map_err(refused)?;
        let intent = context.book.intend(&tag, bound).await?;
        reservation.made();
        Ok(Some(Call { reservation, intent, tag, bound }))
    }

    /// The wire reports no usage: what was counted is charged, marked estimated. Gives tokens and dollars as far as they are known.
    async fn close(self, error: Option<&PluginError>, price: Option<PicoUsd>) -> (Option<Tokens>, Option<NanoUsd>) {
        let Call { reservation, intent, tag, bound } = self;
        let bill = |usage: &TokenClasses| price.unwrap_or(PicoUsd(0)).times(usage.total()).half_even_nano();
        let actual = match error {
            None => Actual::at_bound(bound, CallEnd::Answered),
            Some(error) => failed(error, bound, bill),
        };
        reservation.settle(actual);
        intent.settle(&actual).await;
        let counted = error.is_none() || !actual.estimated;
        let priced = counted && !tag.unpriced || !incomplete(tag.unpriced, actual.estimated, bound.cost);
        (counted.then(|| actual.tokens.total()), priced.then_some(actual.cost))
    }
}

/// Tokens of an unknown family that the request holds at most: every passage is read with the question.
fn tokens_read(context: &Context, request: &RerankRequest<'_>) -> Tokens {
    let goal = context.inner.parts.counters.get(COUNTED_IN).map_or(request.query.len() as u64, |c| u64::from(c.count(request.query)));
    let counted: u64 = request.hits.iter().map(|hit| u64::from(hit.passage.tokens) + goal).sum();
    Tokens((counted as f64 * UNKNOWN_FAMILY_MOST).ceil() as u64)
}

fn hit(merged: &Merged, (list, item): Place, rank: usize) -> Hit {
    let ranked = &merged.lists[list].items[item];
    Hit {
        passage: ranked.passage.clone(),
        score: ranked.relevance.share(),
        rank: u32::try_from(rank + 1).unwrap_or(u32::MAX),
        path: merged.lists[list].path,
        exact: ranked.exact,
    }
}

/// The merged order with the shown passages in their new order, at the places that they had before; `None` where the reranker
/// added, dropped or repeated a passage.
fn new_order(merged: &Merged, shown: &[Place], hits: &[Hit]) -> Option<Vec<Place>> {
    let key = |at: &Place| (merged.lists[at.0].source.clone(), merged.lists[at.0].items[at.1].passage.id.clone());
    let mut given: BTreeMap<_, Place> = shown.iter().map(|at| (key(at), *at)).collect();
    let mut sorted = Vec::with_capacity(shown.len());
    for hit in hits {
        sorted.push(given.remove(&(hit.passage.locator.source.clone(), hit.passage.id.clone()))?);
    }
    if !given.is_empty() {
        return None;
    }
    let mut next = sorted.into_iter();
    let mut order: Vec<Place> = merged.order.iter().map(|at| if shown.contains(at) { next.next().unwrap_or(*at) } else { *at }).collect();
    order.sort_by_key(|at| !merged.lists[at.0].items[at.1].exact);
    Some(order)
}

fn dealt(merged: &Merged, order: Vec<Place>) -> Merged {
    let mut scale: Vec<Ppm> = order.iter().map(|at| merged.lists[at.0].items[at.1].relevance).collect();
    scale.sort_unstable_by(|a, b| b.cmp(a));
    let mut lists = merged.lists.clone();
    for (at, relevance) in order.iter().zip(scale) {
        lists[at.0].items[at.1].relevance = relevance;
    }
    Merged { lists, order, gain: Ppm(0) }
}

/// Every packed passage in its shorter form, with a receipt where something was left out.
pub(super) async fn compressed(context: &Context, node: &Node, name: &str, keep: Ppm, inputs: &Inputs) -> Result<Done, PluginError> {
    let packed = inputs.packed.clone().unwrap_or_default();
    let compressor = context.inner.parts.compressor(name)?;
    let counter = context.inner.parts.counters.get(COUNTED_IN);
    let (mut passages, mut receipts) = (Vec::with_capacity(packed.passages.len()), Vec::new());
    for given in &packed.passages {
        let budget = Tokens((f64::from(given.passage.tokens) * keep.share()).ceil() as u64);
        let request = CompressRequest { goal: &context.prepared.goal.text, language: language(context), passage: &given.passage, budget };
        let short = compressor.compress(request).await?;
        if short.receipt.omitted.is_empty() {
            passages.push(given.clone());
            continue;
        }
        let counted = counter.map(|c| c.count(&short.text)).unwrap_or(u32::try_from(short.receipt.tokens_after.get()).unwrap_or(u32::MAX));
        let mut receipt = short.receipt;
        receipt.by = format!("{name} keep={:.2}", keep.share());
        receipt.tokens_after = Tokens(u64::from(counted));
        receipts.push(receipt);
        let passage = ctx_types::Passage { text: short.text, tokens: counted, ..given.passage.clone() };
        passages.push(ContextPassage { passage, ..given.clone() });
    }
    let survives = node.estimate.quality.as_ref().filter(|_| !receipts.is_empty()).map_or(1.0, |s| s.value.share());
    let evidence = Ppm::from_share(packed.evidence.share() * survives);
    let tokens = passages.iter().map(|p| Tokens(u64::from(p.passage.tokens))).sum();
    let actual = NodeActual {
        hits: u32::try_from(passages.len()).ok(),
        tokens: Some(tokens),
        evidence: Some(evidence),
        receipts,
        ..NodeActual::default()
    };
    let shorter = Packed { passages, evidence, too_long: packed.too_long };
    Ok(Done::passed(Value::Context(Arc::new(shorter)), actual))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::super::lists::{Leg, lone, merge};
    use super::*;
    use ctx_graph::{LegPath, NodeId};
    use ctx_types::{FuseMethod, SourceName};

    fn merged(names: &[(&str, bool)]) -> Merged {
        let source = SourceName::new("docs").expect("name");
        let ranked = names.iter().zip(1u32..).map(|(&(name, exact), rank)| Hit {
            rank,
            exact,
            ..fixture::hit(name, 0, name, 10.0 - f64::from(rank))
        });
        let hits = ranked.collect();
        let leg = Leg { node: NodeId::new("a"), source, path: LegPath::Bm25, quota: Tokens(1000), hits, ceiling: 10.0, coverage: 1.0 };
        merge(vec![lone(&leg)], FuseMethod::CalibratedScore)
    }

    fn ids(m: &Merged) -> Vec<&str> {
        m.order.iter().map(|at| m.lists[at.0].items[at.1].passage.id.as_str()).collect()
    }

    #[test]
    fn a_new_order_keeps_the_scale_and_the_exact_hits_first() {
        let list = merged(&[("x", true), ("a", false), ("b", false), ("c", false)]);
        let mut hits: Vec<Hit> = (0..3).map(|r| hit(&list, list.order[r], r)).collect();
        hits.reverse();
        let order = new_order(&list, &list.order[..3], &hits).expect("the same passages");
        let before: Vec<Ppm> = list.order.iter().map(|at| list.lists[at.0].items[at.1].relevance).collect();
        let new = dealt(&list, order);
        assert_eq!(ids(&new), ["x", "b", "a", "c"]);
        let after: Vec<Ppm> = new.order.iter().map(|at| new.lists[at.0].items[at.1].relevance).collect();
        let mut sorted = before;
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(after, sorted);
    }

    #[test]
    fn added_dropped_and_repeated_passages_are_refused() {
        let list = merged(&[("a", false), ("b", false), ("c", false)]);
        let hits: Vec<Hit> = (0..3).map(|r| hit(&list, list.order[r], r)).collect();
        assert!(new_order(&list, &list.order[..3], &hits[..2]).is_none(), "dropped");
        assert!(new_order(&list, &list.order[..3], &[hits[0].clone(), hits[0].clone(), hits[1].clone()]).is_none(), "repeated");
        assert!(new_order(&list, &list.order[..2], &hits).is_none(), "added");
    }

    #[test]
    fn what_was_not_shown_keeps_its_place() {
        let list = merged(&[("a", false), ("b", false), ("c", false)]);
        let shown = [list.order[0], list.order[2]];
        let hits = vec![hit(&list, shown[1], 0), hit(&list, shown[0], 1)];
        let new = dealt(&list, new_order(&list, &shown, &hits).expect("the same passages"));
        assert_eq!(ids(&new), ["c", "b", "a"]);
    }
}
