//! Whether separate sources pay: every question is planned over all collections as sources of their own, and over one flat
//! source that holds them all.

use crate::figure::Figure;
use ctx_eval::bootstrap::paired;
use ctx_eval::{Collection, Document, Shelf, Shelved};
use ctx_types::SourceName;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The collections.
pub const SHELVED: [&str; 4] = ["pubmedqa", "runbooks_prometheus", "scifact", "hotpotqa_200"];
/// Documents that count.
const DEPTH: usize = 5;
/// Parts the names of collections and documents in the flat source; no id holds it.
const JOINT: &str = "\u{1f}";

/// What one question gave over one shelf.
#[derive(Clone, Copy, Debug, Serialize)]
struct Found {
    hit: f64,
    foreign: f64,
    read: usize,
}

/// The rows, and what every question gave.
pub async fn rows(data: &Path, seed: u64) -> anyhow::Result<(Vec<Figure>, serde_json::Value)> {
    let present = SHELVED.iter().filter(|name| data.join(name).is_dir());
    let collections = present.map(|name| Collection::read(&data.join(name), None)).collect::<Result<Vec<_>, _>>()?;
    let mut apart = Vec::new();
    let mut flat = Vec::new();
    for collection in &collections {
        apart.push((SourceName::new(collection.name.as_str())?, collection.documents.clone()));
        let of = |document: &Document| Document { id: format!("{}{JOINT}{}", collection.name, document.id), ..document.clone() };
        flat.extend(collection.documents.iter().map(of));
    }
    let apart = Shelf::open(&apart).await?;
    let flat = Shelf::open(&[(SourceName::new("flat")?, flat)]).await?;
    let (mut figures, mut details) = (Vec::new(), BTreeMap::new());
    for collection in &collections {
        let mut pairs: Vec<(Found, Found)> = Vec::new();
        for query in &collection.queries {
            let relevant = |name: &str, id: &str| name == collection.name && query.relevant.contains_key(id);
            let judge = |shelved: &Shelved| {
                let named = shelved.documents.iter().map(|(source, id)| id.split_once(JOINT).unwrap_or((source.as_str(), id)));
                let found: Vec<(&str, &str)> = named.collect();
                Found {
                    hit: f64::from(u8::from(found.iter().any(|(name, id)| relevant(name, id)))),
                    foreign: found.iter().filter(|(name, _)| *name != collection.name).count() as f64,
                    read: shelved.sources.len(),
                }
            };
            pairs.push((judge(&apart.ask(&query.text, DEPTH).await?), judge(&flat.ask(&query.text, DEPTH).await?)));
        }
        figures.extend(figures_of(&collection.name, &pairs, seed));
        details.insert(collection.name.clone(), pairs);
        eprintln!("{}: {} questions", collection.name, collection.queries.len());
    }
    Ok((figures, serde_json::to_value(&details)?))
}

fn figures_of(name: &str, pairs: &[(Found, Found)], seed: u64) -> [Figure; 2] {
    let of = |value: fn(&Found) -> f64| -> (Vec<f64>, Vec<f64>) { pairs.iter().map(|(a, b)| (value(a), value(b))).unzip() };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    let read = mean(&pairs.iter().map(|(a, _)| a.read as f64).collect::<Vec<_>>());
    let row = |what: &str, value: fn(&Found) -> f64, better: f64| {
        let (apart, flat) = of(value);
        let difference = paired(&apart, &flat, seed);
        let how = format!(
            "{} dev questions, 95 % paired [{:+.4}, {:+.4}]; {read:.2} sources read on average",
            pairs.len(),
            difference.low,
            difference.high
        );
        let mut figure = Figure::new(format!("several sources minus one flat source, {what}, {name}"), difference.mean, "", how)
            .beside(format!("several {:.4}, flat {:.4}", mean(&apart), mean(&flat)));
        figure.bar = if better > 0.0 { "not below 0" } else { "not above 0" }.to_owned();
        figure.met = Some(difference.mean * better >= 0.0);
        figure
    };
    [row("hit@5", |f| f.hit, 1.0), row("foreign documents in the first five", |f| f.foreign, -1.0)]
}
