//! Hashes of what stands on disk, and the check that a passage still stands there.

use crate::confine::open_below;
use crate::error::IngestError;
use ctx_types::id::sha256_hex;
use ctx_types::passage::Locator;
use sha2::{Digest, Sha256};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes read at a time while hashing.
const READ_BYTES: usize = 1 << 18;

/// Longest passage that is re-checked; no passage is longer, so a longer range is stale by itself.
pub const PASSAGE_BYTES_MAX: u64 = 64 << 20;

/// Lower-case hex SHA-256 of a file below the canonical `root`, read in blocks.
pub fn content_hash(root: &Path, path: &str) -> Result<String, IngestError> {
    let (mut file, _) = open_below(root, path)?;
    let mut hasher = Sha256::new();
    let mut block = vec![0; READ_BYTES];
    loop {
        let n = file.read(&mut block).map_err(|cause| IngestError::Read { path: path.to_owned(), cause })?;
        if n == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&block[..n]);
    }
}

/// Most bytes that are hashed to find a passage that moved.
const HASHED_BYTES_MAX: usize = 64 << 20;

/// Whether the bytes at `locator` below the canonical `root` still have `fingerprint`: called before a passage is cited.
///
/// A file that shrank or vanished is not an error: the passage is not current.
pub fn passage_is_current(root: &Path, locator: &Locator, fingerprint: &str) -> Result<bool, IngestError> {
    let range = locator.bytes;
    let length = range.end.saturating_sub(range.start);
    if length > PASSAGE_BYTES_MAX {
        return Ok(false);
    }
    let (mut file, stamp) = match open_below(root, &locator.path) {
        Err(IngestError::Read { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    if stamp.size < range.end {
        return Ok(false);
    }
    let read = |cause| IngestError::Read { path: locator.path.clone(), cause };
    file.seek(SeekFrom::Start(range.start)).map_err(read)?;
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    file.take(length).read_to_end(&mut bytes).map_err(read)?;
    Ok(bytes.len() as u64 == length && sha256_hex(&bytes) == fingerprint)
}

/// Whether the bytes of a passage stand anywhere in its file, from the beginning of some line on: text that moved is the same text.
/// Where looking would take longer than a moment the answer is no.
pub fn passage_stands(root: &Path, locator: &Locator, fingerprint: &str) -> Result<bool, IngestError> {
    if passage_is_current(root, locator, fingerprint)? {
        return Ok(true);
    }
    let length = usize::try_from(locator.bytes.end.saturating_sub(locator.bytes.start)).unwrap_or(usize::MAX);
    let (file, stamp) = match open_below(root, &locator.path) {
        Err(IngestError::Read { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        opened => opened?,
    };
    if length == 0 || stamp.size > PASSAGE_BYTES_MAX {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.take(PASSAGE_BYTES_MAX).read_to_end(&mut bytes).map_err(|cause| IngestError::Read { path: locator.path.clone(), cause })?;
    let lines = std::iter::once(0).chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1));
    let tries = lines.take(HASHED_BYTES_MAX / length);
    Ok(tries.filter_map(|at| bytes.get(at..at.checked_add(length)?)).any(|part| sha256_hex(part) == fingerprint))
}

/// Id of a passage: a place in a source, not its text.
pub(crate) fn passage_id(path: &str, start: u64, end: u64) -> String {
    format!("passage_{}", &sha256_hex(format!("{path}#{start}-{end}").as_bytes())[..32])
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string does not fail");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::SourceName;
    use ctx_types::passage::ByteRange;

    #[test]
    fn text_that_moved_stands_and_text_that_changed_does_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("there");
        let text = "The heron eats quartz.\nEvery night.\n";
        let write = |content: &str| std::fs::write(root.join("a.md"), content).expect("written");
        let locator = Locator {
            source: SourceName::new("docs").expect("name"),
            path: "a.md".to_owned(),
            bytes: ByteRange { start: 0, end: text.len() as u64 },
            line_start: 1,
            line_end: 2,
            section: String::new(),
            also_at: Vec::new(),
        };
        let stands = || passage_stands(&root, &locator, &sha256_hex(text.as_bytes())).expect("looked");
        write(text);
        assert!(stands());
        write(&format!("# A new head\n\n{text}"));
        assert!(stands());
        write("# A new head\n\nThe heron eats onyx.\nEvery night.\n");
        assert!(!stands());
        std::fs::remove_file(root.join("a.md")).expect("removed");
        assert!(!stands());
    }
}
