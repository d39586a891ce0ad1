//! Checks. Each can fail: its tests plant the failure it is there for.

mod answers;
pub(crate) mod citations;
mod held;
pub(crate) mod support;

pub use answers::AnswersQuestion;
pub use citations::Citations;
pub use held::unheld_numbers;
pub use support::{CLAIM, Support, claim};

use ctx_contracts::{ContextPassage, VerifyRequest};

/// Findings about citations, shared by every check: unknown labels, labels that cite a passage outside the context, none at all.
fn citation_findings(request: &VerifyRequest<'_>) -> Vec<String> {
    citations::findings(request.answer, request.citations, request.context)
}

/// Text of the passages cited by these labels.
fn cited<'a>(labels: &[String], context: &'a [ContextPassage]) -> Vec<&'a ContextPassage> {
    context.iter().filter(|p| labels.iter().any(|l| l.parse() == Ok(p.label))).collect()
}
