//! The catalog row of a source: counted when a generation is published, kept in its manifest, read without opening a
//! database. Latencies are timed on ANALYZE only, so that an index of the same files has the same row everywhere.

use crate::error::EmbeddedError;
use crate::segment::OpenSegment;
use ctx_intent::sensitive::Detector;
use ctx_runtime::config::{AutoLabel, SourceConfig};
use ctx_store::{SegmentRef, SourceState};
use ctx_types::Sensitivity;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// Key of the row among a source's notes.
pub(crate) const STATISTICS_NOTE: &str = "statistics";
/// Documents read at a time.
const DOCUMENTS_BATCH: u32 = 8192;

/// What is known of a source as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SourceStatistics {
    pub(crate) documents: u64,
    pub(crate) passages: u64,
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
    /// p10, p50, p90, maximum.
    pub(crate) passage_tokens: [u32; 4],
    pub(crate) vocabulary: u64,
    /// Passages by language.
    pub(crate) languages: BTreeMap<String, u64>,
    pub(crate) vectors: u64,
    pub(crate) sensitive: BTreeMap<String, u64>,
    /// Mean direction of all passages; empty without vectors.
    pub(crate) centroid: Vec<f32>,
    /// Timed on ANALYZE: access path → (p50 µs, p90 µs, queries).
    pub(crate) latencies: BTreeMap<String, Timing>,
}

/// A timed access path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timing {
    pub(crate) p50_us: u64,
    pub(crate) p90_us: u64,
    pub(crate) queries: u32,
    /// Passages of the source when it was timed.
    pub(crate) passages: u64,
}

impl SourceStatistics {
    /// The row in a published state; `None` if it was published without one.
    pub(crate) fn of(state: &SourceState) -> Option<SourceStatistics> {
        serde_json::from_str(state.notes.get(STATISTICS_NOTE)?).ok()
    }

    /// The row as a note.
    pub(crate) fn to_note(&self) -> Result<String, EmbeddedError> {
        serde_json::to_string(self).map_err(|error| EmbeddedError::Json { doing: "writing statistics", reason: error.to_string() })
    }

    /// Counts what is visible in these segments.
    pub(crate) fn count(segments: &[(SegmentRef, Arc<OpenSegment>)]) -> Result<SourceStatistics, EmbeddedError> {
        let mut all = ctx_duckdb::SegmentStatistics::default();
        let mut found = SourceStatistics::default();
        let mut sum: Vec<f32> = Vec::new();
        for (reference, segment) in segments {
            all.add(&segment.rows()?.statistics(&reference.tombstones)?);
            found.add_languages(reference, segment)?;
            let note = segment.note()?;
            for (_, counts) in note.sensitive.iter().filter(|(document, _)| reference.tombstones.binary_search(document).is_err()) {
                for (detector, count) in counts {
                    *found.sensitive.entry(detector.clone()).or_insert(0) += count;
                }
            }
            sum.resize(note.vector_sum.len(), 0.0);
            sum.iter_mut().zip(&note.vector_sum).for_each(|(sum, value)| *sum += value);
        }
        found.documents = all.documents;
        found.passages = all.passages;
        found.bytes = all.bytes;
        found.tokens = all.tokens_total();
        found.passage_tokens = [10, 50, 90, 100].map(|percent| all.tokens_quantile(percent));
        found.vocabulary = vocabulary(segments)?;
        found.vectors = found.passages;
        found.centroid = scaled(sum);
        Ok(found)
    }

    fn add_languages(&mut self, reference: &SegmentRef, segment: &OpenSegment) -> Result<(), EmbeddedError> {
        let rows = segment.rows()?;
        for from in (0..rows.documents_len()).step_by(DOCUMENTS_BATCH as usize) {
            let documents = rows.documents_in(from..from.saturating_add(DOCUMENTS_BATCH))?;
            for document in documents.iter().filter(|row| reference.tombstones.binary_search(&row.ordinal).is_err()) {
                *self.languages.entry(document.language.clone()).or_insert(0) += u64::from(document.passages);
            }
        }
        Ok(())
    }

    /// The label that the values found would raise the source to.
    pub(crate) fn raised(&self) -> Sensitivity {
        raised(&self.sensitive)
    }
}

/// The label that values raise to, by detector.
pub(crate) fn raised(values: &BTreeMap<String, u64>) -> Sensitivity {
    let found = Detector::ALL.iter().filter(|detector| values.get(detector.name()).is_some_and(|count| *count > 0));
    found.map(|detector| detector.raises_to()).fold(Sensitivity::Public, Sensitivity::max)
}

/// What a person is told of sensitive values that raise nothing.
pub(crate) fn sensitive_warning(config: &SourceConfig, found: &BTreeMap<String, u64>) -> Option<String> {
    if config.auto_label != AutoLabel::Warn || found.is_empty() {
        return None;
    }
    let counts: Vec<String> = found.iter().map(|(detector, count)| format!("{count} {detector}")).collect();
    let label = config.sensitivity;
    Some(format!("sensitive values found: {}; the label stays {label} (auto_label: raise would raise it)", counts.join(", ")))
}

/// Distinct terms over all segments.
fn vocabulary(segments: &[(SegmentRef, Arc<OpenSegment>)]) -> Result<u64, EmbeddedError> {
    if let [(_, only)] = segments {
        return Ok(only.terms()?.terms_len() as u64);
    }
    let hasher: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::default();
    let mut seen: HashSet<u64> = HashSet::new();
    for (_, segment) in segments {
        segment.terms()?.for_each_term(|term, _| {
            seen.insert(hasher.hash_one(term));
        });
    }
    Ok(seen.len() as u64)
}

/// To length 1; empty where there is no direction.
fn scaled(mut sum: Vec<f32>) -> Vec<f32> {
    let length = ctx_embed::dot_f32(&sum, &sum).sqrt();
    if !length.is_finite() || length <= f32::MIN_POSITIVE {
        return Vec::new();
    }
    sum.iter_mut().for_each(|value| *value /= length);
    sum
}

impl SourceStatistics {
    /// Timings of an earlier generation stay as long as the source is of similar size.
    pub(crate) fn keep_timings(&mut self, earlier: Option<SourceStatistics>) {
        let similar =
            |timing: &Timing| timing.passages <= self.passages.saturating_mul(2) && self.passages <= timing.passages.saturating_mul(2);
        let kept = earlier.into_iter().flat_map(|earlier| earlier.latencies).filter(|(_, timing)| similar(timing));
        self.latencies = kept.collect();
    }
}
