//! The figures: measured, compared with their bars and with a baseline of the same run, written as dated results.
//!
//! `figures DATA OUT [quality|choice|shelves|planning|optimizer|cache|templates|matching|retrieval|indexing|memory ...]`; without names all of them
//! (`choice` is a part of `quality`). Baselines and
//! sample sizes stand in each row. `figures index-folder FOLDER` indexes one folder and prints its peak memory: the
//! memory figure runs it as a child, so that nothing else is counted.
#![allow(clippy::print_stdout)] // a program talks on stdout

use anyhow::{Context, bail};
use ctx_benchmarks::figure::{Figure, Figures};
use ctx_benchmarks::machine::{Machine, peak_memory_mib, processor_seconds};
use ctx_benchmarks::planning::Scene;
use ctx_benchmarks::{bare, choice, matching, shelves, templates, text};
use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_eval::metrics::quantile;
use ctx_eval::{Collection, Options, Report, Workbench, evaluate_collection};
use ctx_plan_cache::{CachedPlan, CurrentStamps, EntryKind, KeyInput, PlanCache, PlanKey, Scope, Settings as CacheSettings};
use ctx_planner::Planner;
use ctx_types::{AccessPath, Goal, Micros, Sensitivity, SourceName, Tokens};
use serde_json::json;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Collection, bar of BM25 on all dev queries.
const COLLECTIONS: [(&str, f64); 5] =
    [("scifact", 0.688), ("cranfield", 0.525), ("cisi", 0.455), ("vaswani_npl", 0.445), ("runbooks_prometheus", 0.92)];
/// The fused path's own bar.
const FUSED_BARS: [(&str, f64); 1] = [("scifact", 0.700)];
/// Seed of everything drawn here.
const SEED: u64 = 20_261_129;
/// Times that an interleaved comparison is repeated; the best of each side counts, so that a busy machine does not
/// measure its neighbours.
const REPEATS: usize = 5;
/// Pairs of goals that templates must tell apart.
const TEMPLATE_PAIRS: usize = 100_000;
/// Text of the memory figure.
const MEMORY_BYTES: u64 = 1 << 30;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, folder] = arguments.as_slice()
        && mode == "index-folder"
    {
        return index_folder(Path::new(folder));
    }
    let [data, out, wanted @ ..] = arguments.as_slice() else { bail!("usage: figures DATA OUT [WHICH...]") };
    let (data, out) = (PathBuf::from(data), PathBuf::from(out));
    let all = ["planning", "optimizer", "cache", "templates", "matching", "retrieval", "indexing", "quality", "shelves", "memory"];
    let wanted: Vec<&str> = if wanted.is_empty() { all.to_vec() } else { wanted.iter().map(String::as_str).collect() };
    for name in wanted {
        let machine = Machine::describe();
        let (figures, details) = match name {
            "planning" => planning(&data)?,
            "optimizer" => optimizer(),
            "cache" => cache(&data)?,
            "templates" => templates::rows(&goals(&data)?, TEMPLATE_PAIRS, SEED),
            "matching" => matching::rows(&goals(&data)?, &paraphrases(&data)?, TEMPLATE_PAIRS, SEED),
            "retrieval" => retrieval(&data).await?,
            "indexing" => indexing(&data)?,
            "quality" => quality(&data, &out).await?,
            "choice" => choice::rows(&data, SEED).await?,
            "shelves" => shelves::rows(&data, SEED).await?,
            "memory" => memory()?,
            other => bail!("no figure is called {other}; there are: {}", all.join(", ")),
        };
        let group = Figures { name: name.to_owned(), machine, figures, details };
        group.write(&out)?;
        println!("{}", group.markdown());
    }
    Ok(())
}

/// The optimizer's own figures: no data set is needed.
fn optimizer() -> Measured {
    let rows = ctx_testkit::optimizer_figures::measure();
    (rows.iter().map(Figure::from).collect(), json!({ "seed": ctx_testkit::optimizer_figures::SEED }))
}

type Measured = (Vec<Figure>, serde_json::Value);

/// nDCG@10 per collection: BM25 on all dev queries, the fused path on those and on *test*, which no weight has seen.
async fn quality(data: &Path, out: &Path) -> anyhow::Result<Measured> {
    let (mut figures, mut reports) = (Vec::new(), Vec::new());
    for (name, bar) in COLLECTIONS {
        let collection = Collection::read(&data.join(name), None)?;
        let bench = Workbench::open(&collection, &|_| {}).await?;
        let options = Options { seed: SEED, run_out: Some(out.join("runs")), ..Options::default() };
        let all = evaluate_collection(&collection, &bench, &options, &|_, _| {}).await?;
        let test = Collection::read(&data.join(name), Some("test"))?;
        let unseen = evaluate_collection(&test, &bench, &Options { run_out: None, ..options }, &|_, _| {}).await?;
        std::fs::write(out.join(format!("{name}.txt")), format!("{}\n{}", all.table(), unseen.table()))?;
        figures.extend(quality_rows(name, bar, &all, &unseen)?);
        reports.extend([all, unseen]);
    }
    // Rankings of every query are for local inspection, too large to keep.
    std::fs::remove_dir_all(out.join("runs")).ok();
    let (rows, choices) = choice::rows(data, SEED).await?;
    figures.extend(rows);
    Ok((figures, json!({ "reports": reports, "choices": choices })))
}

