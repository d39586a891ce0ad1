//! Whether a quoted answer answers the question: quoting its passage proves nothing.

use super::citations::latency;
use crate::coefficients::{self, rate};
use crate::reading::{ANSWER, Reading, SENTENCE, Sentence};
use async_trait::async_trait;
use ctx_contracts::{PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::outcome::Verdict;
use ctx_types::{Citation, Ppm, Strategy};

/// Checks extractive answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswersQuestion;

#[async_trait]
impl Verifier for AnswersQuestion {
    fn describe(&self) -> VerifierEntry {
        let check = &coefficients::get().answers_question;
        VerifierEntry {
            name: "answers_question".to_owned(),
            checks: vec![Strategy::Extractive],
            catches: rate(check.catches),
            rejects_right: rate(check.rejects),
            latency: latency(),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let mut findings = super::citation_findings(&request);
        let check = &coefficients::get().answers_question;
        let confidence = probability(&request);
        let answers = confidence.get() >= check.threshold;
        if !answers {
            findings.push(format!("the quoted sentences do not answer the question (P = {confidence})"));
        }
        Ok(Verdict { verifier: "answers_question".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}

/// P(the quoted sentences answer the question); 0 if none of them is a sentence of the context.
fn probability(request: &VerifyRequest<'_>) -> Ppm {
    let shipped = coefficients::get();
    let reading = Reading::of(&request.goal.text, &request.intent.language, request.context);
    let scorer = shipped.sentence.for_features(&SENTENCE);
    let quoted: Vec<(&Sentence<'_>, f64)> =
        request.citations.iter().filter_map(|c| sentence(&reading, c)).map(|s| (s, scorer.logit(&s.values))).collect();
    if quoted.is_empty() {
        return Ppm(0);
    }
    let model = shipped.answers_question.model.for_features(&ANSWER);
    Ppm::from_share(model.probability(&reading.answer(&quoted)))
}

/// The sentence of the context that a citation quotes, or quotes a part of.
fn sentence<'r, 'a>(reading: &'r Reading<'a>, citation: &Citation) -> Option<&'r Sentence<'a>> {
    let quote = citation.quote.as_deref()?.trim();
    let of_passage = || reading.sentences.iter().filter(|s| s.passage.label == citation.label);
    let whole = of_passage().find(|s| s.text() == quote);
    whole.or_else(|| of_passage().find(|s| !quote.is_empty() && (s.text().contains(quote) || quote.contains(s.text()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{self, request};

    async fn verdict(quotes: &[(u32, &str)]) -> Verdict {
        let context = [
            fixtures::passage(1, "The retention limit of audit logs is 25 days. Ponds are wet in spring."),
            fixtures::passage(2, "Backups are stored elsewhere and nobody reads them."),
        ];
        let goal = ctx_types::Goal::new("What is the retention limit of audit logs?");
        let citations: Vec<Citation> =
            quotes.iter().map(|(label, quote)| fixtures::citation(&context[*label as usize - 1], quote)).collect();
        let answer = quotes.iter().map(|(label, quote)| format!("{quote} [{label}]")).collect::<Vec<_>>().join("\n");
        let intent = fixtures::intent();
        AnswersQuestion.verify(request(&goal, &intent, Strategy::Extractive, &answer, &citations, &context)).await.expect("a verdict")
    }

    #[tokio::test]
    async fn the_sentence_that_answers_passes() {
        let verdict = verdict(&[(1, "The retention limit of audit logs is 25 days.")]).await;
        assert!(verdict.passed, "{verdict:?}");
    }

    #[tokio::test]
    async fn a_quotation_that_answers_something_else_is_caught() {
        for quote in [(2, "Backups are stored elsewhere and nobody reads them."), (1, "Ponds are wet in spring.")] {
            let verdict = verdict(&[quote]).await;
            assert!(!verdict.passed && verdict.findings[0].contains("do not answer"), "{verdict:?}");
        }
    }

    #[tokio::test]
    async fn a_quotation_of_nothing_is_caught() {
        let verdict = verdict(&[(1, "The retention limit is 90 days for everything.")]).await;
        assert!(!verdict.passed && verdict.confidence == Ppm(0), "{verdict:?}");
    }
}
