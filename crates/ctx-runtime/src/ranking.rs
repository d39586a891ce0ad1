//! What one access path ranks, outside a run: evaluation judges the very fusion that runs execute, with the shipped weights.
//!
//! Not a second executor: no ledger, no packing, no answer. Legs come from the caller.

use crate::executor::lists::{self, Leg};
use ctx_graph::{LegFusion, LegPath, LegWeight, LoweringParameters, NodeId};
use ctx_types::{AccessPath, FuseMethod, Hit, Passage, Ppm, SourceName, Tokens};

/// What the legs of one source returned for one goal.
#[derive(Clone, Debug)]
pub struct Legs {
    /// The source.
    pub source: SourceName,
    /// By leg, best first.
    pub hits: Vec<(LegPath, Vec<Hit>)>,
    /// Largest possible BM25 score of the goal in the source; 0 if unknown.
    pub ceiling: f64,
    /// Share of the goal that the source can hold, over the statistics of all sources (`ctx_cost::evidence::shared_coverage`).
    pub coverage: f64,
}

/// A passage in the list of an access path.
#[derive(Clone, Debug)]
pub struct RankedPassage {
    /// The passage.
    pub passage: Passage,
    /// Whether it holds an identifier of the goal literally.
    pub exact: bool,
    /// Calibrated probability that it is relevant.
    pub relevance: Ppm,
}

/// The legs that an access path reads; a ranked path reads the identifier leg too where the goal names one.
pub fn legs_of(path: AccessPath) -> &'static [LegPath] {
    match path {
        AccessPath::Identifier => &[LegPath::Identifier],
        AccessPath::Bm25 => &[LegPath::Bm25],
        AccessPath::Dense => &[LegPath::Dense],
        AccessPath::HybridLinear | AccessPath::HybridRrf => &[LegPath::Bm25, LegPath::Dense],
        AccessPath::Whole => &[LegPath::Whole],
        AccessPath::Table => &[LegPath::Table],
    }
}

/// The list of `path` over these legs, best first, at most `k`. Legs that the path does not read are ignored.
pub fn ranked(path: AccessPath, legs: &Legs, k: u32) -> Vec<RankedPassage> {
    let items = list(path, legs, k).map(|list| list.items).unwrap_or_default();
    items.into_iter().map(shown).collect()
}

/// The lists of several sources as one, best first, in the order that plans merge them in: by calibrated relevance.
pub fn across(read: &[(AccessPath, u32, Legs)]) -> Vec<(SourceName, RankedPassage)> {
    let merged = lists::merge(read.iter().filter_map(|(path, k, legs)| list(*path, legs, *k)).collect(), FuseMethod::CalibratedScore);
    let at = |&(source, item): &(usize, usize)| {
        let list = &merged.lists[source];
        (list.source.clone(), shown(list.items[item].clone()))
    };
    merged.order.iter().map(at).collect()
}

fn shown(item: lists::Ranked) -> RankedPassage {
    RankedPassage { passage: item.passage, exact: item.exact, relevance: item.relevance }
}

fn list(path: AccessPath, legs: &Legs, k: u32) -> Option<lists::SourceList> {
    let wanted = legs_of(path);
    let node = |leg: LegPath| NodeId::new(leg.as_str());
    let is_read = |leg: LegPath| wanted.contains(&leg) || leg == LegPath::Identifier;
    let leg = |(leg, hits): &(LegPath, Vec<Hit>)| Leg {
        node: node(*leg),
        source: legs.source.clone(),
        path: *leg,
        quota: Tokens(u64::MAX),
        hits: hits.clone(),
        ceiling: legs.ceiling,
        coverage: legs.coverage,
    };
    let read: Vec<Leg> = legs.hits.iter().filter(|(name, _)| is_read(*name)).map(leg).collect();
    let exact = (path != AccessPath::Identifier).then(|| node(LegPath::Identifier));
    lists::fuse_legs(&fusion(path), exact.as_ref(), k, &read)
}

/// The fusion that lowering writes into a plan's graph.
fn fusion(path: AccessPath) -> LegFusion {
    let node = |leg: LegPath| NodeId::new(leg.as_str());
    let bm25 = Ppm::from_share(ctx_cost::evidence::linear_bm25_weight());
    match path {
        AccessPath::HybridRrf => LegFusion::Rrf { constant: LoweringParameters::default().rrf_constant },
        AccessPath::HybridLinear => LegFusion::Linear {
            weights: vec![
                LegWeight { leg: node(LegPath::Bm25), weight: bm25 },
                LegWeight { leg: node(LegPath::Dense), weight: bm25.complement() },
            ],
        },
        other => LegFusion::Single { leg: node(legs_of(other)[0]) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::fixture;

    fn hit(name: &str, score: f64) -> Hit {
        fixture::hit(name, 0, name, score)
    }

    fn names(list: &[RankedPassage]) -> Vec<&str> {
        list.iter().map(|item| item.passage.id.as_str()).collect()
    }

    #[test]
    fn each_path_reads_its_own_legs_only() {
        let legs = Legs {
            source: SourceName::new("docs").expect("name"),
            hits: vec![(LegPath::Bm25, vec![hit("a", 9.0), hit("b", 8.0)]), (LegPath::Dense, vec![hit("c", 0.9), hit("b", 0.8)])],
            ceiling: 10.0,
            coverage: 1.0,
        };
        assert_eq!(names(&ranked(AccessPath::Bm25, &legs, 10)), ["a", "b"]);
        assert_eq!(names(&ranked(AccessPath::Dense, &legs, 10)), ["c", "b"]);
        assert_eq!(names(&ranked(AccessPath::HybridRrf, &legs, 10))[0], "b");
        assert_eq!(names(&ranked(AccessPath::HybridLinear, &legs, 2))[0], "b");
    }
}
