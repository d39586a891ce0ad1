//! Embeddings that were read lately, in memory.
//!
//! A point query costs DuckDB some tenths of a millisecond of planning alone, more than a re-score may take, and retrieval
//! asks for the same rows again and again. Sealed rows never change, so entries need no invalidation. One cache serves the
//! process, bounded in bytes, in two generations: when the young one is full it becomes the old one, and what is asked for
//! again moves back to the young.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of cached embeddings: 30,000 of 256 values.
pub(crate) const EMBEDDING_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Original embeddings.
pub(crate) static EMBEDDINGS: RowCache<Vec<f32>> = RowCache::new(EMBEDDING_BYTES_MAX);

/// (instance, ordinal): instance numbers are never used again.
pub(crate) type Key = (u64, u32);

/// A row that knows what it takes in memory.
pub(crate) trait Weigh {
    /// Bytes, allocations included.
    fn bytes(&self) -> usize;
}

impl Weigh for Vec<f32> {
    fn bytes(&self) -> usize {
        96 + 4 * self.len()
    }
}

/// A bounded cache, usable from any thread.
pub(crate) struct RowCache<V> {
    bytes_max: usize,
    generations: Mutex<Generations<V>>,
}

struct Generations<V> {
    young: BTreeMap<Key, Arc<V>>,
    old: BTreeMap<Key, Arc<V>>,
    young_bytes: usize,
}

impl<V: Weigh> RowCache<V> {
    const fn new(bytes_max: usize) -> RowCache<V> {
        let generations = Generations { young: BTreeMap::new(), old: BTreeMap::new(), young_bytes: 0 };
        RowCache { bytes_max, generations: Mutex::new(generations) }
    }

    /// Those of the rows that are cached, by ordinal.
    pub(crate) fn get(&self, instance: u64, ordinals: &[u32]) -> BTreeMap<u32, Arc<V>> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        ordinals.iter().filter_map(|ordinal| Some((*ordinal, generations.get((instance, *ordinal), self.bytes_max)?))).collect()
    }

    /// Keeps rows for a while and hands them out.
    pub(crate) fn keep(&self, instance: u64, rows: impl IntoIterator<Item = (u32, V)>) -> Vec<(u32, Arc<V>)> {
        let rows: Vec<(u32, Arc<V>)> = rows.into_iter().map(|(ordinal, row)| (ordinal, Arc::new(row))).collect();
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        for (ordinal, row) in &rows {
            generations.insert((instance, *ordinal), Arc::clone(row), self.bytes_max);
        }
        rows
    }
}

impl<V: Weigh> Generations<V> {
    fn get(&mut self, key: Key, bytes_max: usize) -> Option<Arc<V>> {
        if let Some(row) = self.young.get(&key) {
            return Some(Arc::clone(row));
        }
        let row = self.old.remove(&key)?;
        self.insert(key, Arc::clone(&row), bytes_max);
        Some(row)
    }

    fn insert(&mut self, key: Key, row: Arc<V>, bytes_max: usize) {
        let bytes = row.bytes();
        if self.young_bytes + bytes > bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if self.young.insert(key, row).is_none() {
            self.young_bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_bounded_and_keeps_what_is_asked_for() {
        const BYTES_MAX: usize = 16_000;
        let cache = RowCache::new(BYTES_MAX);
        cache.keep(0, [(0, vec![0.0; 200])]);
        for ordinal in 1..100 {
            cache.keep(0, [(ordinal, vec![0.0; 200])]);
            assert_eq!(cache.get(0, &[0]).len(), 1, "row 0 was asked for at {ordinal} and lost");
            let generations = cache.generations.lock().unwrap();
            let held: usize = generations.young.values().chain(generations.old.values()).map(|row| row.bytes()).sum();
            assert!(held <= BYTES_MAX, "{held} bytes after {ordinal}");
        }
        assert!(cache.get(0, &[5]).is_empty() && cache.get(1, &[0, 99]).is_empty());
    }
}
