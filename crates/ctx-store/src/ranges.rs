//! Which passages belong to which document of a segment, so that a tombstone hides passages without asking a database.
//!
//! Passages stand in the order of their documents. Layout (little-endian): magic 8 · version 4 · documents 4 · checksum
//! of all the rest 8 · `documents + 1` offsets of 4: document *d* owns passages `offset[d]..offset[d + 1]`.

use crate::checksum::checksum;
use crate::error::StoreError;
use crate::mapped::Mapped;
use std::ops::Range;
use std::path::Path;

const MAGIC: &[u8; 8] = b"CTXRANGE";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;

/// The mapped offsets of one segment. Clones share the mapping.
#[derive(Clone, Debug)]
pub struct PassageRanges {
    file: Mapped,
    documents: u32,
}

impl PassageRanges {
    /// Writes the file: `passages[d]` is the number of passages of document *d*.
    pub fn write(path: &Path, passages: &[u32]) -> Result<(), StoreError> {
        let failed = || StoreError::Inconsistent { doing: "writing passage ranges", problem: "more than 2³² rows".into() };
        let documents = u32::try_from(passages.len()).map_err(|_| failed())?;
        let mut end = 0_u32;
        let mut offsets = vec![0; 4];
        for count in passages {
            end = end.checked_add(*count).ok_or_else(failed)?;
            offsets.extend_from_slice(&end.to_le_bytes());
        }
        let mut bytes = Vec::with_capacity(HEADER_BYTES + offsets.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&documents.to_le_bytes());
        bytes.extend_from_slice(&checksum(&offsets).to_le_bytes());
        bytes.extend_from_slice(&offsets);
        std::fs::write(path, bytes).map_err(StoreError::io("writing", path))
    }

    /// Maps and verifies the file.
    pub fn open(path: &Path) -> Result<PassageRanges, StoreError> {
        let file = Mapped::open(path)?;
        if file.len() < HEADER_BYTES || file[..8] != MAGIC[..] {
            return Err(file.corrupt("not a file of passage ranges"));
        }
        let (version, documents) = (file.u32_at(8), file.u32_at(12));
        if version > VERSION {
            return Err(StoreError::NewerSchema { path: path.to_owned(), found: version, supported: VERSION });
        }
        if file.len() as u64 != HEADER_BYTES as u64 + 4 * (u64::from(documents) + 1) {
            return Err(file.corrupt("it is cut short"));
        }
        if file.u64_at(16) != checksum(&file[HEADER_BYTES..]) {
            return Err(file.corrupt("its checksum does not match its content"));
        }
        Ok(PassageRanges { file, documents })
    }

    /// Documents of the segment.
    pub fn documents(&self) -> u32 {
        self.documents
    }
    /// Passages of the segment.
    pub fn passages(&self) -> u32 {
        self.offset(self.documents)
    }
    fn offset(&self, document: u32) -> u32 {
        self.file.u32_at(HEADER_BYTES + 4 * document as usize)
    }

    /// The passages of a document; empty beyond the last.
    pub fn of(&self, document: u32) -> Range<u32> {
        if document >= self.documents { 0..0 } else { self.offset(document)..self.offset(document + 1) }
    }

    /// The document of a passage; `None` beyond the last.
    pub fn document_of(&self, passage: u32) -> Option<u32> {
        if passage >= self.passages() {
            return None;
        }
        let (mut low, mut high) = (0, self.documents);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset(middle + 1) <= passage { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// The passages that are hidden when these documents are deleted.
    pub fn filter(&self, tombstones: &[u32]) -> PassageFilter {
        let mut filter = PassageFilter::default();
        for range in tombstones.iter().map(|document| self.of(*document)) {
            filter.hide(range);
        }
        filter
    }
}

/// A set of hidden passages of one segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageFilter {
    words: Vec<u64>,
    hidden: u32,
}

impl PassageFilter {
    fn hide(&mut self, range: Range<u32>) {
        for passage in range {
            let word = passage as usize / 64;
            if word >= self.words.len() {
                self.words.resize(word + 1, 0);
            }
            let bit = 1_u64 << (passage % 64);
            self.hidden += u32::from(self.words[word] & bit == 0);
            self.words[word] |= bit;
        }
    }
    /// Whether the passage may be shown.
    pub fn is_live(&self, passage: u32) -> bool {
        self.words.get(passage as usize / 64).is_none_or(|word| word & (1 << (passage % 64)) == 0)
    }
    /// Number of hidden passages.
    pub fn hidden(&self) -> u32 {
        self.hidden
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_damaged_or_short_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ranges.u32");
        PassageRanges::write(&path, &[2, 0, 3]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            for content in [&damaged[..], &bytes[..at]] {
                std::fs::write(&path, content).unwrap();
                assert!(PassageRanges::open(&path).is_err(), "byte {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn ranges_partition_the_passages(counts in proptest::collection::vec(0_u32..5, 0..40), dead in proptest::collection::btree_set(0_u32..40, 0..10)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("ranges.u32");
            PassageRanges::write(&path, &counts).unwrap();
            let ranges = PassageRanges::open(&path).unwrap();
            prop_assert_eq!(ranges.passages(), counts.iter().sum::<u32>());
            let dead: Vec<u32> = dead.into_iter().collect();
            let filter = ranges.filter(&dead);
            for passage in 0..ranges.passages() {
                let owner = ranges.document_of(passage).unwrap();
                prop_assert!(ranges.of(owner).contains(&passage));
                prop_assert_eq!(filter.is_live(passage), !dead.contains(&owner));
            }
            prop_assert_eq!(ranges.document_of(ranges.passages()), None);
        }
    }
}
