//! The display bucket: one name for people and statistics slices, derived from the facets. Planning does not read it.

use crate::cues::{Cue, Match, has};
use ctx_types::intent::{AnswerShape, Bucket, EntityKind, EvidenceShape, Intent};
use ctx_types::{Ppm, Sensitivity};

/// From here an action counts as high risk.
pub(crate) const HIGH_RISK_FROM: Ppm = Ppm(500_000);

/// The rules, in order; the first that holds names the bucket.
///
/// 1. `sensitive`: a value in the goal raised its label.
/// 2. `high_risk`: an action is asked for, and it is more likely than not that it cannot be undone.
/// 3. `incident`: something is broken, and the goal is more than a bare name.
/// 4. `exact_lookup`: a name is looked up.
/// 5. `code_reasoning`, `multi_hop`: the evidence is code, or a chain.
/// 6. `synthesis`: comparison, or the whole corpus, or many passages to be put together.
/// 7. `temporal`: time decides.
/// 8. `conceptual`: how or why.
/// 9. `unknown`.
pub(crate) fn bucket(intent: &Intent, matches: &[Match]) -> Bucket {
    let answer = intent.answer_shape();
    let evidence = intent.evidence_shape();
    let named = intent.entities.iter().any(|entity| matches!(entity.kind, EntityKind::Identifier | EntityKind::Version | EntityKind::Path));
    if intent.sensitivity > Sensitivity::Internal {
        return Bucket::Sensitive;
    }
    if answer == AnswerShape::Action && intent.risk >= HIGH_RISK_FROM {
        return Bucket::HighRisk;
    }
    if has(matches, Cue::Incident) && intent.content_words >= 2 && answer != AnswerShape::Aggregate {
        return Bucket::Incident;
    }
    if named && (answer == AnswerShape::Lookup || intent.content_words <= 2) {
        return Bucket::ExactLookup;
    }
    match (evidence, answer) {
        (EvidenceShape::Code, _) => Bucket::CodeReasoning,
        (EvidenceShape::MultiHop, _) => Bucket::MultiHop,
        (_, AnswerShape::Comparison) | (EvidenceShape::WholeCorpus | EvidenceShape::ManyPassages, _) => Bucket::Synthesis,
        _ if intent.time.is_some() => Bucket::Temporal,
        (_, AnswerShape::Explanation) => Bucket::Conceptual,
        _ => Bucket::Unknown,
    }
}
