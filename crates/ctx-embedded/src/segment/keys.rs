//! Two numbers per passage: the head of its id and the head of its content hash.
//!
//! They answer "which passage has this id?" and "where else does the same passage stand?" without the database. Both are
//! heads of SHA-256 values, so they are unique for all practical purposes; whoever finds a passage compares the rest.
//!
//! Layout (little-endian): magic 8 · count 4 · zero 4 · checksum 8 · ids `8 × n` · contents `8 × n` · ordinals sorted by
//! content `4 × n`.

use crate::error::EmbeddedError;
use ctx_types::id::sha256_hex;
use std::path::Path;

const MAGIC: &[u8; 8] = b"CTXKEYS1";
const HEADER_BYTES: usize = 24;

/// The keys of one segment, in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    ids: Vec<u64>,
    contents: Vec<u64>,
    by_content: Vec<u32>,
}

/// Head of a hex digest, with or without a `kind_` before it; 0 for anything else.
pub(crate) fn head(digest: &str) -> u64 {
    let hex = digest.rsplit('_').next().unwrap_or(digest);
    hex.get(..16).and_then(|head| u64::from_str_radix(head, 16).ok()).unwrap_or(0)
}

impl Keys {
    /// Adds the next passage.
    pub(crate) fn push(&mut self, id: &str, fingerprint: &str) {
        self.ids.push(head(id));
        self.contents.push(head(fingerprint));
    }

    /// Content key of a passage.
    pub(crate) fn content(&self, ordinal: u32) -> u64 {
        self.contents.get(ordinal as usize).copied().unwrap_or(0)
    }

    /// Passages whose id begins like this one.
    pub(crate) fn with_id(&self, id: &str) -> Vec<u32> {
        let wanted = head(id);
        self.ids.iter().enumerate().filter(|(_, key)| **key == wanted).map(|(at, _)| at as u32).collect()
    }

    /// Passages with this content key, ascending.
    pub(crate) fn with_content(&self, content: u64) -> &[u32] {
        let from = self.by_content.partition_point(|at| self.content(*at) < content);
        let len = self.by_content[from..].partition_point(|at| self.content(*at) == content);
        &self.by_content[from..from + len]
    }

    /// Writes the file.
    pub(crate) fn write(mut self, path: &Path) -> Result<(), EmbeddedError> {
        self.by_content = (0..self.ids.len() as u32).collect();
        self.by_content.sort_by_key(|at| (self.contents[*at as usize], *at));
        let numbers = self.ids.iter().chain(&self.contents).flat_map(|key| key.to_le_bytes());
        let body: Vec<u8> = numbers.chain(self.by_content.iter().flat_map(|at| at.to_le_bytes())).collect();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(self.ids.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&head(&sha256_hex(&body)).to_le_bytes());
        bytes.extend_from_slice(&body);
        std::fs::write(path, bytes).map_err(EmbeddedError::io("writing", path))
    }

    /// Reads and verifies the file.
    pub(crate) fn read(path: &Path) -> Result<Keys, EmbeddedError> {
        let bytes = std::fs::read(path).map_err(EmbeddedError::io("reading", path))?;
        let damaged = |problem: &str| EmbeddedError::Damaged { path: path.to_owned(), problem: problem.to_owned() };
        if bytes.len() < HEADER_BYTES || bytes[..8] != MAGIC[..] {
            return Err(damaged("not a file of passage keys"));
        }
        let (header, body) = bytes.split_at(HEADER_BYTES);
        let count = u32_at(header, 8) as usize;
        if body.len() != count * 20 || u64_at(header, 16) != head(&sha256_hex(body)) {
            return Err(damaged("its checksum does not match its content"));
        }
        let (ids, rest) = body.split_at(8 * count);
        let (contents, order) = rest.split_at(8 * count);
        let numbers = |part: &[u8]| part.chunks_exact(8).map(|chunk| u64_at(chunk, 0)).collect();
        Ok(Keys {
            ids: numbers(ids),
            contents: numbers(contents),
            by_content: order.chunks_exact(4).map(|chunk| u32_at(chunk, 0)).collect(),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_and_ids_are_found_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.bin");
        let texts = ["one", "two", "one", "three", "one"];
        let mut keys = Keys::default();
        for (at, text) in texts.iter().enumerate() {
            keys.push(&format!("passage_{}", &sha256_hex(&[at as u8])[..32]), &sha256_hex(text.as_bytes()));
        }
        keys.write(&path).unwrap();
        let keys = Keys::read(&path).unwrap();
        assert_eq!(keys.with_content(keys.content(2)), [0, 2, 4]);
        assert_eq!(keys.with_content(keys.content(3)), [3]);
        assert_eq!(keys.with_id(&format!("passage_{}", &sha256_hex(&[3])[..32])), [3]);
        assert!(keys.with_content(12345).is_empty());
        let bytes = std::fs::read(&path).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            std::fs::write(&path, &damaged).unwrap();
            // Four bytes of the header are reserved.
            assert!(Keys::read(&path).is_err() || (12..16).contains(&at), "byte {at}");
        }
    }
}