fn quality_rows(name: &str, bar: f64, all: &Report, unseen: &Report) -> anyhow::Result<Vec<Figure>> {
    let value = |report: &Report, system: &str| report.row(system).map(|row| row.ndcg_10).with_context(|| format!("{system} on {name}"));
    let how = |report: &Report| format!("{} queries ({}), {} documents", report.queries, report.split, report.documents);
    let interval = |report: &Report, system: &str| {
        report
            .row(system)
            .map(|row| row.ndcg_10_minus_bm25)
            .map_or(String::new(), |d| format!("; minus BM25 {:+.3} [{:+.3}, {:+.3}]", d.mean, d.low, d.high))
    };
    let mut rows = vec![Figure::new(format!("nDCG@10 BM25, {name}"), value(all, "bm25")?, "", how(all)).at_least(bar)];
    for report in [all, unseen] {
        let bm25 = value(report, "bm25")?;
        let fused = value(report, "hybrid_linear")?.max(value(report, "hybrid_rrf")?);
        let best = if fused == value(report, "hybrid_linear")? { "hybrid_linear" } else { "hybrid_rrf" };
        let least = FUSED_BARS.iter().find(|(of, _)| *of == name).map_or(bm25, |(_, least)| least.max(bm25));
        let row = Figure::new(format!("nDCG@10 best fused path ({best}), {name}"), fused, "", how(report) + &interval(report, best));
        let beside = format!("BM25 {bm25:.4}, dense {:.4}, RRF {:.4}", value(report, "dense")?, value(report, "hybrid_rrf")?);
        rows.push(row.at_least((least * 1e4).round() / 1e4).beside(beside));
        let planner = Figure::new(
            format!("nDCG@10 planner's choice, {name}"),
            value(report, "planner")?,
            "",
            how(report) + &interval(report, "planner"),
        );
        rows.push(planner.beside(format!(
            "random path {:.4}, best fixed ({}) {:.4}",
            value(report, "random_path")?,
            report.best_fixed,
            value(report, &report.best_fixed)?
        )));
    }
    Ok(rows)
}

/// Real questions as goals.
fn goals(data: &Path) -> anyhow::Result<Vec<Goal>> {
    let collection = Collection::read(&data.join("scifact"), None)?;
    let mut texts: Vec<String> = collection.queries.into_iter().map(|query| query.text).collect();
    let mixed = data.join("source_mix/queries.jsonl");
    for line in std::fs::read_to_string(&mixed).unwrap_or_default().lines() {
        let row: serde_json::Value = serde_json::from_str(line)?;
        texts.extend(row["text"].as_str().map(str::to_owned));
    }
    Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).map(Goal::new).collect())
}

/// Texts of which many mean the same: development splits of an intent collection.
fn paraphrases(data: &Path) -> anyhow::Result<Vec<Goal>> {
    let file = data.join("clinc150/queries.jsonl");
    let text = std::fs::read_to_string(&file).with_context(|| format!("reading paraphrases from {}", file.display()))?;
    let mut goals = Vec::new();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line)?;
        goals.extend(row["text"].as_str().filter(|_| row["split"] != "test").map(Goal::new));
    }
    Ok(goals)
}

/// Cold planning: intent to schedule, on values.
fn planning(data: &Path) -> anyhow::Result<Measured> {
    let (scene, planner, goals) = (Scene::default(), Planner::builder().build(), goals(data)?);
    let mut once = Vec::with_capacity(goals.len());
    let (mut best, mut fewest) = (Vec::with_capacity(goals.len()), u64::MAX);
    for goal in goals.iter().take(20) {
        black_box(planner.plan(&scene.kept_inputs(goal)).ok());
    }
    for goal in &goals {
        let mut times = Vec::with_capacity(REPEATS);
        for _ in 0..REPEATS {
            let start = Instant::now();
            let planned = black_box(planner.plan(&scene.kept_inputs(goal)));
            times.push(nanos(start.elapsed()));
            if let Ok(planned) = planned {
                fewest = fewest.min(planned.plan.candidates);
            }
        }
        once.push(times[0]);
        best.extend(times.into_iter().min());
    }
    once.sort_unstable();
    best.sort_unstable();
    let how = format!("{} goals, at least {fewest} candidates each, one source, two models, one thread", goals.len());
    let first = Figure::new("cold planning p99, first run of each goal", ms(quantile(&once, 0.99)), "ms", how.clone()).at_most(1.0);
    let undisturbed = Figure::new("cold planning p99, best of five runs of each goal", ms(quantile(&best, 0.99)), "ms", how).at_most(1.0);
    let median = |list: &[u64]| format!("p50 {:.3} ms", ms(quantile(list, 0.5)));
    let details = json!({ "goals": goals.len(), "fewest_candidates": fewest, "p50_ms": ms(quantile(&once, 0.5)), "p999_ms": ms(quantile(&once, 0.999)) });
    Ok((vec![first.beside(median(&once)), undisturbed.beside(median(&best))], details))
}

