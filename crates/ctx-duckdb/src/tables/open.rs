//! A sealed database of tables, opened read-only with external access off, with its value indexes.

use crate::error::DuckError;
use crate::tables::catalog::{self, Joinable};
use crate::tables::load::{CATALOG, CATALOG_VERSION};
use ctx_tables::interpret::Rows;
use ctx_tables::schema::{ROW, Table};
use ctx_tables::sql::quote;
use ctx_tables::values::{ROWS_PER_VALUE_MAX, VALUES_MAX};
use ctx_tables::{ColumnType, Offered, Value, ValueIndex};
use duckdb::{AccessMode, Config, Connection};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Cells of a table that is kept in memory too, so that readings can be compared by their results before planning.
const CELLS_MAX: u64 = 50_000;
/// What DuckDB may use for a query.
const MEMORY_LIMIT: &str = "256MB";

/// Tables of one source. Usable from any thread; queries take turns.
pub struct TableDb {
    connection: Mutex<Connection>,
    path: PathBuf,
    tables: Vec<Table>,
    indexes: Vec<ValueIndex>,
    rows: Vec<Option<Rows>>,
}

impl std::fmt::Debug for TableDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableDb").field("path", &self.path).field("tables", &self.tables.len()).finish_non_exhaustive()
    }
}

