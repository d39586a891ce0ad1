//! Measures the engine on a folder: indexing against bare tantivy on the same chunks, memory, and retrieval latency.
//!
//! `cargo run --release -p ctx-embedded --example index_speed -- FOLDER [QUERIES.jsonl]`
//!
//! Queries are the `text` fields of a JSON Lines file; without one, the first words of passages.

use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_types::{AccessPath, SourceName};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("name a folder")?;
    let store = tempfile::tempdir()?;
    let docs = SourceName::new("docs")?;
    let open = || Engine::open(store.path(), BTreeMap::from([(docs.clone(), SourceConfig::at(&folder))]), EngineOptions::default());
    let engine = open();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let report = engine.index(&[], IndexOptions::default(), &|_| {}, &|| false)?.remove(0);
    let indexing = start.elapsed();
    let indexing_cpu = cpu_seconds() - cpu;
    let seconds = indexing.as_secs_f64();
    eprintln!(
        "index: {} files, {} passages in {seconds:.2} s ({indexing_cpu:.2} s of processor), peak {} MB",
        report.indexed,
        report.passages,
        peak_mb()
    );
    let start = Instant::now();
    engine.refresh(std::slice::from_ref(&docs), &|_| {}, &|| false)?;
    eprintln!("refresh without changes: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);

    let passages = engine.search(&docs, AccessPath::Whole, "", usize::MAX / 4)?.hits;
    let bytes: usize = passages.iter().map(|hit| hit.passage.text.len()).sum();
    let (start, cpu) = (Instant::now(), cpu_seconds());
    bare_tantivy(passages.iter().map(|hit| (hit.passage.title.as_str(), hit.passage.text.as_str())))?;
    let bare = start.elapsed();
    let bare_cpu = cpu_seconds() - cpu;
    let (megabytes, ratio, cpu_ratio) = (bytes as f64 / 1e6, seconds / bare.as_secs_f64(), indexing_cpu / bare_cpu);
    eprintln!(
        "bare tantivy: {:.2} s ({bare_cpu:.2} s of processor) for {megabytes:.1} MB; ratio {ratio:.2}, of processor time {cpu_ratio:.2}",
        bare.as_secs_f64()
    );

    let queries = match arguments.next() {
        Some(path) => queries(Path::new(&path))?,
        None => passages.iter().step_by((passages.len() / 500).max(1)).map(|hit| first_words(&hit.passage.text)).collect(),
    };
    let cold = open();
    for (name, paths) in [
        ("bm25", &[AccessPath::Bm25][..]),
        ("dense", &[AccessPath::Dense]),
        ("identifier", &[AccessPath::Identifier]),
        ("fused", &[AccessPath::Bm25, AccessPath::Dense]),
    ] {
        let mut times = Vec::new();
        for query in &queries {
            let start = Instant::now();
            for path in paths {
                cold.search(&docs, *path, query, 10)?;
            }
            times.push(start.elapsed());
        }
        percentiles(name, times);
    }
    let mut times = Vec::new();
    for query in &queries {
        let start = Instant::now();
        cold.probe(query, std::slice::from_ref(&docs))?;
        times.push(start.elapsed());
    }
    percentiles("probe", times);
    Ok(())
}

fn percentiles(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 1000].as_secs_f64() * 1e6;
    eprintln!(
        "{name}: p50 {:.0} µs, p90 {:.0} µs, p99 {:.0} µs, max {:.0} µs over {} queries",
        at(500),
        at(900),
        at(990),
        at(1000),
        times.len()
    );
}

fn first_words(text: &str) -> String {
    text.split_whitespace().take(8).collect::<Vec<_>>().join(" ")
}

fn queries(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path)?;
    let field = |line: &str| serde_json::from_str::<serde_json::Value>(line).ok()?.get("text")?.as_str().map(str::to_owned);
    Ok(text.lines().filter_map(field).collect())
}

/// Title and text of every chunk, the product's tokenizer, one writer thread, commit included.
fn bare_tantivy<'a>(chunks: impl Iterator<Item = (&'a str, &'a str)>) -> Result<(), Failure> {
    use tantivy::schema::{IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
    let folder = tempfile::tempdir()?;
    let indexing = TextFieldIndexing::default().set_tokenizer("body").set_index_option(IndexRecordOption::WithFreqs);
    let mut schema = Schema::builder();
    let body = schema.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
    let index = tantivy::Index::create_in_dir(folder.path(), schema.build())?;
    index.tokenizers().register("body", ctx_tantivy::body_tokenizer());
    let mut writer = index.writer_with_num_threads(1, 64_000_000)?;
    for (title, text) in chunks {
        writer.add_document(tantivy::doc!(body => title, body => text))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(())
}

/// Processor time of all threads; the kernel counts hundredths.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}

/// Largest resident size of this process so far.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) / 1024
}
