//! nDCG@10 of BM25 on collections in the BEIR layout, its latency, and indexing speed beside bare tantivy.
//!
//! `cargo run --release -p ctx-tantivy --example bm25_eval -- FOLDER...` where each folder holds `corpus.jsonl[.zst]`,
//! `queries.jsonl` and `qrels.tsv`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use ctx_intent::identifiers::identifiers;
use ctx_tantivy::{MultiSearcher, SegmentReader, SegmentWriter, body_tokenizer, language};
use tantivy::schema::{FAST, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{
    Language as StemmerLanguage, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, StopWordFilter, TextAnalyzer,
};
use tantivy::{Index, doc};

type Error = Box<dyn std::error::Error>;

/// Each query is timed this often and its best time counts, so that a busy machine does not measure its neighbours.
const RUNS: usize = 5;

struct Document {
    id: String,
    title: String,
    text: String,
}

fn main() -> Result<(), Error> {
    println!(
        "{:<22} {:>7} {:>7} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9}",
        "collection", "docs", "queries", "nDCG@10", "p50 µs", "p99 µs", "ours ms", "same ms", "simple ms"
    );
    for folder in std::env::args().skip(1) {
        evaluate(Path::new(&folder))?;
    }
    Ok(())
}

fn evaluate(folder: &Path) -> Result<(), Error> {
    let documents = corpus(folder)?;
    let queries = queries(folder)?;
    let judged = judgments(folder)?;
    let temporary = tempfile::tempdir()?;
    let same = bare(&documents, &temporary.path().join("same"), body_tokenizer())?;
    let simple = bare(&documents, &temporary.path().join("simple"), simple_tokenizer())?;
    let ours = index(&documents, &temporary.path().join("ours"))?;
    let searcher = MultiSearcher::new(vec![Arc::new(SegmentReader::open(&temporary.path().join("ours"))?)]);
    let (mut total, mut latencies) = (0.0, Vec::new());
    for (id, text) in queries.iter().filter(|(id, _)| judged.contains_key(*id)) {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let started = Instant::now();
            searcher.search(text, 10, &|_, _| false)?;
            times.push(started.elapsed());
        }
        latencies.push(times.into_iter().min().unwrap_or_default());
        let found = searcher.search(text, 10, &|_, _| false)?;
        let ranking: Vec<&str> = found.hits.iter().map(|hit| documents[hit.ordinal as usize].id.as_str()).collect();
        total += ndcg(&ranking, &judged[id]);
    }
    latencies.sort();
    let at = |quantile: f64| latencies[((latencies.len() - 1) as f64 * quantile).round() as usize].as_micros();
    println!(
        "{:<22} {:>7} {:>7} {:>8.4} {:>8} {:>8} {:>9} {:>9} {:>9}",
        folder.file_name().unwrap_or_default().to_string_lossy(),
        documents.len(),
        latencies.len(),
        total / latencies.len() as f64,
        at(0.5),
        at(0.99),
        ours.as_millis(),
        same.as_millis(),
        simple.as_millis()
    );
    Ok(())
}

fn index(documents: &[Document], folder: &Path) -> Result<Duration, Error> {
    let started = Instant::now();
    let languages: Vec<&str> = documents.iter().map(|document| language::detect(&document.text).code()).collect();
    let detected = started.elapsed();
    let started = cpu_time();
    let names: usize = documents.iter().map(|document| identifiers(&document.text).len()).sum();
    let scanned = cpu_time() - started;
    let started = cpu_time();
    let mut writer = SegmentWriter::create(folder)?;
    for ((ordinal, document), language) in documents.iter().enumerate().zip(&languages) {
        writer.add(ordinal as u32, &document.title, &document.text, language)?;
    }
    let sealed = writer.seal()?;
    let elapsed = cpu_time() - started;
    eprintln!("languages {detected:?} {:?}, {names} identifiers {scanned:?}", sealed.languages);
    Ok(elapsed)
}

