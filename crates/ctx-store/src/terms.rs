//! The term dictionary of one segment: what a probe asks. Document frequencies of terms and counts of identifiers,
//! in two finite-state maps over one memory-mapped file.
//!
//! Layout (little-endian): magic 8 · version 4 · zero 4 · documents 8 · passages 8 · tokens 8 · bytes of the term map 8
//! · bytes of the identifier map 8 · checksum of the preceding 56 bytes 8 · term map · identifier map. The maps carry
//! their own checksums. A term's value is its passage frequency (high 32 bits) and its collection frequency (low 32).

use crate::checksum::checksum;
use crate::error::StoreError;
use crate::mapped::Mapped;
use fst::{IntoStreamer, Map, MapBuilder, Streamer};
use std::io::Write;
use std::path::Path;

const MAGIC: &[u8; 8] = b"CTXTERMS";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
/// Longer terms are not kept: nobody asks for them, and a hostile file could hold millions of them.
pub const TERM_BYTES_MAX: usize = 256;

/// Totals of a segment, deleted documents included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DictionaryTotals {
    /// Documents.
    pub documents: u64,
    /// Passages: the unit that document frequencies count.
    pub passages: u64,
    /// Terms of all passages: divided by `passages`, the average length.
    pub tokens: u64,
}

/// How often one term occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermCount {
    /// Passages that hold it.
    pub passages: u32,
    /// Its occurrences.
    pub occurrences: u32,
}

/// Builds a dictionary file from sorted input.
pub struct DictionaryBuilder {
    terms: MapBuilder<Vec<u8>>,
    identifiers: MapBuilder<Vec<u8>>,
}

impl std::fmt::Debug for DictionaryBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DictionaryBuilder").field("bytes", &self.terms.bytes_written()).finish_non_exhaustive()
    }
}

impl Default for DictionaryBuilder {
    fn default() -> Self {
        DictionaryBuilder { terms: MapBuilder::memory(), identifiers: MapBuilder::memory() }
    }
}

impl DictionaryBuilder {
    /// Adds a term; terms come in ascending byte order, each once.
    pub fn add_term(&mut self, term: &str, count: TermCount) -> Result<(), StoreError> {
        let value = u64::from(count.passages) << 32 | u64::from(count.occurrences);
        insert(&mut self.terms, term, value)
    }

    /// Adds an identifier, lower-cased by the caller, with the number of passages that hold it; ascending, each once.
    pub fn add_identifier(&mut self, identifier: &str, passages: u32) -> Result<(), StoreError> {
        insert(&mut self.identifiers, identifier, u64::from(passages))
    }

    /// Writes the file.
    pub fn finish(self, path: &Path, totals: DictionaryTotals) -> Result<(), StoreError> {
        let doing = "finishing a term dictionary";
        let failed = |error: fst::Error| StoreError::Inconsistent { doing, problem: error.to_string() };
        let terms = self.terms.into_inner().map_err(failed)?;
        let identifiers = self.identifiers.into_inner().map_err(failed)?;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&[0; 4]);
        let sizes = [terms.len() as u64, identifiers.len() as u64];
        for number in [totals.documents, totals.passages, totals.tokens].into_iter().chain(sizes) {
            header.extend_from_slice(&number.to_le_bytes());
        }
        header.extend_from_slice(&checksum(&header).to_le_bytes());
        let mut file = std::fs::File::create(path).map_err(StoreError::io("creating", path))?;
        for part in [&header, &terms, &identifiers] {
            file.write_all(part).map_err(StoreError::io("writing", path))?;
        }
        Ok(())
    }
}

fn insert(map: &mut MapBuilder<Vec<u8>>, key: &str, value: u64) -> Result<(), StoreError> {
    if key.len() > TERM_BYTES_MAX {
        return Ok(());
    }
    map.insert(key, value).map_err(|error| StoreError::Inconsistent { doing: "adding to a term dictionary", problem: error.to_string() })
}

/// A part of the mapped file.
#[derive(Clone, Debug)]
struct Part {
    file: Mapped,
    range: std::ops::Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }
}

/// A dictionary in memory; look-ups take about a microsecond. Clones share the mapping.
#[derive(Clone, Debug)]
pub struct Dictionary {
    terms: Map<Part>,
    identifiers: Map<Part>,
    totals: DictionaryTotals,
}

impl Dictionary {
    /// Maps a file and verifies it whole: a damaged map could otherwise be walked out of bounds.
    pub fn open(path: &Path) -> Result<Dictionary, StoreError> {
        let file = Mapped::open(path)?;
        if file.len() < HEADER_BYTES || file[..8] != MAGIC[..] {
            return Err(file.corrupt("not a term dictionary"));
        }
        let version = file.u32_at(8);
        if version > VERSION {
            return Err(StoreError::NewerSchema { path: path.to_owned(), found: version, supported: VERSION });
        }
        if file.u64_at(56) != checksum(&file[..56]) {
            return Err(file.corrupt("its header is damaged"));
        }
        let size = |at| usize::try_from(file.u64_at(at)).ok();
        let ends =
            size(40).and_then(|terms| HEADER_BYTES.checked_add(terms)).and_then(|middle| Some((middle, middle.checked_add(size(48)?)?)));
        let Some((middle, end)) = ends.filter(|(_, end)| *end == file.len()) else {
            return Err(file.corrupt("it is cut short"));
        };
        let totals = DictionaryTotals { documents: file.u64_at(16), passages: file.u64_at(24), tokens: file.u64_at(32) };
        let terms = verified(Part { file: file.clone(), range: HEADER_BYTES..middle })?;
        Ok(Dictionary { terms, identifiers: verified(Part { file, range: middle..end })?, totals })
    }

