//! Passages that were read lately, in memory.
//!
//! A point query costs DuckDB some tenths of a millisecond of planning alone, as much as a whole retrieval may take, and
//! retrieval asks for the same passages again and again. Sealed rows never change, so entries need no invalidation.
//! One cache serves the process, bounded in bytes, in two generations: when the young one is full it becomes the old
//! one, and what is asked for again moves back to the young.

use crate::rows::PassageRow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of both generations together.
pub(crate) const CACHE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// (instance, ordinal): instance numbers are never used again.
type Key = (u64, u32);

#[derive(Default)]
pub(crate) struct RowCache {
    young: BTreeMap<Key, Arc<PassageRow>>,
    old: BTreeMap<Key, Arc<PassageRow>>,
    young_bytes: usize,
}

static CACHE: Mutex<RowCache> = Mutex::new(RowCache::new());

/// Runs `work` on the process's cache.
pub(crate) fn with<T>(work: impl FnOnce(&mut RowCache) -> T) -> T {
    work(&mut CACHE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl RowCache {
    const fn new() -> RowCache {
        RowCache { young: BTreeMap::new(), old: BTreeMap::new(), young_bytes: 0 }
    }

    /// A row that is cached.
    pub(crate) fn get(&mut self, key: Key) -> Option<Arc<PassageRow>> {
        if let Some(row) = self.young.get(&key) {
            return Some(Arc::clone(row));
        }
        let row = self.old.remove(&key)?;
        self.insert(key, Arc::clone(&row));
        Some(row)
    }

    /// Keeps a row for a while.
    pub(crate) fn insert(&mut self, key: Key, row: Arc<PassageRow>) {
        let bytes = bytes_of(&row);
        if self.young_bytes + bytes > CACHE_BYTES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key, row).is_none() {
            self.young_bytes += bytes;
        }
    }
}

/// What a row takes, allocations included.
pub(crate) fn bytes_of(row: &PassageRow) -> usize {
    const FIXED: usize = 320;
    let texts = [&row.id, &row.path, &row.section, &row.title, &row.text, &row.fingerprint];
    FIXED + texts.iter().map(|text| text.len()).sum::<usize>() + row.also_at.iter().map(|path| path.len() + 32).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: usize) -> Arc<PassageRow> {
        Arc::new(PassageRow { text: "x".repeat(bytes), ..PassageRow::default() })
    }

    #[test]
    fn it_is_bounded_and_keeps_what_is_asked_for() {
        let mut cache = RowCache::new();
        let each = CACHE_BYTES_MAX / 16;
        cache.insert((0, 0), row(each));
        for ordinal in 1..100 {
            cache.insert((0, ordinal), row(each));
            assert!(cache.get((0, 0)).is_some(), "row 0 was asked for at {ordinal} and lost");
            let held: usize = cache.young.values().chain(cache.old.values()).map(|row| bytes_of(row)).sum();
            assert!(held <= CACHE_BYTES_MAX, "{held} bytes after {ordinal}");
        }
        assert!(cache.get((0, 5)).is_none() && cache.get((1, 0)).is_none());
    }
}
