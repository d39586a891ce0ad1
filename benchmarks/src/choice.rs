//! Whether the planner's choice pays: the path it chose against one fixed path for all, and the tokens it sent against dumping
//! the first passages of that path. And whether it knows: how often the evidence that was read lies within what it expected.
//!
//! The fixed path is chosen on the *train* queries of all collections together; everything is stated on *test*.

use crate::figure::Figure;
use crate::fitting::measures;
use anyhow::Context;
use ctx_eval::bootstrap::paired;
use ctx_eval::evaluate::PATHS;
use ctx_eval::metrics::score;
use ctx_eval::{Collection, Query, Workbench, is_train};
use ctx_runtime::ranking;
use ctx_types::{AccessPath, Passage, Ppm};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Collections of the path rows.
pub const RANKED: [&str; 6] = ["scifact", "cranfield", "cisi", "vaswani_npl", "runbooks_prometheus", "hotpotqa_200"];
/// Collections of the token rows.
pub const SUPPORTED: [&str; 3] = ["hotpotqa_200", "runbooks_prometheus", "pubmedqa"];
/// Deepest dump.
const FETCHED: u32 = 200;
/// Documents that are ranked.
const DEPTH: usize = 100;
/// How far a collection may fall behind the fixed path: in the mean, and at the upper end of the interval.
const MEAN_LEAST: f64 = -0.02;
const UPPER_LEAST: f64 = -0.01;
/// Draws of an interval.
const RESAMPLES: usize = 1_000;
/// Share of the dump's tokens.
const TOKENS_MOST: f64 = 0.40;

/// What one query gave.
#[derive(Clone, Debug, Serialize)]
pub struct Asked {
    /// Its id.
    pub query: String,
    /// Whether it belongs to *train*: then only the fixed paths were asked.
    pub train: bool,
    /// nDCG@10 by path, in the order of [`PATHS`].
    pub ndcg: Vec<f64>,
    /// What the planner's run did.
    pub planned: Option<Planned>,
    /// By path: passages until the last required document is there (`None`: never), and the tokens of each prefix.
    #[serde(skip)]
    dumps: Vec<Dump>,
}

/// What the planner's run did.
#[derive(Clone, Debug, Serialize)]
pub struct Planned {
    /// The path.
    pub path: String,
    /// nDCG@10 of its ranking.
    pub ndcg: f64,
    /// Tokens of the packed context.
    pub tokens: u64,
    /// Whether the context holds every relevant document.
    pub full: bool,
    /// Whether it holds one of them.
    pub some: bool,
    /// P(evidence) of the context, from the scores read, ppm.
    pub evidence: u32,
    /// Whether that lies within the interval that the plan expected.
    pub within: bool,
}

#[derive(Clone, Debug, Default)]
struct Dump {
    full_at: Option<usize>,
    tokens: Vec<u64>,
}

impl Dump {
    fn tokens_of(&self, k: usize) -> u64 {
        self.tokens.get(k.saturating_sub(1)).or(self.tokens.last()).copied().unwrap_or(0)
    }
}

/// The rows, and what every query gave.
pub async fn rows(data: &Path, seed: u64) -> anyhow::Result<(Vec<Figure>, serde_json::Value)> {
    let mut asked: BTreeMap<&str, Vec<Asked>> = BTreeMap::new();
    let names = RANKED.into_iter().chain(SUPPORTED.into_iter().filter(|name| !RANKED.contains(name)));
    for name in names {
        if data.join(name).is_dir() {
            asked.insert(name, ask(&Collection::read(&data.join(name), None)?).await?);
        } else {
            eprintln!("{name}: not in {}", data.display());
        }
    }
    let fixed = best_fixed(&asked);
    let mut figures = path_rows(&asked, fixed, seed);
    figures.extend(token_rows(&asked, fixed, seed));
    figures.extend(expectation_rows(&asked, seed));
    Ok((figures, serde_json::to_value(&asked)?))
}

async fn ask(collection: &Collection) -> anyhow::Result<Vec<Asked>> {
    let bench = Workbench::open(collection, &|_| {}).await?;
    eprintln!("{}: {} passages", collection.name, bench.entry().passages);
    let mut out = Vec::new();
    for query in &collection.queries {
        out.push(ask_one(&bench, query).await.with_context(|| format!("asking {} of {}", query.id, collection.name))?);
    }
    Ok(out)
}

async fn ask_one(bench: &Workbench, query: &Query) -> anyhow::Result<Asked> {
    let legs = bench.legs(&query.text, ranking::legs_of(AccessPath::HybridLinear), FETCHED)?;
    let (mut ndcg, mut dumps) = (Vec::new(), Vec::new());
    for path in PATHS {
        let list = ranking::ranked(path, &legs, FETCHED);
        let passages: Vec<&Passage> = list.iter().map(|item| &item.passage).collect();
        ndcg.push(ndcg_of(bench, query, &passages));
        dumps.push(dump(bench, query, &passages));
    }
    let train = is_train(&query.id);
    let planned = if train { None } else { Some(plan(bench, query, &ndcg).await?) };
    Ok(Asked { query: query.id.clone(), train, ndcg, planned, dumps })
}

