//! P(the needed evidence is read): before retrieval from catalog and probe, after it from the scores seen.
//!
//! Both are logistic models over features that exist without labels on any source; coefficients per access path are in
//! `coefficients/evidence.json` with their provenance. Before retrieval the features are query-performance predictors
//! (Hauff 2010: maximum and average IDF; Zhao et al. 2008: collection-query similarity); after it, the top score as a
//! share of what the goal's terms could reach at most, and the gap to the last one.

use crate::coefficients::{self, AfterCoefficients, BeforeCoefficients};
use ctx_types::intent::EvidenceShape;
use ctx_types::{AccessPath, Catalog, Certainty, Estimated, Intent, Ppm, Probe, SourceEntry, SourceName, SourceProbe};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// BM25's k1 + 1: the most one term can contribute, in units of its IDF.
const BM25_TERM_MAX: f64 = 2.2;
/// Interval half width, in logits, of the hand-set look-up of identifiers. A guess, as its coefficients are.
const LOOKUP_SPREAD: f64 = 1.5;
/// Without a probe or statistics nothing is known: the interval is [.05, .95].
const BLIND: (u32, u32) = (50_000, 950_000);
/// Passages of an unknown source among which the evidence is with P = .5. More of them hold it rather than fewer, so the
/// point moves along the path's slope. A guess: nothing can be fitted on a source that nobody has looked into.
const BLIND_READ: f64 = 10.0;
/// P(an unknown source holds the goal's identifier). Even odds: a look-up finds nothing where it does not, a ranked list may.
const BLIND_IDENTIFIER_HELD: f64 = 0.5;

/// Cosine to the centroid where a source has no vectors: mean over the train queries of scifact, hotpotqa_200 and
/// runbooks_prometheus and their strangers at the weights of the fit. No vectors are no reason to expect less.
const TYPICAL_CENTROID: f64 = 0.3;

/// Features before retrieval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Before {
    /// Largest IDF among the goal's terms, as a share of the largest possible in the source.
    pub max_idf: f64,
    /// Mean IDF, as the same share.
    pub mean_idf: f64,
    /// Share of the goal's IDF mass that occurs in the source.
    pub coverage: f64,
    /// Cosine to the source's centroid.
    pub centroid: f64,
    /// ln(passages).
    pub ln_passages: f64,
    /// ln(1 + terms).
    pub ln_terms: f64,
    /// Passages that hold an identifier of the goal.
    pub identifier_passages: u64,
    /// Largest possible BM25 score of the goal in this source.
    pub ceiling: f64,
}

/// BM25's inverse document frequency (Robertson and Zaragoza 2009): ln(1 + (N − df + ½)/(df + ½)).
pub fn idf(passages: u64, containing: u64) -> f64 {
    let (n, df) = (passages as f64, containing.min(passages) as f64);
    libm::log(1.0 + (n - df + 0.5) / (df + 0.5))
}

/// Features of a probed source; `None` when the source was not probed or is empty.
pub fn before(probe: Option<&SourceProbe>, entry: &SourceEntry) -> Option<Before> {
    let probe = probe?;
    let passages = entry.passages;
    if passages == 0 {
        return None;
    }
    let most = idf(passages, 0);
    let terms = probe.terms.len().max(1) as f64;
    let present: f64 = probe.terms.iter().filter(|t| t.passages > 0).map(|t| idf(passages, t.passages)).sum();
    let all: f64 = probe.terms.iter().map(|t| idf(passages, t.passages)).sum();
    let largest = probe.terms.iter().filter(|t| t.passages > 0).map(|t| idf(passages, t.passages)).fold(0.0, f64::max);
    Some(Before {
        max_idf: largest / most,
        mean_idf: present / terms / most,
        coverage: if all > 0.0 { present / all } else { 0.0 },
        centroid: probe.centroid_similarity.map_or(TYPICAL_CENTROID, |s| f64::from(s) / 1e4),
        ln_passages: libm::log(passages as f64),
        ln_terms: libm::log1p(probe.terms.len() as f64),
        identifier_passages: probe.identifiers.iter().map(|i| i.passages).sum(),
        ceiling: BM25_TERM_MAX * present,
    })
}

