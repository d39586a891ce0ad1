//! Whether a quoted answer answers the question: quoting its passage proves nothing.

use super::citations::latency;
use crate::coefficients::{self, rate, sigmoid};
use crate::question::{holds, wanted};
use crate::words::{Idf, Stems, negates};
use async_trait::async_trait;
use ctx_contracts::{PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Ppm, Strategy};

/// Checks extractive answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswersQuestion;

#[async_trait]
impl Verifier for AnswersQuestion {
    fn describe(&self) -> VerifierEntry {
        let model = coefficients::get().answers_question;
        VerifierEntry {
            name: "answers_question".to_owned(),
            checks: vec![Strategy::Extractive],
            catches: rate(model.catches, model.n),
            rejects_right: rate(model.rejects, model.n),
            latency: latency(),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let mut findings = super::citation_findings(&request);
        let model = coefficients::get().answers_question;
        let confidence = probability(&request);
        let answers = confidence.get() >= model.threshold;
        if !answers {
            findings.push(format!("the quoted sentences do not answer the question (P = {confidence})"));
        }
        Ok(Verdict { verifier: "answers_question".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}

fn probability(request: &VerifyRequest<'_>) -> Ppm {
    let model = coefficients::get().answers_question;
    let stems = Stems::new(&request.intent.language);
    let asked = stems.content(&request.goal.text);
    let quotes: Vec<&str> = request.citations.iter().filter_map(|c| c.quote.as_deref()).collect();
    let quoted = quotes.join(" ");
    let headings: String = request.citations.iter().map(|c| format!(" {} {}", c.title, c.locator.section)).collect();
    let texts: Vec<Vec<String>> = request.context.iter().map(|p| stems.content(&p.passage.text)).collect();
    let idf = Idf::over(&texts);
    let mut have = stems.content(&quoted);
    have.extend(stems.content(&headings));
    let kind = wanted(&request.goal.text);
    let typed = quotes.iter().map(|q| holds(kind, q)).fold(0.0, f64::max);
    let mismatch = negates(&request.goal.text) && !negates(&quoted);
    let z = model.bias
        + model.coverage * idf.coverage(&asked, &have)
        + model.answer_type * typed
        + if mismatch { model.negation_mismatch } else { 0.0 };
    Ppm::from_share(sigmoid(z))
}
