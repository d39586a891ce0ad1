//! Reads a file in blocks that end where nothing is cut in two: bounded memory, and the file's hash on the way.

use crate::decode::{Charset, DETECT_BYTES};
use crate::error::IngestError;
use crate::fingerprint::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;

/// Bytes of a block. A document smaller than this is cut as a whole.
pub(crate) const SEGMENT_BYTES: usize = 4 << 20;

/// Largest block when a record or a structured document does not end earlier; beyond it, the cut is made anyway.
pub(crate) const SEGMENT_BYTES_MAX: usize = 64 << 20;

/// How far back from the end of a block without a line end a blank is looked for.
const BLANK_WINDOW: usize = 1024;

/// Where a block may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutAt {
    /// At a line end, in bounded blocks.
    Line,
    /// At a line end, growing the block until there is one.
    Record,
    /// At a line end outside double quotes, growing the block until there is one.
    QuotedRecord,
    /// Only at the end of the file.
    End,
}

/// A block of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
    /// Where they begin on disk.
    pub(crate) base: u64,
}

/// The blocks of one file.
pub(crate) struct Segments<'a> {
    file: File,
    path: &'a str,
    cut_at: CutAt,
    charset: Charset,
    buffer: Vec<u8>,
    consumed: usize,
    base: u64,
    at_end: bool,
    hasher: Sha256,
}

impl<'a> Segments<'a> {
    /// Reads the first bytes and finds the encoding.
    pub(crate) fn open(file: File, path: &'a str) -> Result<Self, IngestError> {
        let charset = Charset { encoding: encoding_rs::UTF_8, bom: 0 };
        let mut segments = Self {
            file,
            path,
            cut_at: CutAt::Line,
            charset,
            buffer: Vec::new(),
            consumed: 0,
            base: 0,
            at_end: false,
            hasher: Sha256::new(),
        };
        segments.fill(DETECT_BYTES)?;
        segments.charset = Charset::detect(&segments.buffer);
        segments.consumed = segments.charset.bom;
        Ok(segments)
    }

    /// The encoding of the file.
    pub(crate) fn charset(&self) -> Charset {
        self.charset
    }

    /// The bytes read so far, before the first block is taken.
    pub(crate) fn head(&self) -> &[u8] {
        &self.buffer
    }

    /// Decides where blocks end.
    pub(crate) fn cut_at(&mut self, cut_at: CutAt) {
        self.cut_at = cut_at;
    }

    /// The next block, `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Segment<'_>>, IngestError> {
        self.base += self.consumed as u64;
        self.buffer.drain(..self.consumed);
        self.consumed = 0;
        let mut size = if self.cut_at == CutAt::End { SEGMENT_BYTES_MAX } else { SEGMENT_BYTES };
        loop {
            self.fill(size)?;
            if self.at_end {
                self.consumed = self.buffer.len();
                break;
            }
            if let Some(cut) = self.find_cut() {
                self.consumed = cut;
                break;
            }
            let grows = matches!(self.cut_at, CutAt::Record | CutAt::QuotedRecord) && size < SEGMENT_BYTES_MAX;
            if !grows {
                self.consumed = cut_between_characters(&self.buffer, self.charset);
                break;
            }
            size *= 2;
        }
        let segment = Segment { bytes: &self.buffer[..self.consumed], base: self.base };
        Ok((self.consumed > 0).then_some(segment))
    }

    /// Lower-case hex SHA-256 and length of all bytes, the byte-order mark included. Call after the last block.
    pub(crate) fn finish(self) -> (String, u64) {
        (hex(&self.hasher.finalize()), self.base + self.buffer.len() as u64)
    }

    fn fill(&mut self, size: usize) -> Result<(), IngestError> {
        if self.at_end || self.buffer.len() >= size {
            return Ok(());
        }
        let (before, wanted) = (self.buffer.len(), size - self.buffer.len());
        let read = (&mut self.file).take(wanted as u64).read_to_end(&mut self.buffer);
        let read = read.map_err(|cause| IngestError::Read { path: self.path.to_owned(), cause })?;
        self.hasher.update(&self.buffer[before..]);
        self.at_end = read < wanted;
        Ok(())
    }

    fn find_cut(&self) -> Option<usize> {
        let bytes = self.buffer.as_slice();
        match self.cut_at {
            CutAt::End => None,
            CutAt::QuotedRecord if self.charset.unit() == 1 => last_unquoted_line_end(bytes),
            _ => last_line_end(bytes, self.charset),
        }
    }
}

