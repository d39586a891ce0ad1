//! Making a segment's database: rows in, one file out, closed for good.
//!
//! Rows go through the arrow appender in batches inside one transaction; memory is bounded by the batch and by an
//! explicit `memory_limit`. The file is complete only after [`SegmentWriter::finish`].

use crate::error::DuckError;
use crate::rows::{DocumentRow, PassageRow};
use crate::schema;
use duckdb::arrow::array::{ArrayRef, FixedSizeListArray, Float32Array, StringArray, UInt32Array, UInt64Array};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use duckdb::arrow::record_batch::RecordBatch;
use duckdb::{Config, Connection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch: DuckDB's vector size.
const BATCH_ROWS: usize = 2048;
/// Texts and values of a batch: whatever comes first.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// What DuckDB may use while a segment is built; with the rows below the process peaks at some 190 MB (150,000 passages
/// of 1 kB with 256 values each).
const MEMORY_LIMIT: &str = "96MB";
/// Rows that DuckDB collects before it writes them out. Its default of 122,880 holds a quarter of a gigabyte of text and
/// embeddings in memory; small groups also let a range read skip the rest.
const ROW_GROUP_ROWS: u32 = 16_384;

/// What a finished segment holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentTotals {
    /// Documents.
    pub documents: u32,
    /// Passages.
    pub passages: u32,
}

/// Writes one segment; documents in order, each followed by its passages.
pub struct SegmentWriter {
    connection: Connection,
    path: PathBuf,
    dimension: u32,
    totals: SegmentTotals,
    documents: Vec<DocumentRow>,
    passages: Vec<PassageRow>,
    embeddings: Vec<f32>,
    batch_bytes: usize,
}

impl std::fmt::Debug for SegmentWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWriter").field("path", &self.path).field("totals", &self.totals).finish_non_exhaustive()
    }
}

impl SegmentWriter {
    /// Creates the database file, which must not exist. With a dimension every passage carries an embedding.
    pub fn create(path: &Path, dimension: Option<u32>) -> Result<SegmentWriter, DuckError> {
        let doing = "creating";
        if path.exists() {
            return Err(DuckError::Inconsistent { doing, path: path.to_owned(), problem: "it exists already".into() });
        }
        let dimension = dimension.unwrap_or(0);
        if dimension > schema::DIMENSION_MAX {
            let problem = format!("an embedding of {dimension} values; at most {}", schema::DIMENSION_MAX);
            return Err(DuckError::Inconsistent { doing, path: path.to_owned(), problem });
        }
        let Some(text) = path.to_str() else {
            return Err(DuckError::Inconsistent { doing, path: path.to_owned(), problem: "the path is not UTF-8".into() });
        };
        let connection = connect(text).map_err(|error| DuckError::open(path, error))?;
        crate::instance::check_version(&connection, path)?;
        connection
            .execute_batch(&schema::create(dimension))
            .and_then(|()| connection.execute_batch("BEGIN TRANSACTION"))
            .map_err(DuckError::statement(doing, path))?;
        Ok(SegmentWriter {
            connection,
            path: path.to_owned(),
            dimension,
            totals: SegmentTotals::default(),
            documents: Vec::new(),
            passages: Vec::new(),
            embeddings: Vec::new(),
            batch_bytes: 0,
        })
    }

    /// Adds a document and returns its ordinal. Its passages follow.
    pub fn add_document(&mut self, mut row: DocumentRow) -> Result<u32, DuckError> {
        if self.documents.len() >= BATCH_ROWS {
            self.flush_documents()?;
        }
        row.ordinal = self.totals.documents;
        row.first_passage = self.totals.passages;
        row.passages = 0;
        self.totals.documents = self.next(self.totals.documents)?;
        self.documents.push(row);
        Ok(self.totals.documents - 1)
    }

    /// Adds a passage of the document added last and returns its ordinal.
    pub fn add_passage(&mut self, mut row: PassageRow, embedding: Option<&[f32]>) -> Result<u32, DuckError> {
        let values = embedding.map_or(0, <[f32]>::len);
        if values != self.dimension as usize {
            return Err(self.inconsistent(format!("an embedding of {values} values among embeddings of {}", self.dimension)));
        }
        let Some(document) = self.documents.last_mut() else {
            return Err(self.inconsistent("a passage before the first document".into()));
        };
        document.passages += 1;
        row.document = document.ordinal;
        row.ordinal = self.totals.passages;
        self.totals.passages = self.next(self.totals.passages)?;
        self.batch_bytes += row.section.len() + 4 * values;
        self.embeddings.extend_from_slice(embedding.unwrap_or(&[]));
        self.passages.push(row);
        if self.passages.len() >= BATCH_ROWS || self.batch_bytes >= BATCH_BYTES {
            self.flush_passages()?;
        }
        Ok(self.totals.passages - 1)
    }

    /// Rows so far.
    pub fn totals(&self) -> SegmentTotals {
        self.totals
    }

