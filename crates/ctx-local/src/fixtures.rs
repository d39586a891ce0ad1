//! Passages, citations and requests for the tests of this crate.

use ctx_contracts::{ContextPassage, VerifyRequest};
use ctx_types::intent::{Bucket, Distribution};
use ctx_types::passage::Locator;
use ctx_types::{ByteRange, Citation, Goal, Intent, Passage, Ppm, Sensitivity, SourceName, Strategy};

pub(crate) fn passage(label: u32, text: &str) -> ContextPassage {
    let locator = Locator {
        source: SourceName::new("docs").expect("literal"),
        path: format!("{label}.md"),
        bytes: ByteRange { start: 100, end: 100 + text.len() as u64 },
        line_start: 10,
        line_end: 10 + text.matches('\n').count() as u32,
        section: String::new(),
        also_at: Vec::new(),
    };
    let passage =
        Passage { id: format!("p{label}"), locator, title: String::new(), text: text.to_owned(), fingerprint: String::new(), tokens: 50 };
    ContextPassage { label, passage, relevance: Ppm(600_000), exact: false }
}

pub(crate) fn citation(passage: &ContextPassage, quote: &str) -> Citation {
    Citation { quote: Some(quote.to_owned()), ..passage.citation() }
}

/// An intent in English about which nothing else is known.
pub(crate) fn intent() -> Intent {
    Intent {
        answer: Distribution(Vec::new()),
        evidence: Distribution(Vec::new()),
        sources: Distribution(Vec::new()),
        entities: Vec::new(),
        risk: Ppm(0),
        sensitivity: Sensitivity::Internal,
        sensitive_spans: Vec::new(),
        sensitive_topics: Vec::new(),
        time: None,
        language: "en".to_owned(),
        negated: false,
        operands: Vec::new(),
        content_words: 0,
        hardness_milli: 0,
        bucket: Bucket::Unknown,
        model: String::new(),
    }
}

pub(crate) fn request<'a>(
    goal: &'a Goal,
    intent: &'a Intent,
    strategy: Strategy,
    answer: &'a str,
    citations: &'a [Citation],
    context: &'a [ContextPassage],
) -> VerifyRequest<'a> {
    VerifyRequest { goal, intent, strategy, answer, citations, context }
}
