//! What reordering the list and shortening the passages make of a frame.

use ctx_cost::{CostInputs, refine};
use ctx_types::{Alternative, Operator, PicoUsd, Ppm, Tokens};

/// What shortening leaves: (share of the packed tokens that is sent, P(the evidence is still there)).
pub(crate) fn shortening(cost: &CostInputs<'_>, compress: &Alternative) -> (Ppm, Ppm) {
    refine::ratio(cost, &compress.operator).map_or((Ppm::ONE, Ppm::ONE), |ratio| (ratio.sent.value, ratio.survives.value))
}

/// Growth of P(evidence) by reordering, for a context of so many tokens.
pub(crate) fn gain(cost: &CostInputs<'_>, rerank: &Alternative, budget: Tokens) -> Ppm {
    refine::reranker(cost, &rerank.operator).and_then(|entry| entry.gain_at(budget)).map_or(Ppm(0), |gain| gain.value)
}

/// What reordering adds to a plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reordering {
    pub(crate) cost: PicoUsd,
    pub(crate) bound: PicoUsd,
    /// Most tokens read.
    pub(crate) tokens: Tokens,
    pub(crate) calls: u32,
}

/// Of this reranker; `dear` is what a token of an unknown price is scored at.
pub(crate) fn reordering(cost: &CostInputs<'_>, rerank: &Alternative, dear: PicoUsd) -> Reordering {
    let Some(entry) = refine::reranker(cost, &rerank.operator).filter(|entry| entry.calls > 0) else { return Reordering::default() };
    let (read, most) = refine::rerank_tokens(cost, entry);
    let price = entry.price.unwrap_or(dear);
    Reordering { cost: price.times(read), bound: price.times(most), tokens: most, calls: entry.calls }
}

/// Whether a plan reorders by something whose price nobody knows.
pub(crate) fn price_unknown(cost: &CostInputs<'_>, rerank: &Alternative) -> bool {
    refine::reranker(cost, &rerank.operator).is_some_and(|entry| entry.calls > 0 && entry.price.is_none())
}

/// Places of the shapes of a frame's stages, for one number per shape of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Places {
    /// First and last shape of each stage.
    spans: [(u32, u32); 6],
}

impl Places {
    /// Of the shapes of a plan space's alternatives, which are numbered stage by stage.
    pub(crate) fn of(alternatives: &[Alternative], shapes: &[u32]) -> Places {
        let mut spans: [Option<(u32, u32)>; 6] = [None; 6];
        for (alternative, &shape) in alternatives.iter().zip(shapes) {
            if let Some(stage) = stage_of(&alternative.operator) {
                let (first, last) = spans[stage].unwrap_or((shape, shape));
                spans[stage] = Some((first.min(shape), last.max(shape)));
            }
        }
        Places { spans: spans.map(Option::unwrap_or_default) }
    }

    /// The number of a frame with these shapes; `None` stands for a stage that does nothing.
    pub(crate) fn number(&self, parts: [Option<u32>; 6]) -> u32 {
        let digit = |(part, (first, _)): (Option<u32>, (u32, u32))| part.map_or(0, |shape| shape.saturating_sub(first) + 1);
        let radix = |(first, last): (u32, u32)| last - first + 2;
        parts.into_iter().zip(self.spans).fold(0u32, |number, place| number.wrapping_mul(radix(place.1)).wrapping_add(digit(place)))
    }
}

/// Place of a stage in a frame; accesses have none.
fn stage_of(operator: &Operator) -> Option<usize> {
    Some(match operator {
        Operator::Skip | Operator::Access { .. } => return None,
        Operator::Fuse { .. } => 0,
        Operator::NoRerank | Operator::Rerank { .. } => 1,
        Operator::Pack { .. } => 2,
        Operator::NoCompress | Operator::Compress { .. } => 3,
        Operator::Answer { .. } => 4,
        Operator::NoVerify | Operator::Verify { .. } => 5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::{AlternativeId, Stage};

    #[test]
    fn frames_of_different_shapes_have_different_numbers() {
        let alternative = |stage, operator| Alternative { id: AlternativeId(0), stage, operator };
        let compress = |name: &str| Operator::Compress { compressor: name.to_owned(), keep: Ppm::ONE };
        let all = [
            alternative(Stage::Rerank, Operator::NoRerank),
            alternative(Stage::Rerank, Operator::Rerank { reranker: "features".into() }),
            alternative(Stage::Compress, Operator::NoCompress),
            alternative(Stage::Compress, compress("learned")),
            alternative(Stage::Compress, compress("structural")),
        ];
        let places = Places::of(&all, &[7, 8, 9, 10, 11]);
        let mut seen = std::collections::BTreeSet::new();
        for (r, c) in [7, 8].into_iter().flat_map(|r| [9, 10, 11].map(|c| (r, c))) {
            assert!(seen.insert(places.number([Some(0), Some(r), Some(0), Some(c), Some(0), Some(0)])), "{r} {c}");
            assert!(seen.insert(places.number([None, Some(r), Some(0), Some(c), Some(0), Some(0)])), "{r} {c}");
        }
    }
}
