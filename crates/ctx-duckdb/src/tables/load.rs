//! Files of rows into one sealed database: types from all rows, readings beside text, counts and notes in the catalog.
//!
//! Two passes: the first looks at every cell and decides types; the second writes. Cells travel as text into a staging
//! table, and one `CREATE TABLE … AS SELECT CAST` makes the typed one: a cast that would fail stops the load, none is
//! tried silently.

use crate::error::DuckError;
use crate::tables::catalog;
use crate::tables::files::{self, Format, Sink, format_of};
use ctx_tables::reading::Form;
use ctx_tables::schema::{Column, LINE, ROW, Reading, Table, distinct_names};
use ctx_tables::sql::quote;
use ctx_tables::typing::{Decided, is_null_token, read_as};
use ctx_tables::{ColumnSketch, ColumnType};
use duckdb::arrow::array::{ArrayRef, StringArray, UInt64Array};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use duckdb::arrow::record_batch::RecordBatch;
use duckdb::{Config, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of one batch.
const BATCH_ROWS: usize = 4096;
/// What DuckDB may use while loading.
const MEMORY_LIMIT: &str = "512MB";
/// Columns of one table.
const COLUMNS_MAX: usize = 2_000;
/// Catalog version in the file.
pub(crate) const CATALOG_VERSION: i64 = 1;
/// Table with the catalog; not offered to queries.
pub(crate) const CATALOG: &str = "ctx catalog";

/// Writes the database of a source's tables.
pub struct TableWriter {
    connection: Connection,
    path: PathBuf,
    tables: Vec<Table>,
}

impl TableWriter {
    /// A new file; an existing one is an error.
    pub fn create(path: &Path) -> Result<TableWriter, DuckError> {
        if path.exists() {
            return Err(DuckError::open(path, "the file exists"));
        }
        let failed = |error: duckdb::Error| DuckError::open(path, error);
        let config = Config::default().enable_autoload_extension(false).and_then(|c| c.threads(2)).and_then(|c| c.max_memory(MEMORY_LIMIT));
        let connection = config.and_then(|config| Connection::open_with_flags(path, config)).map_err(failed)?;
        crate::instance::check_version(&connection, path)?;
        Ok(TableWriter { connection, path: path.to_owned(), tables: Vec::new() })
    }

    /// Loads the files, in order, as one table; paths are below `root`.
    pub fn add(&mut self, name: &str, root: &Path, paths: &[String]) -> Result<&Table, DuckError> {
        let name = self.free_name(name);
        let parquet = paths.iter().all(|path| format_of(path) == Some(Format::Parquet));
        let mut table = if parquet { self.parquet(&name, root, paths)? } else { self.rows(&name, root, paths)? };
        catalog::measure(&self.connection, &mut table).map_err(DuckError::statement("counting values of", &self.path))?;
        self.tables.push(table);
        Ok(&self.tables[self.tables.len() - 1])
    }

    /// Writes the catalog and closes the file for good.
    pub fn finish(self) -> Result<Vec<Table>, DuckError> {
        let failed = |doing| DuckError::statement(doing, &self.path);
        let json = serde_json::to_string(&self.tables).map_err(|error| DuckError::read(&self.path, 0, error))?;
        let text = format!("CREATE TABLE {} (version BIGINT, tables VARCHAR)", quote(CATALOG));
        self.connection.execute_batch(&text).map_err(failed("writing the catalog of"))?;
        let text = format!("INSERT INTO {} VALUES (?, ?)", quote(CATALOG));
        self.connection.execute(&text, duckdb::params![CATALOG_VERSION, json]).map_err(failed("writing the catalog of"))?;
        let path = self.path.clone();
        self.connection.execute_batch("CHECKPOINT").map_err(failed("closing"))?;
        self.connection.close().map_err(|(_, error)| DuckError::open(&path, error))?;
        Ok(self.tables)
    }

    fn free_name(&self, name: &str) -> String {
        let taken = |name: &str| name == CATALOG || self.tables.iter().any(|table| table.name.eq_ignore_ascii_case(name));
        let mut free = name.to_owned();
        let mut number = 2;
        while taken(&free) {
            free = format!("{name} {number}");
            number += 1;
        }
        free
    }

    fn rows(&mut self, name: &str, root: &Path, paths: &[String]) -> Result<Table, DuckError> {
        let mut look = Look::default();
        feed(root, paths, &mut look)?;
        if look.header.len() > COLUMNS_MAX {
            return Err(DuckError::read(&root.join(&paths[0]), 1, format!("{} columns; at most {COLUMNS_MAX}", look.header.len())));
        }
        let (names, renamed) = distinct_names(&look.header);
        let decided: Vec<Decided> = look.sketches.iter().map(ColumnSketch::decide).collect();
        look.notes.extend(renamed);
        self.stage(&decided)?;
        let mut batch = Batch {
            writer: self,
            decided: &decided,
            columns: vec![Vec::new(); width(&decided)],
            lines: Vec::new(),
            header: look.header.clone(),
            map: Vec::new(),
            rows: 0,
        };
        feed(root, paths, &mut batch)?;
        batch.flush()?;
        let rows = batch.rows;
        self.convert(name, &names, &decided)?;
        let columns = names.into_iter().zip(decided).map(|(name, decided)| column(name, decided)).collect();
        Ok(Table { name: name.to_owned(), files: paths.to_vec(), rows, columns, notes: look.notes })
    }

    fn stage(&self, decided: &[Decided]) -> Result<(), DuckError> {
        let columns: Vec<String> = (0..width(decided)).map(|at| format!("c{at} VARCHAR")).collect();
        let text = format!("CREATE OR REPLACE TEMP TABLE staged (row UBIGINT, line UBIGINT, {})", columns.join(", "));
        self.connection.execute_batch(&text).map_err(DuckError::statement("writing", &self.path))
    }

    fn convert(&self, name: &str, names: &[String], decided: &[Decided]) -> Result<(), DuckError> {
        let mut columns = vec![format!("CAST(row AS BIGINT) AS {}", quote(ROW)), format!("CAST(line AS BIGINT) AS {}", quote(LINE))];
        let mut at = 0;
        for (name, decided) in names.iter().zip(decided) {
            columns.push(format!("CAST(c{at} AS {}) AS {}", decided.ty.sql(), quote(name)));
            at += 1;
            if let Some((form, scale, _)) = decided.reading {
                columns.push(format!("CAST(c{at} AS {}) AS {}", reading_type(form, scale), quote(&format!("{name} (as number)"))));
                at += 1;
            }
        }
        let text = format!("CREATE TABLE {} AS SELECT {} FROM staged ORDER BY row; DROP TABLE staged", quote(name), columns.join(", "));
        self.connection.execute_batch(&text).map_err(DuckError::statement("typing the columns of", &self.path))
    }

    /// How many NUL characters stand in columns of text, in words.
    fn nuls(&self, from: &str, texts: &[String]) -> duckdb::Result<Option<String>> {
        if texts.is_empty() {
            return Ok(None);
        }
        let counts: Vec<String> =
            texts.iter().map(|name| format!("coalesce(sum(length({name}) - length(replace({name}, chr(0), ''))), 0)")).collect();
        let text = format!("SELECT CAST({} AS UBIGINT) FROM {from}", counts.join(" + "));
        self.connection.query_row(&text, [], |row| row.get(0)).map(nul_note)
    }

    /// Parquet is typed by its file; what is neither text nor a plain number, date or time becomes text.
    fn parquet(&mut self, name: &str, root: &Path, paths: &[String]) -> Result<Table, DuckError> {
        let failed = |doing| DuckError::statement(doing, &self.path);
        // What cannot be read is the user's file, not the one that is written.
        let unread = |error: duckdb::Error| DuckError::read(&root.join(&paths[0]), 0, error);
        let list = serde_json::to_string(&paths.iter().map(|p| root.join(p).to_string_lossy().into_owned()).collect::<Vec<_>>());
        let list = list.map_err(|error| DuckError::read(root, 0, error))?;
        let files = list.replace('\'', "''");
        let from = format!("read_parquet(CAST(json('{files}') AS VARCHAR[]), union_by_name = true)");
        let described: Vec<(String, String)> = self
            .connection
            .prepare(&format!("DESCRIBE SELECT * FROM {from}"))
            .and_then(|mut s| s.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .map_err(unread)?;
        let header: Vec<String> = described.iter().map(|(name, _)| name.clone()).collect();
        let (names, mut notes) = distinct_names(&header);
        let texts: Vec<String> = described.iter().filter(|(_, kind)| kind == "VARCHAR").map(|(name, _)| quote(name)).collect();
        notes.extend(self.nuls(&from, &texts).map_err(unread)?);
        let mut select = vec![format!("row_number() OVER () - 1 AS {}", quote(ROW)), format!("row_number() OVER () AS {}", quote(LINE))];
        let mut columns = Vec::new();
        for ((given, kind), name) in described.iter().zip(names) {
            let (ty, note) = parquet_type(kind);
            let cell = match kind.as_str() {
                "VARCHAR" => format!("replace({}, chr(0), ' ')", quote(given)),
                _ => quote(given),
            };
            select.push(format!("CAST({cell} AS {}) AS {}", ty.sql(), quote(&name)));
            columns.push(column(name, Decided { ty, reading: None, notes: note.into_iter().collect() }));
        }
        let text = format!("CREATE TABLE {} AS SELECT {} FROM {from}", quote(name), select.join(", "));
        self.connection.execute_batch(&text).map_err(unread)?;
        let rows = self.connection.query_row(&format!("SELECT count(*)::UBIGINT FROM {}", quote(name)), [], |row| row.get(0));
        Ok(Table { name: name.to_owned(), files: paths.to_vec(), rows: rows.map_err(failed("counting"))?, columns, notes })
    }
}

/// What is said of NUL characters that became spaces.
pub(crate) fn nul_note(count: u64) -> Option<String> {
    (count > 0).then(|| format!("{count} NUL characters in its cells were replaced by spaces"))
}

/// The type of a Parquet column and, where it becomes text, a note.
fn parquet_type(kind: &str) -> (ColumnType, Option<String>) {
    let scale = kind.strip_prefix("DECIMAL(").and_then(|rest| rest.trim_end_matches(')').split(',').nth(1)?.trim().parse().ok());
    match kind {
        "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "HUGEINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" | "UBIGINT" => {
            (ColumnType::Integer, None)
        }
        "FLOAT" | "DOUBLE" => (ColumnType::Double, None),
        "BOOLEAN" => (ColumnType::Boolean, None),
        "DATE" => (ColumnType::Date, None),
        "TIMESTAMP" => (ColumnType::Timestamp, None),
        "VARCHAR" => (ColumnType::Text, None),
        _ => match scale {
            Some(scale) => (ColumnType::Decimal { scale }, None),
            None => (ColumnType::Text, Some(format!("{kind} is kept as text"))),
        },
    }
}

fn column(name: String, decided: Decided) -> Column {
    let reading = decided.reading.map(|(form, scale, unread)| Reading { form, scale, unread });
    Column { name, ty: decided.ty, reading, distinct: 0, nulls: 0, range: None, top: Vec::new(), notes: decided.notes }
}

fn reading_type(form: Form, scale: u8) -> String {
    match form {
        Form::Date => "INTEGER".to_owned(),
        Form::Number | Form::Duration => format!("DECIMAL(38,{scale})"),
    }
}

/// Columns of the staging table: a cell, and a reading where there is one.
fn width(decided: &[Decided]) -> usize {
    decided.iter().map(|d| 1 + usize::from(d.reading.is_some())).sum()
}

fn feed(root: &Path, paths: &[String], sink: &mut dyn Sink) -> Result<(), DuckError> {
    for path in paths {
        let full = root.join(path);
        let format = format_of(path).ok_or_else(|| DuckError::read(&full, 0, "not a .csv, .tsv, .jsonl or .parquet file"))?;
        files::read(&full, format, sink)?;
    }
    Ok(())
}

/// First pass: every cell is looked at.
#[derive(Default)]
struct Look {
    header: Vec<String>,
    sketches: Vec<ColumnSketch>,
    rows: u64,
    map: Vec<usize>,
    notes: Vec<String>,
}

/// Where each column of a file goes: by name, new names at the end; beyond the header by position.
fn places(known: &mut Vec<String>, names: &[String]) -> Vec<usize> {
    if known.is_empty() {
        names.clone_into(known);
        return (0..names.len()).collect();
    }
    let mut places = Vec::new();
    for name in names {
        let free = |at: &usize| !places.contains(at);
        let at = known.iter().enumerate().filter(|(_, k)| *k == name).map(|(at, _)| at).find(free).unwrap_or_else(|| {
            known.push(name.clone());
            known.len() - 1
        });
        places.push(at);
    }
    places
}

impl Look {
    fn sketch(&mut self, at: usize) -> &mut ColumnSketch {
        while self.sketches.len() <= at {
            // A column that begins late was missing in the rows before.
            let mut sketch = ColumnSketch::default();
            (0..self.rows).for_each(|_| sketch.observe(None, 0));
            self.sketches.push(sketch);
        }
        &mut self.sketches[at]
    }
}

impl Sink for Look {
    fn header(&mut self, names: &[String]) -> Result<(), DuckError> {
        self.map = places(&mut self.header, names);
        let last = self.header.len();
        if last > 0 {
            self.sketch(last - 1);
        }
        Ok(())
    }

    fn row(&mut self, line: u64, cells: &[Option<String>]) -> Result<(), DuckError> {
        while self.map.len() < cells.len() {
            self.header.push(String::new());
            self.map.push(self.header.len() - 1);
            let last = self.header.len() - 1;
            self.sketch(last);
        }
        let mut by_column: Vec<Option<&str>> = vec![None; self.sketches.len()];
        for (cell, at) in cells.iter().zip(&self.map) {
            by_column[*at] = cell.as_deref();
        }
        for (sketch, cell) in self.sketches.iter_mut().zip(by_column) {
            sketch.observe(cell, line);
        }
        self.rows += 1;
        Ok(())
    }

    fn note(&mut self, note: String) {
        self.notes.push(note);
    }
}

/// Second pass: rows are written.
struct Batch<'a> {
    writer: &'a TableWriter,
    decided: &'a [Decided],
    columns: Vec<Vec<Option<String>>>,
    lines: Vec<u64>,
    header: Vec<String>,
    map: Vec<usize>,
    rows: u64,
}

