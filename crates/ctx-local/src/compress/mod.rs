//! Shorter passages. A passage is cut into units (sentences, or lines where lines are what a file is made of), units are
//! scored, and the best ones that fit are kept in their order; every gap is marked.
//!
//! Of a unit that does not fit, what must never be lost stays with a few words around it: numbers, identifiers and negations
//! (`guard`). A compressed passage can therefore be longer than asked for, never emptier than honest.
//!
//! Three scores: *structural* knows no question (head, tail, headings, declarations, table headers), *extractive* counts what of
//! the question a unit holds, *learned* is a small linear model fitted on gold rationales ([`learned`]).

mod guard;
pub mod learned;
mod structural;
mod units;

use crate::words::{Idf, Stems};
use async_trait::async_trait;
use ctx_contracts::{CompressRequest, Compressed, Compressor, PluginError};
use ctx_types::catalog::{CompressionRatio, CompressorEntry};
use ctx_types::{Certainty, Estimated, Micros, Passage, Ppm, Receipt, ReceiptRefresh, Tokens};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;
pub use units::{Unit, units};

/// Mark of a gap.
pub const GAP: &str = " … ";
/// A shorter form that keeps more than this share is not worth a gap.
const WORTH: f64 = 0.95;

/// How units are scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scoring {
    /// By their place and form.
    Structural,
    /// By what of the question they hold.
    Extractive,
    /// By the fitted model.
    Learned,
}

impl Scoring {
    /// All of them.
    pub const ALL: [Scoring; 3] = [Scoring::Structural, Scoring::Extractive, Scoring::Learned];

    /// Name in plans and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Scoring::Structural => "structural",
            Scoring::Extractive => "extractive",
            Scoring::Learned => "learned",
        }
    }
}

/// `coefficients/compress.json`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Coefficients {
    provenance: String,
    /// Weight per feature of the learned score, by name.
    weights: BTreeMap<String, f64>,
    /// Per compressor: settings with what was measured.
    measured: BTreeMap<String, Vec<Measured>>,
    /// Median and ninth decile per 1,000 tokens, µs.
    latency_per_ktoken: [u64; 2],
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    keep: u32,
    /// Point and 90 % interval.
    sent: [u32; 3],
    /// Point and 90 % interval.
    survives: [u32; 3],
    n: u32,
}

static SHIPPED: LazyLock<Coefficients> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../coefficients/compress.json")).expect("the shipped coefficients parse: a test checks it")
});

/// One of the three compressors.
#[derive(Clone, Copy, Debug)]
pub struct SentenceCompressor(pub Scoring);

#[async_trait]
impl Compressor for SentenceCompressor {
    fn describe(&self) -> CompressorEntry {
        let of = |m: &Measured| {
            let certainty = if m.n > 0 { Certainty::Measured { n: m.n } } else { Certainty::Prior };
            let estimated =
                |[value, low, high]: [u32; 3]| Estimated::new(Ppm(value), Ppm(low), Ppm(high), certainty, SHIPPED.provenance.clone());
            CompressionRatio { keep: Ppm(m.keep), sent: estimated(m.sent), survives: estimated(m.survives) }
        };
        let [p50, p90] = SHIPPED.latency_per_ktoken.map(Micros);
        CompressorEntry {
            name: self.0.as_str().to_owned(),
            ratios: SHIPPED.measured.get(self.0.as_str()).map(|all| all.iter().map(of).collect()).unwrap_or_default(),
            latency_per_ktoken: Estimated::new(p50, Micros(p50.get() / 4), p90, Certainty::Prior, "coefficients/compress.json"),
        }
    }

    async fn compress(&self, request: CompressRequest<'_>) -> Result<Compressed, PluginError> {
        Ok(shorten(self.0, request.goal, request.language, request.passage, request.budget))
    }
}

/// The shorter form as a function of its inputs.
pub fn shorten(scoring: Scoring, goal: &str, language: &str, passage: &Passage, budget: Tokens) -> Compressed {
    let text = passage.text.as_str();
    let share = budget.get() as f64 / f64::from(passage.tokens.max(1));
    let cut = units(&passage.locator.path, text);
    if share >= WORTH || cut.len() < 2 {
        return whole(scoring, passage);
    }
    let scores = match scoring {
        Scoring::Structural => structural::scores(&passage.locator.path, text, &cut),
        Scoring::Extractive => coverage(goal, language, text, &cut),
        Scoring::Learned => learned::scores(&learned::features(goal, language, passage, &cut)),
    };
    let kept = choose(text, &cut, &scores, (share * text.len() as f64) as usize);
    let short = join(text, &kept.ranges);
    if short.len() as f64 > WORTH * text.len() as f64 {
        return whole(scoring, passage);
    }
    let tokens_after = Tokens((f64::from(passage.tokens) * short.len() as f64 / text.len().max(1) as f64).ceil() as u64);
    let omitted =
        format!("{} of {} {} left out, {} cut to numbers, names and negations", kept.dropped, cut.len(), kind(&cut), kept.reduced);
    Compressed { text: short, receipt: receipt(scoring, passage, omitted, tokens_after) }
}

