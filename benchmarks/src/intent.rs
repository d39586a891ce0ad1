//! The right kind of source from the goal alone: five folds, every set left out in turn, confusion, baselines; and the time
//! that one analysis takes.
//!
//! Data: `source_mix/queries.jsonl`, and the goals written for `ctx-intent` (`scripts/seeds.tsv`), which are always trained
//! on. The fit is that of `scripts/train.py`: multinomial logistic regression on the crate's own features, L2, full batch.

use crate::data::{lines, table};
use crate::figure::Figure;
use anyhow::Context;
use ctx_eval::metrics::quantile;
use ctx_intent::{IntentModel, analyze, feature_vector};
use ctx_types::SourceKind;
use ctx_types::id::sha256_hex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// L2 of the fit: that of `scripts/train.py`.
const L2: f64 = 0.3;
/// Steps of the fit.
const STEPS: usize = 300;
/// Momentum's memory; restarted when the loss rises.
const MOMENTUM: f64 = 0.9;
/// Times that each goal is analysed; the best counts, so that a busy machine does not measure its neighbours.
const REPEATS: usize = 20;

struct Example {
    set: String,
    fold: u32,
    class: usize,
    features: Vec<(usize, f64)>,
    text: String,
}

/// The rows.
pub fn figures(data: &Path) -> anyhow::Result<(Vec<Figure>, Value)> {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("benchmarks/ stands in the repository")?;
    let (mixed, seeds) = (mixed(data)?, seeds_of(&seeds.join("crates/ctx-intent/scripts/seeds.tsv"))?);
    let mut confusion: BTreeMap<String, BTreeMap<String, u32>> = BTreeMap::new();
    let folds: Vec<f64> = (0..5)
        .map(|fold| {
            let model = Fit::of(mixed.iter().filter(|e| e.fold != fold).chain(&seeds));
            let held: Vec<&Example> = mixed.iter().filter(|e| e.fold == fold).collect();
            for example in &held {
                let said = model.class(&example.features);
                *confusion.entry(name(example.class)).or_default().entry(name(said)).or_default() += 1;
            }
            right(&model, &held) * held.len() as f64
        })
        .collect();
    let pooled = folds.iter().sum::<f64>() / mixed.len() as f64;
    let sets: BTreeSet<&str> = mixed.iter().map(|e| e.set.as_str()).collect();
    let left_out: BTreeMap<&str, f64> = sets
        .iter()
        .map(|set| {
            let model = Fit::of(mixed.iter().filter(|e| e.set != *set).chain(&seeds));
            (*set, right(&model, &mixed.iter().filter(|e| e.set == *set).collect::<Vec<_>>()))
        })
        .collect();
    let mean = left_out.values().sum::<f64>() / left_out.len().max(1) as f64;
    let (majority, keywords) = (majority(&mixed), keywords(&mixed));
    let beside = format!("majority class {majority:.3}, first-match keyword table {keywords:.3}");
    let n = format!("{} goals of {} sets, {} written goals always trained on", mixed.len(), sets.len(), seeds.len());
    let mut rows = vec![
        Figure::new("right source kind, five folds", pooled, "", n.clone()).at_least(0.90).beside(beside.clone()),
        Figure::new(
            "right source kind, each set left out in turn, mean over sets",
            mean,
            "",
            format!("{n}; a set's own kind may have no other set"),
        )
        .beside(beside),
    ];
    rows.extend(times(&mixed));
    Ok((rows, json!({ "confusion, five folds": confusion, "left out": left_out })))
}

fn class_of(kind: &str) -> usize {
    let kind = match kind {
        "documents" | "runbooks" => "files",
        "sql" | "table" => "tables",
        "git_history" => "git",
        other => other,
    };
    SourceKind::ALL.iter().position(|known| known.to_string() == kind).unwrap_or(0)
}

fn name(class: usize) -> String {
    SourceKind::ALL[class].to_string()
}

fn mixed(data: &Path) -> anyhow::Result<Vec<Example>> {
    let example = |row: &Value| {
        let field = |name: &str| row[name].as_str().map(str::to_owned).with_context(|| format!("a goal has a field {name}"));
        let (id, text) = (field("id")?, field("text")?);
        let fold = u32::from_str_radix(&sha256_hex(format!("fold{id}").as_bytes())[..8], 16)? % 5;
        Ok(Example { set: field("set")?, fold, class: class_of(&field("source_kind")?), features: feature_vector(&text), text })
    };
    lines(&data.join("source_mix/queries.jsonl"))?.iter().map(example).collect()
}

fn seeds_of(file: &Path) -> anyhow::Result<Vec<Example>> {
    let rows = table(file)?;
    let labelled = rows.iter().filter(|row| row.get("source").is_some_and(|source| !source.is_empty()));
    Ok(labelled
        .map(|row| {
            let text = row["text"].clone();
            Example { set: "seeds".into(), fold: u32::MAX, class: class_of(&row["source"]), features: feature_vector(&text), text }
        })
        .collect())
}

fn right(model: &Fit, examples: &[&Example]) -> f64 {
    examples.iter().filter(|e| model.class(&e.features) == e.class).count() as f64 / examples.len().max(1) as f64
}

fn majority(examples: &[Example]) -> f64 {
    let mut counts = BTreeMap::new();
    for example in examples {
        *counts.entry(example.class).or_insert(0_u32) += 1;
    }
    f64::from(counts.values().copied().max().unwrap_or(0)) / examples.len().max(1) as f64
}

