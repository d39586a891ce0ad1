//! The check of a computed answer: its statement runs again, and every value must come out the same.

use crate::contracts::Embedded;
use async_trait::async_trait;
use ctx_contracts::{PluginError, Verifier, VerifyRequest};
use ctx_types::catalog::VerifierEntry;
use ctx_types::computed::ComputedResult;
use ctx_types::outcome::Verdict;
use ctx_types::{Certainty, Estimated, Micros, Ppm, Strategy};

/// Recomputes the result behind an answer.
#[derive(Clone, Debug)]
pub(crate) struct Recomputed {
    embedded: Embedded,
}

impl Recomputed {
    /// Over this engine's tables.
    pub(crate) fn new(embedded: Embedded) -> Recomputed {
        Recomputed { embedded }
    }

    async fn findings(&self, request: &VerifyRequest<'_>) -> Result<Vec<String>, PluginError> {
        let mut findings = Vec::new();
        for citation in request.citations {
            let passage = request.context.iter().find(|passage| passage.passage.id == citation.passage);
            let Some((passage, result)) = passage.and_then(|p| Some((p, ComputedResult::read(&p.passage.text)?))) else {
                findings.push(format!("citation [{}] does not stand for a computed result", citation.label));
                continue;
            };
            let again = self.embedded.recompute(&passage.passage.locator.source, &result).await?;
            let same = again == result.values || result.is_cut() && again.starts_with(&result.values);
            if !same {
                findings.push(format!("computed again, the statement of [{}] gives other values", citation.label));
            }
            let shown = result.values.iter().take(10).all(|value| request.answer.contains(value.as_str()));
            if !shown {
                findings.push(format!("the answer does not hold the values of [{}]", citation.label));
            }
        }
        if request.citations.is_empty() {
            findings.push("the answer cites nothing".to_owned());
        }
        Ok(findings)
    }
}

#[async_trait]
impl Verifier for Recomputed {
    fn describe(&self) -> VerifierEntry {
        let share = |value: u32, high: u32, why: &'static str| Estimated::new(Ppm(value), Ppm(0), Ppm(high), Certainty::Prior, why);
        VerifierEntry {
            name: "recomputed".to_owned(),
            checks: vec![Strategy::Computed],
            // A goal that was misread computes the same wrong value twice: only changed data and changed values are caught.
            catches: share(20_000, 100_000, "catches changed data and values, not misread goals"),
            rejects_right: share(0, 1_000, "equal values are never rejected"),
            latency: Estimated::new(Micros(1_500), Micros(300), Micros(20_000), Certainty::Prior, "the statement runs again"),
            proves_citations: true,
        }
    }

    async fn verify(&self, request: VerifyRequest<'_>) -> Result<Verdict, PluginError> {
        let findings = self.findings(&request).await?;
        let confidence = if findings.is_empty() { Ppm(900_000) } else { Ppm(0) };
        Ok(Verdict { verifier: "recomputed".to_owned(), passed: findings.is_empty(), confidence, findings })
    }
}
