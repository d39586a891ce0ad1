//! Which passages go into the context, and in which order. Pure; freshness is the caller's.
//!
//! Byte-identical passages become one that says where else it stands; near-duplicates and overlapping spans form
//! clusters of which at most one is taken; documents and sources have caps. What fits is an exact knapsack: first per source
//! within its quota, then what is left of the budget over what is left of the passages. Of what fits, only what adds more to
//! P(evidence) than its length costs is sent.

use super::lists::{Merged, Ranked, SourceList};
use ctx_contracts::ContextPassage;
use ctx_optimizer::packing::{PackItem, pack as knapsack};
use ctx_optimizer::worth::{self, Evidence, Length, Need};
use ctx_types::{AccessPath, Layout, Ppm, Tokens};
use std::collections::{BTreeMap, BTreeSet};

/// Words of one shingle.
const SHINGLE_WORDS: usize = 5;
/// Share of common shingles from which two passages say the same: guessed between quotation (.6) and copy (1).
const SAME_FROM: f64 = 0.8;
/// Most passages considered; deeper ones never win against these.
const CANDIDATES_MAX: usize = 256;
/// Value that puts a literal identifier hit before any sum of others: more than `CANDIDATES_MAX` × 16 nats.
const EXACT_VALUE: i64 = 10_000_000_000;

/// Limits of one packing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) budget: Tokens,
    pub(crate) per_document: Option<u32>,
    pub(crate) passages: Option<u32>,
}

/// A passage that may be packed.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) list: usize,
    pub(crate) ranked: Ranked,
    document: u32,
    cluster: u32,
}

/// Candidates in fused order, duplicates merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) all: Vec<Candidate>,
    pub(crate) dropped: Vec<String>,
}

/// Collects candidates and finds out which of them say the same.
pub(crate) fn candidates(merged: &Merged) -> Candidates {
    let mut found = Candidates::default();
    let mut documents: BTreeMap<(usize, String), u32> = BTreeMap::new();
    let mut shingles: Vec<BTreeSet<u64>> = Vec::new();
    for &(list, item) in merged.order.iter().take(CANDIDATES_MAX) {
        let ranked = &merged.lists[list].items[item];
        if let Some(same) = found.all.iter_mut().find(|c| c.ranked.passage.text == ranked.passage.text) {
            found.dropped.push(format!("{}: identical to {}", spot(ranked), spot(&same.ranked)));
            also_at(&mut same.ranked, ranked);
            continue;
        }
        let next = u32::try_from(documents.len()).unwrap_or(u32::MAX);
        let document = *documents.entry((list, ranked.passage.locator.path.clone())).or_insert(next);
        let set = shingles_of(&ranked.passage.text);
        let near = found.all.iter().zip(&shingles).find(|(c, other)| overlapping(&c.ranked, ranked) || similar(other, &set));
        let cluster = near.map_or(u32::try_from(found.all.len()).unwrap_or(u32::MAX), |(c, _)| c.cluster);
        shingles.push(set);
        found.all.push(Candidate { list, ranked: ranked.clone(), document, cluster });
    }
    found
}

fn spot(ranked: &Ranked) -> String {
    let at = &ranked.passage.locator;
    format!("{}:{}:{}-{}", at.source, at.path, at.line_start, at.line_end)
}

/// The kept passage says where its copy stands: by path within a source, with the source's name across sources.
fn also_at(kept: &mut Ranked, copy: &Ranked) {
    let (here, there) = (&mut kept.passage.locator, &copy.passage.locator);
    let path = if here.source == there.source { there.path.clone() } else { format!("{}:{}", there.source, there.path) };
    let known = path == here.path || here.also_at.contains(&path);
    if !known {
        here.also_at.push(path);
    }
    for path in &there.also_at {
        if !here.also_at.contains(path) {
            here.also_at.push(path.clone());
        }
    }
    kept.exact |= copy.exact;
}

fn overlapping(a: &Ranked, b: &Ranked) -> bool {
    let (x, y) = (&a.passage.locator, &b.passage.locator);
    x.source == y.source && x.path == y.path && x.bytes.overlaps(y.bytes)
}

fn similar(a: &BTreeSet<u64>, b: &BTreeSet<u64>) -> bool {
    let common = a.intersection(b).count() as f64;
    let all = (a.len() + b.len()) as f64 - common;
    all > 0.0 && common / all >= SAME_FROM
}