/// What a first version would do: the first word of the table that occurs decides, else files.
fn keywords(examples: &[Example]) -> f64 {
    const TABLE: [(&str, &str); 16] = [
        ("commit", "git_history"),
        ("test/", "git_history"),
        ("meeting", "conversation"),
        ("discuss", "conversation"),
        ("summarize", "conversation"),
        ("movie", "graph"),
        ("film", "graph"),
        ("directed", "graph"),
        ("error", "logs"),
        ("exception", "logs"),
        ("failed", "logs"),
        ("how many", "table"),
        ("average", "table"),
        ("total", "table"),
        ("number of", "table"),
        ("most", "table"),
    ];
    let said = |text: &str| {
        let lower = text.to_lowercase();
        TABLE.iter().find(|(word, _)| lower.contains(word)).map_or("documents", |(_, kind)| kind)
    };
    examples.iter().filter(|e| class_of(said(&e.text)) == e.class).count() as f64 / examples.len().max(1) as f64
}

fn times(examples: &[Example]) -> Vec<Figure> {
    let model = IntentModel::embedded();
    let time = |text: &str| {
        let start = Instant::now();
        black_box(analyze(text, model));
        u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    };
    let best = |text: &str| (0..REPEATS).map(|_| time(text)).min().unwrap_or(0);
    let mut times: Vec<u64> = examples.iter().map(|e| best(&e.text)).collect();
    times.sort_unstable();
    let how = format!("{} goals, best of {REPEATS} runs of each, one thread", times.len());
    let row = |q: f64, label: &str| Figure::new(format!("one analysis {label}"), quantile(&times, q) as f64 / 1e3, "µs", how.clone());
    vec![row(0.5, "p50"), row(0.99, "p99").at_most(50.0)]
}

/// Multinomial logistic regression over sparse features.
struct Fit {
    /// By feature, then class; the last row is the bias.
    weights: Vec<f64>,
    classes: usize,
    columns: BTreeMap<usize, usize>,
}

impl Fit {
    fn of<'a>(examples: impl Iterator<Item = &'a Example>) -> Fit {
        let examples: Vec<&Example> = examples.collect();
        let classes = SourceKind::ALL.len();
        let used: BTreeSet<usize> = examples.iter().flat_map(|e| e.features.iter().map(|(at, _)| *at)).collect();
        let columns: BTreeMap<usize, usize> = used.into_iter().enumerate().map(|(column, feature)| (feature, column)).collect();
        let rows: Vec<Vec<(usize, f64)>> =
            examples.iter().map(|e| e.features.iter().map(|(at, value)| (columns[at], *value)).collect()).collect();
        let targets: Vec<usize> = examples.iter().map(|e| e.class).collect();
        let weights = descended(&rows, &targets, columns.len(), classes);
        Fit { weights, classes, columns }
    }

    fn class(&self, features: &[(usize, f64)]) -> usize {
        let known: Vec<(usize, f64)> = features.iter().filter_map(|(at, value)| Some((*self.columns.get(at)?, *value))).collect();
        let scores = scores(&self.weights, &known, self.columns.len(), self.classes);
        (0..self.classes).max_by(|a, b| scores[*a].total_cmp(&scores[*b])).unwrap_or(0)
    }
}

fn scores(weights: &[f64], row: &[(usize, f64)], columns: usize, classes: usize) -> Vec<f64> {
    let mut scores = weights[columns * classes..].to_vec();
    for (column, value) in row {
        for (score, weight) in scores.iter_mut().zip(&weights[column * classes..]) {
            *score += value * weight;
        }
    }
    scores
}

/// Accelerated gradient descent with a step that halves when the loss rises.
fn descended(rows: &[Vec<(usize, f64)>], targets: &[usize], columns: usize, classes: usize) -> Vec<f64> {
    let mut weights = vec![0.0; (columns + 1) * classes];
    let (mut speed, mut rate, mut last) = (vec![0.0; weights.len()], 0.5, f64::MAX);
    for _ in 0..STEPS {
        let (loss, slope) = slope(&weights, rows, targets, columns, classes);
        if loss > last {
            rate /= 2.0;
            speed.iter_mut().for_each(|s| *s = 0.0);
        }
        last = loss;
        for ((weight, speed), slope) in weights.iter_mut().zip(&mut speed).zip(&slope) {
            *speed = MOMENTUM * *speed - rate / rows.len() as f64 * slope;
            *weight += *speed;
        }
    }
    weights
}

fn slope(weights: &[f64], rows: &[Vec<(usize, f64)>], targets: &[usize], columns: usize, classes: usize) -> (f64, Vec<f64>) {
    let bias = columns * classes;
    let strength = |at: usize| if at < bias { L2 } else { L2 / 10.0 };
    let mut slope: Vec<f64> = weights.iter().enumerate().map(|(at, weight)| strength(at) * weight).collect();
    let mut loss: f64 = weights.iter().enumerate().map(|(at, weight)| strength(at) / 2.0 * weight * weight).sum();
    for (row, target) in rows.iter().zip(targets) {
        let mut p = scores(weights, row, columns, classes);
        let top = p.iter().copied().fold(f64::MIN, f64::max);
        p.iter_mut().for_each(|score| *score = (*score - top).exp());
        let sum: f64 = p.iter().sum();
        p.iter_mut().for_each(|share| *share /= sum);
        loss -= p[*target].max(1e-300).ln();
        p[*target] -= 1.0;
        for (column, value) in row {
            for (slot, gap) in slope[column * classes..].iter_mut().zip(&p) {
                *slot += gap * value;
            }
        }
        for (slot, gap) in slope[bias..].iter_mut().zip(&p) {
            *slot += gap;
        }
    }
    (loss, slope)
}
