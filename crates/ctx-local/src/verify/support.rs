//! Whether each claim of a generated answer is supported by what it cites: a number must stand there ([`held`]), the rest is a
//! fitted probability.

use super::{cited, held};
use crate::coefficients::{self, rate};
use crate::directions::{self, Directions, similarity};
use crate::markers::markers;
use crate::reading::{names, pairs, share};
use crate::sentences::sentences;
use crate::words::{Idf, Stems, negates, numbers, raw_words};
use async_trait::async_trait;
use ctx_contracts::{ContextPassage, PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Certainty, Estimated, Micros, Ppm, Strategy};

/// A sentence with fewer content words than this claims nothing by itself ("Yes.", "In short:"), unless it says a number or cites
/// for a word of its own ("Bob \[1\].").
const CLAIM_WORDS_MIN: usize = 3;
/// English words that only take a side: stems, so that no passage need hold them.
const SIDES: [&str; 8] = ["yes", "no", "not", "none", "true", "fals", "correct", "both"];

/// Checks generated answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support;

#[async_trait]
impl Verifier for Support {
    fn describe(&self) -> VerifierEntry {
        let check = &coefficients::get().support;
        VerifierEntry {
            name: "support".to_owned(),
            checks: vec![Strategy::SingleShot],
            catches: rate(check.catches),
            rejects_right: rate(check.rejects),
            latency: Estimated::new(Micros(300), Micros(50), Micros(3_000), Certainty::Prior, "stems of answer and context"),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let mut findings = super::citation_findings(&request);
        let check = &coefficients::get().support;
        let model = check.model.for_features(&CLAIM);
        let grounds = Grounds::over(&request.intent.language, request.context);
        let mut confidence = Ppm::ONE;
        for span in sentences(request.answer) {
            let sentence = &request.answer[span.start..span.end];
            let labels: Vec<String> = markers(sentence).into_iter().flat_map(|m| m.labels).collect();
            let claim = without_markers(sentence);
            let short = grounds.stems.content(&claim).len() < CLAIM_WORDS_MIN;
            let leads_in = claim.trim_end().ends_with(':');
            if short && (leads_in || (labels.is_empty() && !held::says_a_number(&claim))) {
                continue;
            }
            if labels.is_empty() {
                findings.push(format!("a claim cites nothing: {}", shortened(&claim)));
                confidence = Ppm(0);
                continue;
            }
            let passages = cited(&labels, request.context);
            if let Some(number) = held::unheld(&claim, &request.goal.text, &passages).first() {
                findings.push(format!("says {number}, which what it cites does not: {}", shortened(&claim)));
                confidence = Ppm(0);
                continue;
            }
            if short {
                if !passages.is_empty() && grounds.is_made_up(&claim, &request, &passages) {
                    findings.push(format!("no word of it stands in what it cites: {}", shortened(&claim)));
                    confidence = Ppm(0);
                }
                continue;
            }
            let p = Ppm::from_share(model.probability(&grounds.claim(&claim, &passages)));
            confidence = confidence.min(p);
            if p.get() < check.threshold {
                findings.push(format!("not supported by what it cites (P = {p}): {}", shortened(&claim)));
            }
        }
        Ok(Verdict { verifier: "support".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}

/// Features of a claim beside the passages it cites, in the order of [`claim`].
///
/// `coverage`: share of the claim's stems (by inverse document frequency) that the passages hold · `sentence`: that their best
/// sentence holds · `similarity`: cosine to the nearest sentence · `passage`: cosine to all of them · `bigrams`: share of the
/// claim's pairs of stems · `numbers_missing`, `names_missing`: of the claim, at most 2 · `negation`: one of claim and best
/// sentence negates · `opposite`: one rises where the other falls.
pub const CLAIM: [&str; 9] =
    ["coverage", "sentence", "similarity", "passage", "bigrams", "numbers_missing", "names_missing", "negation", "opposite"];

/// Features of one claim, by [`CLAIM`]; `cited` are labels of `context`.
pub fn claim(text: &str, language: &str, context: &[ContextPassage], cited: &[u32]) -> [f64; CLAIM.len()] {
    let passages: Vec<&ContextPassage> = context.iter().filter(|p| cited.contains(&p.label)).collect();
    Grounds::over(language, context).claim(text, &passages)
}

/// What claims of an answer are held against.
struct Grounds {
    stems: Stems,
    idf: Idf,
    directions: Directions,
}

impl Grounds {
    fn over(language: &str, context: &[ContextPassage]) -> Grounds {
        let stems = Stems::new(language);
        let texts: Vec<&str> = context.iter().flat_map(|p| sentences_in(&p.passage.text)).collect();
        let tokens: Vec<Vec<u32>> = texts.iter().map(|text| directions::tokens(text)).collect();
        let idf = Idf::over(&texts.iter().map(|text| stems.content(text)).collect::<Vec<_>>());
        Grounds { stems, idf, directions: Directions::over(tokens.iter()) }
    }

    /// Whether a short claim has words of its own, and none of them stands in the passages. In English only: elsewhere it is not
    /// known which words only take a side.
    fn is_made_up(&self, claim: &str, request: &VerifyRequest<'_>, passages: &[&ContextPassage]) -> bool {
        let asked = self.stems.content(&request.goal.text);
        let mut own = self.stems.content(claim);
        own.retain(|stem| !asked.contains(stem) && !SIDES.contains(&stem.as_str()) && !stem.starts_with(|c: char| c.is_ascii_digit()));
        let text: String = passages.iter().map(|p| format!("{}\n{}\n", p.passage.title, p.passage.text)).collect();
        let have = self.stems.content(&text);
        request.intent.language == "en" && !own.is_empty() && own.iter().all(|stem| !have.contains(stem))
    }

    fn claim(&self, claim: &str, passages: &[&ContextPassage]) -> [f64; CLAIM.len()] {
        let text: String = passages.iter().map(|p| format!("{}\n\n{}\n\n", p.passage.title, p.passage.text)).collect();
        let (order, have) = (self.stems.content(claim), self.stems.content(&text));
        let mut once = order.clone();
        once.sort_unstable();
        once.dedup();
        let wanted: Vec<(String, f64)> = once.into_iter().map(|stem| (stem.clone(), self.idf.of(&stem))).collect();
        let vector = self.directions.of(&directions::tokens(claim));
        let near = |s: &str| similarity(vector.as_ref(), self.directions.of(&directions::tokens(s)).as_ref());
        let covered = |s: &str| share(&wanted, &self.stems.content(s));
        let parts = sentences_in(&text);
        let best = parts.iter().copied().max_by(|a, b| covered(a).total_cmp(&covered(b))).unwrap_or_default();
        let (said, words) = (numbers(&text), raw_words(&text));
        let missing = |of: Vec<String>, held: &[String]| of.iter().filter(|w| !held.contains(w)).count().min(2) as f64;
        [
            share(&wanted, &have),
            covered(best),
            parts.iter().map(|s| near(s)).fold(0.0, f64::max),
            near(&text),
            pairs(&order, &have),
            missing(numbers(claim), &said),
            missing(names(claim), &words),
            f64::from(u8::from(negates(claim) != negates(best))),
            f64::from(u8::from(opposite(direction(claim), direction(best)))),
        ]
    }
}

fn sentences_in(text: &str) -> Vec<&str> {
    sentences(text).into_iter().map(|s| &text[s.start..s.end]).collect()
}

/// Beginnings of words that say that something rises, and that it falls.
const RISES: &[&str] =
    &["increas", "higher", "rais", "promot", "enhanc", "improv", "activat", "induc", "upregulat", "more", "gain", "grow"];
const FALLS: &[&str] =
    &["decreas", "lower", "reduc", "inhibit", "suppress", "impair", "worsen", "block", "downregulat", "less", "fewer", "loss", "declin"];

/// (rises, falls).
fn direction(text: &str) -> (bool, bool) {
    let words = raw_words(text);
    let any = |list: &[&str]| words.iter().any(|w| list.iter().any(|start| w.starts_with(start)));
    (any(RISES), any(FALLS))
}

/// One only rises, the other only falls.
fn opposite(a: (bool, bool), b: (bool, bool)) -> bool {
    let only_rises = |d: (bool, bool)| d.0 && !d.1;
    let only_falls = |d: (bool, bool)| d.1 && !d.0;
    (only_rises(a) && only_falls(b)) || (only_falls(a) && only_rises(b))
}

fn without_markers(sentence: &str) -> String {
    let mut out = String::with_capacity(sentence.len());
    let mut at = 0;
    for marker in markers(sentence) {
        out.push_str(&sentence[at..marker.at]);
        let rest = &sentence[marker.at..];
        at = marker.at + rest.find([']', '】']).map_or(rest.len(), |c| c + rest[c..].chars().next().map_or(1, char::len_utf8));
    }
    out.push_str(&sentence[at..]);
    out
}

fn shortened(claim: &str) -> String {
    const CHARS_MAX: usize = 80;
    let text: String = claim.trim().chars().take(CHARS_MAX).collect();
    if claim.trim().chars().count() > CHARS_MAX { format!("{text}…") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, request};

    async fn verdict(answer: &str) -> Verdict {
        let context = [
            fixtures::passage(1, "The retention limit of audit logs is 25 days. Logs older than that are deleted every night."),
            fixtures::passage(2, "Backups are stored in another building and nobody reads them."),
        ];
        let goal = ctx_types::Goal::new("How long are audit logs kept?");
        let intent = fixtures::intent();
        Support.verify(request(&goal, &intent, Strategy::SingleShot, answer, &[], &context)).await.expect("a verdict")
    }

    #[tokio::test]
    async fn a_claim_that_its_passage_makes_passes() {
        let verdict = verdict("The retention limit of audit logs is 25 days [1].").await;
        assert!(verdict.passed, "{verdict:?}");
    }

    #[tokio::test]
    async fn a_claim_that_cites_the_wrong_passage_or_makes_something_up_is_caught() {
        for answer in ["The retention limit of audit logs is 25 days [2].", "Employees may borrow bicycles for 90 minutes [1]."] {
            let verdict = verdict(answer).await;
            assert!(!verdict.passed && verdict.findings[0].contains("what it cites"), "{answer}: {verdict:?}");
        }
    }

    #[tokio::test]
    async fn a_claim_without_a_citation_is_caught() {
        let verdict = verdict("Audit logs are kept for 25 days.").await;
        assert!(!verdict.passed, "{verdict:?}");
    }

    #[tokio::test]
    async fn a_number_or_a_name_that_what_is_cited_does_not_hold_is_caught_however_short_the_claim() {
        for answer in [
            "26 days [1].",
            "The limit is 26 [1].",
            "The retention limit of audit logs is 250 days [1].",
            "Quarterly [1].",
            "Kept 26 days.",
        ] {
            let verdict = verdict(answer).await;
            assert!(!verdict.passed && verdict.confidence == Ppm(0), "{answer}: {verdict:?}");
        }
        for answer in [
            "25 days [1].",
            "The limit is 25 [1].",
            "Yes [1].",
            "Nightly deletion: deleted [1].",
            "In short:\n25 days [1].",
            "1. The retention limit of audit logs is 25 days [1].\n2. Yes [1].",
        ] {
            let verdict = verdict(answer).await;
            assert!(verdict.passed, "{answer}: {verdict:?}");
        }
    }

    #[test]
    fn rising_is_the_opposite_of_falling() {
        assert!(opposite(direction("X increases Y"), direction("Y was reduced")));
        assert!(!opposite(direction("X increases Y"), direction("Y grew")));
        assert!(!opposite(direction("X increases Y"), direction("less Y, more Z")));
    }
}