/// A literal hit: key, lookup, comparison of stamps.
fn cache(data: &Path) -> anyhow::Result<Measured> {
    let (scene, planner, goals) = (Scene::default(), Planner::builder().build(), goals(data)?);
    let sources = [scene.source.clone()];
    let key = |goal: &Goal| {
        let input = KeyInput { goal, limits: &scene.limits, sources: &sources, configuration: "0", planner_version: Planner::version() };
        PlanKey::literal(&input)
    };
    let stamps = scene.stamps();
    let current = CurrentStamps::of(&stamps);
    let mut cache = PlanCache::new(CacheSettings { bytes_max: 1 << 30, ..CacheSettings::default() });
    let mut kept = Vec::new();
    for goal in goals.iter().take(500) {
        if let Ok(planned) = planner.plan(&scene.kept_inputs(goal)) {
            let entry = CachedPlan {
                kind: EntryKind::Literal,
                plan: Arc::new(planned.plan),
                label: Sensitivity::Public,
                planning: Micros(700),
                planned_at: 1,
                goal_tokens: Tokens(8),
                scope: Scope::default(),
            };
            cache.insert(key(goal), entry, &current);
            kept.push(goal);
        }
    }
    let (mut times, mut hits) = (Vec::new(), 0_u64);
    for round in 0..200_u64 {
        for goal in &kept {
            let start = Instant::now();
            let found = cache.lookup(&key(goal), &current, 2 + round / 100);
            times.push(nanos(start.elapsed()));
            hits += u64::from(found.hit().is_some());
            black_box(found);
        }
    }
    if hits != times.len() as u64 {
        bail!("{hits} of {} look-ups were hits", times.len());
    }
    times.sort_unstable();
    let how = format!("{} look-ups of {} plans, key included", times.len(), kept.len());
    let row =
        |q: f64, name: &str| Figure::new(format!("plan-cache literal hit {name}"), quantile(&times, q) as f64 / 1e3, "µs", how.clone());
    Ok((vec![row(0.5, "p50").at_most(5.0), row(0.99, "p99").at_most(20.0)], json!({ "p999_us": quantile(&times, 0.999) as f64 / 1e3 })))
}

/// Retrieval over five thousand documents: probe, legs, passages, fusion.
async fn retrieval(data: &Path) -> anyhow::Result<Measured> {
    let collection = Collection::read(&data.join("scifact"), None)?;
    let bench = Workbench::open(&collection, &|_| {}).await?;
    let (mut figures, mut details) = (Vec::new(), serde_json::Map::new());
    let (warm, measured) = collection.queries.split_at(20.min(collection.queries.len()));
    for query in warm {
        bench.list(&query.text, AccessPath::HybridLinear, 10)?;
    }
    for (path, bar) in [(AccessPath::Bm25, 2.0), (AccessPath::HybridLinear, 5.0)] {
        let (mut once, mut best) = (Vec::new(), Vec::new());
        for query in measured {
            let mut times = Vec::new();
            for _ in 0..REPEATS {
                times.push(u64::try_from(bench.list(&query.text, path, 10)?.elapsed.as_nanos())?);
            }
            once.push(times[0]);
            best.extend(times.into_iter().min());
        }
        once.sort_unstable();
        best.sort_unstable();
        let how = format!(
            "{} queries, {} documents, k = 10, probe, both legs in turn and passages included",
            measured.len(),
            collection.documents.len()
        );
        for (name, times) in [("first run of each query", &once), ("best of five runs", &best)] {
            let row = Figure::new(format!("retrieval {path} p99, {name}"), ms(quantile(times, 0.99)), "ms", how.clone());
            figures.push(row.at_most(bar).beside(format!("p50 {:.3} ms", ms(quantile(times, 0.5)))));
        }
        details.insert(path.to_string(), json!({ "p50_ms": ms(quantile(&once, 0.5)), "p90_ms": ms(quantile(&once, 0.9)) }));
    }
    Ok((figures, details.into()))
}

