//! The feature reranker: a second look at the top of a list with features too dear for an index (phrases, the best sentence,
//! numbers and names of the question). A linear model fitted pairwise on train queries; no model call.
//!
//! It reorders. The calibrated scale stays with the list: who packs deals the probabilities out along the new order.

use crate::sentences::sentences_of;
use crate::words::{Idf, Stems, numbers, raw_words};
use async_trait::async_trait;
use ctx_contracts::{ExecMetrics, Metered, PluginError, RerankRequest, Reranker};
use ctx_types::catalog::{Locality, RerankGain, RerankerEntry};
use ctx_types::{Certainty, Estimated, Hit, Micros, PicoUsd, Ppm, Sensitivity, Tokens};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::LazyLock;

/// What the model looks at, in the order of [`features`].
pub const FEATURES: [&str; 11] = [
    "relevance",     // log-odds of the calibrated probability that retrieval gave
    "coverage",      // IDF mass of the question's stems that the passage holds
    "best_sentence", // the same, within its best sentence
    "phrases",       // neighbouring stems of the question that stand within three words of each other
    "title",         // IDF mass held by the document's title
    "section",       // IDF mass held by the heading or symbol path
    "bm25",          // BM25 within the list, as a share of the best
    "numbers",       // share of the question's numbers that the passage holds
    "names",         // share of the question's capitalised words that the passage holds as they stand
    "length",        // ln(1 + tokens / 100)
    "exact",         // holds an identifier of the question literally
];

/// `coefficients/rerank.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Coefficients {
    provenance: String,
    /// Passages looked at.
    depth: u32,
    /// Coefficient per feature, by name.
    weights: std::collections::BTreeMap<String, f64>,
    /// By how much P(evidence in the context) grows, by what the context holds.
    gains: Vec<Gain>,
    /// Median and ninth decile for the whole depth, µs.
    latency: [u64; 2],
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Gain {
    /// Contexts of up to so many tokens.
    up_to: u64,
    /// Ppm of itself, with its 90 % interval.
    gain: [u32; 3],
    /// Queries that it was measured on.
    n: u32,
}

impl Gain {
    fn described(&self) -> RerankGain {
        let [value, low, high] = self.gain.map(Ppm);
        let certainty = if self.n > 0 { Certainty::Measured { n: self.n } } else { Certainty::Prior };
        RerankGain { up_to: Tokens(self.up_to), gain: Estimated::new(value, low, high, certainty, SHIPPED.provenance.clone()) }
    }
}

static SHIPPED: LazyLock<Coefficients> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../coefficients/rerank.json")).expect("the shipped coefficients parse: a test checks it")
});

/// Reorders by features.
#[derive(Clone, Copy, Debug, Default)]
pub struct FeatureReranker;

#[async_trait]
impl Reranker for FeatureReranker {
    fn describe(&self) -> RerankerEntry {
        let shipped = &*SHIPPED;
        let [p50, p90] = shipped.latency.map(Micros);
        RerankerEntry {
            name: "features".to_owned(),
            depth: shipped.depth,
            gains: shipped.gains.iter().map(Gain::described).collect(),
            latency: Estimated::new(p50, Micros(p50.get() / 4), p90, Certainty::Prior, "coefficients/rerank.json"),
            locality: Locality::Local,
            accepts: Sensitivity::Restricted,
            price: Some(PicoUsd(0)),
            calls: 0,
        }
    }

    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError> {
        let scored = scores(&features(request.query, request.language, &request.hits));
        let mut hits: Vec<(f64, Hit)> = scored.into_iter().zip(request.hits).collect();
        // Stable: equal scores keep the order of retrieval.
        hits.sort_by(|a, b| b.0.total_cmp(&a.0));
        let metrics = ExecMetrics { rows: u64::try_from(hits.len()).ok(), ..ExecMetrics::default() };
        let value = hits.into_iter().enumerate().map(|(at, (score, hit))| Hit { score, rank: at as u32 + 1, ..hit }).collect();
        Ok(Metered { value, metrics })
    }
}

fn scores(rows: &[[f64; FEATURES.len()]]) -> Vec<f64> {
    let weights = FEATURES.map(|name| SHIPPED.weights.get(name).copied().unwrap_or(0.0));
    rows.iter().map(|row| (row.iter().zip(weights).map(|(x, w)| x * w).sum::<f64>() * 1e6).round() / 1e6).collect()
}

/// One row per hit. IDF is that of the list: what every hit holds tells none apart.
pub fn features(query: &str, language: &str, hits: &[Hit]) -> Vec<[f64; FEATURES.len()]> {
    let stems = Stems::new(language);
    let asked = Question::new(query, &stems);
    let texts: Vec<Vec<String>> = hits.iter().map(|h| stems.content(&h.passage.text)).collect();
    let idf = Idf::over(&texts);
    let bm25 = bm25(&asked.stems, &texts, &idf);
    let best = bm25.iter().copied().fold(0.0, f64::max);
    hits.iter()
        .zip(&texts)
        .zip(bm25)
        .map(|((hit, words), bm25)| {
            let passage = &hit.passage;
            let sentence = sentences_of(&passage.locator, &passage.text)
                .into_iter()
                .map(|s| idf.coverage(&asked.stems, &stems.content(&passage.text[s.start..s.end])))
                .fold(0.0, f64::max);
            [
                log_odds(hit.score),
                idf.coverage(&asked.stems, words),
                sentence,
                asked.phrases(words),
                idf.coverage(&asked.stems, &stems.content(&passage.title)),
                idf.coverage(&asked.stems, &stems.content(&passage.locator.section)),
                if best > 0.0 { bm25 / best } else { 0.0 },
                asked.numbers_in(&passage.text),
                asked.names_in(&passage.text),
                libm::log1p(f64::from(passage.tokens) / 100.0),
                f64::from(u8::from(hit.exact)),
            ]
        })
        .collect()
}

