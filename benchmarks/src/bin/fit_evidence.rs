//! Writes what the evidence fits are made from: per query of a collection, features before retrieval and the scores of
//! every leg with relevance. One JSON object a line; `crates/ctx-cost/scripts/evidence.py` reads them.
//!
//! `fit_evidence OUT COLLECTION...` asks each collection its own queries; `fit_evidence OUT --strangers COLLECTION...` asks
//! it train queries of the others, which nothing in it answers: without them a fit cannot tell a source that holds the
//! answer from one that holds its words. Queries outside *train* are marked. Not a figure: nothing here is timed.

use anyhow::Context;
use ctx_eval::{Collection, Query, Workbench, is_train};
use ctx_graph::LegPath;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Passages per leg.
const DEPTH: u32 = 200;

/// Queries that one collection asks of another.
const STRANGERS_MAX: usize = 40;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1).peekable();
    let out = arguments.next().context("usage: fit_evidence OUT [--strangers] COLLECTION...")?;
    let strangers = arguments.next_if(|argument| argument == "--strangers").is_some();
    let mut file = std::io::BufWriter::new(std::fs::File::create(&out).with_context(|| format!("creating {out}"))?);
    let collections = arguments.map(|folder| Collection::read(Path::new(&folder), None)).collect::<Result<Vec<_>, _>>()?;
    for collection in &collections {
        let bench = Workbench::open(collection, &|_| {}).await?;
        eprintln!("{}: {} passages, indexed in {:?}", collection.name, bench.entry().passages, bench.indexing);
        let asked = if strangers { strangers_of(collection, &collections) } else { collection.queries.clone() };
        for query in &asked {
            let mut row = observation(collection, &bench, query)?;
            row["stranger"] = strangers.into();
            row["train"] = (strangers || is_train(&query.id)).into();
            writeln!(file, "{row}")?;
        }
    }
    file.flush()?;
    Ok(())
}

/// Train queries of the other collections; nothing is relevant to them here.
fn strangers_of(collection: &Collection, all: &[Collection]) -> Vec<Query> {
    let others = all.iter().filter(|other| other.name != collection.name);
    let queries = others.flat_map(|other| {
        let train = other.queries.iter().filter(|query| is_train(&query.id)).take(STRANGERS_MAX);
        train.map(|query| Query { id: format!("{}-{}", other.name, query.id), text: query.text.clone(), relevant: BTreeMap::new() })
    });
    queries.collect()
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
