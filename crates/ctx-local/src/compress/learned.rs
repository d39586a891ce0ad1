//! The learned score: P(a unit is needed to answer), logistic over a few features of the unit, its neighbours and the question.
//! Fitted on gold rationales and supporting facts of train queries (`benchmarks`, `fit_stages`); the file has the provenance.

use super::{SHIPPED, Unit};
use crate::words::{Idf, Stems, numbers, raw_words};
use ctx_types::Passage;
use std::collections::BTreeSet;

/// What the model looks at, in the order of [`features`].
pub const FEATURES: [&str; 10] = [
    "coverage",   // IDF mass of the question's stems that the unit holds
    "neighbours", // the same, in the better of the units before and after
    "rarest",     // holds the rarest stem of the question that the passage holds
    "first",      // first unit of the passage
    "position",   // place in the passage, 0 to 1
    "heading",    // is a heading
    "title",      // share of the title's stems that the unit holds
    "names",      // share of the question's capitalised words that the unit holds
    "has_number", // holds a number
    "length",     // ln(1 + words)
];

/// One row per unit. IDF is that of the passage's units.
pub fn features(goal: &str, language: &str, passage: &Passage, cut: &[Unit]) -> Vec<[f64; FEATURES.len()]> {
    let stems = Stems::new(language);
    let asked = stems.content(goal);
    let title = stems.content(&passage.title);
    let names: BTreeSet<String> =
        goal.split_whitespace().skip(1).filter(|w| w.chars().next().is_some_and(char::is_uppercase)).flat_map(raw_words).collect();
    let words: Vec<Vec<String>> = cut.iter().map(|u| stems.content(&passage.text[u.range.clone()])).collect();
    let idf = Idf::over(&words);
    let coverage: Vec<f64> = words.iter().map(|w| idf.coverage(&asked, w)).collect();
    let held = asked.iter().filter(|stem| words.iter().any(|w| w.contains(stem)));
    let rarest = held.max_by(|a, b| idf.of(a).total_cmp(&idf.of(b)));
    let flag = |yes: bool| f64::from(u8::from(yes));
    (0..cut.len())
        .map(|at| {
            let text = &passage.text[cut[at].range.clone()];
            let before: f64 = at.checked_sub(1).map_or(0.0, |b| coverage[b]);
            let after = coverage.get(at + 1).copied().unwrap_or(0.0);
            let here: BTreeSet<String> = raw_words(text).into_iter().collect();
            [
                coverage[at],
                before.max(after),
                flag(rarest.is_some_and(|r| words[at].contains(r))),
                flag(at == 0),
                at as f64 / cut.len().max(1) as f64,
                flag(cut[at].heading),
                title.iter().filter(|t| words[at].contains(t)).count() as f64 / title.len().max(1) as f64,
                names.intersection(&here).count() as f64 / names.len().max(1) as f64,
                flag(!numbers(text).is_empty()),
                libm::log1p(words[at].len() as f64),
            ]
        })
        .collect()
}

pub(super) fn scores(rows: &[[f64; FEATURES.len()]]) -> Vec<f64> {
    let weights = FEATURES.map(|name| SHIPPED.weights.get(name).copied().unwrap_or(0.0));
    rows.iter().map(|row| row.iter().zip(weights).map(|(x, w)| x * w).sum()).collect()
}