fn last_line_end(bytes: &[u8], charset: Charset) -> Option<usize> {
    if charset.unit() == 1 {
        return memchr::memrchr(b'\n', bytes).map(|at| at + 1);
    }
    let line_feed = if charset.encoding == encoding_rs::UTF_16LE { [b'\n', 0] } else { [0, b'\n'] };
    let units = bytes.chunks_exact(2);
    units.enumerate().rfind(|(_, unit)| *unit == line_feed).map(|(idx, _)| (idx + 1) * 2)
}

fn last_unquoted_line_end(bytes: &[u8]) -> Option<usize> {
    let (mut quoted, mut cut) = (false, None);
    for at in memchr::memchr2_iter(b'"', b'\n', bytes) {
        if bytes[at] == b'"' {
            quoted = !quoted;
        } else if !quoted {
            cut = Some(at + 1);
        }
    }
    cut
}

/// The last blank near the end, else the last character start.
fn cut_between_characters(bytes: &[u8], charset: Charset) -> usize {
    let length = bytes.len();
    if charset.unit() == 2 {
        let even = length & !1;
        let high = if charset.encoding == encoding_rs::UTF_16LE { even - 1 } else { even - 2 };
        return if (0xD8..0xDC).contains(&bytes[high]) { even - 2 } else { even };
    }
    let window = length.saturating_sub(BLANK_WINDOW);
    if let Some(at) = memchr::memrchr(b' ', &bytes[window..]) {
        return window + at + 1;
    }
    let is_continuation = |at: &usize| bytes[*at] & 0xC0 == 0x80;
    let start = (length.saturating_sub(4)..length).rev().find(|at| !is_continuation(at)).unwrap_or(length);
    if start < length && bytes[start] >= 0xC0 { start.max(1) } else { length }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(content: &[u8], cut_at: CutAt) -> (Vec<(u64, usize)>, String, u64) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("f");
        std::fs::write(&path, content).expect("writes");
        let mut segments = Segments::open(File::open(&path).expect("opens"), "f").expect("reads");
        segments.cut_at(cut_at);
        let mut found = Vec::new();
        while let Some(segment) = segments.next().expect("reads") {
            found.push((segment.base, segment.bytes.len()));
        }
        let (hash, length) = segments.finish();
        (found, hash, length)
    }

    #[test]
    fn blocks_cover_the_file_and_the_hash_is_the_files() {
        let content = "x".repeat(99).into_bytes().into_iter().chain(*b"\n").collect::<Vec<u8>>().repeat(100_000);
        let (found, hash, length) = blocks(&content, CutAt::Line);
        assert!(found.len() >= 3 && found.iter().all(|(base, n)| base % 100 == 0 && n % 100 == 0));
        assert_eq!(found.iter().map(|(_, n)| n).sum::<usize>(), content.len());
        assert_eq!((hash, length), (ctx_types::id::sha256_hex(&content), content.len() as u64));
    }

    #[test]
    fn a_line_without_end_is_cut_between_characters() {
        let (found, ..) = blocks("語".repeat(3 << 20).as_bytes(), CutAt::Line);
        assert!(found.len() >= 3 && found.iter().all(|(base, n)| base % 3 == 0 && n % 3 == 0), "{found:?}");
    }

    #[test]
    fn a_quoted_line_end_is_no_end() {
        assert_eq!(last_unquoted_line_end(b"a,\"x\ny\"\nb,\"z\n"), Some(8));
    }
}
