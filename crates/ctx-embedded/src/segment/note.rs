//! What the engine wants to know about a segment and no other file says.

use crate::error::EmbeddedError;
use ctx_embed::EmbeddingIdentity;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Version of the note; a newer one is not understood.
pub(crate) const NOTE_VERSION: u32 = 1;

/// The note of one segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentNote {
    /// [`NOTE_VERSION`].
    pub(crate) version: u32,
    /// What made the vectors.
    pub(crate) embedding: EmbeddingIdentity,
    /// Sensitive values per document, by detector; documents without any are absent.
    pub(crate) sensitive: BTreeMap<u32, BTreeMap<String, u64>>,
    /// Sum of the unit vectors of all passages: the source's centroid, before scaling.
    pub(crate) vector_sum: Vec<f32>,
    /// Passages that have a vector.
    pub(crate) vectors: u64,
}

impl SegmentNote {
    pub(crate) fn write(&self, path: &Path) -> Result<(), EmbeddedError> {
        let json = serde_json::to_vec(self)
            .map_err(|error| EmbeddedError::Json { doing: "writing a segment's note", reason: error.to_string() })?;
        std::fs::write(path, json).map_err(EmbeddedError::io("writing", path))
    }

    pub(crate) fn read(path: &Path) -> Result<SegmentNote, EmbeddedError> {
        let damaged = |problem: String| EmbeddedError::Damaged { path: path.to_owned(), problem };
        let bytes = std::fs::read(path).map_err(EmbeddedError::io("reading", path))?;
        let note: SegmentNote = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if note.version > NOTE_VERSION {
            return Err(damaged(format!("version {} is newer than this program's {NOTE_VERSION}", note.version)));
        }
        Ok(note)
    }
}

/// 32 bytes that stand for an identity in the header of a vector file.
pub(crate) fn identity_bytes(identity: &EmbeddingIdentity) -> [u8; 32] {
    let text = format!("{}/{}/{}", identity.dimension, identity.hash, identity.idf_version);
    let hex = ctx_types::id::sha256_hex(text.as_bytes());
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        let digit = |d: u8| char::from(d).to_digit(16).unwrap_or(0) as u8;
        *byte = digit(pair[0]) << 4 | digit(pair[1]);
    }
    bytes
}