fn ndcg_of(bench: &Workbench, query: &Query, passages: &[&Passage]) -> f64 {
    let mut documents = bench.documents(passages.iter().copied());
    documents.truncate(DEPTH);
    score(&documents, &query.relevant).ndcg_10
}

fn dump(bench: &Workbench, query: &Query, passages: &[&Passage]) -> Dump {
    let mut missing: Vec<&str> = query.relevant.keys().map(String::as_str).collect();
    let (mut full_at, mut sum, mut tokens) = (None, 0, Vec::new());
    for (at, passage) in passages.iter().enumerate() {
        sum += u64::from(passage.tokens);
        tokens.push(sum);
        missing.retain(|id| bench.document(passage) != Some(*id));
        if missing.is_empty() && full_at.is_none() {
            full_at = Some(at + 1);
        }
    }
    Dump { full_at, tokens }
}

async fn plan(bench: &Workbench, query: &Query, ndcg: &[f64]) -> anyhow::Result<Planned> {
    let run = bench.plan_and_run(&query.text).await?;
    let sent: Vec<&Passage> = run.report.context.iter().map(|item| &item.passage).collect();
    let documents = bench.documents(sent.iter().copied());
    let compared = run.path.and_then(|path| PATHS.iter().position(|p| *p == path));
    Ok(Planned {
        path: run.path.map_or("none", AccessPath::as_str).to_owned(),
        // A path that is not compared (identifier look-up, whole source) is judged on what was sent.
        ndcg: compared.map_or_else(|| ndcg_of(bench, query, &sent), |at| ndcg[at]),
        tokens: sent.iter().map(|passage| u64::from(passage.tokens)).sum(),
        full: query.relevant.keys().all(|id| documents.contains(&id.as_str())),
        some: query.relevant.keys().any(|id| documents.contains(&id.as_str())),
        evidence: run.report.outcome.evidence.map_or(0, Ppm::get),
        within: run.expected.zip(run.report.outcome.evidence).is_some_and(|(e, seen)| e.low <= seen && seen <= e.high),
    })
}

