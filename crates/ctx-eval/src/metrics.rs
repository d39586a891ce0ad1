//! Measures of one ranking against its judgments. Pure.

use std::collections::{BTreeMap, BTreeSet};

/// What one ranking scored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Normalised discounted cumulative gain of the first ten: gain is the grade, discount log2(rank + 1).
    pub ndcg_10: f64,
    /// Share of the relevant documents among the first ten.
    pub recall_10: f64,
    /// The same among the first hundred.
    pub recall_100: f64,
    /// 1 / rank of the first relevant document among the first ten, else 0.
    pub mrr_10: f64,
}

/// Scores of documents in ranked order; a document counts at its first place.
pub fn score(ranking: &[&str], relevant: &BTreeMap<String, u32>) -> Scores {
    let mut seen = BTreeSet::new();
    let distinct: Vec<&str> = ranking.iter().copied().filter(|id| seen.insert(*id)).collect();
    let grade = |id: &&str| relevant.get(*id).copied().unwrap_or(0);
    let first = distinct.iter().take(10).position(|id| grade(id) > 0);
    let found = |depth: usize| distinct.iter().take(depth).filter(|id| grade(id) > 0).count() as f64 / relevant.len().max(1) as f64;
    Scores {
        ndcg_10: ndcg(&distinct, relevant, 10),
        recall_10: found(10),
        recall_100: found(100),
        mrr_10: first.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)),
    }
}

fn ndcg(ranking: &[&str], relevant: &BTreeMap<String, u32>, depth: usize) -> f64 {
    let mut grades: Vec<u32> = relevant.values().copied().collect();
    grades.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = gain(grades.into_iter().take(depth));
    let reached = gain(ranking.iter().take(depth).map(|id| relevant.get(*id).copied().unwrap_or(0)));
    if ideal > 0.0 { reached / ideal } else { 0.0 }
}

fn gain(grades: impl Iterator<Item = u32>) -> f64 {
    grades.enumerate().map(|(at, grade)| f64::from(grade) / (at as f64 + 2.0).log2()).sum()
}

/// The value at a quantile of sorted values, by the nearest rank; 0 for none.
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    let at = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(grades: &[(&str, u32)]) -> BTreeMap<String, u32> {
        grades.iter().map(|(id, grade)| ((*id).to_owned(), *grade)).collect()
    }

    #[test]
    fn values_worked_out_by_hand() {
        let relevant = judged(&[("a", 2), ("b", 1)]);
        let perfect = score(&["a", "b"], &relevant);
        assert_eq!((perfect.ndcg_10, perfect.recall_10, perfect.mrr_10), (1.0, 1.0, 1.0));
        let swapped = score(&["b", "a"], &relevant);
        let expected = (1.0 + 2.0 / 3f64.log2()) / (2.0 + 1.0 / 3f64.log2());
        assert!((swapped.ndcg_10 - expected).abs() < 1e-12);
        let late = score(&["x", "y", "a"], &relevant);
        assert_eq!((late.mrr_10, late.recall_10), (1.0 / 3.0, 0.5));
        assert_eq!(score(&[], &relevant), Scores::default());
    }

    #[test]
    fn a_document_found_twice_counts_once() {
        let once = score(&["x", "a"], &judged(&[("a", 1)]));
        assert_eq!(score(&["x", "x", "a", "a"], &judged(&[("a", 1)])), once);
    }

    #[test]
    fn quantiles_by_nearest_rank() {
        let values: Vec<u64> = (1..=100).collect();
        assert_eq!((quantile(&values, 0.5), quantile(&values, 0.99), quantile(&[], 0.5), quantile(&[7], 0.99)), (50, 99, 0, 7));
    }
}
