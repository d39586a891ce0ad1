//! What on disk differs from what was published: a walk, stamps compared, contents hashed where stamps do not settle it.

use crate::error::EmbeddedError;
use ctx_ingest::{Entry, Skip, Stamp, WalkOptions, content_hash, walk};
use ctx_store::{FileEntry, FileList, FileStat, Freshness};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes hashed for nothing after which the newer stamps are worth a publication: they save the hashing next time.
const REHASHED_BYTES_MAX: u64 = 16 << 20;

/// Differences between a source on disk and its file list.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Canonical root that paths are relative to.
    pub(crate) root: PathBuf,
    /// Files to read, by path.
    pub(crate) to_read: Vec<Entry>,
    /// Listed paths that are gone, or are not accepted any more.
    pub(crate) gone: Vec<String>,
    /// Unchanged files, with their stamps of now.
    pub(crate) unchanged: Vec<(String, FileEntry)>,
    /// Left out, with reasons.
    pub(crate) skips: Vec<Skip>,
    /// Whether stamps moved so much that they should be published.
    pub(crate) stamps_moved: bool,
}

impl Changes {
    /// Whether nothing has to be published.
    pub(crate) fn is_empty(&self) -> bool {
        self.to_read.is_empty() && self.gone.is_empty() && !self.stamps_moved
    }
}

/// Compares. `trusted` is false where every file has to be read again (other settings, a damaged segment).
pub(crate) fn changes(
    root: &Path,
    exclude: &[PathBuf],
    files: &FileList,
    is_trusted: impl Fn(&FileEntry) -> bool,
) -> Result<Changes, EmbeddedError> {
    let is_known = |path: &str, stamp: &Stamp| {
        files.get(path).is_some_and(|entry| entry.segment.is_some() && entry.freshness(stat(stamp)) == Freshness::Unchanged)
    };
    let found = walk(root, &WalkOptions { exclude: exclude.to_vec(), is_known: Some(&is_known) })?;
    let mut changes = Changes { root: found.root, skips: found.skips, ..Changes::default() };
    let mut rehashed = 0;
    for entry in found.entries {
        match files.get(&entry.path) {
            Some(known) if is_trusted(known) => changes.compare(entry, known, &mut rehashed),
            _ => changes.to_read.push(entry),
        }
    }
    let mut present: Vec<&str> = changes.to_read.iter().map(|entry| entry.path.as_str()).collect();
    present.extend(changes.unchanged.iter().map(|(path, _)| path.as_str()));
    present.sort_unstable();
    changes.gone = files.iter().filter(|(path, _)| present.binary_search(path).is_err()).map(|(path, _)| path.to_owned()).collect();
    changes.stamps_moved = rehashed > REHASHED_BYTES_MAX;
    Ok(changes)
}

impl Changes {
    fn compare(&mut self, entry: Entry, known: &FileEntry, rehashed: &mut u64) {
        let now = stat(&entry.stamp);
        if known.freshness(now) == Freshness::Unchanged {
            self.unchanged.push((entry.path, known.clone()));
            return;
        }
        let read_at = now_ns();
        match content_hash(&self.root, &entry.path) {
            Ok(hash) if hash == known.content_hash => {
                *rehashed += entry.stamp.size;
                let entry_now = FileEntry { stat: now, indexed_at_ns: read_at, ..known.clone() };
                self.unchanged.push((entry.path, entry_now));
            }
            // Changed, or unreadable: reading it says which.
            _ => self.to_read.push(entry),
        }
    }
}

/// The store's form of a stamp.
pub(crate) fn stat(stamp: &Stamp) -> FileStat {
    FileStat { size: stamp.size, mtime_ns: stamp.mtime_ns, ctime_ns: stamp.ctime_ns, inode: stamp.inode }
}

/// Wall time.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