/// FNV-1a over runs of five words, lower case; a shorter text is one shingle.
fn shingles_of(text: &str) -> BTreeSet<u64> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.windows(SHINGLE_WORDS.min(words.len()).max(1)).map(fnv).collect()
}

fn fnv(words: &[String]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([b' ']));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Indices of the candidates that fit, ascending (fused order).
pub(crate) fn fitting(found: &Candidates, stale: &BTreeSet<usize>, quotas: &[Tokens], limits: Limits) -> Vec<usize> {
    let all = &found.all;
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    if quotas.len() > 1 {
        for (list, quota) in quotas.iter().enumerate() {
            let mine: Vec<usize> = (0..all.len()).filter(|&at| all[at].list == list && !stale.contains(&at)).collect();
            take(all, &mine, quota.0.min(limits.budget.0), limits, &mut taken);
        }
    }
    let spent: u64 = taken.iter().map(|&at| weight(&all[at].ranked)).sum();
    let rest: Vec<usize> = (0..all.len()).filter(|at| !taken.contains(at) && !stale.contains(at)).collect();
    take(all, &rest, limits.budget.0.saturating_sub(spent), limits, &mut taken);
    best_of(all, taken, limits.passages)
}

fn take(all: &[Candidate], from: &[usize], budget: u64, limits: Limits, taken: &mut BTreeSet<usize>) {
    let cap = limits.per_document.unwrap_or(u32::MAX);
    let of_document = |document: u32| taken.iter().filter(|&&at| all[at].document == document).count();
    let open: Vec<usize> = from
        .iter()
        .copied()
        .filter(|&at| !taken.iter().any(|&t| all[t].cluster == all[at].cluster))
        .filter(|&at| of_document(all[at].document) < usize::try_from(cap).unwrap_or(usize::MAX))
        .collect();
    let items: Vec<PackItem> = open
        .iter()
        .map(|&at| PackItem {
            value: value(&all[at].ranked),
            tokens: weight(&all[at].ranked),
            document: all[at].document,
            cluster: all[at].cluster,
        })
        .collect();
    let packing = knapsack(&items, budget, cap, limits.passages.unwrap_or(u32::MAX));
    taken.extend(packing.chosen.into_iter().map(|at| open[at]));
}

/// Tokens of a passage; of odd text (one long word) as many as bound the count of a tokenizer that nobody here knows.
fn weight(ranked: &Ranked) -> u64 {
    let bytes = ranked.passage.text.len() as u64;
    u64::from(ranked.passage.tokens).max(bytes.div_ceil(ctx_cost::model::BYTES_PER_TOKEN_MAX))
}

/// Additive evidence; a passage that nothing is known about still beats an empty place.
fn value(ranked: &Ranked) -> i64 {
    ranked.relevance.to_micro_nats().0.max(1) + if ranked.exact { EXACT_VALUE } else { 0 }
}

