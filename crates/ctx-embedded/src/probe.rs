//! What a source knows about a goal, from its dictionaries: a bounded number of look-ups, nothing searched.

use crate::error::EmbeddedError;
use crate::view::SourceView;
use ctx_embed::{StaticModel, cosine_e4};
use ctx_intent::identifiers::query_identifiers;
use ctx_tantivy::language::Language;
use ctx_tantivy::query::analyze_query;
use ctx_types::SourceProbe;
use ctx_types::probe::{IdentifierHits, TermFrequency};
use std::collections::BTreeMap;

/// Terms looked up per source: with eight segments still well below a millisecond.
const TERMS_MAX: usize = 128;
/// Identifiers looked up per source.
const IDENTIFIERS_MAX: usize = 32;

/// The probe of one source.
pub(crate) fn probe(view: &SourceView, model: &StaticModel, goal: &str) -> Result<SourceProbe, EmbeddedError> {
    let mut probe = SourceProbe::default();
    if view.segments.is_empty() {
        return Ok(probe);
    }
    terms(view, goal, &mut probe)?;
    identifiers(view, goal, &mut probe)?;
    probe.centroid_similarity = centroid(view, model, goal);
    Ok(probe)
}

fn terms(view: &SourceView, goal: &str, probe: &mut SourceProbe) -> Result<(), EmbeddedError> {
    let analysis = analyze_query(goal, &languages(view));
    for word in analysis.words.into_iter().take(TERMS_MAX) {
        if word.is_prefix {
            // Stands for all terms that begin with it: the text index counts those.
            let found = view.searcher()?.search(&word.forms.concat(), 0, &|_, _| false)?;
            let passages = found.summary.words.iter().map(|summary| summary.document_frequency).max().unwrap_or(0);
            probe.lookups += 1;
            probe.terms.push(TermFrequency { term: word.forms.concat(), passages });
            continue;
        }
        let mut best: Option<TermFrequency> = None;
        for form in word.forms {
            let mut passages = 0;
            for segment in &view.segments {
                passages += u64::from(segment.open.terms()?.document_frequency(&form));
                probe.lookups += 1;
            }
            if best.as_ref().is_none_or(|best| best.passages < passages) {
                best = Some(TermFrequency { term: form, passages });
            }
        }
        probe.terms.extend(best);
    }
    Ok(())
}

fn languages(view: &SourceView) -> BTreeMap<Language, u32> {
    let mut languages = BTreeMap::new();
    for (code, count) in view.statistics.iter().flat_map(|statistics| &statistics.languages) {
        *languages.entry(Language::from_code(code)).or_insert(0) += u32::try_from(*count).unwrap_or(u32::MAX);
    }
    languages
}

fn identifiers(view: &SourceView, goal: &str, probe: &mut SourceProbe) -> Result<(), EmbeddedError> {
    let mut names: Vec<String> = Vec::new();
    for identifier in query_identifiers(goal) {
        if names.len() < IDENTIFIERS_MAX && !names.contains(&identifier.normal) {
            names.push(identifier.normal);
        }
    }
    for identifier in names {
        let mut passages = 0;
        for segment in &view.segments {
            passages += u64::from(segment.open.terms()?.identifier(&identifier));
            probe.lookups += 1;
        }
        probe.identifiers.push(IdentifierHits { identifier, passages });
    }
    Ok(())
}

/// Cosine of the goal to the mean of all passages; `None` where either has no direction.
fn centroid(view: &SourceView, model: &StaticModel, goal: &str) -> Option<i32> {
    let centroid = &view.statistics.as_ref()?.centroid;
    view.embedding(model).ok()?;
    let idf = view.idf().ok()??;
    let mut vector = vec![0.0; model.dimension()];
    (centroid.len() == vector.len() && model.embed(goal, idf, &mut vector)).then(|| cosine_e4(&vector, centroid))
}
