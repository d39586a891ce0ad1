//! One generation of the store as a value: which segments of which source are visible, minus which documents.

use crate::envelope::{self, Schema};
use crate::error::StoreError;
use crate::files::{leaf, merkle_root};
use ctx_types::SourceName;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Format and version of manifests on disk.
pub const MANIFEST_SCHEMA: Schema = Schema { format: "manifest", version: 1 };
/// Format and version of file lists on disk.
pub const FILE_LIST_SCHEMA: Schema = Schema { format: "file-list", version: 1 };
/// A source with more segments than this is merged: every query visits every segment.
pub const SEGMENTS_MAX: usize = 8;
/// A source with more deleted documents than this is merged: they skew document frequencies and cost disk.
pub const TOMBSTONES_PERCENT_MAX: u64 = 20;

/// Names a sealed segment: 16 hex digits, never reused.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SegmentId(String);

impl SegmentId {
    pub(crate) fn new_unique() -> Self {
        SegmentId(crate::disk::unique_name())
    }
    /// A checked id; `None` for anything but 16 lower-case hex digits (an id becomes a folder name).
    pub fn parse(text: &str) -> Option<Self> {
        let valid = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        valid.then(|| SegmentId(text.to_owned()))
    }
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SegmentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SegmentId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        SegmentId::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a segment id")))
    }
}

/// A sealed segment and what is hidden in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// Its folder.
    pub id: SegmentId,
    /// Documents in it, deleted ones included.
    pub documents: u32,
    /// Passages in it, deleted ones included.
    pub passages: u32,
    /// Bytes on disk.
    pub bytes: u64,
    /// Ordinals of deleted documents, ascending.
    #[serde(default)]
    pub tombstones: Vec<u32>,
}

/// Which frozen IDF weights an embedding was made with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdfIdentity {
    /// Opaque identity, compared for equality.
    pub identity: String,
    /// The blob that holds the weights.
    pub blob: String,
}

/// One source in one generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceState {
    /// Absolute root (folder or file). Not part of any fingerprint or plan id.
    pub root: String,
    /// Visible segments in order of publication.
    pub segments: Vec<SegmentRef>,
    /// Digest of the file list, which is a file of its own.
    pub file_list: String,
    /// Number of files in that list.
    pub files: u64,
    /// Weights that its embeddings were made with.
    #[serde(default)]
    pub idf: Option<IdfIdentity>,
    /// Digest of everything that shapes segments: chunker, tokenizer, embedder. Another digest means: index anew.
    pub settings_digest: String,
    /// Merkle root over (path, content hash).
    pub fingerprint: String,
    /// When this source was last published, in nanoseconds since 1970.
    pub published_at_ns: i64,
    /// Facts that the indexer wants back (counts of skipped files, detected languages): opaque here.
    #[serde(default)]
    pub notes: BTreeMap<String, String>,
}

/// Why a source should be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeReason {
    /// More than [`SEGMENTS_MAX`].
    Segments(usize),
    /// More than [`TOMBSTONES_PERCENT_MAX`] percent of the documents are deleted.
    Tombstones {
        /// Deleted documents.
        deleted: u64,
        /// Of how many.
        documents: u64,
    },
}

impl SourceState {
    /// Documents on disk, deleted ones included.
    pub fn documents(&self) -> u64 {
        self.segments.iter().map(|s| u64::from(s.documents)).sum()
    }
    /// Deleted documents still on disk.
    pub fn deleted_documents(&self) -> u64 {
        self.segments.iter().map(|s| s.tombstones.len() as u64).sum()
    }
    /// Visible documents.
    pub fn live_documents(&self) -> u64 {
        self.documents().saturating_sub(self.deleted_documents())
    }
    /// Whether a merge pays, and why.
    pub fn needs_merge(&self) -> Option<MergeReason> {
        let (deleted, documents) = (self.deleted_documents(), self.documents());
        if self.segments.len() > SEGMENTS_MAX {
            Some(MergeReason::Segments(self.segments.len()))
        } else if deleted * 100 > documents * TOMBSTONES_PERCENT_MAX {
            Some(MergeReason::Tombstones { deleted, documents })
        } else {
            None
        }
    }

    fn check(&self) -> Result<(), String> {
        for segment in &self.segments {
            let ascending = segment.tombstones.windows(2).all(|pair| pair[0] < pair[1]);
            let in_range = segment.tombstones.last().is_none_or(|last| *last < segment.documents);
            if !ascending || !in_range {
                return Err(format!("segment {}: tombstones are not ascending ordinals of its documents", segment.id));
            }
        }
        let hex = |digest: &str| !digest.is_empty() && digest.bytes().all(|b| b.is_ascii_hexdigit());
        if !hex(&self.file_list) {
            return Err(format!("file list {:?} is not a digest", self.file_list));
        }
        Ok(())
    }
}

