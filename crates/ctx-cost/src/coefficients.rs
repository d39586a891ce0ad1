//! The shipped coefficients: parsed once, validated by a test, identified by a digest that goes into stamps.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Logistic coefficients before retrieval. Features: [`crate::evidence::Before`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BeforeCoefficients {
    /// Queries it was fitted on; 0 marks a hand-set prior.
    pub n: u32,
    /// Intercept.
    pub bias: f64,
    /// Of the largest term IDF, normalised.
    pub max_idf: f64,
    /// Of the mean term IDF, normalised.
    pub mean_idf: f64,
    /// Of the IDF share of terms that the source holds.
    pub coverage: f64,
    /// Of the similarity to the source's centroid.
    pub centroid: f64,
    /// Of ln(passages of the source).
    pub ln_passages: f64,
    /// Of ln(1 + terms of the goal).
    pub ln_terms: f64,
    /// Of ln(passages read); never negative, so that evidence grows with what is read.
    pub ln_read: f64,
}

/// Logistic coefficients after retrieval. Features: [`crate::evidence::ScoreProfile`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AfterCoefficients {
    /// Queries it was fitted on.
    pub n: u32,
    /// Intercept.
    pub bias: f64,
    /// Of the top BM25 score as a share of its ceiling.
    pub bm25_share: f64,
    /// Of the relative gap between the first and the last BM25 score.
    pub bm25_gap: f64,
    /// Of the top cosine.
    pub cosine: f64,
    /// Of the gap between the first and the last cosine.
    pub cosine_gap: f64,
    /// Of holding an identifier of the goal literally.
    pub exact: f64,
    /// Of ln(passages read).
    pub ln_read: f64,
}

/// Logistic coefficients of one passage's relevance.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelevanceCoefficients {
    /// Passages it was fitted on.
    pub n: u32,
    /// Intercept.
    pub bias: f64,
    /// Of its BM25 score as a share of the ceiling.
    pub bm25_share: f64,
    /// Of its cosine.
    pub cosine: f64,
    /// Of holding an identifier literally.
    pub exact: f64,
    /// Of ln(rank).
    pub ln_rank: f64,
    /// Of what it stands above the best of the others, BM25 shares and cosines weighed as in linear fusion.
    pub margin: f64,
}

/// Ends of a 90 % interval around what is expected before retrieval, in logits.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Queries it was counted on, of collections that neither fit had seen.
    pub n: u32,
    /// Below the point.
    pub low: f64,
    /// Above it.
    pub high: f64,
}

/// Weight of linear score fusion within a source.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearFusion {
    /// Queries it was fitted on.
    pub n: u32,
    /// Weight of the BM25 share; cosine gets the rest.
    pub bm25_weight: f64,
}

/// `coefficients/evidence.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Data, split, seed, date of the fit.
    pub provenance: serde_json::Value,
    /// By access path.
    pub before: BTreeMap<String, BeforeCoefficients>,
    /// Isotonic calibration of what `before` predicts, for every path: (predicted, observed), both rising; empty: none.
    pub before_calibration: Vec<(f64, f64)>,
    /// How far what is seen after retrieval lies from what `before` expects.
    pub before_spread: Spread,
    /// By access path.
    pub after: BTreeMap<String, AfterCoefficients>,
    /// One passage.
    pub relevance: RelevanceCoefficients,
    /// Fusion within a source.
    pub linear_fusion: LinearFusion,
}

/// P(right) of a size class without evidence of its own: by how hard the goal is, and over all goals in ppm.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Outcomes counted.
    pub n: u32,
    /// Mean over models.
    pub right: u32,
    /// Worst model.
    pub low: u32,
    /// Best model.
    pub high: u32,
    /// Logits at hardness 0, in thousandths.
    pub ability_milli: i32,
    /// Logits lost per logit of hardness, in thousandths: below 1,000 as far as words tell too much of it.
    pub slope_milli: u32,
}

/// A share with what it was counted on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counted {
    /// The share, ppm.
    pub ppm: u32,
    /// Answers counted; 0 marks a prior.
    pub n: u32,
}

