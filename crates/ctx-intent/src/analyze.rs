//! From words to an [`Intent`].

use crate::{IntentModel, distribution::from_weights, identifiers, sensitive};
use ctx_types::intent::{AnswerShape, Bucket, Entity, EntityKind, EvidenceShape, Intent};
use ctx_types::{Ppm, Sensitivity, SourceKind};

/// The intent of a goal: a pure function of its text and the coefficients.
pub fn analyze(goal: &str, model: &IntentModel) -> Intent {
    let spans = sensitive::scan(goal);
    Intent {
        answer: from_weights(AnswerShape::ALL, &[1.0; 7]),
        evidence: from_weights(EvidenceShape::ALL, &[1.0; 7]),
        sources: from_weights(&SourceKind::ALL, &model.sources),
        entities: identifiers::query_identifiers(goal)
            .into_iter()
            .map(|found| Entity {
                kind: EntityKind::Identifier,
                text: found.text.to_owned(),
                normal: found.normal,
                start: found.range.start as u32,
                end: found.range.end as u32,
            })
            .collect(),
        risk: Ppm(0),
        sensitivity: spans.iter().map(|span| span.raises_to).fold(Sensitivity::Internal, Sensitivity::max),
        sensitive_spans: spans,
        time: None,
        language: "und".to_owned(),
        negated: false,
        operands: Vec::new(),
        content_words: goal.split_whitespace().count() as u32,
        bucket: Bucket::Unknown,
        model: model.digest.to_owned(),
    }
}
