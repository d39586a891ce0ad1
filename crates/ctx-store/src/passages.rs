//! The passages of one segment, each read by its ordinal straight from memory: what retrieval shows and merging copies.
//!
//! A list of ten costs microseconds, whether it was read before or not; a database plans longer than that. What is
//! counted and filtered over all passages is the database's, not this file's.
//!
//! Layout (little-endian): magic 8 · version 4 · count 4 · start of the index 8 · checksum of the index 8 · checksum of the
//! preceding 32 bytes 8 · records · index: `count + 1` offsets of 8, record *r* is `offset[r]..offset[r + 1]`. A record:
//! checksum of the rest 8 · first byte 8 · end byte 8 · first line 4 · last line 4 · tokens 4 · six lengths of 4 · id, path,
//! section, title, text, fingerprint. Opening verifies the index, reading a passage verifies its record: a file of a
//! gigabyte opens in a millisecond, and damage fails what it touches.
//!
//! Not kept: the source's name, which the manifest says, and other places of the same bytes, which change as files go.

use crate::checksum::checksum;
use crate::error::StoreError;
use crate::mapped::Mapped;
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{Passage, SourceName};
use std::fs::File;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"CTXPASSG";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 40;
/// Numbers at the head of a record: checksum, bytes, lines, tokens, lengths.
const RECORD_BYTES: usize = 60;
/// Where the lengths begin.
const LENGTHS_AT: usize = 36;
/// Texts of a record.
const TEXTS: usize = 6;
/// Written at a time.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes the passages of a segment in the order of their ordinals.
#[derive(Debug)]
pub struct PassageWriter {
    path: PathBuf,
    file: BufWriter<File>,
    offsets: Vec<u64>,
    record: Vec<u8>,
}

impl PassageWriter {
    /// Creates the file.
    pub fn create(path: &Path) -> Result<PassageWriter, StoreError> {
        let file = File::create(path).map_err(StoreError::io("creating", path))?;
        let mut writer = PassageWriter {
            path: path.to_owned(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
            offsets: vec![HEADER_BYTES as u64],
            record: Vec::new(),
        };
        writer.write(&[0; HEADER_BYTES])?;
        Ok(writer)
    }

    /// Appends the next passage.
    pub fn push(&mut self, passage: &Passage) -> Result<(), StoreError> {
        let mut record = std::mem::take(&mut self.record);
        encode(passage, &mut record)?;
        let end = self.offsets.last().copied().unwrap_or(HEADER_BYTES as u64) + record.len() as u64;
        self.write(&record)?;
        self.offsets.push(end);
        self.record = record;
        Ok(())
    }

    /// Passages so far.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes index and header.
    pub fn finish(mut self) -> Result<(), StoreError> {
        let too_many = |_| StoreError::Inconsistent { doing: "writing passages", problem: "more than 2³² rows".to_owned() };
        let count = u32::try_from(self.len()).map_err(too_many)?;
        let index: Vec<u8> = self.offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        let index_at = self.offsets[self.offsets.len() - 1];
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&count.to_le_bytes());
        header.extend_from_slice(&index_at.to_le_bytes());
        header.extend_from_slice(&checksum(&index).to_le_bytes());
        header.extend_from_slice(&checksum(&header).to_le_bytes());
        self.write(&index)?;
        let failed = StoreError::io("writing", &self.path);
        self.file.seek(SeekFrom::Start(0)).and_then(|_| self.file.write_all(&header)).and_then(|()| self.file.flush()).map_err(failed)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all(bytes).map_err(StoreError::io("writing", &self.path))
    }
}

fn texts(passage: &Passage) -> [&str; TEXTS] {
    let Passage { id, locator, title, text, fingerprint, .. } = passage;
    [id, &locator.path, &locator.section, title, text, fingerprint]
}

fn encode(passage: &Passage, record: &mut Vec<u8>) -> Result<(), StoreError> {
    let too_long = |_| StoreError::Inconsistent { doing: "writing passages", problem: "a text of 4 GiB or more".to_owned() };
    record.clear();
    record.extend_from_slice(&[0; 8]);
    let Locator { bytes, line_start, line_end, .. } = &passage.locator;
    record.extend_from_slice(&bytes.start.to_le_bytes());
    record.extend_from_slice(&bytes.end.to_le_bytes());
    for number in [*line_start, *line_end, passage.tokens] {
        record.extend_from_slice(&number.to_le_bytes());
    }
    for text in texts(passage) {
        record.extend_from_slice(&u32::try_from(text.len()).map_err(too_long)?.to_le_bytes());
    }
    for text in texts(passage) {
        record.extend_from_slice(text.as_bytes());
    }
    let sum = checksum(&record[8..]);
    record[..8].copy_from_slice(&sum.to_le_bytes());
    Ok(())
}

/// The passages of a sealed segment. Clones share the mapping.
#[derive(Clone, Debug)]
pub struct PassageFile {
    file: Mapped,
    count: u32,
    index_at: usize,
}

impl PassageFile {
    /// Maps a file and verifies its index.
    pub fn open(path: &Path) -> Result<PassageFile, StoreError> {
        let file = Mapped::open(path)?;
        if file.len() < HEADER_BYTES || file[..8] != MAGIC[..] {
            return Err(file.corrupt("not a file of passages"));
        }
        let (version, count) = (file.u32_at(8), file.u32_at(12));
        if version > VERSION {
            return Err(StoreError::NewerSchema { path: path.to_owned(), found: version, supported: VERSION });
        }
        if file.u64_at(32) != checksum(&file[..32]) {
            return Err(file.corrupt("its header is damaged"));
        }
        let index_bytes = 8 * (count as usize + 1);
        let index_at = usize::try_from(file.u64_at(16)).ok().filter(|at| at.checked_add(index_bytes) == Some(file.len()));
        let Some(index_at) = index_at else { return Err(file.corrupt("it is cut short")) };
        if file.u64_at(24) != checksum(&file[index_at..]) {
            return Err(file.corrupt("its index does not match its checksum"));
        }
        Ok(PassageFile { file, count, index_at })
    }

