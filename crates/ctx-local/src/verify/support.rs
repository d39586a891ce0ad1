//! Whether each claim of a generated answer is supported by what it cites.

use super::cited;
use crate::coefficients::{self, SupportModel, rate, sigmoid};
use crate::markers::markers;
use crate::sentences::sentences;
use crate::words::{Idf, Stems, negates, numbers};
use async_trait::async_trait;
use ctx_contracts::{ContextPassage, PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Certainty, Estimated, Micros, Ppm, Strategy};

/// A sentence with fewer content words than this claims nothing by itself ("Yes.", "In short:").
const CLAIM_WORDS_MIN: usize = 3;

/// Checks generated answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Support;

#[async_trait]
impl Verifier for Support {
    fn describe(&self) -> VerifierEntry {
        let model = coefficients::get().support;
        VerifierEntry {
            name: "support".to_owned(),
            checks: vec![Strategy::SingleShot],
            catches: rate(model.catches, model.n),
            rejects_right: rate(model.rejects, model.n),
            latency: Estimated::new(Micros(300), Micros(50), Micros(3_000), Certainty::Prior, "stems of answer and context"),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let mut findings = super::citation_findings(&request);
        let model = coefficients::get().support;
        let stems = Stems::new(&request.intent.language);
        let texts: Vec<Vec<String>> = request.context.iter().map(|p| stems.content(&p.passage.text)).collect();
        let idf = Idf::over(&texts);
        let mut confidence = Ppm::ONE;
        for span in sentences(request.answer) {
            let sentence = &request.answer[span.start..span.end];
            let labels: Vec<String> = markers(sentence).into_iter().flat_map(|m| m.labels).collect();
            let claim = without_markers(sentence);
            if stems.content(&claim).len() < CLAIM_WORDS_MIN {
                continue;
            }
            if labels.is_empty() {
                findings.push(format!("a claim cites nothing: {}", shortened(&claim)));
                confidence = Ppm(0);
                continue;
            }
            let p = supported(&model, &stems, &idf, &claim, &cited(&labels, request.context));
            confidence = confidence.min(p);
            if p.get() < model.threshold {
                findings.push(format!("not supported by what it cites (P = {p}): {}", shortened(&claim)));
            }
        }
        Ok(Verdict { verifier: "support".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}

/// P(the cited passages support the claim).
fn supported(model: &SupportModel, stems: &Stems, idf: &Idf, claim: &str, passages: &[&ContextPassage]) -> Ppm {
    let text: String = passages.iter().map(|p| format!("{} {}\n", p.passage.title, p.passage.text)).collect();
    let (wanted, have) = (stems.content(claim), stems.content(&text));
    let said = numbers(&text);
    let missing = numbers(claim).iter().filter(|n| !said.contains(n)).count();
    let near = nearest(stems, &wanted, &text);
    let z = model.bias
        + model.coverage * idf.coverage(&wanted, &have)
        + model.bigrams * bigram_share(&wanted, &have)
        + model.numbers_missing * missing.min(2) as f64
        + if negates(claim) != negates(near) { model.negation_mismatch } else { 0.0 };
    Ppm::from_share(sigmoid(z))
}

/// The sentence that shares most with the claim: negation is compared there, not anywhere in the passage.
fn nearest<'a>(stems: &Stems, wanted: &[String], text: &'a str) -> &'a str {
    sentences(text)
        .into_iter()
        .map(|s| &text[s.start..s.end])
        .max_by_key(|s| {
            let have = stems.content(s);
            wanted.iter().filter(|w| have.contains(w)).count()
        })
        .unwrap_or_default()
}

fn bigram_share(wanted: &[String], have: &[String]) -> f64 {
    if wanted.len() < 2 {
        return 0.0;
    }
    let held = wanted.windows(2).filter(|w| have.windows(2).any(|h| h == *w)).count();
    held as f64 / (wanted.len() - 1) as f64
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
