//! Sensitive values: recall and precision by type, and what a stronger detector adds.
//!
//! Data: `pii_presidio/samples.jsonl` (synthetic sentences with labelled spans). The detectors were worked on with the train
//! side; the test side is what counts. A finding hits a label if they overlap and agree in type.

use crate::data::{is_train, lines};
use crate::figure::Figure;
use anyhow::Context;
use ctx_contracts::Policy;
use ctx_policy::{BuiltinRules, HousePolicy, Presidio};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Labels of structured values, and the detectors that answer for them.
const STRUCTURED: [(&str, &[&str]); 8] = [
    ("CREDIT_CARD", &["card"]),
    ("EMAIL_ADDRESS", &["email"]),
    ("PHONE_NUMBER", &["phone"]),
    ("US_SSN", &["national_id"]),
    ("US_DRIVER_LICENSE", &["national_id"]),
    ("IBAN_CODE", &["iban"]),
    ("IP_ADDRESS", &["ip"]),
    ("DOMAIN_NAME", &["url"]),
];
/// Detectors of structured values: findings of other detectors are no false alarms of these.
const DETECTORS: [&str; 8] = ["card", "email", "phone", "national_id", "iban", "ip", "url", "secret"];

struct Sample {
    train: bool,
    text: String,
    /// Type, first byte, one past the last.
    labels: Vec<(String, usize, usize)>,
}

/// Found, missed, false alarms; sentences with labels, with all labels touched, with any finding.
#[derive(Clone, Debug, Default)]
struct Counts {
    found: u32,
    missed: u32,
    false_alarms: u32,
    by_type: BTreeMap<String, (u32, u32)>,
    sentences: u32,
    whole: u32,
    any: u32,
}

/// The rows, with a Presidio server beside the built-in detectors where one is given.
pub async fn figures(data: &Path, presidio: Option<&str>) -> anyhow::Result<(Vec<Figure>, Value)> {
    let samples = read(data)?;
    let builtin = HousePolicy::new(BuiltinRules::default());
    let mut rows = Vec::new();
    let mut details = serde_json::Map::new();
    for (side, keep) in [("test", false), ("train", true)] {
        let of_side: Vec<&Sample> = samples.iter().filter(|sample| sample.train == keep).collect();
        let counts = counted(&of_side, &builtin).await?;
        rows.extend(structured(side, &counts, &naive(&of_side)));
        rows.push(sentences(side, &counts, "built-in detectors"));
        details.insert(side.to_owned(), json!(counts.by_type));
        if let Some(url) = presidio {
            let stronger = HousePolicy::new(BuiltinRules::default()).with_presidio(Presidio::new(url)?);
            let counts = counted(&of_side, &stronger).await?;
            rows.push(sentences(side, &counts, "with a Presidio server (small English model)"));
            details.insert(format!("{side}, with Presidio"), json!(counts.by_type));
        }
    }
    Ok((rows, details.into()))
}

fn read(data: &Path) -> anyhow::Result<Vec<Sample>> {
    lines(&data.join("pii_presidio/samples.jsonl"))?.iter().map(sample).collect()
}

fn sample(row: &Value) -> anyhow::Result<Sample> {
    let text = row["text"].as_str().context("a sample has a text")?.to_owned();
    let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let place = |value: &Value| value.as_u64().and_then(|at| bytes.get(at as usize).copied()).context("an offset in the text");
    let label = |span: &Value| Ok((span["type"].as_str().unwrap_or_default().to_owned(), place(&span["start"])?, place(&span["end"])?));
    let labels = row["spans"].as_array().context("a sample has spans")?.iter().map(label).collect::<anyhow::Result<_>>()?;
    Ok(Sample { train: is_train(row["id"].as_str().unwrap_or_default()), text, labels })
}

async fn counted(samples: &[&Sample], policy: &HousePolicy) -> anyhow::Result<Counts> {
    let mut counts = Counts::default();
    for sample in samples {
        let found = policy.scan(&sample.text).await?;
        let found: Vec<(String, usize, usize)> =
            found.into_iter().map(|span| (span.detector, span.start as usize, span.end as usize)).collect();
        count(&mut counts, sample, &found);
    }
    Ok(counts)
}