fn log_odds(p: f64) -> f64 {
    let p = p.clamp(1e-4, 1.0 - 1e-4);
    libm::log(p / (1.0 - p))
}

struct Question {
    stems: Vec<String>,
    numbers: Vec<String>,
    names: BTreeSet<String>,
}

impl Question {
    fn new(query: &str, stems: &Stems) -> Question {
        let capitalised = query.split_whitespace().skip(1).map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
        let names = capitalised.filter(|w| w.chars().next().is_some_and(char::is_uppercase)).flat_map(raw_words).collect();
        Question { stems: stems.content(query), numbers: numbers(query), names }
    }

    /// Share of neighbouring stems that the words hold within three places of each other, in either order.
    fn phrases(&self, words: &[String]) -> f64 {
        const NEAR: usize = 3;
        let pairs: Vec<(&String, &String)> = self.stems.windows(2).map(|w| (&w[0], &w[1])).collect();
        let near = |(a, b): &(&String, &String)| {
            words.iter().enumerate().any(|(at, w)| {
                let window = &words[at..words.len().min(at + NEAR + 1)];
                (w == *a && window.contains(b)) || (w == *b && window.contains(a))
            })
        };
        if pairs.is_empty() { 0.0 } else { pairs.iter().filter(|p| near(p)).count() as f64 / pairs.len() as f64 }
    }

    fn numbers_in(&self, text: &str) -> f64 {
        let held = numbers(text);
        share(self.numbers.iter().filter(|n| held.contains(n)).count(), self.numbers.len())
    }

    fn names_in(&self, text: &str) -> f64 {
        let held: BTreeSet<String> = raw_words(text).into_iter().collect();
        share(self.names.intersection(&held).count(), self.names.len())
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// BM25 of the question in each text of the list: k1 = 1.2, b = .75.
fn bm25(asked: &[String], texts: &[Vec<String>], idf: &Idf) -> Vec<f64> {
    const K1: f64 = 1.2;
    const B: f64 = 0.75;
    let mean = texts.iter().map(Vec::len).sum::<usize>() as f64 / texts.len().max(1) as f64;
    let distinct: BTreeSet<&String> = asked.iter().collect();
    let of = |text: &Vec<String>| {
        let norm = K1 * (1.0 - B + B * text.len() as f64 / mean.max(1.0));
        distinct
            .iter()
            .map(|stem| {
                let tf = text.iter().filter(|w| w == stem).count() as f64;
                idf.of(stem) * tf * (K1 + 1.0) / (tf + norm)
            })
            .sum()
    };
    texts.iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::passage::{ByteRange, Locator};
    use ctx_types::{AccessPath, Passage, SourceName};

    fn hit(title: &str, text: &str, score: f64) -> Hit {
        let source = SourceName::new("docs").expect("name");
        let locator = Locator {
            source,
            path: format!("{title}.md"),
            bytes: ByteRange::default(),
            line_start: 1,
            line_end: 1,
            section: String::new(),
            also_at: Vec::new(),
        };
        let passage = Passage { id: title.into(), locator, title: title.into(), text: text.into(), fingerprint: String::new(), tokens: 20 };
        Hit { passage, score, rank: 1, path: AccessPath::Bm25, exact: false }
    }

    #[test]
    fn every_feature_has_a_weight_and_no_weight_lacks_a_feature() {
        assert_eq!(SHIPPED.weights.keys().map(String::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(FEATURES));
        assert!(SHIPPED.depth > 0 && !SHIPPED.provenance.is_empty());
    }

    #[tokio::test]
    async fn the_passage_that_holds_the_phrase_and_the_number_comes_first() {
        let hits = vec![
            hit("a", "Deploys are slow. Retries happen. The timeout of a deploy is documented elsewhere.", 0.31),
            hit("b", "The deploy timeout is 30 seconds for release 1423.", 0.30),
        ];
        let request = RerankRequest { query: "What is the deploy timeout of release 1423?", language: "en", hits };
        let out = FeatureReranker.rerank(request).await.expect("reranks").value;
        assert_eq!(out.iter().map(|h| h.passage.id.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(out.iter().map(|h| h.rank).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn nothing_asked_and_nothing_found_is_finite() {
        for query in ["", "?", "日本", "1423"] {
            for row in features(query, "und", &[hit("a", "", 0.0), hit("b", "x", 1.0)]) {
                assert!(row.iter().all(|x| x.is_finite()), "{query:?}: {row:?}");
            }
        }
        assert!(features("q", "en", &[]).is_empty());
    }
}