fn kind(cut: &[Unit]) -> &'static str {
    if cut.iter().any(|u| u.line) { "lines" } else { "sentences" }
}

fn whole(scoring: Scoring, passage: &Passage) -> Compressed {
    let receipt = receipt(scoring, passage, String::new(), Tokens(u64::from(passage.tokens)));
    Compressed { text: passage.text.clone(), receipt }
}

fn receipt(scoring: Scoring, passage: &Passage, omitted: String, tokens_after: Tokens) -> Receipt {
    Receipt {
        passage: passage.id.clone(),
        locator: passage.locator.clone(),
        fingerprint: passage.fingerprint.clone(),
        by: scoring.as_str().to_owned(),
        omitted,
        tokens_before: Tokens(u64::from(passage.tokens)),
        tokens_after,
        refresh: ReceiptRefresh::OriginalChanges,
    }
}

/// IDF mass of the question that a unit holds; IDF over the units.
fn coverage(goal: &str, language: &str, text: &str, cut: &[Unit]) -> Vec<f64> {
    let stems = Stems::new(language);
    let asked = stems.content(goal);
    let words: Vec<Vec<String>> = cut.iter().map(|u| stems.content(&text[u.range.clone()])).collect();
    let idf = Idf::over(&words);
    words.iter().map(|w| idf.coverage(&asked, w)).collect()
}

struct Kept {
    ranges: Vec<Range<usize>>,
    dropped: usize,
    reduced: usize,
}

