//! Writes what the evidence fits are made from: per query of a collection, features before retrieval and the scores of
//! every leg with relevance. One JSON object a line; `crates/ctx-cost/scripts/evidence.py` reads them.
//!
//! `cargo run -p ctx-benchmarks --bin fit_evidence -- OUT COLLECTION...`; only *train* queries are marked as such, the
//! rest is for the stated error. Not a figure: nothing here is timed.

use anyhow::Context;
use ctx_eval::{Collection, Query, Workbench, is_train};
use ctx_graph::LegPath;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Passages per leg.
const DEPTH: u32 = 200;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().context("usage: fit_evidence OUT COLLECTION...")?;
    let mut file = std::io::BufWriter::new(std::fs::File::create(&out).with_context(|| format!("creating {out}"))?);
    for folder in arguments {
        let collection = Collection::read(Path::new(&folder), None)?;
        let bench = Workbench::open(&collection, &|_| {}).await?;
        eprintln!("{}: {} passages, indexed in {:?}", collection.name, bench.entry().passages, bench.indexing);
        for query in &collection.queries {
            writeln!(file, "{}", observation(&collection, &bench, query)?)?;
        }
    }
    file.flush()?;
    Ok(())
}

fn observation(collection: &Collection, bench: &Workbench, query: &Query) -> anyhow::Result<Value> {
    let before = bench.before(&query.text)?.unwrap_or_default();
    let legs = bench.legs(&query.text, &[LegPath::Bm25, LegPath::Dense], DEPTH)?;
    let mut lists = serde_json::Map::new();
    for (leg, hits) in &legs.hits {
        let rows: Vec<Value> = hits
            .iter()
            .map(|hit| {
                let document = bench.document(&hit.passage).unwrap_or_default();
                json!([hit.passage.id, document, hit.score, hit.passage.tokens, u8::from(hit.exact)])
            })
            .collect();
        lists.insert(leg.as_str().to_owned(), Value::Array(rows));
    }
    Ok(json!({
        "collection": collection.name,
        "passages": bench.entry().passages,
        "query": query.id,
        "train": is_train(&query.id),
        "relevant": query.relevant,
        "max_idf": before.max_idf,
        "mean_idf": before.mean_idf,
        "coverage": before.coverage,
        "centroid": before.centroid,
        "ln_passages": before.ln_passages,
        "ln_terms": before.ln_terms,
        "identifier_passages": before.identifier_passages,
        "ceiling": before.ceiling,
        "legs": lists,
    }))
}
