//! Fits what ships in `crates/ctx-local/coefficients/rerank.json` and `compress.json`, and measures both on *test*.
//!
//! `fit_stages DATA OUT [--lists FILE]`: DATA holds collections in the BEIR layout; those of `RANKED` that are there train
//! the reranker, those of `RATIONALES` the compressor. FILE keeps the lists (written if missing). OUT gets both files, and
//! `stages.md` and `stages.json` with the measures, their baselines and intervals.

use anyhow::{Context, bail};
use ctx_benchmarks::figure::{Figure, Figures};
use ctx_benchmarks::fitting::compress::{self, Case, KEEPS};
use ctx_benchmarks::fitting::rerank::{self, DEPTH, Listed};
use ctx_benchmarks::fitting::{gold, write};
use ctx_benchmarks::machine::Machine;
use ctx_eval::bootstrap;
use ctx_eval::{Collection, Workbench, is_train};
use ctx_local::compress::Scoring;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Collections that train and test the reranker.
const RANKED: [&str; 7] = ["scifact", "cranfield", "cisi", "vaswani_npl", "runbooks_prometheus", "hotpotqa_200", "pubmedqa"];
/// Collections with gold sentences.
const RATIONALES: [&str; 2] = ["scifact", "hotpotqa_200"];
/// Seed of intervals.
const SEED: u64 = 20_261_129;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (data, out, kept) = match arguments.as_slice() {
        [data, out] => (PathBuf::from(data), PathBuf::from(out), None),
        [data, out, flag, file] if flag == "--lists" => (PathBuf::from(data), PathBuf::from(out), Some(PathBuf::from(file))),
        _ => bail!("usage: fit_stages DATA OUT [--lists FILE]"),
    };
    let machine = Machine::describe();
    std::fs::create_dir_all(&out).with_context(|| format!("creating {}", out.display()))?;
    let lists = match &kept {
        Some(file) if file.is_file() => rerank::read(file)?,
        _ => lists(&data).await?,
    };
    if let Some(file) = kept.filter(|file| !file.is_file()) {
        rerank::write(&file, &lists)?;
    }
    let mut figures = Vec::new();
    let reranker = fit_reranker(&lists, &mut figures)?;
    let compressors = fit_compressors(&data, &mut figures)?;
    write::file(&out.join("rerank.json"), &reranker)?;
    write::file(&out.join("compress.json"), &compressors)?;
    Figures { name: "stages".to_owned(), machine, figures, details: json!({ "rerank": reranker, "compress": compressors }) }.write(&out)
}

async fn lists(data: &Path) -> anyhow::Result<Vec<Listed>> {
    let mut out = Vec::new();
    for name in RANKED.iter().filter(|name| data.join(name).is_dir()) {
        let collection = Collection::read(&data.join(name), None)?;
        let bench = Workbench::open(&collection, &|_| {}).await?;
        out.extend(rerank::observe(&collection, &bench)?);
        eprintln!("{name}: {} lists so far", out.len());
    }
    Ok(out)
}

fn names<'a>(lists: &[&'a Listed]) -> Vec<&'a str> {
    lists.iter().map(|l| l.collection.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Lists of one collection.
fn of<'a>(lists: &[&'a Listed], name: &str) -> Vec<&'a Listed> {
    lists.iter().copied().filter(|list| list.collection == name).collect()
}

fn fit_reranker(lists: &[Listed], figures: &mut Vec<Figure>) -> anyhow::Result<Value> {
    let (train, test): (Vec<&Listed>, Vec<&Listed>) = lists.iter().partition(|l| l.train);
    let weights = rerank::weights(&train)?;
    // Fitted without the collection that it is measured on: what a stranger may expect.
    let mut strangers = BTreeMap::new();
    for name in names(&train) {
        let others: Vec<&Listed> = train.iter().copied().filter(|l| l.collection != name).collect();
        strangers.insert(name, rerank::weights(&others)?);
    }
    for (name, stranger) in &strangers {
        figures.push(ndcg_row(name, &of(&test, name), &weights, stranger));
    }
    let mut gains = Vec::new();
    for quota in rerank::QUOTAS {
        let [on_train, on_test] = [&train, &test].map(|lists| gain(lists, &strangers, quota));
        let how = format!(
            "test, quota {quota} tokens of the top {DEPTH}, each collection reordered by a fit that has not seen it, collections weigh the \
             same; [{:+.3}, {:+.3}] leaving one out",
            on_test[1], on_test[2]
        );
        let what = format!("growth of P(evidence within {quota} tokens) by the feature reranker");
        figures.push(Figure::new(what, on_test[0], "", how).beside(format!("the order of retrieval: 0; on train {:+.3}", on_train[0])));
        gains.push(json!({ "up_to": quota, "gain": on_train.map(ppm), "n": train.len() }));
    }
    Ok(json!({
        "provenance": format!(
            "fit_stages of the benchmarks: pairwise logistic on train queries of {}; gains on train queries of each by a fit without it",
            names(&train).join(", ")
        ),
        "depth": DEPTH,
        "weights": weights,
        "gains": gains,
        "latency": [3_000, 12_000],
    }))
}