/// By source: share of the goal's IDF mass that occurs in it. Document frequencies are those of all probed sources together,
/// so that a word is worth the same wherever it stands; words that none of them holds are not counted.
pub fn shared_coverage(catalog: &Catalog, probe: &Probe) -> BTreeMap<SourceName, f64> {
    let passages = |name: &SourceName| catalog.sources.get(name).map_or(0, |entry| entry.passages);
    let all: u64 = probe.sources.keys().map(passages).sum();
    let mut containing: BTreeMap<&str, u64> = BTreeMap::new();
    for term in probe.sources.values().flat_map(|said| &said.terms) {
        *containing.entry(term.term.as_str()).or_default() += term.passages;
    }
    let weight = |term: &str| containing.get(term).filter(|n| **n > 0).map_or(0.0, |n| idf(all, *n));
    let total: f64 = containing.keys().map(|term| weight(term)).sum();
    let of = |said: &SourceProbe| {
        let held: f64 = said.terms.iter().filter(|term| term.passages > 0).map(|term| weight(&term.term)).sum();
        if total > 0.0 { (held / total).min(1.0) } else { 1.0 }
    };
    probe.sources.iter().map(|(name, said)| (name.clone(), of(said))).collect()
}

fn sigmoid(z: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-z))
}

fn logit_before(c: &BeforeCoefficients, f: &Before, read: f64) -> f64 {
    c.bias
        + c.max_idf * f.max_idf
        + c.mean_idf * f.mean_idf
        + c.coverage * f.coverage
        + c.centroid * f.centroid
        + c.ln_passages * f.ln_passages
        + c.ln_terms * f.ln_terms
        + c.ln_read * libm::log(read.max(1.0))
}

/// P(evidence among `read` passages of this path), before retrieval. Non-decreasing in `read`.
pub fn expected(path: AccessPath, features: Option<&Before>, read: f64, passages: u64, intent: &Intent) -> Estimated<Ppm> {
    let shipped = coefficients::evidence();
    if read <= 0.0 {
        return Estimated::new(Ppm(0), Ppm(0), Ppm(0), Certainty::Configured, "reads nothing");
    }
    let lookup = if path == AccessPath::Whole { AccessPath::HybridLinear } else { path };
    let c = &shipped.before[lookup.as_str()];
    let Some(f) = features else { return blind(path, c, read, intent) };
    let read = read.min(passages as f64);
    let z = logit_before(c, f, read);
    let reach = identifier_reach(path, f, read);
    let exact = exact_leg(path, f, read);
    let calibrated = |z: f64| if path == AccessPath::Identifier { sigmoid(z) } else { recalibrated(sigmoid(z)) };
    let hops = |z: f64| multi_hop(1.0 - (1.0 - calibrated(z) * reach) * (1.0 - exact), intent);
    let (down, up) = if c.n > 0 { (shipped.before_spread.low, shipped.before_spread.high) } else { (-LOOKUP_SPREAD, LOOKUP_SPREAD) };
    // Fitted, but on other collections: what is known of this source is a prior until its own runs were counted.
    Estimated::new(
        Ppm::from_share(hops(z)),
        Ppm::from_share(hops(z + down)),
        Ppm::from_share(hops(z + up)),
        Certainty::Prior,
        provenance(lookup),
    )
}

/// P(the goal means the reading that its words have over a source's tables, and its result is right): calibrated where the
/// reading is made, on questions with known answers. Nothing without a probe: the reading is made there.
pub fn table(probe: Option<&SourceProbe>) -> Estimated<Ppm> {
    /// Half width of the interval: bins of a tenth were off by no more on the questions that were held out.
    const SPREAD: f64 = 0.1;
    let provenance = "calibration in ctx-tables/coefficients/tables.json";
    match probe.and_then(|probe| probe.table.as_ref()).filter(|table| table.refusal.is_none()) {
        Some(table) if table.probability == Ppm::ONE => Estimated::exact(Ppm::ONE, "the goal is the query"),
        Some(table) => {
            let p = table.probability.share();
            let [low, high] = [p - SPREAD, p + SPREAD].map(|p| Ppm::from_share(p.clamp(0.0, 1.0)));
            Estimated::new(table.probability, low, high, Certainty::Measured { n: TABLE_QUESTIONS }, provenance)
        }
        None => Estimated::new(Ppm(0), Ppm(0), Ppm(0), Certainty::Configured, "no reading to compute"),
    }
}

/// Questions behind the calibration of table readings.
const TABLE_QUESTIONS: u32 = 1_980;

/// Where the expectations of a path come from, with the number of queries behind the fit.
fn provenance(path: AccessPath) -> &'static str {
    static WORDS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
        let paths = coefficients::evidence().before.iter();
        let words = |n: u32| match n {
            0 => "coefficients/evidence.json before: set by hand".to_owned(),
            n => format!("coefficients/evidence.json before: fitted on {n} queries of other collections"),
        };
        paths.map(|(path, c)| (path.as_str(), words(c.n))).collect()
    });
    WORDS.get(path.as_str()).map_or("coefficients/evidence.json before", String::as_str)
}

/// Share of the identity in a calibration: estimates that differ keep differing, though the isotonic fit pools them.
const CALIBRATION_MIXED: f64 = 0.1;

