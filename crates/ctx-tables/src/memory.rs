//! A table in memory from its cells: for fitting, for tests and for recomputing a result without a database.

use crate::interpret::Rows;
use crate::rank::Offered;
use crate::reading::read;
use crate::schema::{Column, Reading, Table, distinct_names};
use crate::typing::{ColumnSketch, ColumnType, is_null_token, read_as};
use crate::values::{ROWS_PER_VALUE_MAX, VALUES_MAX, Value, ValueIndex};
use std::collections::BTreeMap;

/// A table with its rows and value index.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The schema with its counts.
    pub table: Table,
    /// The rows.
    pub rows: Rows,
    /// The index.
    pub index: ValueIndex,
}

impl Memory {
    /// As a goal's reading takes it.
    pub fn offered(&self) -> Offered<'_> {
        Offered { table: &self.table, index: &self.index, rows: Some(&self.rows) }
    }

    /// From a header and cells; missing cells are null, cells beyond the header have columns of their own.
    pub fn new(name: &str, header: &[String], cells: &[Vec<String>]) -> Memory {
        let width = cells.iter().map(Vec::len).fold(header.len(), usize::max);
        let mut padded = header.to_vec();
        padded.resize(width, String::new());
        let (names, notes) = distinct_names(&padded);
        let mut rows = Rows { cells: vec![Vec::new(); cells.len()], keys: vec![Vec::new(); cells.len()] };
        let mut index = ValueIndex::default();
        let mut columns = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            let column = column(name, cells.iter().map(|row| row.get(at).map(String::as_str)), &mut rows);
            let mut values: BTreeMap<String, Vec<u32>> = BTreeMap::new();
            for (row, cells) in rows.cells.iter().enumerate() {
                if let Some(cell) = &cells[at] {
                    values.entry(cell.clone()).or_default().push(row as u32);
                }
            }
            if values.len() <= VALUES_MAX {
                index.add(at, values.into_iter().map(|(text, rows)| value(text, rows)).collect());
            }
            columns.push(column);
        }
        let table = Table { name: name.to_owned(), files: Vec::new(), rows: cells.len() as u64, columns, notes };
        Memory { table, rows, index }
    }
}

fn value(text: String, mut rows: Vec<u32>) -> Value {
    let count = rows.len() as u64;
    if rows.len() > ROWS_PER_VALUE_MAX {
        rows.clear();
    }
    Value { text, count, rows }
}

/// Types one column and writes its cells and keys into the rows.
fn column<'a>(name: String, cells: impl Iterator<Item = Option<&'a str>> + Clone, rows: &mut Rows) -> Column {
    let mut sketch = ColumnSketch::default();
    for (line, cell) in cells.clone().enumerate() {
        sketch.observe(cell, line as u64 + 2);
    }
    let decided = sketch.decide();
    let mut keyed: Vec<(f64, &str)> = Vec::new();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut nulls = 0;
    for (row, cell) in cells.enumerate() {
        let is_null = |cell: &&str| if decided.ty == ColumnType::Text { cell.is_empty() } else { is_null_token(cell) };
        let cell = cell.filter(|cell| !is_null(cell));
        let key = cell.and_then(|cell| match (decided.ty, decided.reading) {
            (ColumnType::Text, Some((form, _, _))) => read_as(cell, form).map(|read| read.key()),
            (ColumnType::Text | ColumnType::Boolean, _) => None,
            _ => read(cell).map(|read| read.key()),
        });
        nulls += u64::from(cell.is_none());
        if let Some(cell) = cell {
            *counts.entry(cell).or_default() += 1;
            keyed.extend(key.map(|key| (key, cell)));
        }
        rows.cells[row].push(cell.map(str::to_owned));
        rows.keys[row].push(key);
    }
    let ends = |keyed: &[(f64, &str)]| {
        let least = keyed.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let most = keyed.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some((least.1.to_owned(), most.1.to_owned()))
    };
    let reading = decided.reading.map(|(form, scale, unread)| Reading { form, scale, unread });
    let range = ends(&keyed).or_else(|| Some((counts.keys().next()?.to_string(), counts.keys().next_back()?.to_string())));
    let distinct = counts.len() as u64;
    Column { name, ty: decided.ty, reading, distinct, nulls, range, top: Vec::new(), notes: decided.notes }
}
