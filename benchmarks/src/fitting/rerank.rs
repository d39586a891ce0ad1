//! The fit of the feature reranker: pairs of a relevant and an irrelevant passage of one list, train queries only, every
//! collection with the same weight; and what its order is worth under a quota.

use super::regression::{Row, Shape, fit};
use anyhow::Context;
use ctx_eval::metrics::score;
use ctx_eval::{Collection, Query, Workbench, is_train};
use ctx_graph::LegPath;
use ctx_local::{FEATURES, features};
use ctx_runtime::ranking;
use ctx_types::{AccessPath, Hit};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::path::Path;

/// Passages of a list.
pub const DEPTH: u32 = 50;
/// Queries of one collection: enough for a fit of eleven numbers.
const QUERIES_MAX: usize = 200;
/// Relevant passages of a list that make pairs, and irrelevant ones beside each: the best ranked are the hardest.
const PAIRS: (usize, usize) = (4, 15);
/// Quotas at which the gain is measured, tokens.
pub const QUOTAS: [u64; 4] = [500, 1_000, 2_000, 4_000];

/// A list with its features.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// Collection.
    pub collection: String,
    /// Whether fits may see it.
    pub train: bool,
    /// Grades by document.
    pub relevant: BTreeMap<String, u32>,
    /// Whether every relevant document is needed.
    pub all: bool,
    /// (document, tokens, features), in the order of retrieval.
    pub rows: Vec<(String, u32, Vec<f64>)>,
}

/// Lists of the linear hybrid path for the queries of a collection.
pub fn observe(collection: &Collection, bench: &Workbench) -> anyhow::Result<Vec<Listed>> {
    let mut queries: Vec<&Query> = collection.queries.iter().collect();
    queries.sort_by_key(|q| ctx_types::id::sha256_hex(q.id.as_bytes()));
    queries.truncate(QUERIES_MAX);
    queries.into_iter().map(|query| listed(collection, bench, query)).collect()
}

fn listed(collection: &Collection, bench: &Workbench, query: &Query) -> anyhow::Result<Listed> {
    let legs = bench.legs(&query.text, &[LegPath::Bm25, LegPath::Dense], DEPTH)?;
    let path = AccessPath::HybridLinear;
    let hits: Vec<Hit> = ranking::ranked(path, &legs, DEPTH)
        .into_iter()
        .zip(1..)
        .map(|(r, rank)| Hit { passage: r.passage, score: r.relevance.share(), rank, path, exact: r.exact })
        .collect();
    let rows = features(&query.text, "en", &hits);
    let row = |(hit, x): (&Hit, [f64; FEATURES.len()])| {
        let document = bench.document(&hit.passage).unwrap_or_default().to_owned();
        (document, hit.passage.tokens, x.iter().map(|v| (v * 1e6).round() / 1e6).collect())
    };
    Ok(Listed {
        collection: collection.name.clone(),
        train: is_train(&query.id),
        relevant: query.relevant.clone(),
        all: collection.name.starts_with("hotpot"),
        rows: hits.iter().zip(rows).map(row).collect(),
    })
}

/// Lists kept in a file.
pub fn read(path: &Path) -> anyhow::Result<Vec<Listed>> {
    let file = std::fs::File::open(path).with_context(|| format!("opening {}", path.display()))?;
    std::io::BufReader::new(file).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// Keeps lists in a file.
pub fn write(path: &Path, lists: &[Listed]) -> anyhow::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).with_context(|| format!("creating {}", path.display()))?);
    for list in lists {
        writeln!(file, "{}", serde_json::to_string(list)?)?;
    }
    Ok(file.flush()?)
}

/// Weights by feature, from pairs of train lists.
pub fn weights(lists: &[&Listed]) -> anyhow::Result<BTreeMap<String, f64>> {
    let names: Vec<&str> = FEATURES.to_vec();
    let collections: Vec<&str> = lists.iter().map(|l| l.collection.as_str()).collect::<BTreeSet<_>>().into_iter().collect();
    let mut rows: Vec<Row> = Vec::new();
    for (group, list) in lists.iter().enumerate() {
        let at = collections.iter().position(|c| *c == list.collection).unwrap_or(0);
        let (good, bad): (Vec<_>, Vec<_>) = list.rows.iter().partition(|r| list.relevant.contains_key(&r.0));
        let pairs: Vec<Vec<f64>> = good
            .iter()
            .take(PAIRS.0)
            .flat_map(|g| bad.iter().take(PAIRS.1).map(|b| g.2.iter().zip(&b.2).map(|(x, y)| x - y).collect::<Vec<f64>>()))
            .collect();
        let w = 1.0 / pairs.len().max(1) as f64;
        for x in pairs {
            let mirrored = x.iter().map(|v| -v).collect();
            rows.push(Row { x, y: true, w, group, collection: at });
            rows.push(Row { x: mirrored, y: false, w, group, collection: at });
        }
    }
    let mut total = vec![0.0; collections.len()];
    rows.iter().for_each(|r| total[r.collection] += r.w);
    rows.iter_mut().for_each(|r| r.w *= 200.0 / total[r.collection]);
    // More of what was asked never makes a passage worse; length may go either way.
    let rising = FEATURES.iter().copied().filter(|n| *n != "length").collect();
    let shape = Shape { names: &names, rising, ..Shape::default() };
    let fitted = fit(&rows.iter().collect::<Vec<_>>(), &shape, 0.05)?;
    Ok(FEATURES.iter().map(|n| ((*n).to_owned(), fitted.weights.get(*n).copied().unwrap_or(0.0))).collect())
}

/// Indices of a list in the fitted order.
pub fn order(list: &Listed, weights: &BTreeMap<String, f64>) -> Vec<usize> {
    let value = |x: &[f64]| FEATURES.iter().zip(x).map(|(n, v)| weights.get(*n).copied().unwrap_or(0.0) * v).sum::<f64>();
    let mut at: Vec<usize> = (0..list.rows.len()).collect();
    at.sort_by(|&a, &b| value(&list.rows[b].2).total_cmp(&value(&list.rows[a].2)));
    at
}

/// nDCG@10 of an order.
pub fn ndcg(list: &Listed, order: &[usize]) -> f64 {
    let mut seen = BTreeSet::new();
    let ranking: Vec<&str> = order.iter().map(|&at| list.rows[at].0.as_str()).filter(|d| seen.insert(*d)).collect();
    score(&ranking, &list.relevant).ndcg_10
}

/// Whether the evidence is within the quota, filled in this order.
pub fn holds(list: &Listed, order: &[usize], quota: u64) -> bool {
    let mut left = quota;
    let mut found = BTreeSet::new();
    for &at in order {
        let (document, tokens, _) = &list.rows[at];
        if u64::from(*tokens) <= left {
            left -= u64::from(*tokens);
            if list.relevant.contains_key(document) {
                found.insert(document);
            }
        }
    }
    if list.all { found.len() == list.relevant.len() } else { !found.is_empty() }
}

/// Shares of these lists whose evidence is within the quota: in the order of retrieval, and in the fitted one.
pub fn within(lists: &[&Listed], weights: &BTreeMap<String, f64>, quota: u64) -> (f64, f64) {
    let share = |held: &dyn Fn(&Listed) -> bool| lists.iter().filter(|list| held(list)).count() as f64 / lists.len().max(1) as f64;
    let before = share(&|list| holds(list, &(0..list.rows.len()).collect::<Vec<_>>(), quota));
    (before, share(&|list| holds(list, &order(list, weights), quota)))
}