/// The isotonic calibration, joined by straight lines; rising, and the identity without knots.
fn recalibrated(p: f64) -> f64 {
    interpolated(&coefficients::evidence().before_calibration, p)
}

fn interpolated(knots: &[(f64, f64)], p: f64) -> f64 {
    if knots.is_empty() {
        return p;
    }
    let (mut left, mut right) = ((0.0, 0.0), (1.0, 1.0));
    for knot in knots.iter().copied().filter(|knot| knot.0 > 0.0 && knot.0 < 1.0) {
        if knot.0 >= p {
            right = knot;
            break;
        }
        left = knot;
    }
    let width = if right.0 > left.0 { right.0 - left.0 } else { 1.0 };
    let line = left.1 + (right.1 - left.1) * (p - left.0) / width;
    (1.0 - CALIBRATION_MIXED) * line + CALIBRATION_MIXED * p
}

/// An identifier look-up reads only passages that hold it: none held, none read.
fn identifier_reach(path: AccessPath, f: &Before, read: f64) -> f64 {
    if path != AccessPath::Identifier {
        return 1.0;
    }
    if f.identifier_passages == 0 { 0.0 } else { (read / f.identifier_passages as f64).min(1.0) }
}

/// A ranked path also looks the goal's identifiers up where the source holds them, and those hits stand first.
fn exact_leg(path: AccessPath, f: &Before, read: f64) -> f64 {
    if f.identifier_passages == 0 || matches!(path, AccessPath::Identifier | AccessPath::Whole) {
        return 0.0;
    }
    let c = &coefficients::evidence().before[AccessPath::Identifier.as_str()];
    sigmoid(logit_before(c, f, read)) * identifier_reach(AccessPath::Identifier, f, read)
}

/// Multi-hop goals need every hop: with P(multi-hop) = m, p becomes (1 − m)·p + m·p².
fn multi_hop(p: f64, intent: &Intent) -> f64 {
    let m = intent.evidence.of(EvidenceShape::MultiHop).share();
    (1.0 - m) * p + m * p * p
}

fn blind(path: AccessPath, c: &BeforeCoefficients, read: f64, intent: &Intent) -> Estimated<Ppm> {
    let (low, high) = BLIND;
    let held = if path == AccessPath::Identifier { BLIND_IDENTIFIER_HELD } else { 1.0 };
    let point = Ppm::from_share(multi_hop(held * sigmoid(c.ln_read * libm::log(read / BLIND_READ)), intent));
    Estimated::new(point, Ppm(low), Ppm(high), Certainty::Prior, "no statistics of this source")
}

/// What the lists of one access looked like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScoreProfile {
    /// Top BM25 score as a share of [`Before::ceiling`]; 0 without a BM25 leg or ceiling.
    pub bm25_share: f64,
    /// (first − last)/first of the BM25 list.
    pub bm25_gap: f64,
    /// Top cosine; 0 without a dense leg.
    pub cosine: f64,
    /// First minus last cosine.
    pub cosine_gap: f64,
    /// Whether some passage holds an identifier of the goal literally.
    pub exact: bool,
    /// Passages returned.
    pub read: u32,
}

impl ScoreProfile {
    /// From the raw scores of the legs, best first.
    pub fn new(bm25: &[f64], ceiling: f64, cosine: &[f64], exact: bool, read: u32) -> ScoreProfile {
        let ends = |list: &[f64]| (list.first().copied().unwrap_or(0.0), list.last().copied().unwrap_or(0.0));
        let ((b1, bn), (c1, cn)) = (ends(bm25), ends(cosine));
        ScoreProfile {
            bm25_share: share_of_ceiling(b1, ceiling),
            bm25_gap: if b1 > 0.0 { (b1 - bn) / b1 } else { 0.0 },
            cosine: c1,
            cosine_gap: c1 - cn,
            exact,
            read,
        }
    }
}

/// A BM25 score as a share of its ceiling, in 0..=1; 0 without a ceiling.
pub fn share_of_ceiling(score: f64, ceiling: f64) -> f64 {
    if ceiling > 0.0 { (score / ceiling).clamp(0.0, 1.0) } else { 0.0 }
}

/// P(evidence), and P(relevant) of each passage, where nothing was ranked.
pub const UNSCORED: Ppm = Ppm(500_000);

