//! Shipped coefficients, parsed once; a test checks that they parse.

use crate::logistic::Logistic;
use ctx_types::{Certainty, Estimated, Ppm};
use serde::Deserialize;
use std::sync::LazyLock;

/// A check: a logistic with the threshold below which it objects, and what it catches there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub model: Logistic,
    /// P below which the check objects, ppm.
    pub threshold: u32,
    /// Share of wrong answers it objects to.
    pub catches: Rate,
    /// Share of right answers it objects to.
    pub rejects: Rate,
}

/// A share with the number of answers it was counted on; 0 marks a prior.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rate {
    pub ppm: u32,
    pub n: u32,
}

/// What resolving citations catches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CitationRates {
    pub catches: Rate,
    pub rejects: Rate,
}

/// `coefficients/local.json`. Written by `fit_local` of the benchmarks.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coefficients {
    pub provenance: serde_json::Value,
    /// P(a sentence answers).
    pub sentence: Logistic,
    /// P(evidence in the context) below which nothing is read, ppm.
    pub evidence_min: u32,
    /// P(the best sentence answers) below which nothing is quoted, ppm.
    pub sentence_min: u32,
    /// P(the quoted sentences answer the question).
    pub answers_question: Check,
    /// P(a claim is supported by what it cites).
    pub support: Check,
    pub citations: CitationRates,
}

const TEXT: &str = include_str!("../coefficients/local.json");

static PARSED: LazyLock<Coefficients> =
    LazyLock::new(|| serde_json::from_str(TEXT).expect("the shipped coefficients parse: a test checks it"));

pub(crate) fn get() -> &'static Coefficients {
    &PARSED
}

/// Where the shipped coefficients come from: data, split, sizes, errors.
pub fn provenance() -> &'static serde_json::Value {
    &get().provenance
}

/// Digest of the shipped coefficients, for stamps.
pub fn digest() -> String {
    ctx_types::id::sha256_hex(TEXT.as_bytes())[..16].to_owned()
}

/// A counted rate with a Wilson-like spread, or a wide prior.
pub(crate) fn rate(Rate { ppm: value, n }: Rate) -> Estimated<Ppm> {
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
    use crate::logistic::Logistic;

    #[test]
    fn the_shipped_file_parses_and_is_named() {
        assert!(super::provenance().is_object());
        assert_eq!(super::digest().len(), 16);
    }

    #[test]
    fn every_weight_belongs_to_a_feature_and_every_fit_to_observations() {
        let shipped = super::get();
        let fits: [(&Logistic, &[&str]); 3] = [
            (&shipped.sentence, &crate::reading::SENTENCE),
            (&shipped.answers_question.model, &crate::reading::ANSWER),
            (&shipped.support.model, &crate::verify::support::CLAIM),
        ];
        for (model, names) in fits {
            assert!(model.n > 0, "{names:?} is a prior");
            assert!(model.weights.keys().all(|name| names.contains(&name.as_str())), "{:?} of {names:?}", model.weights);
        }
    }
}
