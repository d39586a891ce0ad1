//! The evaluation: every path over every query, then the planner's choice per query, then two baselines.

use crate::bootstrap;
use crate::collection::{Collection, Query};
use crate::error::EvalError;
use crate::metrics::{Scores, quantile, score};
use crate::report::{PlannerChoices, Report, Row, SCHEMA_VERSION};
use crate::trec;
use crate::workbench::{PlannedRun, Workbench};
use ctx_contracts::IndexEvent;
use ctx_runtime::ranking;
use ctx_types::{AccessPath, Passage, Status};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The paths that are compared.
pub const PATHS: [AccessPath; 4] = [AccessPath::Bm25, AccessPath::Dense, AccessPath::HybridLinear, AccessPath::HybridRrf];
/// Documents that are ranked.
pub const DEPTH: usize = 100;
/// Passages fetched for a ranking of [`DEPTH`] documents: a document may be found by several of its passages.
const FETCHED: u32 = 200;
/// Passages that a fixed path sends, and that its latency is measured with.
pub const SENT: u32 = 10;

/// What to evaluate.
#[derive(Clone, Debug)]
pub struct Options {
    /// `qrels/NAME.tsv`, or `all`, `train`, `test` by the hash of the query's id.
    pub split: Option<String>,
    /// Where TREC run files go.
    pub run_out: Option<PathBuf>,
    /// Seed of the bootstrap and of the random baseline.
    pub seed: u64,
    /// At most so many queries, the first of the file; `None`: all.
    pub queries_max: Option<usize>,
}

impl Default for Options {
    fn default() -> Self {
        Options { split: None, run_out: None, seed: 20_261_129, queries_max: None }
    }
}

/// What one system did over all queries, in their order.
#[derive(Clone, Debug, Default)]
struct System {
    scores: Vec<Scores>,
    tokens: Vec<u64>,
    holds: Vec<bool>,
    latency_us: Vec<u64>,
    rankings: Vec<Vec<String>>,
}

impl System {
    fn push(&mut self, query: &Query, ranking: Vec<String>, sent: &[&Passage], holds: bool, latency_us: u64) {
        let ids: Vec<&str> = ranking.iter().map(String::as_str).collect();
        self.scores.push(score(&ids, &query.relevant));
        self.tokens.push(sent.iter().map(|passage| u64::from(passage.tokens)).sum());
        self.holds.push(holds);
        self.latency_us.push(latency_us);
        self.rankings.push(ranking);
    }

    fn take_from(&mut self, other: &System, at: usize) {
        self.scores.push(other.scores[at]);
        self.tokens.push(other.tokens[at]);
        self.holds.push(other.holds[at]);
        self.latency_us.push(other.latency_us[at]);
        self.rankings.push(other.rankings[at].clone());
    }

    fn ndcg(&self) -> Vec<f64> {
        self.scores.iter().map(|scores| scores.ndcg_10).collect()
    }
}