/// P(evidence is among what was read), calibrated on the scores seen. Zero when nothing was read.
pub fn calibrated(path: AccessPath, profile: &ScoreProfile) -> Ppm {
    if profile.read == 0 {
        return Ppm(0);
    }
    // A computed result carries the probability of its reading as its score.
    if path == AccessPath::Table {
        return Ppm::from_share(profile.cosine.clamp(0.0, 1.0));
    }
    // Whoever read everything has seen no scores: nothing is known but that, if there is evidence, it is there.
    if path == AccessPath::Whole {
        return UNSCORED;
    }
    let c: &AfterCoefficients = &coefficients::evidence().after[path.as_str()];
    let z = c.bias
        + c.bm25_share * profile.bm25_share
        + c.bm25_gap * profile.bm25_gap
        + c.cosine * profile.cosine
        + c.cosine_gap * profile.cosine_gap
        + if profile.exact { c.exact } else { 0.0 }
        + c.ln_read * libm::log(f64::from(profile.read));
    Ppm::from_share(sigmoid(z))
}

/// A passage in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InList {
    /// Its BM25 score as a share of the ceiling; 0 without a BM25 leg.
    pub bm25_share: f64,
    /// Its cosine; 0 without a dense leg.
    pub cosine: f64,
    /// Whether it holds an identifier of the goal literally.
    pub exact: bool,
}

impl InList {
    /// Both scores, weighed as in linear fusion.
    pub fn stands(&self) -> f64 {
        let weight = linear_bm25_weight();
        weight * self.bm25_share + (1.0 - weight) * self.cosine
    }
}

/// P(relevant) of every passage of a list, best first. A passage that stands far above the others is likelier to be what is
/// looked for than the first of many alike.
pub fn relevance(list: &[InList]) -> Vec<Ppm> {
    let c = &coefficients::evidence().relevance;
    let stands: Vec<f64> = list.iter().map(InList::stands).collect();
    let (mut first, mut second) = ((usize::MAX, 0.0), 0.0);
    for (at, &value) in stands.iter().enumerate() {
        if value > first.1 || first.0 == usize::MAX {
            (first, second) = ((at, value), first.1);
        } else if value > second {
            second = value;
        }
    }
    let of = |(at, passage): (usize, &InList)| {
        let other = if at == first.0 { second } else { first.1 };
        let z = c.bias
            + c.bm25_share * passage.bm25_share
            + c.cosine * passage.cosine
            + if passage.exact { c.exact } else { 0.0 }
            + c.ln_rank * libm::log((at + 1) as f64)
            + c.margin * (stands[at] - other);
        Ppm::from_share(sigmoid(z))
    };
    list.iter().enumerate().map(of).collect()
}

/// Weight of the BM25 share in linear fusion within a source; the cosine gets the rest.
pub fn linear_bm25_weight() -> f64 {
    coefficients::evidence().linear_fusion.bm25_weight
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idf_is_finite_at_the_ends() {
        for (n, df) in [(0, 0), (1, 1), (10, 20), (1_000_000, 0)] {
            assert!(idf(n, df).is_finite() && idf(n, df) >= 0.0);
        }
    }

    #[test]
    fn a_calibration_rises_and_meets_its_knots() {
        let knots = [(0.2, 0.1), (0.5, 0.4), (0.8, 0.4)];
        let values: Vec<f64> = (0..=100).map(|n| interpolated(&knots, f64::from(n) / 100.0)).collect();
        assert!(values.windows(2).all(|w| w[0] < w[1]), "{values:?}");
        assert!((values[50] - (0.9 * 0.4 + 0.1 * 0.5)).abs() < 1e-9);
        assert_eq!((values[0], values[100]), (0.0, 1.0));
        assert_eq!(interpolated(&[], 0.3), 0.3);
    }

    #[test]
    fn a_list_of_nothing_is_no_evidence() {
        assert_eq!(calibrated(AccessPath::Bm25, &ScoreProfile::new(&[], 0.0, &[], false, 0)), Ppm(0));
    }

    #[test]
    fn what_stands_out_is_likelier_and_what_stands_alone_is_not_certain() {
        let passage = |bm25_share: f64| InList { bm25_share, cosine: 0.3, exact: false };
        let out = relevance(&[passage(0.6), passage(0.2), passage(0.2)]);
        let alike = relevance(&[passage(0.6), passage(0.59), passage(0.58)]);
        assert!(out[0] > alike[0] && out[1] < alike[1], "{out:?} {alike:?}");
        assert!(alike.windows(2).all(|w| w[0] >= w[1]), "{alike:?}");
        let alone = relevance(&[passage(0.05)]);
        assert!(alone[0] < out[0], "the only passage that holds a word of the goal is no proof: {alone:?}");
        assert!(relevance(&[]).is_empty());
    }

    #[test]
    fn a_better_list_is_more_evidence() {
        let weak = ScoreProfile::new(&[2.0, 1.9], 20.0, &[0.2, 0.19], false, 10);
        let strong = ScoreProfile::new(&[15.0, 3.0], 20.0, &[0.8, 0.3], false, 10);
        assert!(calibrated(AccessPath::HybridLinear, &strong) > calibrated(AccessPath::HybridLinear, &weak));
    }
}
