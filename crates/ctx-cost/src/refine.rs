//! What second looks cost and bring: reordering the list, shortening the passages. What they bring was measured by whoever ships
//! them and stands in the catalog; here it is put on the plan's scale.

use crate::model::{CostInputs, UNKNOWN_FAMILY_MOST, mean_passage, step_key};
use ctx_types::catalog::{CompressionRatio, RerankerEntry};
use ctx_types::estimate::AlternativeEstimate;
use ctx_types::{Alternative, Certainty, Estimated, Micros, NanoUsd, Operator, PicoUsd, Ppm, Tokens};

/// Reordering a list for a context of so many tokens.
pub(crate) fn rerank(inputs: &CostInputs<'_>, alternative: &Alternative, context: Tokens) -> AlternativeEstimate {
    let Some(entry) = reranker(inputs, &alternative.operator) else { return AlternativeEstimate::default() };
    AlternativeEstimate {
        cost: Some(rerank_cost(inputs, entry)),
        latency: Some(inputs.statistics.corrected(&step_key(inputs, alternative), entry.latency.clone())),
        quality: entry.gain_at(context).cloned(),
        ..AlternativeEstimate::default()
    }
}

/// The catalog's entry of a reranker.
pub fn reranker<'a>(inputs: &CostInputs<'a>, operator: &Operator) -> Option<&'a RerankerEntry> {
    let Operator::Rerank { reranker } = operator else { return None };
    inputs.catalog.capabilities.rerankers.iter().find(|entry| entry.name == *reranker)
}

/// What was measured of a compressor at its setting.
pub fn ratio<'a>(inputs: &CostInputs<'a>, operator: &Operator) -> Option<&'a CompressionRatio> {
    let Operator::Compress { compressor, keep } = operator else { return None };
    let entry = inputs.catalog.capabilities.compressors.iter().find(|entry| entry.name == *compressor)?;
    entry.ratios.iter().find(|ratio| ratio.keep == *keep)
}

/// Tokens that a reranker reads, expected and at most: as many passages as it looks at, of the source with the longest ones, and
/// the question with each of them.
pub fn rerank_tokens(inputs: &CostInputs<'_>, entry: &RerankerEntry) -> (Tokens, Tokens) {
    let sources = || inputs.features.keys().filter_map(|source| inputs.catalog.sources.get(source));
    let mean = sources().map(mean_passage).fold(0.0, f64::max);
    let longest = sources().map(|source| source.passage_tokens[3]).max().unwrap_or(0);
    let goal = inputs.probe.goal_tokens.get() as f64;
    let of = |passage: f64| (passage + goal) * f64::from(entry.depth);
    (Tokens(of(mean).ceil() as u64), Tokens((of(f64::from(longest)) * UNKNOWN_FAMILY_MOST).ceil() as u64))
}

/// The price times the tokens it reads.
fn rerank_cost(inputs: &CostInputs<'_>, entry: &RerankerEntry) -> Estimated<NanoUsd> {
    let (read, most) = rerank_tokens(inputs, entry);
    match entry.price {
        Some(PicoUsd(0)) => Estimated::exact(NanoUsd(0), "local reranker"),
        Some(price) => {
            let (value, high) = (price.times(read).ceil_nano(), price.times(most).ceil_nano());
            Estimated::new(value, NanoUsd(0), high, Certainty::Configured, "price of the reranker × tokens of its list")
        }
        None => Estimated::new(NanoUsd(0), NanoUsd(0), NanoUsd(0), Certainty::Unknown, "reranker without a price"),
    }
}

/// Shortening `context` tokens: its time, what is left, and how likely the evidence is still there.
pub(crate) fn compress(inputs: &CostInputs<'_>, alternative: &Alternative, context: Tokens) -> AlternativeEstimate {
    let Operator::Compress { compressor, .. } = &alternative.operator else { return AlternativeEstimate::default() };
    let Some(ratio) = ratio(inputs, &alternative.operator) else { return AlternativeEstimate::default() };
    let entry = inputs.catalog.capabilities.compressors.iter().find(|entry| entry.name == *compressor);
    let of = |share: Ppm| Tokens((context.get() as f64 * share.share()).ceil() as u64);
    let sent = &ratio.sent;
    AlternativeEstimate {
        tokens: Some(Estimated::new(of(sent.value), of(sent.low), of(sent.high), sent.certainty, sent.provenance.clone())),
        latency: entry
            .map(|entry| inputs.statistics.corrected(&step_key(inputs, alternative), per_ktoken(&entry.latency_per_ktoken, context))),
        quality: Some(ratio.survives.clone()),
        ..AlternativeEstimate::default()
    }
}

/// A time per 1,000 tokens, for so many.
fn per_ktoken(time: &Estimated<Micros>, tokens: Tokens) -> Estimated<Micros> {
    let of = |t: Micros| Micros(t.get() * tokens.get().max(250) / 1_000);
    Estimated::new(of(time.value), of(time.low), of(time.high), time.certainty, time.provenance.clone())
}
