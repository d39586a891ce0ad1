//! The best k of a stream of scored passages, ties by position, so that a ranking is reproducible.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Scores are compared in steps of this size. Summing the same numbers in another order moves the last bits; two copies
/// of a passage must still tie.
const SCORE_STEP: f64 = 1e-4;

/// A found passage. `segment` counts the searcher's segments in the order given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TextHit {
    /// Which segment.
    pub segment: usize,
    /// Which passage of it.
    pub ordinal: u32,
    /// BM25 score, rounded to 10⁻⁴.
    pub score: f32,
    /// How many of the query's identifiers the passage holds; 0 in a BM25 search.
    pub matches: u32,
}

/// Rounds to a multiple of [`SCORE_STEP`].
pub(crate) fn rounded(score: f32) -> f32 {
    ((f64::from(score) / SCORE_STEP).round() * SCORE_STEP) as f32
}

/// Rank order: more matches, higher score, earlier segment, smaller ordinal.
#[derive(PartialEq)]
struct Ranked(TextHit);

impl Eq for Ranked {}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        let (one, two) = (&self.0, &other.0);
        (one.matches.cmp(&two.matches))
            .then(one.score.total_cmp(&two.score))
            .then(two.segment.cmp(&one.segment))
            .then(two.ordinal.cmp(&one.ordinal))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best `limit` hits.
pub(crate) struct TopK {
    limit: usize,
    worst_first: BinaryHeap<Reverse<Ranked>>,
}

impl TopK {
    pub(crate) fn new(limit: usize) -> TopK {
        TopK { limit, worst_first: BinaryHeap::new() }
    }

    /// Offers a hit whose score is already rounded.
    pub(crate) fn offer(&mut self, hit: TextHit) {
        if self.worst_first.len() < self.limit {
            self.worst_first.push(Reverse(Ranked(hit)));
        } else if let Some(mut worst) = self.worst_first.peek_mut()
            && Ranked(hit) > worst.0
        {
            *worst = Reverse(Ranked(hit));
        }
    }

    /// Unrounded scores at or below this cannot enter: half a step under the worst kept one.
    pub(crate) fn threshold(&self) -> f32 {
        match self.worst_first.peek() {
            Some(worst) if self.worst_first.len() == self.limit => worst.0.0.score - SCORE_STEP as f32,
            _ => f32::MIN,
        }
    }

    /// Whether a passage with this many matches may still enter.
    pub(crate) fn admits(&self, matches: u32) -> bool {
        self.worst_first.len() < self.limit || self.worst_first.peek().is_some_and(|worst| worst.0.0.matches <= matches)
    }

    /// The hits, best first.
    pub(crate) fn into_sorted(self) -> Vec<TextHit> {
        self.worst_first.into_sorted_vec().into_iter().map(|hit| hit.0.0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(segment: usize, ordinal: u32, score: f32, matches: u32) -> TextHit {
        TextHit { segment, ordinal, score: rounded(score), matches }
    }

    proptest::proptest! {
        #[test]
        fn equals_sorting_everything(
            entries in proptest::collection::vec((0usize..3, 0u32..50, 0u32..6, 0u32..2), 0..60),
            limit in 1usize..12,
        ) {
            let hits: Vec<TextHit> =
                entries.iter().map(|(segment, ordinal, score, matches)| hit(*segment, *ordinal, *score as f32, *matches)).collect();
            let mut top = TopK::new(limit);
            hits.iter().for_each(|hit| top.offer(*hit));
            let mut sorted = hits;
            sorted.sort_by_key(|hit| Reverse(Ranked(*hit)));
            sorted.truncate(limit);
            proptest::prop_assert_eq!(top.into_sorted(), sorted);
        }
    }

    #[test]
    fn noise_in_the_last_bits_does_not_break_a_tie() {
        let mut top = TopK::new(2);
        top.offer(hit(0, 7, 3.000_001, 0));
        top.offer(hit(0, 3, 3.0, 0));
        assert_eq!(top.into_sorted().iter().map(|hit| hit.ordinal).collect::<Vec<_>>(), [3, 7]);
    }
}
