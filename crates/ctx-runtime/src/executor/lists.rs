//! Ranked lists: legs of one source become one list, lists of several sources become one. Pure functions.
//!
//! A passage missing from a list gets nothing from it (no made-up rank), ranks start at one, ties are broken by place
//! (path, first byte, id), and passages that hold an identifier of the goal literally stand above everything else.

use ctx_cost::evidence::{self, InList, ScoreProfile};
use ctx_graph::{LegFusion, LegPath, NodeId};
use ctx_types::{AccessPath, FuseMethod, Hit, Passage, Ppm, SourceName, Tokens};
use std::collections::BTreeMap;

/// The constant of reciprocal rank fusion across sources (Cormack, Clarke, Büttcher 2009).
const RRF_CONSTANT: u32 = 60;

/// What one access node returned.
#[derive(Clone, Debug)]
pub(crate) struct Leg {
    pub(crate) node: NodeId,
    pub(crate) source: SourceName,
    pub(crate) path: LegPath,
    pub(crate) quota: Tokens,
    pub(crate) hits: Vec<Hit>,
    /// Largest possible BM25 score of the goal in the source; 0 if unknown.
    pub(crate) ceiling: f64,
    /// Share of what the goal asks for that the source can hold at all, over the statistics of all sources; 1 of a single one.
    pub(crate) coverage: f64,
}

/// A passage in its source's list.
#[derive(Clone, Debug)]
pub(crate) struct Ranked {
    pub(crate) passage: Passage,
    pub(crate) exact: bool,
    pub(crate) relevance: Ppm,
}

/// The list of one source, best first, with what calibration needs.
#[derive(Clone, Debug)]
pub(crate) struct SourceList {
    pub(crate) source: SourceName,
    pub(crate) path: AccessPath,
    pub(crate) quota: Tokens,
    pub(crate) items: Vec<Ranked>,
    bm25: Vec<f64>,
    cosine: Vec<f64>,
    ceiling: f64,
    coverage: f64,
    /// Scores of the items; empty where they are not scores (a whole source, a computed result).
    scores: Vec<InList>,
}

impl SourceList {
    /// P(the evidence is among the first `read` passages), calibrated on the scores seen.
    pub(crate) fn evidence(&self, read: usize) -> Ppm {
        let exact = self.items.iter().any(|item| item.exact);
        let read = u32::try_from(read).unwrap_or(u32::MAX);
        evidence::calibrated(self.path, &ScoreProfile::new(&self.bm25, self.ceiling, &self.cosine, exact, read))
    }
}

/// Lists of all sources with one order over them: (list, item).
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    pub(crate) lists: Vec<SourceList>,
    pub(crate) order: Vec<(usize, usize)>,
    /// Growth of P(evidence within the quota) by a reranker, as a share of itself.
    pub(crate) gain: Ppm,
}

/// A single leg is its source's list.
pub(crate) fn lone(leg: &Leg) -> SourceList {
    list(&leg.source, leg.path.access_path(), leg.quota, usize::MAX, std::slice::from_ref(leg), leg.hits.iter().collect())
}

/// Merges the legs of one source. `exact` names the leg whose literal hits come first.
pub(crate) fn fuse_legs(method: &LegFusion, exact: Option<&NodeId>, k: u32, legs: &[Leg]) -> Option<SourceList> {
    let first = legs.first()?;
    let ranked: Vec<&Leg> = legs.iter().filter(|leg| Some(&leg.node) != exact).collect();
    let path = access_path(method, &ranked).unwrap_or(AccessPath::Identifier);
    let mut order: Vec<&Hit> = Vec::new();
    let literal = legs.iter().filter(|leg| Some(&leg.node) == exact).flat_map(|leg| &leg.hits);
    push_new(&mut order, literal.clone().filter(|hit| hit.exact));
    let merged = match method {
        LegFusion::Single { leg } => ranked.iter().filter(|l| l.node == *leg).flat_map(|l| &l.hits).collect(),
        LegFusion::Rrf { constant } => by_score(&ranked, |_, hit, at| hit_rank(hit, at, *constant)),
        LegFusion::Linear { weights } => {
            let weight = |node: &NodeId| weights.iter().find(|w| w.leg == *node).map_or(0.0, |w| w.weight.share());
            by_score(&ranked, |leg, hit, _| weight(&leg.node) * unit_score(leg, hit))
        }
    };
    push_new(&mut order, merged.into_iter());
    push_new(&mut order, literal.filter(|hit| !hit.exact));
    let keep = usize::try_from(k).unwrap_or(usize::MAX);
    Some(list(&first.source, path, first.quota, keep, legs, order))
}

