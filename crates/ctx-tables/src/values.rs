//! The value index of a table: which words of a question are values of which column, and in which rows.
//!
//! Built over distinct values. A phrase matches a value whole (all of the value's words) or in part (a run of its words).
//! Bounded: a column with more distinct values than the limit is left out and says so in [`ValueIndex::unindexed`].

use crate::schema::ColumnId;
use crate::words::{Word, words};
use std::collections::BTreeMap;

/// Distinct values kept per column.
pub const VALUES_MAX: usize = 100_000;
/// Rows remembered per value; beyond it only their number is known.
pub const ROWS_PER_VALUE_MAX: usize = 2_000;
/// Longest phrase in words.
const PHRASE_WORDS_MAX: usize = 12;
/// Values one phrase may stand for in a column; beyond it the phrase is too general to filter by.
const VALUES_PER_PHRASE_MAX: usize = 400;

/// One distinct value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its text as it stands in the table.
    pub text: String,
    /// Rows that hold it.
    pub count: u64,
    /// Positions of those rows, ascending; empty if there are more than [`ROWS_PER_VALUE_MAX`].
    pub rows: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Indexed {
    values: Vec<Value>,
    stems: Vec<Vec<u32>>,
}

/// Values of a table's columns by their words.
#[derive(Clone, Debug, Default)]
pub struct ValueIndex {
    columns: BTreeMap<ColumnId, Indexed>,
    terms: BTreeMap<String, u32>,
    postings: BTreeMap<(u32, ColumnId), Vec<u32>>,
    columns_of: BTreeMap<u32, Vec<ColumnId>>,
    unindexed: Vec<ColumnId>,
}

/// A run of the question's words that stands for values of one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueMatch {
    /// The column.
    pub column: ColumnId,
    /// First word.
    pub start: usize,
    /// One past the last.
    pub end: usize,
    /// Whether the words are the whole value.
    pub whole: bool,
    /// Ordinals of the values.
    pub values: Vec<u32>,
    /// Rows that hold one of them.
    pub rows: u64,
}

impl ValueIndex {
    /// Adds a column with its distinct values.
    pub fn add(&mut self, column: ColumnId, mut values: Vec<Value>) {
        values.sort_by(|a, b| a.text.cmp(&b.text));
        if values.len() > VALUES_MAX {
            self.unindexed.push(column);
            return;
        }
        let mut indexed = Indexed::default();
        for (ordinal, value) in values.into_iter().enumerate() {
            let mut stems = Vec::new();
            for word in words(&value.text) {
                let next = self.terms.len() as u32;
                let term = *self.terms.entry(word.stem).or_insert(next);
                let posting = self.postings.entry((term, column)).or_default();
                if posting.last() != Some(&(ordinal as u32)) {
                    posting.push(ordinal as u32);
                }
                let columns = self.columns_of.entry(term).or_default();
                if columns.last() != Some(&column) {
                    columns.push(column);
                }
                stems.push(term);
            }
            indexed.stems.push(stems);
            indexed.values.push(value);
        }
        self.columns.insert(column, indexed);
    }

    /// Whether some value holds a word with this stem.
    pub fn knows(&self, stem: &str) -> bool {
        self.terms.contains_key(stem)
    }

    /// Columns with too many distinct values to be indexed.
    pub fn unindexed(&self) -> &[ColumnId] {
        &self.unindexed
    }

    /// A value by ordinal.
    pub fn value(&self, column: ColumnId, ordinal: u32) -> Option<&Value> {
        self.columns.get(&column)?.values.get(ordinal as usize)
    }

    /// Positions of the rows that hold one of these texts, ascending; `None` if the index does not know all of them.
    pub fn rows_of(&self, column: ColumnId, texts: &[String]) -> Option<Vec<u32>> {
        let indexed = self.columns.get(&column)?;
        let mut rows = Vec::new();
        for text in texts {
            let value = &indexed.values[indexed.values.binary_search_by(|value| value.text.as_str().cmp(text)).ok()?];
            if value.rows.len() as u64 != value.count {
                return None;
            }
            rows.extend(&value.rows);
        }
        rows.sort_unstable();
        rows.dedup();
        Some(rows)
    }

    /// Longest runs of words per column that stand for values, whole and in part, in the order of the question.
    pub fn matches(&self, question: &[Word]) -> Vec<ValueMatch> {
        let terms: Vec<Option<u32>> = question.iter().map(|word| self.terms.get(&word.stem).copied()).collect();
        let mut found: Vec<ValueMatch> = Vec::new();
        for start in 0..question.len() {
            let Some(first) = terms[start] else { continue };
            for &column in self.columns_of.get(&first).map_or(&[][..], Vec::as_slice) {
                self.matches_at(question, &terms, start, column, &mut found);
            }
        }
        let contained = |m: &ValueMatch| {
            found.iter().any(|o| {
                o.column == m.column && o.start <= m.start && o.end >= m.end && (o.end - o.start > m.end - m.start) && (o.whole || !m.whole)
            })
        };
        found.iter().filter(|m| !contained(m)).cloned().collect()
    }

