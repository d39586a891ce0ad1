//! Token counts of a tokenizer that nobody here has: one known tokenizer at a time is left out, learned from twenty texts,
//! and its counts of other texts are predicted.
//!
//! Data: `token_counts/samples.jsonl`. Twenty texts are drawn from the train side, a hundred times; texts of the test side are
//! predicted. Exactness of the known tokenizers is checked on all texts.

use crate::data::{is_train, lines};
use crate::figure::Figure;
use anyhow::{Context, bail};
use ctx_cost::tokens::{KNOWN, TokenModel, TokenProfile, indentation_blanks};
use ctx_embedded::KnownTokenizer;
use ctx_eval::metrics::quantile;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Texts that a multiplier is learned from.
const REPORTS: usize = 20;
/// Times that twenty are drawn.
const DRAWS: usize = 100;
const SEED: u64 = 20_261_129;

struct Text {
    kind: String,
    train: bool,
    counts: [u32; 4],
    blanks: u32,
}

/// The rows.
pub fn figures(data: &Path) -> anyhow::Result<(Vec<Figure>, Value)> {
    let rows = lines(&data.join("token_counts/samples.jsonl"))?;
    let mut texts = Vec::with_capacity(rows.len());
    let mut differ = 0_u32;
    for row in &rows {
        let text = row["text"].as_str().context("a sample has a text")?;
        let mut counts = [0; 4];
        for (slot, name) in counts.iter_mut().zip(KNOWN) {
            let tokenizer = KnownTokenizer::named(name).with_context(|| format!("{name} is known"))?;
            *slot = tokenizer.tokens(text);
            differ += u32::from(row[format!("{name}_base")].as_u64() != Some(u64::from(*slot)));
        }
        let kind = row["kind"].as_str().unwrap_or_default().to_owned();
        texts.push(Text { kind, train: is_train(row["id"].as_str().unwrap_or_default()), counts, blanks: indentation_blanks(text) });
    }
    if texts.is_empty() {
        bail!("token_counts holds no text");
    }
    let exact = 1.0 - f64::from(differ) / (texts.len() * KNOWN.len()) as f64;
    let how = format!("{} texts × {} tokenizers, all sides", texts.len(), KNOWN.len());
    let mut figures = vec![Figure::new("known tokenizers, share of counts that are exact", exact, "", how).at_least(1.0)];
    let mut details = serde_json::Map::new();
    for (left_out, name) in KNOWN.iter().enumerate() {
        let told = predicted(&texts, left_out);
        details.insert((*name).to_owned(), json!(told.by_kind));
        figures.extend(told.rows(name));
    }
    Ok((figures, details.into()))
}

/// Medians over the draws.
struct Told {
    pooled: f64,
    baseline: f64,
    worst_draw: f64,
    /// p95 q-error, p5 of predicted over true, by kind.
    by_kind: BTreeMap<String, (f64, f64)>,
    texts: usize,
}

impl Told {
    fn rows(&self, left_out: &str) -> Vec<Figure> {
        let how = format!(
            "{} texts of the test side; learned from {REPORTS} texts of the train side, median of {DRAWS} draws (worst {:.3}), seed {SEED}",
            self.texts, self.worst_draw
        );
        let lowest = self.by_kind.iter().min_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let highest = self.by_kind.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let mut rows = vec![
            Figure::new(format!("p95 q-error, {left_out} left out"), self.pooled, "", how.clone())
                .at_most(1.08)
                .beside(format!("one multiplier on o200k (cl100k for o200k itself): {:.3}", self.baseline)),
        ];
        if let (Some((low_kind, (_, low))), Some((high_kind, (high, _)))) = (lowest, highest) {
            rows.push(
                Figure::new(
                    format!("p5 of predicted over true in the worst kind, {left_out} left out"),
                    *low,
                    "",
                    format!("{low_kind}; {how}"),
                )
                .at_least(0.9)
                .beside(format!("largest p95 q-error of a kind: {high_kind} {high:.3}")),
            );
        }
        rows
    }
}

fn profile(text: &Text, left_out: usize, single: bool) -> TokenProfile {
    let known: Vec<u32> = text.counts.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, count)| *count).collect();
    if single { TokenProfile { known: known[..1].to_vec(), blanks: 0 } } else { TokenProfile { known, blanks: text.blanks } }
}

fn predicted(texts: &[Text], left_out: usize) -> Told {
    let train: Vec<&Text> = texts.iter().filter(|text| text.train).collect();
    let test: Vec<&Text> = texts.iter().filter(|text| !text.train).collect();
    let kinds: BTreeSet<&str> = test.iter().map(|text| text.kind.as_str()).collect();
    let mut rng = StdRng::seed_from_u64(SEED);
    let (mut pooled, mut baseline) = (Vec::new(), Vec::new());
    let mut by_kind: BTreeMap<&str, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for _ in 0..DRAWS {
        let drawn: Vec<&Text> = (0..REPORTS).map(|_| train[rng.random_range(0..train.len())]).collect();
        let fitted = |single: bool| {
            let reports: Vec<(TokenProfile, u64)> =
                drawn.iter().map(|text| (profile(text, left_out, single), u64::from(text.counts[left_out]))).collect();
            TokenModel::fit(&reports)
        };
        let (model, multiplier) = (fitted(false), fitted(true));
        let ratio = |model: &TokenModel, text: &Text, single: bool| {
            model.estimate(&profile(text, left_out, single)).value.get() as f64 / f64::from(text.counts[left_out].max(1))
        };
        let ratios: Vec<(&str, f64)> = test.iter().map(|text| (text.kind.as_str(), ratio(&model, text, false))).collect();
        pooled.push(p95(ratios.iter().map(|(_, ratio)| *ratio)));
        baseline.push(p95(test.iter().map(|text| ratio(&multiplier, text, true))));
        for kind in &kinds {
            let of_kind: Vec<f64> = ratios.iter().filter(|(name, _)| name == kind).map(|(_, ratio)| *ratio).collect();
            let entry = by_kind.entry(kind).or_default();
            entry.0.push(p95(of_kind.iter().copied()));
            entry.1.push(at(&of_kind, 0.05));
        }
    }
    Told {
        pooled: at(&pooled, 0.5),
        baseline: at(&baseline, 0.5),
        worst_draw: at(&pooled, 1.0),
        by_kind: by_kind.into_iter().map(|(kind, (q, low))| (kind.to_owned(), (at(&q, 0.5), at(&low, 0.5)))).collect(),
        texts: test.len(),
    }
}

fn p95(ratios: impl Iterator<Item = f64>) -> f64 {
    at(&ratios.map(|ratio| ratio.max(1.0 / ratio.max(1e-9))).collect::<Vec<_>>(), 0.95)
}

/// A quantile, in millionths.
fn at(values: &[f64], share: f64) -> f64 {
    let mut sorted: Vec<u64> = values.iter().map(|value| (value * 1e6).round() as u64).collect();
    sorted.sort_unstable();
    quantile(&sorted, share) as f64 / 1e6
}