fn access_path(method: &LegFusion, ranked: &[&Leg]) -> Option<AccessPath> {
    match (method, ranked) {
        (_, []) => None,
        (_, [only]) => Some(only.path.access_path()),
        (LegFusion::Linear { .. }, _) => Some(AccessPath::HybridLinear),
        (LegFusion::Rrf { .. }, _) => Some(AccessPath::HybridRrf),
        (LegFusion::Single { .. }, [first, ..]) => Some(first.path.access_path()),
    }
}

fn hit_rank(_: &Hit, at: usize, constant: u32) -> f64 {
    1.0 / (f64::from(constant) + at as f64 + 1.0)
}

/// A leg's score in 0..=1: BM25 as a share of the list's best, cosines as they are. Of six pairs of normalisations this one
/// ranked best on the train queries of six collections among those that lose on none of them to BM25 alone
/// (`crates/ctx-cost/scripts/evidence.py --fusion`).
fn unit_score(leg: &Leg, hit: &Hit) -> f64 {
    match leg.path {
        LegPath::Bm25 | LegPath::Identifier => {
            let best = leg.hits.iter().map(|h| h.score).fold(0.0, f64::max);
            evidence::share_of_ceiling(hit.score, best)
        }
        LegPath::Dense | LegPath::Table => hit.score.clamp(0.0, 1.0),
        LegPath::Whole => 0.0,
    }
}

/// Sums a score per passage over the legs that hold it; best first, ties by place. Sums are quantised, so that an equal
/// sum is a tie on every platform.
fn by_score<'a>(legs: &[&'a Leg], score: impl Fn(&Leg, &Hit, usize) -> f64) -> Vec<&'a Hit> {
    let mut sums: BTreeMap<&str, (i64, &'a Hit)> = BTreeMap::new();
    for leg in legs {
        for (at, hit) in leg.hits.iter().enumerate() {
            let part = (score(leg, hit, at) * 1e12).round() as i64;
            sums.entry(hit.passage.id.as_str()).and_modify(|(sum, _)| *sum += part).or_insert((part, hit));
        }
    }
    let mut order: Vec<(i64, &Hit)> = sums.into_values().collect();
    order.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| place(&x.passage).cmp(&place(&y.passage))));
    order.into_iter().map(|(_, hit)| hit).collect()
}

fn place(passage: &Passage) -> (&str, u64, &str) {
    (&passage.locator.path, passage.locator.bytes.start, &passage.id)
}

fn push_new<'a>(order: &mut Vec<&'a Hit>, hits: impl Iterator<Item = &'a Hit>) {
    for hit in hits {
        if !order.iter().any(|seen| seen.passage.id == hit.passage.id) {
            order.push(hit);
        }
    }
}

fn list(source: &SourceName, path: AccessPath, quota: Tokens, keep: usize, legs: &[Leg], order: Vec<&Hit>) -> SourceList {
    let scores = |wanted: LegPath| {
        legs.iter().filter(|leg| leg.path == wanted).flat_map(|leg| leg.hits.iter().map(|hit| hit.score)).collect::<Vec<f64>>()
    };
    let score_of = |wanted: LegPath, id: &str| {
        legs.iter().filter(|leg| leg.path == wanted).flat_map(|leg| &leg.hits).find(|hit| hit.passage.id == id).map_or(0.0, |hit| hit.score)
    };
    let ceiling = legs.iter().map(|leg| leg.ceiling).fold(0.0, f64::max);
    let scored = |hit: &&Hit| {
        let id = hit.passage.id.as_str();
        InList {
            bm25_share: evidence::share_of_ceiling(score_of(LegPath::Bm25, id), ceiling),
            cosine: score_of(LegPath::Dense, id),
            exact: hit.exact || legs.iter().flat_map(|leg| &leg.hits).any(|other| other.exact && other.passage.id == id),
        }
    };
    let kept = &order[..keep.min(order.len())];
    let scores_of: Vec<InList> = kept.iter().map(scored).collect();
    let items = kept.iter().zip(&scores_of).zip(evidence::relevance(&scores_of));
    let items = items.map(|((hit, scored), relevance)| {
        // A computed result's score is the probability of its reading.
        let computed = hit.path == AccessPath::Table;
        let relevance = match path {
            _ if computed => Ppm::from_share(hit.score.clamp(0.0, 1.0)),
            AccessPath::Whole => evidence::UNSCORED,
            _ => relevance,
        };
        Ranked { relevance, exact: scored.exact, passage: hit.passage.clone() }
    });
    let scored = !matches!(path, AccessPath::Whole | AccessPath::Table);
    SourceList {
        scores: if scored { scores_of.clone() } else { Vec::new() },
        coverage: legs.iter().map(|leg| leg.coverage).fold(0.0, f64::max),
        source: source.clone(),
        path,
        quota,
        items: items.collect(),
        bm25: scores(LegPath::Bm25),
        cosine: scores(if path == AccessPath::Table { LegPath::Table } else { LegPath::Dense }),
        ceiling,
    }
}

