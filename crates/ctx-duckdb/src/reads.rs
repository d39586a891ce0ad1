//! Reading rows by ordinal and by range, with prepared statements.
//!
//! A list of ordinals is bound to a statement with a fixed number of places, filled up by repeating the last one, so
//! that three statements per table serve every length and stay prepared.

use crate::cache::{self, RowCache, Weigh};
use crate::columns;
use crate::error::DuckError;
use crate::instance::SegmentDb;
use crate::rows::{DocumentRow, PassageRow};
use crate::schema::{DOCUMENT_COLUMNS, PASSAGE_COLUMNS};
use duckdb::arrow::record_batch::RecordBatch;
use duckdb::{Connection, params_from_iter};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Places of the prepared lists; longer lists are read in pieces.
const PLACES: [usize; 3] = [8, 64, 512];

impl SegmentDb {
    /// The cached rows, and the others read and cached.
    fn through<V: Weigh>(
        &self,
        cache: &RowCache<V>,
        ordinals: &[u32],
        read: impl FnOnce(&[u32]) -> Result<Vec<(u32, V)>, DuckError>,
    ) -> Result<BTreeMap<u32, Arc<V>>, DuckError> {
        let mut rows = cache.get(self.number(), ordinals);
        let missing: BTreeSet<u32> = ordinals.iter().copied().filter(|ordinal| !rows.contains_key(ordinal)).collect();
        if !missing.is_empty() {
            let missing: Vec<u32> = missing.into_iter().collect();
            rows.extend(cache.keep(self.number(), read(&missing)?));
        }
        Ok(rows)
    }

    /// The documents with these ordinals, in this order.
    pub fn documents(&self, ordinals: &[u32]) -> Result<Vec<DocumentRow>, DuckError> {
        let doing = "reading documents from";
        let batches = self.by_ordinal(doing, DOCUMENT_COLUMNS, "documents", ordinals)?;
        let rows = batches.iter().flat_map(columns::documents).map(|row| (row.ordinal, row));
        self.in_order(doing, ordinals, rows.collect())
    }

    /// The original embeddings of these passages, in this order; empty lists where the segment has none.
    pub fn embeddings(&self, ordinals: &[u32]) -> Result<Vec<Vec<f32>>, DuckError> {
        let doing = "reading embeddings from";
        if self.dimension().is_none() {
            return Ok(vec![Vec::new(); ordinals.len()]);
        }
        let read = |missing: &[u32]| {
            let batches = self.by_ordinal(doing, "ordinal, embedding", "passages", missing)?;
            Ok(batches.iter().flat_map(columns::embeddings).collect())
        };
        let rows = self.through(&cache::EMBEDDINGS, ordinals, read)?;
        Ok(self.in_order(doing, ordinals, rows)?.into_iter().map(|row| (*row).clone()).collect())
    }

    /// Passages of a range of ordinals, ascending; what lies beyond the end is left out.
    pub fn passages_in(&self, ordinals: Range<u32>) -> Result<Vec<PassageRow>, DuckError> {
        let batches = self.in_range("reading passages from", PASSAGE_COLUMNS, "passages", ordinals)?;
        Ok(batches.iter().flat_map(columns::passages).collect())
    }

    /// Documents of a range of ordinals, ascending.
    pub fn documents_in(&self, ordinals: Range<u32>) -> Result<Vec<DocumentRow>, DuckError> {
        let batches = self.in_range("reading documents from", DOCUMENT_COLUMNS, "documents", ordinals)?;
        Ok(batches.iter().flat_map(columns::documents).collect())
    }

    /// Embeddings of a range of passages, ascending; empty where the segment has none.
    pub fn embeddings_in(&self, ordinals: Range<u32>) -> Result<Vec<Vec<f32>>, DuckError> {
        if self.dimension().is_none() {
            return Ok(Vec::new());
        }
        let batches = self.in_range("reading embeddings from", "ordinal, embedding", "passages", ordinals)?;
        Ok(batches.iter().flat_map(columns::embeddings).map(|(_, values)| values).collect())
    }

    fn by_ordinal(&self, doing: &'static str, columns: &str, table: &str, ordinals: &[u32]) -> Result<Vec<RecordBatch>, DuckError> {
        self.with(doing, |connection| {
            let mut batches = Vec::new();
            for piece in ordinals.chunks(PLACES[PLACES.len() - 1]) {
                batches.extend(read_piece(connection, columns, table, piece)?);
            }
            Ok(batches)
        })
    }

    fn in_range(&self, doing: &'static str, columns: &str, table: &str, ordinals: Range<u32>) -> Result<Vec<RecordBatch>, DuckError> {
        let sql = format!("SELECT {columns} FROM {table} WHERE ordinal >= ? AND ordinal < ? ORDER BY ordinal");
        self.with(doing, |connection| Ok(connection.prepare_cached(&sql)?.query_arrow([ordinals.start, ordinals.end])?.collect()))
    }

    fn in_order<T: Clone>(&self, doing: &'static str, ordinals: &[u32], mut rows: BTreeMap<u32, T>) -> Result<Vec<T>, DuckError> {
        let missing = |ordinal| DuckError::Missing { doing, path: self.path().to_owned(), ordinal };
        let repeated = rows.len() < ordinals.len();
        ordinals
            .iter()
            .map(|ordinal| {
                let row = if repeated { rows.get(ordinal).cloned() } else { rows.remove(ordinal) };
                row.ok_or_else(|| missing(*ordinal))
            })
            .collect()
    }
}

fn read_piece(connection: &Connection, columns: &str, table: &str, ordinals: &[u32]) -> duckdb::Result<Vec<RecordBatch>> {
    let places = PLACES.into_iter().find(|places| ordinals.len() <= *places).unwrap_or(ordinals.len());
    let list = vec!["?"; places].join(", ");
    let sql = format!("SELECT {columns} FROM {table} WHERE ordinal IN ({list})");
    let last = ordinals.last().copied().unwrap_or(0);
    let bound = ordinals.iter().copied().chain(std::iter::repeat(last)).take(places);
    Ok(connection.prepare_cached(&sql)?.query_arrow(params_from_iter(bound))?.collect())
}