fn overlap(a: (usize, usize), b: (usize, usize)) -> bool {
    a.0 < b.1 && b.0 < a.1
}

fn count(counts: &mut Counts, sample: &Sample, found: &[(String, usize, usize)]) {
    let mut used = vec![false; found.len()];
    for (kind, start, end) in &sample.labels {
        let Some((_, detectors)) = STRUCTURED.iter().find(|(name, _)| name == kind) else { continue };
        let mut hit = false;
        for (at, (detector, from, to)) in found.iter().enumerate() {
            if detectors.contains(&detector.as_str()) && overlap((*start, *end), (*from, *to)) {
                (hit, used[at]) = (true, true);
            }
        }
        let of_type = counts.by_type.entry(kind.clone()).or_default();
        of_type.0 += u32::from(hit);
        of_type.1 += 1;
        counts.found += u32::from(hit);
        counts.missed += u32::from(!hit);
    }
    counts.false_alarms +=
        found.iter().zip(&used).filter(|((detector, ..), used)| !**used && DETECTORS.contains(&detector.as_str())).count() as u32;
    if !sample.labels.is_empty() {
        let touched = |start: usize, end: usize| found.iter().any(|(_, from, to)| overlap((start, end), (*from, *to)));
        counts.sentences += 1;
        counts.whole += u32::from(sample.labels.iter().all(|(_, start, end)| touched(*start, *end)));
        counts.any += u32::from(!found.is_empty());
    }
}

/// What anybody would write first: words with an at sign or five digits are sensitive.
fn naive(samples: &[&Sample]) -> Counts {
    let mut counts = Counts::default();
    for sample in samples {
        let mut found = Vec::new();
        for word in sample.text.split_whitespace() {
            let start = word.as_ptr() as usize - sample.text.as_ptr() as usize;
            let digits = word.bytes().filter(u8::is_ascii_digit).count();
            if word.contains('@') || digits >= 5 {
                // Right in type wherever it is right in place.
                let label = sample.labels.iter().find(|(_, from, to)| overlap((start, start + word.len()), (*from, *to)));
                let detector =
                    label.and_then(|(kind, ..)| STRUCTURED.iter().find(|(name, _)| name == kind)).map_or("secret", |(_, d)| d[0]);
                found.push((detector.to_owned(), start, start + word.len()));
            }
        }
        count(&mut counts, sample, &found);
    }
    counts
}

fn share(part: u32, whole: u32) -> f64 {
    f64::from(part) / f64::from(whole.max(1))
}

/// Wilson's 95 % interval of a share.
fn interval(part: u32, whole: u32) -> String {
    let (n, p, z) = (f64::from(whole.max(1)), share(part, whole), 1.96_f64);
    let middle = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    format!("[{:.3}, {:.3}]", middle - half, (middle + half).min(1.0))
}

fn structured(side: &str, counts: &Counts, naive: &Counts) -> [Figure; 2] {
    let labels = counts.found + counts.missed;
    let findings = counts.found + counts.false_alarms;
    let how = |n: u32, what: &str, of: u32| format!("{n} {what} ({side} side); 95 % interval {}", interval(of, n));
    let beside = |value: f64| format!("words with @ or five digits: {value:.3}");
    [
        Figure::new(format!("structured types, recall, {side}"), share(counts.found, labels), "", how(labels, "labels", counts.found))
            .at_least(0.98)
            .beside(beside(share(naive.found, naive.found + naive.missed))),
        Figure::new(
            format!("structured types, precision, {side}"),
            share(counts.found, findings),
            "",
            how(findings, "findings", counts.found),
        )
        .at_least(0.95)
        .beside(beside(share(naive.found, naive.found + naive.false_alarms))),
    ]
}

fn sentences(side: &str, counts: &Counts, with: &str) -> Figure {
    let how = format!(
        "{} sentences with labels of any type (names, places and dates too); every label touched by a finding; 95 % interval {}; in {:.3} of them something is found",
        counts.sentences,
        interval(counts.whole, counts.sentences),
        share(counts.any, counts.sentences)
    );
    Figure::new(format!("all types, sentence-level recall, {side}, {with}"), share(counts.whole, counts.sentences), "", how)
}