/// Calibrates the lists of several sources as the one list that a single source of all passages would have. A share of the
/// best possible score says little where the source holds half of the words that were asked for: it is scaled by what of the
/// goal the source can hold at all. Ranks and the distance to the next best are those among all passages.
fn compare(lists: &mut [SourceList]) {
    if lists.iter().filter(|list| !list.scores.is_empty()).count() < 2 {
        return;
    }
    let mut all: Vec<(InList, usize, usize)> = Vec::new();
    for (l, list) in lists.iter().enumerate() {
        let shared = |(i, scores): (usize, &InList)| (InList { bm25_share: scores.bm25_share * list.coverage, ..*scores }, l, i);
        all.extend(list.scores.iter().enumerate().map(shared));
    }
    let standing = |item: &(InList, usize, usize)| (item.0.stands() * 1e12).round() as i64;
    let places = |(_, l, i): &(InList, usize, usize)| (lists[*l].source.as_str().to_owned(), *i);
    all.sort_by(|a, b| (b.0.exact, standing(b)).cmp(&(a.0.exact, standing(a))).then_with(|| places(a).cmp(&places(b))));
    let relevance = evidence::relevance(&all.iter().map(|(scores, ..)| *scores).collect::<Vec<_>>());
    for ((_, l, i), relevance) in all.into_iter().zip(relevance) {
        lists[l].items[i].relevance = relevance;
    }
}

