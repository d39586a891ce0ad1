//! Every citation resolves to a passage that was in the context. Proves provenance, not truth.

use crate::coefficients::{self, rate};
use crate::markers::markers;
use crate::readable;
use async_trait::async_trait;
use ctx_contracts::{ContextPassage, PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Certainty, Citation, Estimated, Micros, Ppm, Strategy};

/// Latency of reading markers. Guess from their linear scan: 50 µs, at most 1 ms.
pub(crate) fn latency() -> Estimated<Micros> {
    Estimated::new(Micros(50), Micros(5), Micros(1_000), Certainty::Prior, "linear scan of the answer")
}

/// Resolves citations.
#[derive(Clone, Copy, Debug, Default)]
pub struct Citations;

#[async_trait]
impl Verifier for Citations {
    fn describe(&self) -> VerifierEntry {
        let rates = coefficients::get().citations;
        VerifierEntry {
            name: "citations".to_owned(),
            checks: vec![Strategy::Extractive, Strategy::SingleShot],
            catches: rate(rates.catches),
            rejects_right: rate(rates.rejects),
            latency: latency(),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let findings = super::citation_findings(&request);
        let confidence = if findings.is_empty() { Ppm(500_000) } else { Ppm(0) };
        Ok(Verdict { verifier: "citations".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}

/// The answer's own words: brackets inside a quotation (`sshd[19431]`, a footnote) are the source's and cite nothing here.
fn without_quotes(answer: &str, citations: &[Citation]) -> String {
    let quotes = citations.iter().filter_map(|c| c.quote.as_deref()).map(readable).filter(|q| !q.is_empty());
    quotes.fold(answer.to_owned(), |text, quote| text.replacen(&quote, "", 1))
}

/// What is wrong with the citations; empty when nothing is.
pub(crate) fn findings(answer: &str, citations: &[Citation], context: &[ContextPassage]) -> Vec<String> {
    let mut out = Vec::new();
    let known = |label: &str| label.parse::<u32>().is_ok_and(|l| context.iter().any(|p| p.label == l));
    let own = without_quotes(answer, citations);
    let labels: Vec<String> = markers(&own).into_iter().flat_map(|m| m.labels).collect();
    let mut unknown: Vec<&String> = labels.iter().filter(|l| !known(l)).collect();
    unknown.sort_unstable();
    unknown.dedup();
    if !unknown.is_empty() {
        let names = unknown.iter().map(|l| format!("[{l}]")).collect::<Vec<_>>().join(", ");
        out.push(format!("{names}: no such passage; the context has {}", range(context)));
    }
    if labels.is_empty() {
        out.push("the answer cites nothing".to_owned());
    }
    for citation in citations {
        let passage = context.iter().find(|p| p.label == citation.label);
        if passage.is_none_or(|p| p.passage.id != citation.passage) {
            out.push(format!("citation [{}] does not stand for the passage it names", citation.label));
        } else if let (Some(quote), Some(p)) = (&citation.quote, passage)
            && !p.passage.text.contains(quote.as_str())
        {
            out.push(format!("the quotation of [{}] is not in its passage", citation.label));
        }
    }
    out
}

fn range(context: &[ContextPassage]) -> String {
    match context.len() {
        0 => "none".to_owned(),
        1 => "[1]".to_owned(),
        n => format!("[1] to [{n}]"),
    }
}