/// Evaluates the collection in a folder. `progress` hears about indexing, `done` about queries (done, all).
pub async fn evaluate(
    folder: &Path,
    options: &Options,
    progress: &(dyn Fn(IndexEvent) + Send + Sync),
    done: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<Report, EvalError> {
    let mut collection = Collection::read(folder, options.split.as_deref())?;
    collection.queries.truncate(options.queries_max.unwrap_or(usize::MAX));
    let bench = Workbench::open(&collection, progress).await?;
    evaluate_collection(&collection, &bench, options, done).await
}

/// Evaluates a collection that is indexed already.
pub async fn evaluate_collection(
    collection: &Collection,
    bench: &Workbench,
    options: &Options,
    done: &(dyn Fn(usize, usize) + Send + Sync),
) -> Result<Report, EvalError> {
    let mut systems: BTreeMap<AccessPath, System> = BTreeMap::new();
    let (mut planned, mut choices) = (System::default(), PlannerChoices::default());
    for (at, query) in collection.queries.iter().enumerate() {
        let rankings = ask_paths(bench, query, &mut systems)?;
        let run = bench.plan_and_run(&query.text).await?;
        choices.count(run.path, run.report.outcome.status == Status::Abstained);
        push_planned(bench, query, &run, &rankings, &mut planned);
        done(at + 1, collection.queries.len());
    }
    choices.finish(collection.queries.len());
    let named = name_systems(systems, planned, options.seed);
    if let Some(folder) = &options.run_out {
        for (name, system) in &named.systems {
            trec::write(folder, &collection.name, name, &collection.queries, &system.rankings)?;
        }
    }
    Ok(report(collection, bench, options, &named, choices))
}

/// All paths for one query. Latency first, so that it is not measured on rows that the deep ranking has just read.
fn ask_paths(
    bench: &Workbench,
    query: &Query,
    systems: &mut BTreeMap<AccessPath, System>,
) -> Result<BTreeMap<AccessPath, Vec<String>>, EvalError> {
    let mut rankings = BTreeMap::new();
    let timed = PATHS.iter().map(|path| Ok((*path, bench.list(&query.text, *path, SENT)?))).collect::<Result<Vec<_>, EvalError>>()?;
    let legs = bench.legs(&query.text, ranking::legs_of(AccessPath::HybridLinear), FETCHED)?;
    for (path, listed) in timed {
        let deep = ranking::ranked(path, &legs, FETCHED);
        let mut ranking: Vec<String> = bench.documents(deep.iter().map(|item| &item.passage)).into_iter().map(str::to_owned).collect();
        ranking.truncate(DEPTH);
        let sent: Vec<&Passage> = listed.passages.iter().map(|item| &item.passage).collect();
        let holds = holds(bench, query, &sent);
        let elapsed = u64::try_from(listed.elapsed.as_micros()).unwrap_or(u64::MAX);
        systems.entry(path).or_default().push(query, ranking.clone(), &sent, holds, elapsed);
        rankings.insert(path, ranking);
    }
    Ok(rankings)
}

/// The planner is judged on the ranking of the path it chose, and on the context that its run really sent.
fn push_planned(bench: &Workbench, query: &Query, run: &PlannedRun, rankings: &BTreeMap<AccessPath, Vec<String>>, system: &mut System) {
    let sent: Vec<&Passage> = run.report.context.iter().map(|item| &item.passage).collect();
    // A path that is not compared (whole source, identifier look-up) is judged on what was sent.
    let sent_order = || bench.documents(sent.iter().copied()).into_iter().map(str::to_owned).collect();
    let ranking = run.path.and_then(|path| rankings.get(&path).cloned()).unwrap_or_else(sent_order);
    let elapsed = u64::try_from((run.planning + run.running).as_micros()).unwrap_or(u64::MAX);
    let holds = holds(bench, query, &sent);
    system.push(query, ranking, &sent, holds, elapsed);
}

/// Whether the context holds a relevant document's passage.
fn holds(bench: &Workbench, query: &Query, sent: &[&Passage]) -> bool {
    bench.documents(sent.iter().copied()).iter().any(|id| query.relevant.contains_key(*id))
}

/// All systems by name, in the order of the table.
struct Named {
    systems: Vec<(String, System)>,
    best_fixed: String,
}

fn name_systems(mut systems: BTreeMap<AccessPath, System>, planned: System, seed: u64) -> Named {
    let mut random = StdRng::seed_from_u64(seed);
    let mut drawn = System::default();
    for at in 0..planned.scores.len() {
        let path = PATHS[random.random_range(0..PATHS.len())];
        if let Some(system) = systems.get(&path) {
            drawn.take_from(system, at);
        }
    }
    let mean = |path: &AccessPath| systems.get(path).map_or(0.0, |system| system.ndcg().iter().sum::<f64>());
    let best = PATHS.iter().copied().max_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(AccessPath::Bm25);
    let mut named: Vec<(String, System)> = PATHS.iter().filter_map(|path| Some((path.to_string(), systems.remove(path)?))).collect();
    named.push(("planner".to_owned(), planned));
    named.push(("random_path".to_owned(), drawn));
    Named { systems: named, best_fixed: best.to_string() }
}

fn report(collection: &Collection, bench: &Workbench, options: &Options, named: &Named, planner: PlannerChoices) -> Report {
    let bm25 = named.systems.first().map(|(_, system)| system.ndcg()).unwrap_or_default();
    Report {
        schema_version: SCHEMA_VERSION,
        collection: collection.name.clone(),
        split: collection.split.clone(),
        documents: collection.documents.len(),
        passages: bench.entry().passages,
        queries: collection.queries.len(),
        seed: options.seed,
        resamples: bootstrap::RESAMPLES,
        sent_passages: SENT,
        best_fixed: named.best_fixed.clone(),
        planner,
        rows: named.systems.iter().map(|(name, system)| row(name, system, &bm25, options.seed)).collect(),
    }
}

fn row(name: &str, system: &System, bm25: &[f64], seed: u64) -> Row {
    let n = system.scores.len().max(1) as f64;
    let mean = |value: fn(&Scores) -> f64| system.scores.iter().map(value).sum::<f64>() / n;
    let mut latency = system.latency_us.clone();
    latency.sort_unstable();
    Row {
        system: name.to_owned(),
        ndcg_10: mean(|s| s.ndcg_10),
        recall_10: mean(|s| s.recall_10),
        recall_100: mean(|s| s.recall_100),
        mrr_10: mean(|s| s.mrr_10),
        tokens_sent: system.tokens.iter().sum::<u64>() as f64 / n,
        evidence_sent: system.holds.iter().filter(|holds| **holds).count() as f64 / n,
        latency_p50_us: quantile(&latency, 0.5),
        latency_p99_us: quantile(&latency, 0.99),
        ndcg_10_minus_bm25: bootstrap::paired(&system.ndcg(), bm25, seed),
    }
}
