//! Catalog entries from what is published: no database is opened, nothing is searched.

use crate::error::EmbeddedError;
use crate::statistics::{SourceStatistics, Timing};
use crate::view::SourceView;
use ctx_embed::StaticModel;
use ctx_runtime::config::{AutoLabel, SourceConfig};
use ctx_types::catalog::{AccessCapability, EmbeddingInventory, SourceState};
use ctx_types::{AccessPath, Certainty, Estimated, Micros, SourceEntry, Tokens};
use std::collections::BTreeMap;

/// Latency of a look-up or search that touches nothing yet, in µs; measured with 5,000 passages, warm, on two cores.
const BASE_US: [(AccessPath, u64); 4] =
    [(AccessPath::Identifier, 300), (AccessPath::Bm25, 500), (AccessPath::Dense, 400), (AccessPath::Whole, 800)];
/// What a thousand passages add, in µs: postings, vectors (256 bytes each, a scan), rows read.
const PER_THOUSAND_US: [(AccessPath, u64); 4] =
    [(AccessPath::Identifier, 2), (AccessPath::Bm25, 20), (AccessPath::Dense, 30), (AccessPath::Whole, 1_500)];
/// A prior may be wrong by this factor either way.
const PRIOR_SPREAD: u64 = 4;
/// Ninth decile over median, as timed on small collections.
const P90_OVER_P50: u64 = 2;

/// The entry of a source that was published.
pub(crate) fn entry(view: &SourceView, config: &SourceConfig, model: &StaticModel) -> SourceEntry {
    let unknown = view.statistics.is_none();
    let statistics = view.statistics.clone().unwrap_or_default();
    let mut entry = blank(config, state(view, &statistics, unknown));
    entry.documents = if unknown { view.state.live_documents() } else { statistics.documents };
    entry.passages = if unknown { view.live_passages().unwrap_or(0) } else { statistics.passages };
    entry.bytes = statistics.bytes;
    entry.tokens = Tokens(statistics.tokens);
    entry.passage_tokens = statistics.passage_tokens;
    entry.vocabulary = statistics.vocabulary;
    entry.languages.clone_from(&statistics.languages);
    entry.embedding = inventory(view, model, &statistics);
    if config.auto_label == AutoLabel::Raise {
        entry.sensitivity = entry.sensitivity.max(statistics.raised());
    }
    entry.sensitive_values.clone_from(&statistics.sensitive);
    entry.fingerprint.clone_from(&view.state.fingerprint);
    entry.generation = view.generation.number();
    entry.access = access(&statistics, entry.passages, entry.embedding.is_some());
    entry
}

/// The entry of a source of which nothing is published.
pub(crate) fn unpublished(config: &SourceConfig, error: Option<&EmbeddedError>) -> SourceEntry {
    let reason = match error {
        Some(error) => error.to_string(),
        None => "it is not indexed yet".to_owned(),
    };
    blank(config, SourceState::Unavailable { reason })
}

fn state(view: &SourceView, statistics: &SourceStatistics, unknown: bool) -> SourceState {
    if let Some(error) = view.segments.iter().find_map(|segment| segment.open.is_complete().err()) {
        return SourceState::Unavailable { reason: error.to_string() };
    }
    match () {
        () if view.segments.is_empty() => SourceState::Empty,
        () if unknown => SourceState::NoStatistics,
        () if statistics.passages == 0 => SourceState::Empty,
        () => SourceState::Ready,
    }
}

fn blank(config: &SourceConfig, state: SourceState) -> SourceEntry {
    SourceEntry {
        kind: config.kind,
        state,
        documents: 0,
        passages: 0,
        bytes: 0,
        tokens: Tokens(0),
        passage_tokens: [0; 4],
        vocabulary: 0,
        languages: BTreeMap::new(),
        embedding: None,
        sensitivity: config.sensitivity,
        sensitive_values: BTreeMap::new(),
        readable_by: config.readable_by.clone(),
        fingerprint: String::new(),
        generation: 0,
        access: Vec::new(),
        tables: Vec::new(),
    }
}

/// Vectors that this build's model can search; none if another model made them.
fn inventory(view: &SourceView, model: &StaticModel, statistics: &SourceStatistics) -> Option<EmbeddingInventory> {
    let identity = view.embedding(model).ok()?;
    (statistics.vectors > 0).then(|| EmbeddingInventory {
        model: identity.model,
        dimension: u32::try_from(identity.dimension).unwrap_or(u32::MAX),
        model_hash: identity.hash,
        idf_version: identity.idf_version,
        vectors: statistics.vectors,
    })
}

fn access(statistics: &SourceStatistics, passages: u64, has_vectors: bool) -> Vec<AccessCapability> {
    let needs_vectors = |path: AccessPath| matches!(path, AccessPath::Dense | AccessPath::HybridLinear | AccessPath::HybridRrf);
    let honoured = AccessPath::ALL.iter().copied().filter(|path| *path != AccessPath::Table && (has_vectors || !needs_vectors(*path)));
    honoured.map(|path| capability(path, statistics.latencies.get(path.as_str()), passages)).collect()
}

fn capability(path: AccessPath, timed: Option<&Timing>, passages: u64) -> AccessCapability {
    if let Some(timing) = timed {
        let certainty = Certainty::Measured { n: timing.queries };
        let measured =
            |value: u64, low: u64, high: u64| Estimated::new(Micros(value as _), Micros(low as _), Micros(high as _), certainty, "analyze");
        return AccessCapability {
            path,
            latency_p50: measured(timing.p50_us, timing.p50_us / 2, timing.p90_us),
            latency_p90: measured(timing.p90_us, timing.p50_us, timing.p90_us * 2),
        };
    }
    let p50 = prior_us(path, passages);
    let prior = |value: u64| {
        Estimated::new(
            Micros(value as _),
            Micros((value / PRIOR_SPREAD) as _),
            Micros((value * PRIOR_SPREAD) as _),
            Certainty::Prior,
            "embedded engine; ANALYZE measures",
        )
    };
    AccessCapability { path, latency_p50: prior(p50), latency_p90: prior(p50 * P90_OVER_P50) }
}

/// Hybrids run their legs side by side.
fn prior_us(path: AccessPath, passages: u64) -> u64 {
    let leg = |wanted: AccessPath| {
        let of = |table: &[(AccessPath, u64)]| table.iter().find(|(path, _)| *path == wanted).map_or(0, |(_, value)| *value);
        of(&BASE_US) + of(&PER_THOUSAND_US) * passages / 1000
    };
    match path {
        AccessPath::HybridLinear | AccessPath::HybridRrf => leg(AccessPath::Bm25).max(leg(AccessPath::Dense)),
        path => leg(path),
    }
}