/// Indexing beside tantivy alone on the same chunks, in turns.
fn indexing(data: &Path) -> anyhow::Result<Measured> {
    let (mut figures, mut details) = (Vec::new(), serde_json::Map::new());
    let folder = tempfile::tempdir()?;
    type Write<'a> = Box<dyn Fn(&Path) -> anyhow::Result<()> + 'a>;
    let cases: [(&str, Write<'_>); 2] = [
        ("scifact", Box::new(|into: &Path| write_corpus(&data.join("scifact"), into))),
        ("made-up text, 32 MiB", Box::new(|into: &Path| text::write(into, 32 << 20, SEED).map(drop))),
    ];
    for (at, (name, write)) in cases.iter().enumerate() {
        let files = folder.path().join(format!("files-{at}"));
        std::fs::create_dir(&files)?;
        write(&files)?;
        let chunks = bare::chunks(&files)?;
        let (mut ours, mut alone, mut ratios) = (f64::MAX, f64::MAX, Vec::new());
        let (mut ours_cpu, mut alone_cpu) = (f64::MAX, f64::MAX);
        for turn in 0..REPEATS {
            let before = processor_seconds().unwrap_or(0.0);
            let bare = bare::index(&chunks, &folder.path().join(format!("bare-{at}-{turn}")))?.as_secs_f64();
            let between = processor_seconds().unwrap_or(0.0);
            let engine = engine(&files, &folder.path().join(format!("store-{at}-{turn}")))?;
            let start = Instant::now();
            engine.index(&[], IndexOptions::default(), &|_| {}, &|| false)?;
            let whole = start.elapsed().as_secs_f64();
            let after = processor_seconds().unwrap_or(0.0);
            ratios.push(whole / bare);
            (ours, alone) = (ours.min(whole), alone.min(bare));
            (ours_cpu, alone_cpu) = (ours_cpu.min(after - between), alone_cpu.min(between - before));
        }
        let how = format!(
            "{} chunks; best of {REPEATS} of each, in turns; reading, cutting, tokens, embeddings, sensitive values, database, text index, publishing",
            chunks.len()
        );
        let row = Figure::new(format!("indexing time, times bare tantivy, {name}"), ours / alone, "×", how).at_most(2.0);
        figures.push(row.beside(format!("{ours:.2} s, tantivy alone {alone:.2} s; processor {ours_cpu:.2} s and {alone_cpu:.2} s")));
        details.insert((*name).to_owned(), json!({ "ratios": ratios }));
    }
    Ok((figures, details.into()))
}

/// A collection's documents as one file.
fn write_corpus(collection: &Path, into: &Path) -> anyhow::Result<()> {
    let rows: Vec<String> = Collection::read(collection, None)?
        .documents
        .iter()
        .map(|d| json!({ "id": d.id, "title": d.title, "text": d.text }).to_string())
        .collect();
    Ok(std::fs::write(into.join("corpus.jsonl"), rows.join("\n") + "\n")?)
}

fn engine(files: &Path, store: &Path) -> anyhow::Result<Engine> {
    let sources = BTreeMap::from([(SourceName::new("files")?, SourceConfig::at(files))]);
    Ok(Engine::open(store, sources, EngineOptions::default()))
}

/// Peak memory of a child that indexes one gibibyte of made-up text.
fn memory() -> anyhow::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let written = text::write(folder.path(), MEMORY_BYTES, SEED)?;
    let start = Instant::now();
    let child = std::process::Command::new(std::env::current_exe()?).arg("index-folder").arg(folder.path()).output()?;
    let elapsed = start.elapsed().as_secs_f64();
    if !child.status.success() {
        bail!("the indexing child failed: {}", String::from_utf8_lossy(&child.stderr));
    }
    let printed = String::from_utf8(child.stdout)?;
    let [peak, passages, processor] = printed.split_whitespace().map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?[..] else {
        bail!("the indexing child said {printed:?}");
    };
    let how = format!(
        "{} MiB of made-up Markdown, {passages} passages, {elapsed:.0} s ({processor:.0} s of processor time), a process of its own",
        written >> 20
    );
    let row = Figure::new("peak memory (resident), indexing 1 GiB of text", peak, "MiB", how).at_most(500.0);
    Ok((vec![row], json!({ "seconds": elapsed, "processor_seconds": processor })))
}

fn index_folder(folder: &Path) -> anyhow::Result<()> {
    let store = tempfile::tempdir()?;
    let reports = engine(folder, store.path())?.index(&[], IndexOptions::default(), &|_| {}, &|| false)?;
    let passages: u64 = reports.iter().map(|report| report.passages).sum();
    println!("{} {passages} {}", peak_memory_mib().context("reading the peak memory")?, processor_seconds().unwrap_or(0.0));
    Ok(())
}

fn nanos(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