    /// Writes what is left, checkpoints and closes. Nobody opens the file for writing again.
    pub fn finish(mut self) -> Result<SegmentTotals, DuckError> {
        self.flush_documents()?;
        self.flush_passages()?;
        let doing = "sealing";
        let totals = self.totals;
        let failed = |error| DuckError::statement(doing, &self.path)(error);
        self.connection
            .execute(
                "INSERT INTO segment VALUES (?, ?, ?, ?)",
                duckdb::params![schema::SCHEMA_VERSION, totals.documents, totals.passages, self.dimension],
            )
            .map_err(failed)?;
        let index = (self.dimension > 0).then_some(schema::EMBEDDING_INDEX);
        for statement in ["COMMIT"].into_iter().chain(index).chain(["CHECKPOINT"]) {
            self.connection.execute_batch(statement).map_err(failed)?;
        }
        self.connection.close().map_err(|(_, error)| DuckError::statement(doing, &self.path)(error))?;
        Ok(totals)
    }

    fn next(&self, count: u32) -> Result<u32, DuckError> {
        count.checked_add(1).ok_or_else(|| self.inconsistent("more than 2³² rows".into()))
    }

    fn inconsistent(&self, problem: String) -> DuckError {
        DuckError::Inconsistent { doing: "writing", path: self.path.clone(), problem }
    }

    fn flush_documents(&mut self) -> Result<(), DuckError> {
        let rows = std::mem::take(&mut self.documents);
        self.append(
            "documents",
            vec![
                numbers("ordinal", rows.iter().map(|row| row.ordinal)),
                texts("path", rows.iter().map(|row| row.path.as_str())),
                numbers("unit", rows.iter().map(|row| row.unit)),
                texts("title", rows.iter().map(|row| row.title.as_str())),
                texts("language", rows.iter().map(|row| row.language.as_str())),
                texts("kind", rows.iter().map(|row| row.kind.as_str())),
                texts("content_hash", rows.iter().map(|row| row.content_hash.as_str())),
                big_numbers("bytes", rows.iter().map(|row| row.bytes)),
                numbers("first_passage", rows.iter().map(|row| row.first_passage)),
                numbers("passages", rows.iter().map(|row| row.passages)),
            ],
        )
    }

    fn flush_passages(&mut self) -> Result<(), DuckError> {
        let rows = std::mem::take(&mut self.passages);
        self.batch_bytes = 0;
        let mut columns = vec![
            numbers("ordinal", rows.iter().map(|row| row.ordinal)),
            numbers("document", rows.iter().map(|row| row.document)),
            big_numbers("byte_start", rows.iter().map(|row| row.byte_start)),
            big_numbers("byte_end", rows.iter().map(|row| row.byte_end)),
            numbers("line_start", rows.iter().map(|row| row.line_start)),
            numbers("line_end", rows.iter().map(|row| row.line_end)),
            texts("section", rows.iter().map(|row| row.section.as_str())),
            numbers("tokens", rows.iter().map(|row| row.tokens)),
        ];
        if self.dimension > 0 {
            let values = Float32Array::from(std::mem::take(&mut self.embeddings));
            let item = Arc::new(Field::new("item", DataType::Float32, true));
            let array = FixedSizeListArray::new(item, self.dimension as i32, Arc::new(values), None);
            columns.push(("embedding", Arc::new(array)));
        }
        self.append("passages", columns)
    }

    fn append(&self, table: &str, columns: Vec<(&'static str, ArrayRef)>) -> Result<(), DuckError> {
        if columns.first().is_none_or(|(_, array)| array.is_empty()) {
            return Ok(());
        }
        let fields: Vec<Field> = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), false)).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| self.inconsistent(error.to_string()))?;
        let append = || {
            let mut appender = self.connection.appender(table)?;
            appender.append_record_batch(batch)?;
            appender.flush()
        };
        append().map_err(DuckError::statement("writing", &self.path))
    }
}

/// An instance in memory with the file attached: the size of row groups is an option of ATTACH only. ATTACH takes no
/// bound parameter, so the path is quoted as a text literal; everything outside is closed right after it.
fn connect(path: &str) -> duckdb::Result<Connection> {
    let config = Config::default()
        .enable_autoload_extension(false)?
        .threads(1)?
        .max_memory(MEMORY_LIMIT)?
        .with("temp_directory", format!("{path}.tmp"))?;
    let connection = Connection::open_in_memory_with_flags(config)?;
    let quoted = path.replace('\'', "''");
    connection.execute_batch(&format!(
        "ATTACH '{quoted}' AS sealed (ROW_GROUP_SIZE {ROW_GROUP_ROWS}); USE sealed;
         SET enable_external_access = false; SET lock_configuration = true"
    ))?;
    Ok(connection)
}

fn numbers(name: &'static str, values: impl Iterator<Item = u32>) -> (&'static str, ArrayRef) {
    (name, Arc::new(UInt32Array::from_iter_values(values)))
}

fn big_numbers(name: &'static str, values: impl Iterator<Item = u64>) -> (&'static str, ArrayRef) {
    (name, Arc::new(UInt64Array::from_iter_values(values)))
}

fn texts<'a>(name: &'static str, values: impl Iterator<Item = &'a str>) -> (&'static str, ArrayRef) {
    (name, Arc::new(StringArray::from_iter_values(values)))
}
