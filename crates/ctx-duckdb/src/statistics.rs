//! What `ANALYZE` wants to know of one segment: counts, languages, kinds, lengths of passages.

use crate::error::DuckError;
use crate::instance::SegmentDb;
use duckdb::Connection;
use std::collections::BTreeMap;

/// Exact counts over the visible rows of a segment; counts of several segments add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SegmentStatistics {
    /// Visible documents.
    pub documents: u64,
    /// Visible passages.
    pub passages: u64,
    /// Bytes of the files that visible documents stand in (a file of records counts once).
    pub bytes: u64,
    /// Visible documents by language.
    pub languages: BTreeMap<String, u64>,
    /// Visible documents by kind.
    pub kinds: BTreeMap<String, u64>,
    /// Visible passages by their number of tokens.
    pub tokens: BTreeMap<u32, u64>,
}

impl SegmentStatistics {
    /// Adds another segment's counts.
    pub fn add(&mut self, other: &SegmentStatistics) {
        self.documents += other.documents;
        self.passages += other.passages;
        self.bytes += other.bytes;
        add_counts(&mut self.languages, &other.languages);
        add_counts(&mut self.kinds, &other.kinds);
        add_counts(&mut self.tokens, &other.tokens);
    }

    /// Tokens of all passages.
    pub fn tokens_total(&self) -> u64 {
        self.tokens.iter().map(|(tokens, count)| u64::from(*tokens) * count).sum()
    }

    /// The smallest length that at least `percent` of the passages do not exceed; 0 without passages.
    pub fn tokens_quantile(&self, percent: u64) -> u32 {
        let wanted = (self.passages * percent.min(100)).div_ceil(100).max(1);
        let mut seen = 0;
        self.tokens
            .iter()
            .find(|(_, count)| {
                seen += **count;
                seen >= wanted
            })
            .map_or(0, |(tokens, _)| *tokens)
    }
}

fn add_counts<K: Ord + Clone>(into: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
    for (key, count) in from {
        *into.entry(key.clone()).or_default() += count;
    }
}

impl SegmentDb {
    /// Counts what is visible when `tombstones` (ascending document ordinals) are deleted.
    pub fn statistics(&self, tombstones: &[u32]) -> Result<SegmentStatistics, DuckError> {
        let hidden = serde_json::Value::from(tombstones).to_string();
        self.with("counting", |connection| {
            let (documents, bytes) = connection
                .prepare_cached(&format!(
                    "SELECT coalesce(sum(n), 0)::UBIGINT, coalesce(sum(bytes), 0)::UBIGINT
                 FROM (SELECT count(*) AS n, max(bytes) AS bytes FROM documents WHERE {VISIBLE_DOCUMENT} GROUP BY path)"
                ))?
                .query_row([&hidden], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let tokens = counts(connection, "tokens", "passages", VISIBLE_PASSAGE, &hidden)?;
            Ok(SegmentStatistics {
                documents,
                bytes,
                passages: tokens.values().sum(),
                languages: counts(connection, "language", "documents", VISIBLE_DOCUMENT, &hidden)?,
                kinds: counts(connection, "kind", "documents", VISIBLE_DOCUMENT, &hidden)?,
                tokens,
            })
        })
    }
}

/// The hidden ordinals are bound as the text of a list: `[1, 2, 3]`.
const VISIBLE_DOCUMENT: &str = "ordinal NOT IN (SELECT unnest(CAST(? AS UINTEGER[])))";
const VISIBLE_PASSAGE: &str = "document NOT IN (SELECT unnest(CAST(? AS UINTEGER[])))";

fn counts<K: Ord + duckdb::types::FromSql>(
    connection: &Connection,
    column: &str,
    table: &str,
    visible: &str,
    hidden: &str,
) -> duckdb::Result<BTreeMap<K, u64>> {
    let sql = format!("SELECT {column}, count(*)::UBIGINT FROM {table} WHERE {visible} GROUP BY {column}");
    connection.prepare_cached(&sql)?.query_map([hidden], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}