    /// The longest whole and the longest partial match that begin here.
    fn matches_at(&self, question: &[Word], terms: &[Option<u32>], start: usize, column: ColumnId, found: &mut Vec<ValueMatch>) {
        let Some(indexed) = self.columns.get(&column) else { return };
        let Some(first) = terms[start] else { return };
        let Some(posting) = self.postings.get(&(first, column)) else { return };
        let mut alive: Vec<(u32, usize)> = Vec::new();
        for &ordinal in posting {
            let stems = &indexed.stems[ordinal as usize];
            alive.extend(stems.iter().enumerate().filter(|(_, term)| **term == first).map(|(at, _)| (ordinal, at)));
        }
        let (mut whole, mut part) = (None, None);
        let mut end = start + 1;
        loop {
            let exact: Vec<u32> = alive
                .iter()
                .filter(|(ordinal, at)| at + 1 == end - start && indexed.stems[*ordinal as usize].len() == end - start)
                .map(|(ordinal, _)| *ordinal)
                .collect();
            let content = question[start..end].iter().any(|word| !word.stop);
            if !exact.is_empty() && (content || end - start > 1) {
                whole = Some((end, exact));
            }
            if content {
                let mut ordinals: Vec<u32> = alive.iter().map(|(ordinal, _)| *ordinal).collect();
                ordinals.dedup();
                part = Some((end, ordinals));
            }
            let Some(Some(next)) = terms.get(end) else { break };
            alive.retain_mut(|(ordinal, at)| {
                *at += 1;
                indexed.stems[*ordinal as usize].get(*at) == Some(next)
            });
            if alive.is_empty() || end - start == PHRASE_WORDS_MAX {
                break;
            }
            end += 1;
        }
        let whole_end = whole.as_ref().map_or(0, |(end, _)| *end);
        if let Some((end, values)) = whole {
            found.push(self.matched(column, start, end, true, values));
        }
        if let Some((end, values)) = part.filter(|(end, _)| *end > whole_end || whole_end == 0) {
            let starts_with_stop = question[start].stop && end - start == 1;
            if values.len() <= VALUES_PER_PHRASE_MAX && !starts_with_stop {
                found.push(self.matched(column, start, end, false, values));
            }
        } else if whole_end > 0 {
            self.widen(indexed, terms, start, whole_end, column, found);
        }
    }

    /// Values that hold the words of a whole match among others, as a second reading of the same words.
    fn widen(&self, indexed: &Indexed, terms: &[Option<u32>], start: usize, end: usize, column: ColumnId, found: &mut Vec<ValueMatch>) {
        let phrase: Vec<u32> = terms[start..end].iter().flatten().copied().collect();
        let Some(posting) = self.postings.get(&(phrase[0], column)) else { return };
        let holds = |ordinal: &&u32| indexed.stems[**ordinal as usize].windows(phrase.len()).any(|run| run == phrase.as_slice());
        let values: Vec<u32> = posting.iter().filter(holds).copied().collect();
        let whole = found.last().map_or(0, |m| m.values.len());
        if values.len() > whole && values.len() <= VALUES_PER_PHRASE_MAX {
            found.push(self.matched(column, start, end, false, values));
        }
    }

    fn matched(&self, column: ColumnId, start: usize, end: usize, whole: bool, values: Vec<u32>) -> ValueMatch {
        let rows = values.iter().filter_map(|ordinal| self.value(column, *ordinal)).map(|value| value.count).sum();
        ValueMatch { column, start, end, whole, values, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_match_whole_values_and_parts() {
        let value = |text: &str| Value { text: text.to_owned(), count: 1, rows: vec![0] };
        let mut index = ValueIndex::default();
        index.add(0, vec![value("Lake Van"), value("Lake Van North"), value("Ankara")]);
        index.add(1, vec![value("451 m"), value("Van, Bitlis")]);
        let found = index.matches(&words("how deep is lake van?"));
        let shown: Vec<(usize, usize, usize, bool, usize)> =
            found.iter().map(|m| (m.column, m.start, m.end, m.whole, m.values.len())).collect();
        assert_eq!(shown, [(0, 3, 5, true, 1), (0, 3, 5, false, 2), (1, 4, 5, false, 1)]);
    }
}
