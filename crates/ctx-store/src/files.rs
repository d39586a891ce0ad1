//! What a source's files looked like when they were indexed: the basis of "has it changed?" and of the fingerprint.

use crate::manifest::SegmentId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A file younger than this at indexing may change again within the clock's grain: its content is hashed next time.
pub const RACY_NS: i64 = 2_000_000_000;

/// What the file system says about a file, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileStat {
    /// Bytes.
    pub size: u64,
    /// Last modification.
    pub mtime_ns: i64,
    /// Last change of the inode.
    pub ctime_ns: i64,
    /// Inode number; 0 where there is none.
    pub inode: u64,
}

/// Whether a file needs to be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Same file, same content.
    Unchanged,
    /// Its content hash must be compared.
    MustHash,
}

/// One indexed (or skipped) file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Row", from = "Row")]
pub struct FileEntry {
    /// What the file system said when the file was read.
    pub stat: FileStat,
    /// Hex digest of the bytes on disk.
    pub content_hash: String,
    /// The segment that holds its documents; `None` for a file that was seen and skipped.
    pub segment: Option<SegmentId>,
    /// Ordinal of its first document in that segment.
    pub first_document: u32,
    /// Number of its documents, consecutive from the first (one for a text, one per record of a table).
    pub documents: u32,
    /// When it was read, in nanoseconds since 1970.
    pub indexed_at_ns: i64,
}

/// The persisted form: an array, because there may be a hundred thousand of them.
type RowTuple = (u64, i64, i64, u64, String, Option<SegmentId>, u32, u32, i64);
#[derive(Serialize, Deserialize)]
struct Row(RowTuple);

impl From<FileEntry> for Row {
    fn from(e: FileEntry) -> Row {
        let s = e.stat;
        Row((s.size, s.mtime_ns, s.ctime_ns, s.inode, e.content_hash, e.segment, e.first_document, e.documents, e.indexed_at_ns))
    }
}

impl From<Row> for FileEntry {
    fn from(Row((size, mtime_ns, ctime_ns, inode, content_hash, segment, first_document, documents, indexed_at_ns)): Row) -> Self {
        let stat = FileStat { size, mtime_ns, ctime_ns, inode };
        FileEntry { stat, content_hash, segment, first_document, documents, indexed_at_ns }
    }
}

impl FileEntry {
    /// An entry with a content hash and nothing else.
    pub fn new(content_hash: impl Into<String>) -> Self {
        FileEntry {
            stat: FileStat::default(),
            content_hash: content_hash.into(),
            segment: None,
            first_document: 0,
            documents: 0,
            indexed_at_ns: 0,
        }
    }

    /// Compares with what the file system says now. Every field counts; a file that was indexed within two seconds of
    /// its last change is hashed again, because a later write may carry the same times.
    pub fn freshness(&self, now: FileStat) -> Freshness {
        let youngest = self.stat.mtime_ns.max(self.stat.ctime_ns);
        let racy = self.indexed_at_ns.saturating_sub(youngest) < RACY_NS;
        if self.stat == now && !racy { Freshness::Unchanged } else { Freshness::MustHash }
    }

    /// Its document ordinals.
    pub fn document_range(&self) -> std::ops::Range<u32> {
        self.first_document..self.first_document.saturating_add(self.documents)
    }
}

/// Relative path (`/`-separated) to entry, in byte order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileList {
    files: BTreeMap<String, FileEntry>,
}

impl FileList {
    /// Adds or replaces; returns what was there.
    pub fn insert(&mut self, path: impl Into<String>, entry: FileEntry) -> Option<FileEntry> {
        self.files.insert(path.into(), entry)
    }
    /// Removes.
    pub fn remove(&mut self, path: &str) -> Option<FileEntry> {
        self.files.remove(path)
    }
    /// One entry.
    pub fn get(&self, path: &str) -> Option<&FileEntry> {
        self.files.get(path)
    }
    /// All entries, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &FileEntry)> {
        self.files.iter().map(|(path, entry)| (path.as_str(), entry))
    }
    /// All entries, changeable: a merge moves documents to another segment.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut FileEntry)> {
        self.files.iter_mut().map(|(path, entry)| (path.as_str(), entry))
    }
    /// Number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Merkle root over (path, content hash), in byte order of the paths: neither times nor inodes nor segments count.
    pub fn fingerprint(&self) -> String {
        let leaves = self.files.iter().map(|(path, entry)| leaf(path.as_bytes(), entry.content_hash.as_bytes()));
        crate::disk::hex(&merkle_root(leaves.collect()))
    }
}