/// Extractive answerer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extractive {
    /// P(right | evidence) by answer shape.
    pub right: BTreeMap<String, Counted>,
    /// The same over all shapes in the collection where it is least, ppm.
    pub right_low: u32,
    /// In the collection where it is most, ppm.
    pub right_high: u32,
    /// P(withheld | evidence).
    pub withheld_with_evidence: Counted,
    /// P(withheld | no evidence).
    pub withheld_without_evidence: Counted,
    /// Loss per doubling of the context.
    pub dilution: u32,
}

/// `coefficients/quality.json`. Shares in ppm.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quality {
    /// Where each block comes from.
    pub provenance: BTreeMap<String, String>,
    /// By size class.
    pub tiers: BTreeMap<String, Tier>,
    /// By how much a goal is easier for a model when the evidence is in the context, in thousandths of a logit. Prior: it halves the
    /// errors of a middling model on a middling goal, and does less where a goal is far beyond the model.
    pub evidence_milli: u32,
    /// P(right) of a model about private documents it has not seen. Prior.
    pub right_without_evidence: u32,
    /// P(model says it does not know | no evidence). Prior.
    pub withheld_without_evidence: u32,
    /// P(model says it does not know | evidence). Prior.
    pub withheld_with_evidence: u32,
    /// Loss per doubling of the context. Prior.
    pub dilution: u32,
    /// Factor by layout.
    pub layouts: BTreeMap<String, u32>,
    /// No model.
    pub extractive: Extractive,
    /// Evidence kept when lists of several sources are merged by rank: .41/.57 of hit@5 on a public mix of medical
    /// abstracts and financial pages.
    pub rank_fusion_factor: u32,
}

const EVIDENCE: &str = include_str!("../coefficients/evidence.json");
const QUALITY: &str = include_str!("../coefficients/quality.json");

static PARSED_EVIDENCE: LazyLock<Evidence> =
    LazyLock::new(|| serde_json::from_str(EVIDENCE).expect("the shipped evidence coefficients parse: a test checks it"));
static PARSED_QUALITY: LazyLock<Quality> =
    LazyLock::new(|| serde_json::from_str(QUALITY).expect("the shipped quality table parses: a test checks it"));
static DIGEST: LazyLock<String> = LazyLock::new(|| {
    let both = [EVIDENCE.as_bytes(), QUALITY.as_bytes()].concat();
    ctx_types::id::sha256_hex(&both)[..16].to_owned()
});

/// Evidence coefficients.
pub fn evidence() -> &'static Evidence {
    &PARSED_EVIDENCE
}

/// Quality table.
pub fn quality() -> &'static Quality {
    &PARSED_QUALITY
}

/// Digest of everything shipped here: plans are stamped with it.
pub fn digest() -> &'static str {
    &DIGEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::AccessPath;

    #[test]
    fn every_path_has_coefficients_and_reading_more_never_hurts() {
        for path in AccessPath::ALL.iter().filter(|p| !matches!(**p, AccessPath::Whole | AccessPath::Table)) {
            assert!(evidence().before[path.as_str()].ln_read >= 0.0, "{path}");
            assert!(evidence().after[path.as_str()].ln_read >= 0.0, "{path}");
        }
        let reads: Vec<f64> = ["bm25", "dense", "hybrid_linear", "hybrid_rrf"].iter().map(|p| evidence().before[*p].ln_read).collect();
        assert!(reads.iter().all(|slope| *slope == reads[0]), "no path overtakes another by reading more: {reads:?}");
        let knots = &evidence().before_calibration;
        assert!(knots.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 <= w[1].1), "{knots:?}");
        let Spread { n, low, high } = evidence().before_spread;
        assert!(n > 0 && low < 0.0 && high > 0.0);
        let covered = evidence().provenance["leave_one_collection_out"]["spread"]["mean"].as_f64();
        assert!(covered.is_some_and(|share| (0.88..=0.97).contains(&share)), "nine of ten runs lie inside: {covered:?}");
        let weight = evidence().linear_fusion.bm25_weight;
        assert!((0.0..=1.0).contains(&weight));
    }

    #[test]
    fn shares_are_shares() {
        let q = quality();
        let tiers = q.tiers.values().flat_map(|t| [t.low, t.right, t.high]);
        assert!(tiers.chain(q.extractive.right.values().map(|c| c.ppm)).chain(q.layouts.values().copied()).all(|v| v <= 1_000_000));
        assert_eq!(digest().len(), 16);
    }
}
