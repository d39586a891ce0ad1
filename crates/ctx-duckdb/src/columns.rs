//! Typed access to the columns of an arrow batch that our own statement has produced.

use crate::rows::{DocumentRow, PassageRow};
use duckdb::arrow::array::{Array, AsArray, FixedSizeListArray};
use duckdb::arrow::datatypes::{Float32Type, UInt32Type, UInt64Type};
use duckdb::arrow::record_batch::RecordBatch;

/// One row of a batch whose column types are known from the schema.
struct Cursor<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

impl Cursor<'_> {
    fn text(&self, column: usize) -> String {
        self.batch.column(column).as_string::<i32>().value(self.row).to_owned()
    }
    fn number(&self, column: usize) -> u32 {
        self.batch.column(column).as_primitive::<UInt32Type>().value(self.row)
    }
    fn big_number(&self, column: usize) -> u64 {
        self.batch.column(column).as_primitive::<UInt64Type>().value(self.row)
    }
}

/// Rows of `SELECT` [`crate::schema::PASSAGE_COLUMNS`].
pub(crate) fn passages(batch: &RecordBatch) -> impl Iterator<Item = PassageRow> {
    (0..batch.num_rows()).map(move |row| {
        let at = Cursor { batch, row };
        PassageRow {
            ordinal: at.number(0),
            document: at.number(1),
            byte_start: at.big_number(2),
            byte_end: at.big_number(3),
            line_start: at.number(4),
            line_end: at.number(5),
            section: at.text(6),
            tokens: at.number(7),
        }
    })
}

/// Rows of `SELECT` [`crate::schema::DOCUMENT_COLUMNS`].
pub(crate) fn documents(batch: &RecordBatch) -> impl Iterator<Item = DocumentRow> {
    (0..batch.num_rows()).map(move |row| {
        let at = Cursor { batch, row };
        DocumentRow {
            ordinal: at.number(0),
            path: at.text(1),
            unit: at.number(2),
            title: at.text(3),
            language: at.text(4),
            kind: at.text(5),
            content_hash: at.text(6),
            bytes: at.big_number(7),
            first_passage: at.number(8),
            passages: at.number(9),
        }
    })
}

/// Rows of `SELECT ordinal, embedding`.
pub(crate) fn embeddings(batch: &RecordBatch) -> impl Iterator<Item = (u32, Vec<f32>)> {
    let lists = batch.column(1).as_any().downcast_ref::<FixedSizeListArray>();
    (0..batch.num_rows()).filter_map(move |row| {
        let values = lists?.value(row);
        Some((Cursor { batch, row }.number(0), values.as_primitive::<Float32Type>().values().to_vec()))
    })
}