/// Tantivy alone: one text field, one ordinal, one thread, commit included.
fn bare(documents: &[Document], folder: &Path, tokenizer: TextAnalyzer) -> Result<Duration, Error> {
    std::fs::create_dir_all(folder)?;
    let mut builder = Schema::builder();
    let indexing = TextFieldIndexing::default().set_tokenizer("bare").set_index_option(IndexRecordOption::WithFreqs);
    let body = builder.add_text_field("body", TextOptions::default().set_indexing_options(indexing));
    let ordinal = builder.add_u64_field("ordinal", FAST);
    let started = cpu_time();
    let index = Index::create_in_dir(folder, builder.build())?;
    index.tokenizers().register("bare", tokenizer);
    let mut writer = index.writer_with_num_threads(1, 64_000_000)?;
    for (at, document) in documents.iter().enumerate() {
        writer.add_document(doc!(body => format!("{}\n{}", document.title, document.text), ordinal => at as u64))?;
    }
    writer.commit()?;
    writer.wait_merging_threads()?;
    Ok(cpu_time() - started)
}

/// Processor time of all threads, so that a busy machine does not measure its neighbours; in steps of 10 ms. Wall time
/// where the system does not tell.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let ticks = || -> Option<u64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
    };
    ticks().map_or_else(|| START.elapsed(), |ticks| Duration::from_millis(ticks * 10))
}

fn simple_tokenizer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(StopWordFilter::new(StemmerLanguage::English).unwrap())
        .filter(Stemmer::new(StemmerLanguage::English))
        .build()
}

fn ndcg(ranking: &[&str], judged: &BTreeMap<String, f64>) -> f64 {
    let discount = |rank: usize| 1.0 / ((rank + 2) as f64).log2();
    let gain: f64 = ranking.iter().take(10).enumerate().map(|(rank, id)| judged.get(*id).unwrap_or(&0.0) * discount(rank)).sum();
    let mut best: Vec<f64> = judged.values().copied().collect();
    best.sort_by(|one, two| two.total_cmp(one));
    let ideal: f64 = best.iter().take(10).enumerate().map(|(rank, score)| score * discount(rank)).sum();
    if ideal > 0.0 { gain / ideal } else { 0.0 }
}

fn lines(folder: &Path, name: &str) -> Result<Vec<serde_json::Value>, Error> {
    let plain = folder.join(name);
    let reader: Box<dyn Read> = if plain.exists() {
        Box::new(File::open(plain)?)
    } else {
        Box::new(ruzstd::decoding::StreamingDecoder::new(File::open(folder.join(format!("{name}.zst")))?)?)
    };
    BufReader::new(reader).lines().map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

fn field(value: &serde_json::Value, names: &[&str]) -> String {
    names.iter().find_map(|name| value[name].as_str()).unwrap_or_default().to_owned()
}

fn corpus(folder: &Path) -> Result<Vec<Document>, Error> {
    let values = lines(folder, "corpus.jsonl")?;
    let document = |value| Document { id: field(value, &["id", "_id"]), title: field(value, &["title"]), text: field(value, &["text"]) };
    Ok(values.iter().map(document).collect())
}

fn queries(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    let values = lines(folder, "queries.jsonl")?;
    Ok(values.iter().map(|value| (field(value, &["id", "_id"]), field(value, &["text"]))).collect())
}

fn judgments(folder: &Path) -> Result<BTreeMap<String, BTreeMap<String, f64>>, Error> {
    let mut judged: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for line in BufReader::new(File::open(folder.join("qrels.tsv"))?).lines().skip(1) {
        let line = line?;
        let mut columns = line.split('\t');
        if let (Some(query), Some(document), Some(score)) = (columns.next(), columns.next(), columns.next()) {
            judged.entry(query.to_owned()).or_default().insert(document.to_owned(), score.trim().parse()?);
        }
    }
    Ok(judged)
}