impl TableDb {
    /// Opens a finished file. A process opens each file once: keep the value and share it.
    pub fn open(path: &Path) -> Result<TableDb, DuckError> {
        let path = path.canonicalize().map_err(|error| DuckError::open(path, error))?;
        let failed = |error: duckdb::Error| DuckError::open(&path, error);
        let connection = config().and_then(|config| Connection::open_with_flags(&path, config)).map_err(failed)?;
        crate::instance::check_version(&connection, &path)?;
        connection.execute_batch("SET lock_configuration = true").map_err(failed)?;
        let text = format!("SELECT version, tables FROM {}", quote(CATALOG));
        let (found, json): (i64, String) = connection.query_row(&text, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed)?;
        if found > CATALOG_VERSION {
            return Err(DuckError::NewerSchema { path, found, supported: CATALOG_VERSION });
        }
        let tables: Vec<Table> = serde_json::from_str(&json).map_err(|error| DuckError::open(&path, error))?;
        let indexes = tables.iter().map(|table| index(&connection, table)).collect::<duckdb::Result<Vec<_>>>().map_err(failed)?;
        let small = |table: &Table| table.rows.saturating_mul(table.columns.len() as u64) <= CELLS_MAX;
        let kept = |table: &Table| small(table).then(|| rows(&connection, table)).transpose();
        let rows = tables.iter().map(kept).collect::<duckdb::Result<Vec<_>>>().map_err(failed)?;
        Ok(TableDb { connection: Mutex::new(connection), path, tables, indexes, rows })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Its tables.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }
    /// Tables with their value indexes, as [`ctx_tables::parse`] takes them.
    pub fn offered(&self) -> Vec<Offered<'_>> {
        let parts = self.tables.iter().zip(&self.indexes).zip(&self.rows);
        parts.map(|((table, index), rows)| Offered { table, index, rows: rows.as_ref() }).collect()
    }

    /// Columns that join.
    pub fn joinable(&self) -> Result<Vec<Joinable>, DuckError> {
        self.with("comparing columns of", |connection| catalog::joinable(connection, &self.tables))
    }

    /// All rows of a table in memory: for checks and for fitting, on small tables.
    pub fn rows(&self, table: &Table) -> Result<Rows, DuckError> {
        self.with("reading the rows of", |connection| rows(connection, table))
    }

    /// Every distinct value of text and whole numbers, with its column and the number of rows that hold it: what may be
    /// sensitive.
    pub fn each_value(&self, each: &mut dyn FnMut(&str, &str, u64)) -> Result<(), DuckError> {
        let told = |column: &&ctx_tables::Column| matches!(column.ty, ColumnType::Text | ColumnType::Integer);
        for table in &self.tables {
            for column in table.columns.iter().filter(told) {
                let name = quote(&column.name);
                let from = quote(&table.name);
                let text =
                    format!("SELECT CAST({name} AS VARCHAR), count(*)::UBIGINT FROM {from} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY 1");
                self.with("reading the values of", |connection| {
                    let mut statement = connection.prepare(&text)?;
                    let mut rows = statement.query([])?;
                    while let Some(row) = rows.next()? {
                        let value: String = row.get(0)?;
                        each(&column.name, &value, row.get(1)?);
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    pub(crate) fn with<T>(&self, doing: &'static str, work: impl FnOnce(&Connection) -> duckdb::Result<T>) -> Result<T, DuckError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(DuckError::statement(doing, &self.path))
    }

    pub(crate) fn lock(&self) -> std::sync::MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn config() -> duckdb::Result<Config> {
    Config::default()
        .access_mode(AccessMode::ReadOnly)?
        .enable_external_access(false)?
        .enable_autoload_extension(false)?
        .threads(2)?
        .max_memory(MEMORY_LIMIT)
}

fn index(connection: &Connection, table: &Table) -> duckdb::Result<ValueIndex> {
    let mut index = ValueIndex::default();
    for (at, column) in table.columns.iter().enumerate() {
        if column.distinct as usize > VALUES_MAX || column.ty == ColumnType::Double {
            continue;
        }
        let name = quote(&column.name);
        let text = format!(
            "SELECT CAST({name} AS VARCHAR), count(*)::UBIGINT, CASE WHEN count(*) <= {ROWS_PER_VALUE_MAX} THEN string_agg({row}::VARCHAR, ',' ORDER BY {row}) END FROM {from} WHERE {name} IS NOT NULL GROUP BY 1",
            row = quote(ROW),
            from = quote(&table.name)
        );
        let values = connection
            .prepare(&text)?
            .query_map([], |row| {
                let rows: Option<String> = row.get(2)?;
                let rows = rows.unwrap_or_default().split(',').filter_map(|row| row.parse().ok()).collect();
                Ok(Value { text: row.get(0)?, count: row.get(1)?, rows })
            })?
            .collect::<duckdb::Result<Vec<Value>>>()?;
        index.add(at, values);
    }
    Ok(index)
}

fn rows(connection: &Connection, table: &Table) -> duckdb::Result<Rows> {
    // A file of empty lines has neither columns nor rows, and there is no statement for it.
    if table.columns.is_empty() {
        return Ok(Rows::default());
    }
    let mut columns = Vec::new();
    for column in &table.columns {
        let name = quote(&column.name);
        columns.push(format!("CAST({name} AS VARCHAR)"));
        columns.push(match column.ty {
            ColumnType::Integer | ColumnType::Decimal { .. } | ColumnType::Double => format!("CAST({name} AS DOUBLE)"),
            ColumnType::Date | ColumnType::Timestamp => format!("CAST(year({name}) * 10000 + month({name}) * 100 + day({name}) AS DOUBLE)"),
            ColumnType::Text if column.reading.is_some() => format!("CAST({} AS DOUBLE)", quote(&column.reading_name())),
            ColumnType::Text | ColumnType::Boolean => "CAST(NULL AS DOUBLE)".to_owned(),
        });
    }
    let text = format!("SELECT {} FROM {} ORDER BY {}", columns.join(", "), quote(&table.name), quote(ROW));
    let mut found = Rows::default();
    let mut statement = connection.prepare(&text)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (mut cells, mut keys) = (Vec::new(), Vec::new());
        for at in 0..table.columns.len() {
            cells.push(row.get(at * 2)?);
            keys.push(row.get(at * 2 + 1)?);
        }
        found.cells.push(cells);
        found.keys.push(keys);
    }
    Ok(found)
}