impl Sink for Batch<'_> {
    fn header(&mut self, names: &[String]) -> Result<(), DuckError> {
        self.map = places(&mut self.header, names);
        Ok(())
    }

    fn row(&mut self, line: u64, cells: &[Option<String>]) -> Result<(), DuckError> {
        let mut by_column: Vec<Option<&String>> = vec![None; self.decided.len()];
        let beyond: Vec<usize> = (0..self.decided.len()).filter(|at| self.header[*at].is_empty() && !self.map.contains(at)).collect();
        let places = self.map.iter().copied().chain(beyond);
        for (cell, at) in cells.iter().zip(places) {
            by_column[at] = cell.as_ref();
        }
        let mut place = 0;
        for (decided, cell) in self.decided.iter().zip(by_column) {
            let is_null = |cell: &&String| if decided.ty == ColumnType::Text { cell.is_empty() } else { is_null_token(cell) };
            let cell = cell.filter(|cell| !is_null(cell)).cloned();
            if let Some((form, _, _)) = decided.reading {
                self.columns[place + 1].push(cell.as_deref().and_then(|cell| read_as(cell, form)).map(|read| read.digits));
            }
            self.columns[place].push(cell);
            place += 1 + usize::from(decided.reading.is_some());
        }
        self.lines.push(line);
        if self.lines.len() == BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    fn note(&mut self, _: String) {}
}

impl Batch<'_> {
    fn flush(&mut self) -> Result<(), DuckError> {
        let count = self.lines.len() as u64;
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(self.rows..self.rows + count));
        let lines: ArrayRef = Arc::new(UInt64Array::from(std::mem::take(&mut self.lines)));
        let mut fields = vec![Field::new("row", DataType::UInt64, false), Field::new("line", DataType::UInt64, false)];
        let mut arrays = vec![numbers, lines];
        for (at, column) in self.columns.iter_mut().enumerate() {
            fields.push(Field::new(format!("c{at}"), DataType::Utf8, true));
            arrays.push(Arc::new(StringArray::from(std::mem::take(column))));
        }
        let path = &self.writer.path;
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| DuckError::open(path, error))?;
        let append = || {
            let mut appender = self.writer.connection.appender("staged")?;
            appender.append_record_batch(batch)?;
            appender.flush()
        };
        append().map_err(DuckError::statement("writing", path))?;
        self.rows += count;
        Ok(())
    }
}
