//! Bounded runs: rows, time and bytes of a result have limits, and a result says which limit cut it.

use crate::error::DuckError;
use crate::tables::guard;
use crate::tables::open::TableDb;
use ctx_tables::rank::Choice;
use ctx_tables::sql::{Sql, rows_behind, statement};
use duckdb::{Connection, params_from_iter};
use std::sync::mpsc;
use std::time::Duration;

/// Limits of one query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Rows of the result.
    pub rows: usize,
    /// Bytes of the result's text.
    pub bytes: usize,
    /// Time in DuckDB.
    pub time: Duration,
    /// Rows cited as what the result was computed from.
    pub cited: usize,
}

impl Default for Bounds {
    /// 1,000 rows, 1 MiB, 10 seconds, 20 rows cited.
    fn default() -> Self {
        Bounds { rows: 1_000, bytes: 1 << 20, time: Duration::from_secs(10), cited: 20 }
    }
}

/// A row that a result was computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRow {
    /// Position in the table, from 0.
    pub row: u64,
    /// Line in its file.
    pub line: u64,
    /// Cells by column.
    pub cells: Vec<Option<String>>,
}

/// A result with what it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// The statement.
    pub sql: Sql,
    /// Names of the result's columns.
    pub columns: Vec<String>,
    /// Rows as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// The limit that cut the result.
    pub cut: Option<&'static str>,
    /// Rows behind it, as many as are cited.
    pub behind: Vec<SourceRow>,
}

impl Computed {
    /// The first column without nulls: the values of the answer.
    pub fn values(&self) -> Vec<String> {
        self.rows.iter().filter_map(|row| row.first().cloned().flatten()).collect()
    }
}

impl TableDb {
    /// Computes the reading of a goal.
    pub fn compute(&self, choice: &Choice, bounds: &Bounds) -> Result<Computed, DuckError> {
        let table = self.tables().get(choice.table).ok_or_else(|| DuckError::refused("the reading names a table that is not here"))?;
        let mut computed = self.run(&statement(table, &choice.query), bounds)?;
        let behind = self.run(&rows_behind(table, &choice.query, bounds.cited), bounds)?;
        computed.behind = behind.rows.into_iter().filter_map(source_row).collect();
        Ok(computed)
    }

    /// Runs a statement of ours.
    pub fn run(&self, sql: &Sql, bounds: &Bounds) -> Result<Computed, DuckError> {
        let connection = self.lock();
        run(&connection, sql, bounds, self.path())
    }

    /// Whether a text is SQL that may run here.
    pub fn check(&self, text: &str) -> Result<(), DuckError> {
        let connection = self.lock();
        guard::check(&connection, text, self.tables()).map(drop)
    }

    /// Whether the statements of a reading are ones that DuckDB accepts; else its words.
    pub fn accepts(&self, choice: &Choice) -> Result<(), String> {
        let Some(table) = self.tables().get(choice.table) else { return Err("the reading names a table that is not here".to_owned()) };
        let connection = self.lock();
        let accepts = |sql: &Sql| connection.prepare(&as_text(sql, 1)).map(drop).map_err(crate::error::first_line);
        accepts(&statement(table, &choice.query)).and_then(|()| accepts(&rows_behind(table, &choice.query, 1)))
    }

    /// Runs a person's own SQL: one SELECT over the tables here, checked by DuckDB's parser and prepare before it runs.
    pub fn run_own(&self, text: &str, bounds: &Bounds) -> Result<Computed, DuckError> {
        let connection = self.lock();
        let checked = guard::check(&connection, text, self.tables())?;
        let ran = run(&connection, &Sql { text: checked, parameters: Vec::new() }, bounds, self.path());
        let mut computed = ran.map_err(|error| match error {
            DuckError::Statement { reason, .. } if is_of_values(&reason) => {
                DuckError::refused(guard::explain_failure(&connection, &reason, text, self.tables()))
            }
            error => error,
        })?;
        text.trim().clone_into(&mut computed.sql.text);
        Ok(computed)
    }
}

fn source_row(mut cells: Vec<Option<String>>) -> Option<SourceRow> {
    let row = cells.first()?.as_ref()?.parse().ok()?;
    let line = cells.get(1)?.as_ref()?.parse().ok()?;
    Some(SourceRow { row, line, cells: cells.split_off(2) })
}

/// The result as text, cut at the bounds; a timer interrupts the query.
fn run(connection: &Connection, sql: &Sql, bounds: &Bounds, path: &std::path::Path) -> Result<Computed, DuckError> {
    let handle = connection.interrupt_handle();
    let (done, waiting) = mpsc::channel::<()>();
    let time = bounds.time;
    let timer = std::thread::spawn(move || {
        let late = waiting.recv_timeout(time) == Err(mpsc::RecvTimeoutError::Timeout);
        if late {
            handle.interrupt();
        }
        late
    });
    let result = fetch(connection, sql, bounds);
    drop(done);
    let late = timer.join().unwrap_or(false);
    match result {
        Err(_) if late => Err(DuckError::OutOfTime { seconds: bounds.time.as_secs() }),
        other => other.map_err(DuckError::statement("querying", path)),
    }
}

/// The statement with every column as text, bounded.
fn as_text(sql: &Sql, rows: usize) -> String {
    format!("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({}) LIMIT {rows}", sql.text)
}

/// Whether a statement failed by what it asks of its values, rather than by the file that holds them.
pub(crate) fn is_of_values(reason: &str) -> bool {
    ["Binder Error", "Conversion Error", "Out of Range Error", "Invalid Input Error", "Not implemented Error"]
        .iter()
        .any(|kind| reason.starts_with(kind))
}

fn fetch(connection: &Connection, sql: &Sql, bounds: &Bounds) -> duckdb::Result<Computed> {
    let mut statement = connection.prepare(&as_text(sql, bounds.rows + 1))?;
    let mut rows = statement.query(params_from_iter(&sql.parameters))?;
    let mut found: Vec<Vec<Option<String>>> = Vec::new();
    let (mut bytes, mut cut) = (0, None);
    let columns = rows.as_ref().map(|statement| statement.column_names()).unwrap_or_default();
    while let Some(row) = rows.next()? {
        if found.len() == bounds.rows {
            cut = Some("rows");
            break;
        }
        let cells = (0..columns.len()).map(|at| row.get(at)).collect::<duckdb::Result<Vec<Option<String>>>>()?;
        bytes += cells.iter().flatten().map(String::len).sum::<usize>();
        if bytes > bounds.bytes {
            cut = Some("bytes");
            break;
        }
        found.push(cells);
    }
    Ok(Computed { sql: sql.clone(), columns, rows: found, cut, behind: Vec::new() })
}
