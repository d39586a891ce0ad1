//! Fits what ships in `crates/ctx-local/coefficients/local.json` and the extractive block of `crates/ctx-cost/coefficients/quality.json`.
//!
//! `fit_local DATA OUT [--contexts FILE]`: DATA holds `scifact`, `hotpotqa_200` and `runbooks_prometheus`; OUT gets `local.json`,
//! `extractive.json` and the measures on *test* (`local_fit.md`, `local_fit.json`). The context of each query is the raw
//! material: what a plan without a model reads by default. FILE keeps it (written if missing), so that a fit can be repeated
//! without indexing again.

use anyhow::{Context, bail};
use ctx_benchmarks::figure::Figures;
use ctx_benchmarks::fitting::contexts::{self, Observation, Packed};
use ctx_benchmarks::fitting::{report, write};
use ctx_benchmarks::machine::Machine;
use ctx_cost::evidence::ScoreProfile;
use ctx_eval::{Collection, Document, Query, Workbench, is_train};
use ctx_graph::LegPath;
use ctx_intent::IntentModel;
use ctx_optimizer::worth::{self, Evidence, Length, Need};
use ctx_runtime::ranking::{self, RankedPassage};
use ctx_types::{AccessPath, Ppm};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Queries that one collection asks of another.
const STRANGERS_MAX: usize = 40;
/// What a plan without a model reads by default: passages of one path, and their tokens.
const K: u32 = 50;
const TOKENS_MAX: u64 = 8_000;
const PATH: AccessPath = AccessPath::HybridLinear;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (data, out, kept) = match arguments.as_slice() {
        [data, out] => (PathBuf::from(data), PathBuf::from(out), None),
        [data, out, flag, file] if flag == "--contexts" => (PathBuf::from(data), PathBuf::from(out), Some(PathBuf::from(file))),
        _ => bail!("usage: fit_local DATA OUT [--contexts FILE]"),
    };
    let machine = Machine::describe();
    let observations = match &kept {
        Some(file) if file.is_file() => contexts::read(file)?,
        _ => observe(&data).await?,
    };
    if let Some(file) = kept.filter(|file| !file.is_file()) {
        contexts::write(&file, &observations)?;
    }
    let fitted = report::run(&data, &observations)?;
    std::fs::create_dir_all(&out).with_context(|| format!("creating {}", out.display()))?;
    write::file(&out.join("local.json"), &fitted.local)?;
    write::file(&out.join("extractive.json"), &fitted.extractive)?;
    Figures { name: "local_fit".to_owned(), machine, figures: fitted.figures, details: fitted.details }.write(&out)
}

/// Every query of every collection, and train queries of the others, which nothing in it answers.
async fn observe(data: &Path) -> anyhow::Result<Vec<Observation>> {
    let all: Vec<Collection> = report::COLLECTIONS.iter().map(|name| Collection::read(&data.join(name), None)).collect::<Result<_, _>>()?;
    let mut out = Vec::new();
    for collection in &all {
        let bench = Workbench::open(collection, &|_| {}).await?;
        let documents: BTreeMap<&str, &Document> = collection.documents.iter().map(|d| (d.id.as_str(), d)).collect();
        for (query, stranger) in asked(collection, &all) {
            out.push(observation(collection, &bench, &documents, &query, stranger)?);
        }
        eprintln!("{}: {} observations so far", collection.name, out.len());
    }
    Ok(out)
}

fn asked(collection: &Collection, all: &[Collection]) -> Vec<(Query, bool)> {
    let strangers = all.iter().filter(|other| other.name != collection.name).flat_map(|other| {
        let train = other.queries.iter().filter(|query| is_train(&query.id)).take(STRANGERS_MAX);
        train.map(|query| Query { id: format!("{}-{}", other.name, query.id), text: query.text.clone(), relevant: BTreeMap::new() })
    });
    collection.queries.iter().map(|query| (query.clone(), false)).chain(strangers.map(|query| (query, true))).collect()
}

/// The context: the documents of the path's list that fit, marked which of them a plan sends.
fn observation(
    collection: &Collection,
    bench: &Workbench,
    documents: &BTreeMap<&str, &Document>,
    query: &Query,
    stranger: bool,
) -> anyhow::Result<Observation> {
    let legs = bench.legs(&query.text, ranking::legs_of(PATH), K)?;
    let list = ranking::ranked(PATH, &legs, K);
    let (mut fitting, mut tokens): (Vec<(&Document, &RankedPassage)>, u64) = (Vec::new(), 0);
    for item in &list {
        let Some(document) = bench.document(&item.passage).and_then(|id| documents.get(id)) else { continue };
        let more = u64::from(item.passage.tokens);
        if tokens + more > TOKENS_MAX || fitting.iter().any(|(of, _)| of.id == document.id) {
            continue;
        }
        tokens += more;
        fitting.push((document, item));
    }
    let intent = ctx_intent::analyze(&query.text, IntentModel::embedded());
    let need = Need::of(&intent);
    let length = Length { dilution: f64::from(ctx_cost::coefficients::quality().dilution) / 1e6, per_token: 0.0 };
    let worth =
        |item: &RankedPassage| worth::Passage { relevance: item.relevance, tokens: u64::from(item.passage.tokens), fixed: item.exact };
    let sent = worth::paying(&fitting.iter().map(|(_, item)| worth(item)).collect::<Vec<_>>(), need, length);
    let held = |of: &mut dyn Iterator<Item = usize>| Evidence::of(need, of.map(|at| fitting[at].1.relevance)).share();
    let kept = held(&mut sent.iter().copied()) / held(&mut (0..fitting.len())).max(f64::MIN_POSITIVE);
    let scores = |leg: LegPath| {
        let hits = legs.hits.iter().filter(move |(of, _)| *of == leg).flat_map(|(_, hits)| hits);
        hits.map(|hit| hit.score).collect::<Vec<f64>>()
    };
    let (exact, read) = (list.iter().any(|item| item.exact), u32::try_from(fitting.len())?);
    let profile = ScoreProfile::new(&scores(LegPath::Bm25), legs.ceiling, &scores(LegPath::Dense), exact, read);
    let passages = fitting.iter().enumerate().map(|(at, (document, item))| packed(document, item, sent.contains(&at))).collect();
    Ok(Observation {
        collection: collection.name.clone(),
        query: query.id.clone(),
        text: query.text.clone(),
        language: intent.language.clone(),
        train: is_train(&query.id),
        stranger,
        shapes: intent.answer.0.iter().map(|(shape, p)| (shape.as_str().replace('/', "_"), p.get())).collect(),
        evidence: Ppm::from_share(ctx_cost::evidence::calibrated(PATH, &profile).share() * kept.min(1.0)).get(),
        relevant: query.relevant.keys().cloned().collect(),
        passages,
    })
}

fn packed(document: &Document, item: &RankedPassage, sent: bool) -> Packed {
    let text = if document.title.is_empty() { document.text.clone() } else { format!("{}\n\n{}", document.title, document.text) };
    Packed {
        document: document.id.clone(),
        title: document.title.clone(),
        section: String::new(),
        text,
        relevance: item.relevance.get(),
        exact: item.exact,
        sent,
    }
}