/// Index of the path with the best mean over the train queries of all ranked collections.
fn best_fixed(asked: &BTreeMap<&str, Vec<Asked>>) -> usize {
    let train: Vec<&Asked> = asked.iter().filter(|(name, _)| RANKED.contains(name)).flat_map(|(_, all)| all).filter(|a| a.train).collect();
    let sum = |at: usize| train.iter().map(|a| a.ndcg[at]).sum::<f64>();
    (0..PATHS.len()).max_by(|a, b| sum(*a).total_cmp(&sum(*b)).then(b.cmp(a))).unwrap_or(0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn path_rows(asked: &BTreeMap<&str, Vec<Asked>>, fixed: usize, seed: u64) -> Vec<Figure> {
    let mut out = Vec::new();
    let mut pool: Vec<&Asked> = Vec::new();
    for name in RANKED.iter().filter(|name| asked.contains_key(*name)) {
        let test: Vec<&Asked> = asked[*name].iter().filter(|a| a.planned.is_some()).collect();
        pool.extend(&test);
        let (mut row, difference) = path_row(name, &test, fixed, seed);
        row.bar = format!("mean ≥ {MEAN_LEAST}, upper end ≥ {UPPER_LEAST}");
        row.met = Some(difference.mean >= MEAN_LEAST && difference.high >= UPPER_LEAST);
        out.push(row);
    }
    let (mut row, difference) = path_row("all of them", &pool, fixed, seed);
    row.bar = "mean ≥ 0".to_owned();
    row.met = Some(difference.mean >= 0.0);
    out.push(row);
    out
}

fn path_row(name: &str, test: &[&Asked], fixed: usize, seed: u64) -> (Figure, ctx_eval::bootstrap::Difference) {
    let planned: Vec<f64> = test.iter().filter_map(|a| a.planned.as_ref()).map(|p| p.ndcg).collect();
    let of = |at: usize| test.iter().map(|a| a.ndcg[at]).collect::<Vec<f64>>();
    let difference = paired(&planned, &of(fixed), seed);
    let best = (0..PATHS.len()).max_by(|a, b| mean(&of(*a)).total_cmp(&mean(&of(*b)))).unwrap_or(0);
    let oracle: Vec<f64> = test.iter().map(|a| a.ndcg.iter().copied().fold(0.0, f64::max)).collect();
    let mut chosen: BTreeMap<&str, usize> = BTreeMap::new();
    test.iter().filter_map(|a| a.planned.as_ref()).for_each(|p| *chosen.entry(p.path.as_str()).or_default() += 1);
    let chosen = chosen.iter().map(|(path, n)| format!("{path} {n}")).collect::<Vec<_>>().join(", ");
    let figure = Figure::new(
        format!("path choice, nDCG@10 of the planned path minus the best fixed ({}), {name}", PATHS[fixed]),
        difference.mean,
        "",
        format!("{} test queries, 95 % paired [{:+.4}, {:+.4}], chose {chosen}", test.len(), difference.low, difference.high),
    );
    let beside = format!(
        "planned {:.4}, fixed {:.4}, best of the collection ({}) {:.4}, oracle per query {:.4}",
        mean(&planned),
        mean(&of(fixed)),
        PATHS[best],
        mean(&of(best)),
        mean(&oracle)
    );
    (figure.beside(beside), difference)
}

fn token_rows(asked: &BTreeMap<&str, Vec<Asked>>, fixed: usize, seed: u64) -> Vec<Figure> {
    SUPPORTED.iter().filter_map(|name| token_row(name, asked.get(name)?, fixed, seed)).collect()
}

/// Our tokens and the dump's.
struct Tokens {
    k: usize,
    recall: f64,
    dumped: f64,
    sent: f64,
}

/// The dump of smallest k that supports as many of these queries as we do; `None`: no dump does.
fn tokens(test: &[(&Asked, &Planned)], fixed: usize) -> Option<Tokens> {
    let n = test.len() as f64;
    let ours = test.iter().filter(|(_, p)| p.full).count();
    let recall = |k: usize| test.iter().filter(|(a, _)| a.dumps[fixed].full_at.is_some_and(|at| at <= k)).count();
    let k = (1..=FETCHED as usize).find(|k| recall(*k) >= ours)?;
    let dumped = test.iter().map(|(a, _)| a.dumps[fixed].tokens_of(k)).sum::<u64>() as f64 / n;
    let sent = test.iter().map(|(_, p)| p.tokens).sum::<u64>() as f64 / n;
    Some(Tokens { k, recall: recall(k) as f64 / n, dumped, sent })
}

/// 95 % interval of the ratio, over draws of the queries.
fn ratio_interval(test: &[(&Asked, &Planned)], fixed: usize, seed: u64) -> (f64, f64) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut draw = || {
        let drawn: Vec<_> = (0..test.len()).map(|_| test[random.random_range(0..test.len())]).collect();
        tokens(&drawn, fixed).map(|t| t.sent / t.dumped)
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).filter_map(|_| draw()).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |q: f64| ratios.get(((ratios.len().max(1) - 1) as f64 * q).round() as usize).copied().unwrap_or(f64::NAN);
    (at(0.025), at(0.975))
}

/// How often the evidence read lies within the plan's 90 % interval, and what it is worth as a forecast.
fn expectation_rows(asked: &BTreeMap<&str, Vec<Asked>>, seed: u64) -> Vec<Figure> {
    let of = |name: &str, runs: &[&Planned]| {
        let within = measures::mean(&runs.iter().map(|p| f64::from(u8::from(p.within))).collect::<Vec<_>>(), seed);
        // Of one collection with several required documents all are needed.
        let label = |p: &Planned| if name == SUPPORTED[0] { p.full } else { p.some };
        let forecasts: Vec<(f64, bool)> = runs.iter().map(|p| (f64::from(p.evidence) / 1e6, label(p))).collect();
        let figure = Figure::new(
            format!("evidence read lies within the plan's 90 % interval, {name}"),
            within.mean,
            "",
            format!("{} test queries, 95 % [{:.3}, {:.3}]", within.n, within.low, within.high),
        );
        let base = measures::base_rate(&forecasts);
        let brier = measures::brier(&forecasts);
        figure.beside(format!("Brier of the evidence read {brier:.3}, of the base rate {:.3}", base * (1.0 - base)))
    };
    let planned = |all: &'_ [Asked]| all.iter().filter_map(|a| a.planned.clone()).collect::<Vec<Planned>>();
    asked.iter().map(|(name, all)| of(name, &planned(all).iter().collect::<Vec<_>>())).collect()
}

/// Our tokens as a share of the dump's: the first k passages of the fixed path, with the smallest k whose full-support recall is
/// at least ours.
fn token_row(name: &str, asked: &[Asked], fixed: usize, seed: u64) -> Option<Figure> {
    let test: Vec<(&Asked, &Planned)> = asked.iter().filter_map(|a| Some((a, a.planned.as_ref()?))).collect();
    let Tokens { k, recall, dumped, sent } = tokens(&test, fixed)?;
    let (low, high) = ratio_interval(&test, fixed, seed);
    let ours = test.iter().filter(|(_, p)| p.full).count() as f64 / test.len() as f64;
    let figure = Figure::new(
        format!("evidence per token, tokens as a share of the top-k dump's, {name}"),
        sent / dumped,
        "×",
        format!("{} test queries, 95 % [{low:.2}, {high:.2}]; full-support recall {ours:.3} with {sent:.0} tokens on average", test.len()),
    );
    let dump = format!("{} dump, k = {k}: recall {recall:.3}, {dumped:.0} tokens", PATHS[fixed]);
    Some(figure.at_most(TOKENS_MOST).beside(dump))
}