    /// Passages, deleted ones included.
    pub fn len(&self) -> u32 {
        self.count
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
    /// The file.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// The passage with this ordinal, as one of `source`.
    pub fn read(&self, ordinal: u32, source: &SourceName) -> Result<Passage, StoreError> {
        let record = self.record(ordinal)?;
        let number = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"));
        let offset = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"));
        let [id, path, section, title, text, fingerprint] = self.texts(record, ordinal)?;
        let locator = Locator {
            source: source.clone(),
            path,
            bytes: ByteRange { start: offset(8), end: offset(16) },
            line_start: number(24),
            line_end: number(28),
            section,
            also_at: Vec::new(),
        };
        Ok(Passage { id, locator, title, text, fingerprint, tokens: number(32) })
    }

    /// Compares every record with its checksum. Reads the whole file.
    pub fn verify(&self) -> Result<(), StoreError> {
        (0..self.count).try_for_each(|ordinal| self.record(ordinal).map(drop))
    }

    /// The bytes of a record, verified, at least as long as its numbers.
    fn record(&self, ordinal: u32) -> Result<&[u8], StoreError> {
        if ordinal >= self.count {
            return Err(self.file.corrupt(format!("there is no passage {ordinal} among {}", self.count)));
        }
        let at = self.index_at + 8 * ordinal as usize;
        // The index is verified, so its offsets are those that were written.
        let (start, end) = (self.file.u64_at(at) as usize, self.file.u64_at(at + 8) as usize);
        let record = self.file.get(start..end).filter(|record| record.len() >= RECORD_BYTES);
        let sum = |record: &[u8]| u64::from_le_bytes(record[..8].try_into().expect("eight bytes"));
        record.filter(|record| sum(record) == checksum(&record[8..])).ok_or_else(|| self.damaged(ordinal))
    }

    fn texts(&self, record: &[u8], ordinal: u32) -> Result<[String; TEXTS], StoreError> {
        let (numbers, mut rest) = record.split_at(RECORD_BYTES);
        let mut texts: [String; TEXTS] = Default::default();
        for (text, len) in texts.iter_mut().zip(numbers[LENGTHS_AT..].chunks_exact(4)) {
            let len = u32::from_le_bytes(len.try_into().expect("four bytes")) as usize;
            let (bytes, after) = rest.split_at_checked(len).ok_or_else(|| self.damaged(ordinal))?;
            *text = std::str::from_utf8(bytes).map_err(|_| self.damaged(ordinal))?.to_owned();
            rest = after;
        }
        Ok(texts)
    }

    fn damaged(&self, ordinal: u32) -> StoreError {
        self.file.corrupt(format!("passage {ordinal} does not match its checksum"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn source() -> SourceName {
        SourceName::new("docs").unwrap()
    }

    fn passage(n: u32) -> Passage {
        Passage {
            id: format!("passage_{n:032}"),
            locator: Locator {
                source: source(),
                path: format!("folder/doc{}.md", n / 3),
                bytes: ByteRange { start: u64::from(n) * 10, end: u64::from(n) * 10 + 9 },
                line_start: n + 1,
                line_end: n + 2,
                section: "Setup > Linux".into(),
                also_at: Vec::new(),
            },
            title: if n.is_multiple_of(2) { "Title".into() } else { String::new() },
            text: format!("text {n} ü 漢字 \0 \n").repeat(n as usize % 4),
            fingerprint: "ab".repeat(32),
            tokens: 10 + n,
        }
    }

    fn file(folder: &Path, count: u32) -> PathBuf {
        let path = folder.join("passages.bin");
        let mut writer = PassageWriter::create(&path).unwrap();
        (0..count).for_each(|n| writer.push(&passage(n)).unwrap());
        assert_eq!(writer.len(), count as usize);
        writer.finish().unwrap();
        path
    }

    #[test]
    fn passages_come_back_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let passages = PassageFile::open(&file(folder.path(), 50)).unwrap();
        assert_eq!(passages.len(), 50);
        for n in (0..50).rev() {
            assert_eq!(passages.read(n, &source()).unwrap(), passage(n));
        }
        passages.verify().unwrap();
        let error = passages.read(50, &source()).unwrap_err();
        assert!(error.to_string().contains("no passage 50"), "{error}");
    }

    #[test]
    fn an_empty_file_is_fine() {
        let folder = tempfile::tempdir().unwrap();
        let passages = PassageFile::open(&file(folder.path(), 0)).unwrap();
        assert!(passages.is_empty() && passages.verify().is_ok());
    }

    proptest! {
        #[test]
        fn damage_is_an_error_that_names_the_file(at in any::<usize>(), flip in 1_u8..=255, cut in any::<bool>()) {
            let folder = tempfile::tempdir().unwrap();
            let path = file(folder.path(), 3);
            let mut bytes = std::fs::read(&path).unwrap();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= flip }
            std::fs::write(&path, &bytes).unwrap();
            let error = PassageFile::open(&path).and_then(|passages| passages.verify()).unwrap_err().to_string();
            prop_assert!(error.contains("passages.bin"), "{}", error);
        }
    }
}