/// One order over the lists of all sources. By calibrated relevance, or by reciprocal ranks; then the relevances are dealt
/// out again along the fused order, so that packing prefers what fusion prefers and keeps the calibrated scale.
pub(crate) fn merge(mut lists: Vec<SourceList>, method: FuseMethod) -> Merged {
    if method == FuseMethod::CalibratedScore {
        compare(&mut lists);
    }
    let mut order: Vec<(usize, usize)> =
        lists.iter().enumerate().flat_map(|(l, list)| (0..list.items.len()).map(move |i| (l, i))).collect();
    let item = |at: &(usize, usize)| &lists[at.0].items[at.1];
    let rank = |at: &(usize, usize)| (1e12 / (f64::from(RRF_CONSTANT) + at.1 as f64 + 1.0)).round() as i64;
    order.sort_by(|a, b| {
        let (x, y) = (item(a), item(b));
        let by_method = match method {
            FuseMethod::CalibratedScore => y.relevance.cmp(&x.relevance),
            FuseMethod::Rrf => rank(b).cmp(&rank(a)),
        };
        let places = || (lists[a.0].source.as_str(), place(&x.passage)).cmp(&(lists[b.0].source.as_str(), place(&y.passage)));
        y.exact.cmp(&x.exact).then(by_method).then_with(places)
    });
    if method == FuseMethod::Rrf {
        let mut scale: Vec<Ppm> = order.iter().map(|at| item(at).relevance).collect();
        scale.sort_unstable_by(|a, b| b.cmp(a));
        for (at, relevance) in order.iter().zip(scale) {
            lists[at.0].items[at.1].relevance = relevance;
        }
    }
    Merged { lists, order, gain: Ppm(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::fixture::hit;
    use ctx_graph::LegWeight;

    fn leg(node: &str, path: LegPath, names: &[&str]) -> Leg {
        let count = names.len() as f64;
        let hits = names.iter().enumerate().map(|(at, name)| hit(name, 0, name, (count - at as f64) / count)).collect();
        Leg {
            node: NodeId::new(node),
            source: SourceName::new("docs").expect("name"),
            path,
            quota: Tokens(1000),
            hits,
            ceiling: 1.0,
            coverage: 1.0,
        }
    }

    fn names(list: &SourceList) -> Vec<&str> {
        list.items.iter().map(|item| item.passage.id.as_str()).collect()
    }

    #[test]
    fn a_passage_missing_from_a_list_gets_nothing_from_it() {
        let legs = [leg("d", LegPath::Dense, &["X", "a", "Y"]), leg("s", LegPath::Bm25, &["b", "c", "Y"])];
        let fused = fuse_legs(&LegFusion::Rrf { constant: 60 }, None, 10, &legs).expect("legs");
        assert_eq!(names(&fused), ["Y", "X", "b", "a", "c"]);
    }

    #[test]
    fn chunks_of_a_long_document_are_fused_one_by_one() {
        let legs = [leg("s", LegPath::Bm25, &["L#1", "L#2", "L#3", "S#1"]), leg("d", LegPath::Dense, &["S#1", "L#4", "L#5"])];
        let fused = fuse_legs(&LegFusion::Rrf { constant: 60 }, None, 10, &legs).expect("legs");
        assert_eq!(names(&fused)[0], "S#1");
    }

    #[test]
    fn linear_fusion_weighs_scores_and_a_leg_that_failed_is_simply_absent() {
        let weights =
            vec![LegWeight { leg: NodeId::new("s"), weight: Ppm(900_000) }, LegWeight { leg: NodeId::new("d"), weight: Ppm(100_000) }];
        let both = [leg("s", LegPath::Bm25, &["a", "b"]), leg("d", LegPath::Dense, &["b", "a"])];
        let method = LegFusion::Linear { weights };
        assert_eq!(names(&fuse_legs(&method, None, 10, &both).expect("legs")), ["a", "b"]);
        let one = fuse_legs(&method, None, 10, &both[1..]).expect("legs");
        assert_eq!((names(&one), one.path), (vec!["b", "a"], AccessPath::Dense));
    }

    #[test]
    fn literal_identifier_hits_stand_first() {
        let mut exact = leg("i", LegPath::Identifier, &["z"]);
        exact.hits[0].exact = true;
        let legs = [leg("s", LegPath::Bm25, &["a", "z"]), exact];
        let fused = fuse_legs(&LegFusion::Single { leg: NodeId::new("s") }, Some(&NodeId::new("i")), 10, &legs).expect("legs");
        assert_eq!(names(&fused), ["z", "a"]);
        assert!(fused.items[0].exact);
    }

    #[test]
    fn the_best_of_a_source_that_holds_little_of_the_goal_stands_below() {
        let full = lone(&leg("s", LegPath::Bm25, &["a", "b", "c"]));
        let mut poor = leg("o", LegPath::Bm25, &["m", "n"]);
        poor.source = SourceName::new("notes").expect("name");
        poor.coverage = 0.3;
        let merged = merge(vec![full.clone(), lone(&poor)], FuseMethod::CalibratedScore);
        let first: Vec<&str> = merged.order.iter().take(3).map(|(l, i)| merged.lists[*l].items[*i].passage.id.as_str()).collect();
        assert_eq!(first, ["a", "b", "c"]);
        let alone = merge(vec![full.clone()], FuseMethod::CalibratedScore);
        assert_eq!(alone.lists[0].items[0].relevance, full.items[0].relevance, "a single source is as it was");
    }

    #[test]
    fn across_sources_exact_hits_outrank_and_reciprocal_ranks_keep_the_scale() {
        let mut other = lone(&leg("o", LegPath::Bm25, &["m"]));
        other.source = SourceName::new("logs").expect("name");
        other.items[0].exact = true;
        other.items[0].relevance = Ppm(1);
        let lists = vec![lone(&leg("s", LegPath::Bm25, &["a", "b"])), other];
        let merged = merge(lists.clone(), FuseMethod::CalibratedScore);
        assert_eq!(merged.order[0], (1, 0));
        let fused = merge(lists, FuseMethod::Rrf);
        assert!(fused.lists[1].items[0].relevance > Ppm(1), "the first of the fused order keeps the lowest value");
    }
}