/// Hash of one (name, value) pair; lengths keep pairs apart.
pub(crate) fn leaf(name: &[u8], value: &[u8]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    hasher.update([0]);
    hasher.update((name.len() as u64).to_le_bytes());
    hasher.update(name);
    hasher.update(value);
    hasher.finalize().into()
}

/// Root of a binary Merkle tree; a node without a sibling moves up as it is. The root of nothing is the hash of nothing.
pub(crate) fn merkle_root(mut level: Vec<[u8; 32]>) -> [u8; 32] {
    if level.is_empty() {
        return Sha256::digest([]).into();
    }
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [left, right] => {
                    let mut hasher = Sha256::new();
                    hasher.update([1]);
                    hasher.update(left);
                    hasher.update(right);
                    hasher.finalize().into()
                }
                odd => odd[0],
            })
            .collect();
    }
    level[0]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(pairs: &[(&str, &str)]) -> FileList {
        let mut list = FileList::default();
        for (path, hash) in pairs {
            list.insert(*path, FileEntry::new(*hash));
        }
        list
    }

    #[test]
    fn the_fingerprint_sees_content_and_names_and_nothing_else() {
        let base = list(&[("a.md", "11"), ("b.md", "22"), ("c.md", "33")]);
        let mut touched = base.clone();
        for (_, entry) in touched.iter_mut() {
            entry.stat = FileStat { size: 9, mtime_ns: 9, ctime_ns: 9, inode: 9 };
            entry.segment = Some(SegmentId::new_unique());
            entry.indexed_at_ns = 5;
        }
        assert_eq!(base.fingerprint(), touched.fingerprint());
        for other in [
            list(&[("a.md", "11"), ("b.md", "23"), ("c.md", "33")]),
            list(&[("a.md", "11"), ("d.md", "22"), ("c.md", "33")]),
            list(&[("a.md", "11"), ("b.md", "22")]),
            list(&[("a.md1", "1"), ("b.md", "22"), ("c.md", "33")]),
            list(&[]),
        ] {
            assert_ne!(base.fingerprint(), other.fingerprint(), "{other:?}");
        }
    }

    #[test]
    fn same_second_same_size_is_hashed_again() {
        let stat = FileStat { size: 16, mtime_ns: 10 * RACY_NS, ctime_ns: 10 * RACY_NS, inode: 3 };
        let mut entry = FileEntry { stat, indexed_at_ns: stat.mtime_ns + RACY_NS / 2, ..FileEntry::new("aa") };
        assert_eq!(entry.freshness(stat), Freshness::MustHash);
        entry.indexed_at_ns = stat.mtime_ns + RACY_NS;
        assert_eq!(entry.freshness(stat), Freshness::Unchanged);
        for changed in [
            FileStat { size: 17, ..stat },
            FileStat { mtime_ns: 1, ..stat },
            FileStat { ctime_ns: 1, ..stat },
            FileStat { inode: 4, ..stat },
        ] {
            assert_eq!(entry.freshness(changed), Freshness::MustHash);
        }
    }

    proptest! {
        #[test]
        fn order_of_insertion_is_irrelevant(pairs in proptest::collection::btree_map("[a-z]{1,4}", "[0-9a-f]{4}", 0..12)) {
            let forward: Vec<_> = pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            let backward: Vec<_> = forward.iter().rev().copied().collect();
            prop_assert_eq!(list(&forward).fingerprint(), list(&backward).fingerprint());
        }
    }
}