/// What one generation shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Counts publications; 0 is the empty store.
    pub generation: u64,
    /// Sources by name.
    pub sources: BTreeMap<SourceName, SourceState>,
}

impl Manifest {
    /// Every segment that it shows.
    pub fn segment_ids(&self) -> BTreeSet<&SegmentId> {
        self.sources.values().flat_map(|source| &source.segments).map(|segment| &segment.id).collect()
    }

    /// Merkle root over (source, fingerprint).
    pub fn fingerprint(&self) -> String {
        let leaves = self.sources.iter().map(|(name, s)| leaf(name.as_str().as_bytes(), s.fingerprint.as_bytes()));
        crate::disk::hex(&merkle_root(leaves.collect()))
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Vec<u8> {
        envelope::seal(MANIFEST_SCHEMA, self).expect("a manifest has string keys and plain values")
    }

    /// Reads and checks a manifest's bytes. `path` is for messages only.
    pub fn decode(path: &Path, bytes: &[u8]) -> Result<Manifest, StoreError> {
        let manifest: Manifest = envelope::unseal(MANIFEST_SCHEMA, path, bytes)?;
        manifest.check().map_err(|problem| StoreError::corrupt(path, problem))?;
        Ok(manifest)
    }

    /// Checks what types cannot say: tombstones ascend and exist, a segment belongs to one source.
    pub fn check(&self) -> Result<(), String> {
        let mut owners = BTreeMap::new();
        for (name, source) in &self.sources {
            source.check().map_err(|problem| format!("source {name}: {problem}"))?;
            for segment in &source.segments {
                if let Some(other) = owners.insert(&segment.id, name) {
                    return Err(format!("segment {} belongs to {other} and to {name}", segment.id));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(documents: u32, tombstones: Vec<u32>) -> SegmentRef {
        SegmentRef { id: SegmentId::new_unique(), documents, passages: documents, bytes: 1, tombstones }
    }

    fn source(segments: Vec<SegmentRef>) -> SourceState {
        SourceState {
            root: "/docs".into(),
            segments,
            file_list: "ab".into(),
            files: 1,
            idf: None,
            settings_digest: "s".into(),
            fingerprint: "f".into(),
            published_at_ns: 1,
            notes: BTreeMap::new(),
        }
    }

    fn manifest(source: SourceState) -> Manifest {
        Manifest { generation: 3, sources: [(SourceName::new("docs").unwrap(), source)].into() }
    }

    #[test]
    fn merging_starts_beyond_the_limits_and_not_at_them() {
        let many = |n: usize| source((0..n).map(|_| segment(10, vec![])).collect());
        assert_eq!(many(8).needs_merge(), None);
        assert_eq!(many(9).needs_merge(), Some(MergeReason::Segments(9)));
        assert_eq!(source(vec![segment(10, vec![0, 1])]).needs_merge(), None);
        let reason = source(vec![segment(10, vec![0, 1, 2])]).needs_merge();
        assert_eq!(reason, Some(MergeReason::Tombstones { deleted: 3, documents: 10 }));
    }

    #[test]
    fn contradictions_are_refused() {
        let shared = segment(5, vec![]);
        let mut twice = manifest(source(vec![shared.clone()]));
        twice.sources.insert(SourceName::new("other").unwrap(), source(vec![shared]));
        for bad in [
            manifest(source(vec![segment(5, vec![3, 2])])),
            manifest(source(vec![segment(5, vec![5])])),
            manifest(source(vec![segment(5, vec![2, 2])])),
            twice,
            manifest(SourceState { file_list: "../etc".into(), ..source(vec![]) }),
        ] {
            let error = Manifest::decode(Path::new("m"), &bad.encode()).unwrap_err();
            assert!(error.to_string().contains("ctxrt index"), "{error}");
        }
    }

    #[test]
    fn a_segment_id_is_never_a_path() {
        for bad in ["", "..", "../../etc/passwd", "0123456789abcdeF", "0123456789abcde/"] {
            assert_eq!(SegmentId::parse(bad), None);
        }
    }

    proptest! {
        #[test]
        fn manifests_come_back(documents in 1_u32..50, deleted in proptest::collection::btree_set(0_u32..50, 0..20)) {
            let tombstones = deleted.into_iter().filter(|d| *d < documents).collect();
            let written = manifest(source(vec![segment(documents, tombstones)]));
            prop_assert_eq!(Manifest::decode(Path::new("m"), &written.encode()).unwrap(), written);
        }
    }
}