/// Quotas are filled source by source, so the cap on passages is applied over all of them at the end.
fn best_of(all: &[Candidate], taken: BTreeSet<usize>, passages: Option<u32>) -> Vec<usize> {
    let keep = passages.map_or(usize::MAX, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let mut chosen: Vec<usize> = taken.into_iter().collect();
    if chosen.len() > keep {
        chosen.sort_by_key(|&at| (std::cmp::Reverse(value(&all[at].ranked)), at));
        chosen.truncate(keep);
        chosen.sort_unstable();
    }
    chosen
}

/// Of the candidates that fit, those that pay. A source that is read whole is sent whole, and a computed result always.
pub(crate) fn paying(found: &Candidates, fitting: &[usize], merged: &Merged, need: Need, length: Length) -> Vec<usize> {
    let whole = |list: usize| merged.lists.get(list).is_some_and(|list| matches!(list.path, AccessPath::Whole | AccessPath::Table));
    let passages: Vec<worth::Passage> = fitting
        .iter()
        .map(|&at| {
            let Candidate { list, ranked, .. } = &found.all[at];
            let tokens = u64::from(ranked.passage.tokens);
            worth::Passage { relevance: ranked.relevance, tokens, fixed: ranked.exact || whole(*list) }
        })
        .collect();
    worth::paying(&passages, need, length).into_iter().map(|at| fitting[at]).collect()
}

/// Prompt order, labelled from 1. Best first, or best at both ends.
pub(crate) fn arrange(chosen: Vec<Ranked>, layout: Layout) -> Vec<ContextPassage> {
    let mut front = Vec::with_capacity(chosen.len());
    let mut back = Vec::new();
    for (at, ranked) in chosen.into_iter().enumerate() {
        if layout == Layout::EdgesFirst && at % 2 == 1 { back.push(ranked) } else { front.push(ranked) }
    }
    front.extend(back.into_iter().rev());
    let label = |at: usize| u32::try_from(at + 1).unwrap_or(u32::MAX);
    front
        .into_iter()
        .enumerate()
        .map(|(at, ranked)| ContextPassage { label: label(at), passage: ranked.passage, relevance: ranked.relevance, exact: ranked.exact })
        .collect()
}

/// P(the needed evidence is in the context): 1 − Π(1 − p) over the sources, each calibrated on what of it fits, times the
/// share of that which the passages sent hold.
pub(crate) fn evidence(merged: &Merged, found: &Candidates, fitting: &[usize], sent: &[usize], need: Need) -> Ppm {
    let held = |list: usize, of: &[usize]| {
        let mine = of.iter().filter(|&&at| found.all[at].list == list);
        Evidence::of(need, mine.map(|&at| found.all[at].ranked.relevance)).share()
    };
    let miss = |(at, list): (usize, &SourceList)| {
        let read = fitting.iter().filter(|&&c| found.all[c].list == at).count();
        let (all, kept) = (held(at, fitting), held(at, sent));
        let share = if all > 0.0 { (kept / all).min(1.0) } else { 1.0 };
        1.0 - reordered(list, read, merged.gain) * share
    };
    Ppm::from_share(1.0 - merged.lists.iter().enumerate().map(miss).product::<f64>())
}

/// P(evidence) of so much of a list: a better order brings forward what lies deeper in it, never more than is there.
fn reordered(list: &SourceList, read: usize, gain: Ppm) -> f64 {
    let within = list.evidence(read).share();
    if gain.get() == 0 {
        return within;
    }
    (within * (1.0 + gain.share())).min(list.evidence(list.items.len()).share().max(within))
}

#[cfg(test)]
mod tests {
    use super::super::lists::{Leg, lone, merge};
    use super::*;
    use crate::executor::fixture::hit;
    use ctx_graph::{LegPath, NodeId};
    use ctx_types::{FuseMethod, Hit, SourceName};

    fn merged(hits: Vec<Hit>) -> Merged {
        let leg = Leg {
            node: NodeId::new("a"),
            source: SourceName::new("docs").expect("name"),
            path: LegPath::Bm25,
            quota: Tokens(10_000),
            hits,
            ceiling: 10.0,
            coverage: 1.0,
        };
        merge(vec![lone(&leg)], FuseMethod::CalibratedScore)
    }

    fn limits(budget: u64, per_document: Option<u32>, passages: Option<u32>) -> Limits {
        Limits { budget: Tokens(budget), per_document, passages }
    }

    fn packed(merged: &Merged, limits: Limits) -> Vec<ContextPassage> {
        let found = candidates(merged);
        let quotas: Vec<Tokens> = merged.lists.iter().map(|list| list.quota).collect();
        let chosen = fitting(&found, &BTreeSet::new(), &quotas, limits);
        arrange(chosen.iter().map(|&at| found.all[at].ranked.clone()).collect(), Layout::ContextFirst)
    }

    #[test]
    fn a_copy_takes_no_place_and_is_cited_with_both_paths() {
        let same = "Restart with systemctl restart api.";
        let list = merged(vec![
            hit("a/run.md", 0, same, 9.0),
            hit("b/copy.md", 0, same, 9.0),
            hit("c/other.md", 0, "Restart needs approval by the on-call person.", 5.0),
        ]);
        let context = packed(&list, limits(10_000, None, Some(2)));
        let paths: Vec<&str> = context.iter().map(|p| p.passage.locator.path.as_str()).collect();
        assert_eq!(paths, ["a/run.md", "c/other.md"]);
        assert_eq!(context[0].passage.locator.also_at, ["b/copy.md"]);
        assert_eq!(context.iter().map(|p| p.label).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn overlapping_spans_and_near_copies_are_taken_once() {
        let long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twentyone twentytwo twentythree twentyfour twentyfive twentysix twentyseven";
        let list = merged(vec![
            hit("l.md", 0, long, 9.0),
            hit("l.md", 20, "another window over the same span", 8.0),
            hit("m.md", 0, &format!("{long} more"), 7.0),
            hit("n.md", 0, "something else entirely", 6.0),
        ]);
        let context = packed(&list, limits(10_000, None, None));
        let paths: Vec<&str> = context.iter().map(|p| p.passage.locator.path.as_str()).collect();
        assert_eq!(paths, ["l.md", "n.md"]);
    }

    #[test]
    fn one_document_does_not_fill_the_context() {
        let texts = ["alpha words here", "beta words there", "gamma words yonder"];
        let mut hits: Vec<Hit> =
            texts.iter().enumerate().map(|(at, text)| hit("long.md", at as u64 * 100, text, 9.0 - at as f64)).collect();
        hits.push(hit("short.md", 0, "the relevant one", 2.0));
        let context = packed(&merged(hits), limits(10_000, Some(2), Some(3)));
        assert_eq!(context.iter().filter(|p| p.passage.locator.path == "long.md").count(), 2);
        assert!(context.iter().any(|p| p.passage.locator.path == "short.md"));
    }

    #[test]
    fn a_literal_hit_is_packed_before_better_looking_ones() {
        let mut hits: Vec<Hit> = (0..5).map(|at| hit(&format!("{at}.md"), 0, &format!("text number {at} of its own"), 10.0)).collect();
        let mut exact = hit("exact.md", 0, "E0502 is explained here", 0.1);
        exact.exact = true;
        hits.push(exact);
        let context = packed(&merged(hits), limits(100, None, None));
        assert_eq!(context[0].passage.locator.path, "exact.md");
    }

    #[test]
    fn the_best_evidence_stands_at_both_ends_where_the_layout_says_so() {
        let ranked = |name: &str| Ranked { passage: hit(name, 0, name, 1.0).passage, exact: false, relevance: Ppm(1) };
        let order: Vec<String> = arrange(vec![ranked("1"), ranked("2"), ranked("3"), ranked("4")], Layout::EdgesFirst)
            .into_iter()
            .map(|p| p.passage.text)
            .collect();
        assert_eq!(order, ["1", "3", "4", "2"]);
    }

    #[test]
    fn what_adds_less_than_it_costs_is_not_sent_and_evidence_says_what_that_loses() {
        let far: Vec<Hit> = (0..6)
            .map(|at| hit(&format!("{at}.md"), 0, &format!("text number {at} of its own"), if at == 0 { 10.0 } else { 0.5 }))
            .collect();
        let near: Vec<Hit> = (0..6).map(|at| hit(&format!("{at}.md"), 0, &format!("text number {at} of its own"), 4.0)).collect();
        let need = Need { one: 1.0, two: 0.0, every: 0.0 };
        let length = Length { dilution: 0.02, per_token: 0.0 };
        let sent = |hits: Vec<Hit>, length: Length| {
            let list = merged(hits);
            let found = candidates(&list);
            let all = fitting(&found, &BTreeSet::new(), &[Tokens(10_000)], limits(10_000, None, None));
            let sent = paying(&found, &all, &list, need, length);
            (sent.len(), evidence(&list, &found, &all, &sent, need), evidence(&list, &found, &all, &all, need))
        };
        let (few, kept, all) = sent(far.clone(), length);
        let (more, ..) = sent(near, length);
        assert!(few < more, "{few} of a clear list, {more} of one that is not");
        assert!(kept <= all && kept.get() * 10 >= all.get() * 8, "{kept} of {all}");
        assert_eq!(sent(far, Length { dilution: 0.0, per_token: 0.0 }).0, 6, "length that costs nothing");
    }

    #[test]
    fn stale_passages_are_never_chosen() {
        let list = merged(vec![hit("a.md", 0, "first text", 9.0), hit("b.md", 0, "second text", 5.0)]);
        let found = candidates(&list);
        let chosen = fitting(&found, &BTreeSet::from([0]), &[Tokens(1000)], limits(1000, None, None));
        assert_eq!(chosen, [1]);
    }
}