/// Every unit starts as what must stay of it; the best become whole while they fit, the very best always does.
fn choose(text: &str, cut: &[Unit], scores: &[f64], target: usize) -> Kept {
    let guarded: Vec<Vec<Range<usize>>> = cut.iter().map(|u| guard::fragments(text, u.range.clone())).collect();
    let size = |ranges: &[Range<usize>]| ranges.iter().map(|r| r.len() + GAP.len()).sum::<usize>();
    let mut total: usize = guarded.iter().map(|g| size(g)).sum();
    let mut order: Vec<usize> = (0..cut.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut is_whole = vec![false; cut.len()];
    for (rank, &unit) in order.iter().enumerate() {
        let more = (cut[unit].range.len() + 1).saturating_sub(size(&guarded[unit]));
        if rank == 0 || total + more <= target {
            is_whole[unit] = true;
            total += more;
        }
    }
    let mut kept = Kept { ranges: Vec::new(), dropped: 0, reduced: 0 };
    for (unit, fragments) in guarded.into_iter().enumerate() {
        match (is_whole[unit], fragments.is_empty()) {
            (true, _) => kept.ranges.push(cut[unit].range.clone()),
            (false, true) => kept.dropped += 1,
            (false, false) => {
                kept.reduced += 1;
                kept.ranges.extend(fragments);
            }
        }
    }
    kept
}

/// The ranges in order; what lies between two is a gap unless it is blank.
fn join(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::new();
    let mut end = 0;
    for range in ranges {
        let between = &text[end..range.start];
        out.push_str(if between.trim().is_empty() { between } else { GAP });
        out.push_str(&text[range.clone()]);
        end = range.end;
    }
    if !text[end..].trim().is_empty() {
        out.push_str(GAP.trim_end());
    }
    out.trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::passage::{ByteRange, Locator};
    use proptest::prelude::*;

    pub(super) fn passage(path: &str, text: &str) -> Passage {
        let source = ctx_types::SourceName::new("docs").expect("name");
        let bytes = ByteRange { start: 0, end: text.len() as u64 };
        let locator = Locator { source, path: path.into(), bytes, line_start: 1, line_end: 9, section: String::new(), also_at: Vec::new() };
        let tokens = (text.len() / 4).max(1) as u32;
        Passage { id: path.into(), locator, title: String::new(), text: text.into(), fingerprint: "f".into(), tokens }
    }

    const NOTES: &str = "The service was started in spring by a small team. Its logo is blue and friendly. \
        Deploy 1423 did not finish because the lock was held. People like the colours of the page. \
        Error E0502 appears when a value is borrowed twice. The office has a garden and two cats.";

    #[test]
    fn the_asked_sentence_stays_and_numbers_identifiers_and_negations_of_the_rest_do_too() {
        for scoring in Scoring::ALL {
            let p = passage("notes.md", NOTES);
            let short = shorten(scoring, "Why did the deploy fail to finish?", "en", &p, Tokens(u64::from(p.tokens) * 4 / 10));
            for word in ["1423", "not", "E0502"] {
                assert!(short.text.contains(word), "{scoring:?} lost {word}: {}", short.text);
            }
            assert!(short.text.len() < NOTES.len(), "{scoring:?}: {}", short.text);
            assert!(short.receipt.tokens_omitted().get() > 0 && !short.receipt.omitted.is_empty());
            assert_eq!(short.receipt.fingerprint, "f");
        }
        let p = passage("notes.md", NOTES);
        let short = shorten(Scoring::Extractive, "Why did the deploy not finish?", "en", &p, Tokens(30));
        assert!(short.text.contains("did not finish because the lock was held"), "{}", short.text);
    }

    #[test]
    fn an_identifier_with_a_stop_inside_is_not_cut_in_two() {
        for sign in ["?", "!", "。", "⁇"] {
            let text =
                format!("a. src/a{sign}rs? It stands in the middle of a long text. src/a{sign}rs aaaaaaaa! Nothing else is here. aaaaa ");
            for scoring in Scoring::ALL {
                let short = shorten(scoring, "alpha 12 beta", "en", &passage("a.md", &text), Tokens(1));
                assert_eq!(short.text.matches(&format!("src/a{sign}rs")).count(), 2, "{scoring:?}: {}", short.text);
            }
        }
    }

    #[test]
    fn what_fits_or_cannot_be_cut_comes_back_as_it_is() {
        let p = passage("a.md", "One sentence only, about deploys.");
        assert_eq!(shorten(Scoring::Learned, "deploys?", "en", &p, Tokens(2)).text, p.text);
        let p = passage("a.md", NOTES);
        let same = shorten(Scoring::Extractive, "deploys?", "en", &p, Tokens(u64::from(p.tokens)));
        assert_eq!((same.text.as_str(), same.receipt.omitted.as_str()), (NOTES, ""));
    }

    #[test]
    fn a_table_keeps_its_header_and_code_its_declarations() {
        let table = "name,price\napple,1\npear,2\nplum,x\nfig,y\nkiwi,z\nlime,w\n".to_owned();
        let short = shorten(Scoring::Structural, "what?", "en", &passage("t.csv", &table), Tokens(9));
        assert!(short.text.starts_with("name,price"), "{}", short.text);
        let code = "pub fn reserve(amount: u64) -> bool {\n    let held = total();\n    log(held);\n    check(held)\n}\n";
        let short = shorten(Scoring::Structural, "what?", "en", &passage("a.rs", code), Tokens(12));
        assert!(short.text.contains("pub fn reserve"), "{}", short.text);
    }

    #[test]
    fn every_compressor_ships_ratios_and_the_model_a_weight_per_feature() {
        for scoring in Scoring::ALL {
            let entry = SentenceCompressor(scoring).describe();
            assert!(!entry.ratios.is_empty(), "{}", entry.name);
            assert!(entry.ratios.windows(2).all(|w| w[0].keep < w[1].keep));
        }
        let names: Vec<&str> = SHIPPED.weights.keys().map(String::as_str).collect();
        let mut wanted = learned::FEATURES.to_vec();
        wanted.sort_unstable();
        assert_eq!(names, wanted);
    }

    proptest! {
        #[test]
        fn the_kept_parts_stand_in_the_original_in_order(text in "(([a-z]{1,9}|[0-9]{1,4}|not|never|don't|without|E[0-9]{4}|max_conn|src/a.rs|q[?]a=1|readFile|v1[.]2)[.!?,\n]? ){1,80}", keep in 1u64..40) {
            let p = passage("a.md", &text);
            for scoring in Scoring::ALL {
                let short = shorten(scoring, "alpha 12 beta", "en", &p, Tokens(keep));
                let mut at = 0;
                for part in short.text.split(GAP.trim()).map(str::trim).filter(|s| !s.is_empty()) {
                    let found = text[at..].find(part);
                    prop_assert!(found.is_some(), "{part:?} is not in {:?}", &text[at..]);
                    at += found.unwrap_or(0) + part.len();
                }
                // As often as they stood there, not just once: what one number belongs to, the other does not.
                let count = |of: &str, word: &str| of.split_whitespace().filter(|w| *w == word).count();
                for word in text.split_whitespace().filter(|word| guard::guarded(word)) {
                    prop_assert!(count(&short.text, word) >= count(&text, word), "{scoring:?} lost {word} of {text:?}: {:?}", short.text);
                }
            }
        }
    }
}