    /// Totals of the segment.
    pub fn totals(&self) -> DictionaryTotals {
        self.totals
    }
    /// How often a term occurs; zero for an unknown one.
    pub fn term(&self, term: &str) -> TermCount {
        let value = self.terms.get(term).unwrap_or(0);
        TermCount { passages: (value >> 32) as u32, occurrences: value as u32 }
    }
    /// Passages that hold the term.
    pub fn document_frequency(&self, term: &str) -> u32 {
        self.term(term).passages
    }
    /// Passages that hold the identifier, which the caller has lower-cased.
    pub fn identifier(&self, identifier: &str) -> u32 {
        u32::try_from(self.identifiers.get(identifier).unwrap_or(0)).unwrap_or(u32::MAX)
    }
    /// Distinct terms.
    pub fn terms_len(&self) -> usize {
        self.terms.len()
    }
    /// Distinct identifiers.
    pub fn identifiers_len(&self) -> usize {
        self.identifiers.len()
    }

    /// Calls `visit` with every term in byte order: for merging segments and for IDF weights.
    pub fn for_each_term(&self, mut visit: impl FnMut(&str, TermCount)) {
        let mut stream = self.terms.into_stream();
        while let Some((key, value)) = stream.next() {
            if let Ok(term) = std::str::from_utf8(key) {
                visit(term, TermCount { passages: (value >> 32) as u32, occurrences: value as u32 });
            }
        }
    }

    /// Identifiers that begin with `prefix`, at most `limit`, in byte order.
    pub fn identifiers_with_prefix(&self, prefix: &str, limit: usize) -> Vec<(String, u32)> {
        let mut stream = self.identifiers.range().ge(prefix).into_stream();
        let mut found = Vec::new();
        while let Some((key, value)) = stream.next() {
            let Ok(key) = std::str::from_utf8(key) else { continue };
            if found.len() >= limit || !key.starts_with(prefix) {
                break;
            }
            found.push((key.to_owned(), u32::try_from(value).unwrap_or(u32::MAX)));
        }
        found
    }
}

fn verified(part: Part) -> Result<Map<Part>, StoreError> {
    let file = part.file.clone();
    let map = Map::new(part).map_err(|error| file.corrupt(error.to_string()))?;
    map.as_fst().verify().map_err(|error| file.corrupt(error.to_string()))?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOTALS: DictionaryTotals = DictionaryTotals { documents: 3, passages: 7, tokens: 123 };

    fn write(path: &Path) {
        let mut builder = DictionaryBuilder::default();
        for (term, passages, occurrences) in [("ledger", 3, 9), ("plan", 7, 40), ("план", 1, 1)] {
            builder.add_term(term, TermCount { passages, occurrences }).unwrap();
        }
        builder.add_identifier("cve-2024-1234", 2).unwrap();
        builder.add_identifier("e0502", 1).unwrap();
        builder.finish(path, TOTALS).unwrap();
    }

    #[test]
    fn counts_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("terms.fst");
        write(&path);
        let dictionary = Dictionary::open(&path).unwrap();
        assert_eq!(dictionary.totals(), TOTALS);
        assert_eq!(dictionary.term("plan"), TermCount { passages: 7, occurrences: 40 });
        assert_eq!(dictionary.document_frequency("план"), 1);
        assert_eq!(dictionary.document_frequency("absent"), 0);
        assert_eq!((dictionary.identifier("e0502"), dictionary.identifier("e0503")), (1, 0));
        assert_eq!(dictionary.identifiers_with_prefix("cve-", 5), [("cve-2024-1234".to_owned(), 2)]);
        let mut terms = Vec::new();
        dictionary.for_each_term(|term, _| terms.push(term.to_owned()));
        assert_eq!(terms, ["ledger", "plan", "план"]);
    }

    #[test]
    fn unsorted_input_is_an_error() {
        let mut builder = DictionaryBuilder::default();
        builder.add_identifier("b", 1).unwrap();
        assert!(matches!(builder.add_identifier("a", 1), Err(StoreError::Inconsistent { .. })));
    }

    proptest! {
        #[test]
        fn damage_is_an_error_that_names_the_file(at in any::<usize>(), flip in 1_u8..=255, cut in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("terms.fst");
            write(&path);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            std::fs::write(&path, &bytes).unwrap();
            let error = Dictionary::open(&path).unwrap_err().to_string();
            prop_assert!(error.contains("terms.fst"), "{}", error);
        }
    }
}
