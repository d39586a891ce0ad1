//! Shipped coefficients, parsed once; a test checks that they parse.

use ctx_types::{Certainty, Estimated, Ppm};
use serde::Deserialize;
use std::sync::LazyLock;

/// P(a sentence answers), logistic.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentenceModel {
    pub bias: f64,
    pub coverage: f64,
    pub rarest: f64,
    pub answer_type: f64,
    pub heading: f64,
    pub relevance: f64,
    pub exact: f64,
    pub position: f64,
    pub symbols: f64,
    pub table_row: f64,
}

/// P(a quoted answer answers the question), logistic, with what it catches at its threshold.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnswersModel {
    pub n: u32,
    pub bias: f64,
    pub coverage: f64,
    pub answer_type: f64,
    pub negation_mismatch: f64,
    pub threshold: u32,
    pub catches: u32,
    pub rejects: u32,
}

/// P(a claim is supported by what it cites), logistic, with what it catches at its threshold.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SupportModel {
    pub n: u32,
    pub bias: f64,
    pub coverage: f64,
    pub bigrams: f64,
    pub numbers_missing: f64,
    pub negation_mismatch: f64,
    pub threshold: u32,
    pub catches: u32,
    pub rejects: u32,
}

/// What resolving citations catches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CitationRates {
    pub catches: u32,
    pub rejects: u32,
}

/// `coefficients/local.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coefficients {
    pub provenance: String,
    pub sentence: SentenceModel,
    pub evidence_min: u32,
    pub sentence_min: u32,
    pub answers_question: AnswersModel,
    pub support: SupportModel,
    pub citations: CitationRates,
}

const TEXT: &str = include_str!("../coefficients/local.json");

static PARSED: LazyLock<Coefficients> =
    LazyLock::new(|| serde_json::from_str(TEXT).expect("the shipped coefficients parse: a test checks it"));

pub(crate) fn get() -> &'static Coefficients {
    &PARSED
}

/// Where the shipped coefficients come from.
pub fn provenance() -> &'static str {
    &get().provenance
}

/// Digest of the shipped coefficients, for stamps.
pub fn digest() -> String {
    ctx_types::id::sha256_hex(TEXT.as_bytes())[..16].to_owned()
}

pub(crate) fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

/// A counted rate with a Wilson-like spread, or a wide prior.
pub(crate) fn rate(value: u32, n: u32) -> Estimated<Ppm> {
    let p = f64::from(value) / 1e6;
    if n == 0 {
        return Estimated::new(
            Ppm(value),
            Ppm::from_share(p * 0.3),
            Ppm::from_share((p * 2.0).min(0.95)),
            Certainty::Prior,
            "coefficients/local.json",
        );
    }
    let half = 1.645 * (p * (1.0 - p) / f64::from(n)).sqrt();
    Estimated::new(Ppm(value), Ppm::from_share(p - half), Ppm::from_share(p + half), Certainty::Measured { n }, "coefficients/local.json")
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shipped_file_parses_and_is_named() {
        assert!(!super::provenance().is_empty());
        assert_eq!(super::digest().len(), 16);
    }
}
