//! Passages by place, from the database, with the most recent ones kept in memory.

use crate::error::EmbeddedError;
use crate::view::SourceView;
use ctx_duckdb::PassageRow;
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{Passage, SourceName};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// Text kept in memory.
const CACHE_BYTES_MAX: usize = 32 << 20;

/// Segment of a view and ordinal in it.
pub(crate) type Spot = (usize, u32);

type Key = (String, u32);

/// The cache. Segments never change, so an entry is never stale.
#[derive(Default)]
pub(crate) struct RowCache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    rows: HashMap<Key, Arc<Passage>>,
    order: VecDeque<Key>,
    bytes: usize,
}

/// Passages with the number that came from memory.
pub(crate) struct Rows {
    pub(crate) passages: BTreeMap<Spot, Arc<Passage>>,
    pub(crate) cache_hits: u64,
}

impl RowCache {
    /// The passages at these places.
    pub(crate) fn get(&self, view: &SourceView, spots: &[Spot]) -> Result<Rows, EmbeddedError> {
        let mut found = Rows { passages: BTreeMap::new(), cache_hits: 0 };
        let mut missing: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        {
            let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            for spot in spots {
                let id = view.segments[spot.0].open.id.as_str();
                match inner.rows.get(&(id.to_owned(), spot.1)) {
                    Some(passage) => {
                        found.cache_hits += 1;
                        found.passages.insert(*spot, Arc::clone(passage));
                    }
                    None => missing.entry(spot.0).or_default().push(spot.1),
                }
            }
        }
        for (segment, mut ordinals) in missing {
            ordinals.sort_unstable();
            ordinals.dedup();
            let open = &view.segments[segment].open;
            let rows = open.rows()?.passages(&ordinals)?;
            let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            for row in rows {
                let spot = (segment, row.ordinal);
                let passage = Arc::new(passage(&view.name, row));
                inner.keep((open.id.as_str().to_owned(), spot.1), &passage);
                found.passages.insert(spot, passage);
            }
        }
        Ok(found)
    }
}

impl Inner {
    fn keep(&mut self, key: Key, passage: &Arc<Passage>) {
        if self.rows.insert(key.clone(), Arc::clone(passage)).is_none() {
            self.order.push_back(key);
            self.bytes += weight(passage);
        }
        while self.bytes > CACHE_BYTES_MAX {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(passage) = self.rows.remove(&oldest) {
                self.bytes = self.bytes.saturating_sub(weight(&passage));
            }
        }
    }
}

fn weight(passage: &Passage) -> usize {
    passage.text.len() + passage.locator.path.len() + passage.title.len() + 256
}

/// A row as the contracts show it.
pub(crate) fn passage(source: &SourceName, row: PassageRow) -> Passage {
    Passage {
        id: row.id,
        locator: Locator {
            source: source.clone(),
            path: row.path,
            bytes: ByteRange { start: row.byte_start, end: row.byte_end },
            line_start: row.line_start,
            line_end: row.line_end,
            section: row.section,
            also_at: row.also_at,
        },
        title: row.title,
        text: row.text,
        fingerprint: row.fingerprint,
        tokens: row.tokens,
    }
}

/// A passage as a row of a segment; the database numbers it.
pub(crate) fn row(passage: Passage) -> PassageRow {
    PassageRow {
        ordinal: 0,
        document: 0,
        id: passage.id,
        path: passage.locator.path,
        byte_start: passage.locator.bytes.start,
        byte_end: passage.locator.bytes.end,
        line_start: passage.locator.line_start,
        line_end: passage.locator.line_end,
        section: passage.locator.section,
        title: passage.title,
        text: passage.text,
        fingerprint: passage.fingerprint,
        tokens: passage.tokens,
        also_at: passage.locator.also_at,
    }
}