fn ndcg_row(name: &str, test: &[&Listed], weights: &BTreeMap<String, f64>, stranger: &BTreeMap<String, f64>) -> Figure {
    let retrieved: Vec<f64> = test.iter().map(|l| rerank::ndcg(l, &(0..l.rows.len()).collect::<Vec<_>>())).collect();
    let by = |weights| test.iter().map(|l| rerank::ndcg(l, &rerank::order(l, weights))).collect::<Vec<f64>>();
    let (after, left_out) = (by(weights), by(stranger));
    let difference = bootstrap::paired(&left_out, &retrieved, SEED);
    let how = format!(
        "{} test queries, top {DEPTH}, fitted without this collection; difference {:+.3}, 95 % paired [{:+.3}, {:+.3}], seed {SEED}",
        test.len(),
        difference.mean,
        difference.low,
        difference.high
    );
    let baseline = format!("hybrid_linear {:.3}; fitted with its train queries {:.3}", mean(&retrieved), mean(&after));
    Figure::new(format!("{name}: nDCG@10 reranked by features"), mean(&left_out), "", how).beside(baseline)
}

/// By how much the share of lists whose evidence is within the quota grows, every collection with the same weight; lowest and
/// highest leaving one collection out.
fn gain(lists: &[&Listed], strangers: &BTreeMap<&str, BTreeMap<String, f64>>, quota: u64) -> [f64; 3] {
    let shares: Vec<(f64, f64)> = strangers.iter().map(|(name, weights)| rerank::within(&of(lists, name), weights, quota)).collect();
    let growth = |skip: Option<usize>| {
        let kept = || shares.iter().enumerate().filter(|(at, _)| Some(*at) != skip).map(|(_, share)| share);
        let (before, after): (f64, f64) = (kept().map(|s| s.0).sum(), kept().map(|s| s.1).sum());
        if before > 0.0 { after / before - 1.0 } else { 0.0 }
    };
    let without: Vec<f64> = (0..shares.len()).map(|skip| growth(Some(skip))).collect();
    let all = growth(None);
    [all, without.iter().copied().fold(all, f64::min), without.iter().copied().fold(all, f64::max)]
}

fn fit_compressors(data: &Path, figures: &mut Vec<Figure>) -> anyhow::Result<Value> {
    let mut all: Vec<Case> = Vec::new();
    for name in RATIONALES.iter().filter(|name| data.join(name).is_dir()) {
        let collection = Collection::read(&data.join(name), None)?;
        let documents = collection.documents.iter().map(|d| (d.id.clone(), (d.title.clone(), d.text.clone()))).collect();
        let queries: Vec<(String, String, bool)> =
            collection.queries.iter().map(|q| (q.id.clone(), q.text.clone(), is_train(&q.id))).collect();
        all.extend(compress::cases(name, &queries, &gold::read(data, name)?, &documents)?);
    }
    let (train, test): (Vec<&Case>, Vec<&Case>) = all.iter().partition(|c| c.train);
    let weights = compress::weights(&train)?;
    let mut measured: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for scoring in Scoring::ALL {
        for keep in KEEPS {
            let (survives, sent) = shares(&compress::survival(&train, scoring, keep));
            let (on_test, sent_on_test) = shares(&compress::survival(&test, scoring, keep));
            measured.entry(scoring.as_str()).or_default().push(json!({
                "keep": keep, "sent": sent.map(ppm), "survives": survives.map(ppm), "n": train.len(),
            }));
            let what = format!("{} at {:.2}: every gold sentence is still there", scoring.as_str(), f64::from(keep) / 1e6);
            let how = format!(
                "{} test cases of {}; sent {:.2} of the text; 90 % interval [{:.2}, {:.2}]",
                test.len(),
                RATIONALES.join(" and "),
                sent_on_test[0],
                on_test[1],
                on_test[2]
            );
            // At most: a sentence of average length chosen at random, where one rationale is enough.
            let baseline = format!("random sentences of the same length keep one of them with {:.2}", sent_on_test[0]);
            figures.push(Figure::new(what, on_test[0], "", how).beside(baseline));
        }
    }
    Ok(json!({
        "provenance": format!("coefficients/compress.json: gold sentences of train queries of {}, fit_stages", RATIONALES.join(" and ")),
        "weights": weights,
        "measured": measured,
        "latency_per_ktoken": [400, 1_600],
    }))
}

fn ppm(share: f64) -> u32 {
    (share.clamp(0.0, 1.0) * 1e6).round() as u32
}

/// Point and 90 % interval of both shares: binomial for survival, quantiles for what is sent.
fn shares(cases: &[(bool, f64)]) -> ([f64; 3], [f64; 3]) {
    let n = cases.len().max(1) as f64;
    let p = cases.iter().filter(|c| c.0).count() as f64 / n;
    let half = 1.645 * (p * (1.0 - p) / n).sqrt();
    let mut sent: Vec<f64> = cases.iter().map(|c| c.1).collect();
    sent.sort_by(f64::total_cmp);
    let at = |q: f64| sent.get(((sent.len() as f64 - 1.0) * q).round() as usize).copied().unwrap_or(1.0);
    ([p, p - half, p + half], [mean(&sent), at(0.05), at(0.95)])
}
