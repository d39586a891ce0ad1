//! What can go wrong with a segment's database.

use std::path::{Path, PathBuf};

/// A failure; [`DuckError::hint`] says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum DuckError {
    /// The program found another library than the one it was built for.
    #[error("loading DuckDB: version {found} was found, {expected} is needed")]
    Library {
        /// Version of the library at run time.
        found: String,
        /// Version this crate was built for.
        expected: &'static str,
    },
    /// The file cannot be opened as a segment.
    #[error("opening {}: {reason}", path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// DuckDB's or the system's words, first line.
        reason: String,
    },
    /// A newer program wrote this segment.
    #[error("opening {}: schema version {found}, this program knows {supported}", path.display())]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// Version in the file.
        found: i64,
        /// Newest version understood here.
        supported: i64,
    },
    /// A statement failed.
    #[error("{doing} {}: {reason}", path.display())]
    Statement {
        /// "reading passages from", …
        doing: &'static str,
        /// The database file.
        path: PathBuf,
        /// DuckDB's words, first line.
        reason: String,
    },
    /// Rows that should be there are not.
    #[error("{doing} {}: there is no row {ordinal}", path.display())]
    Missing {
        /// "reading passages from", …
        doing: &'static str,
        /// The database file.
        path: PathBuf,
        /// The first ordinal that was not found.
        ordinal: u32,
    },
    /// A file of rows cannot be read.
    #[error("reading {}{}: {reason}", path.display(), if *line > 0 { format!(", line {line}") } else { String::new() })]
    Read {
        /// The file.
        path: PathBuf,
        /// The line, 0 if none.
        line: u64,
        /// Why.
        reason: String,
    },
    /// A query is not one that may run here.
    #[error("checking the SQL: {reason}")]
    Refused {
        /// What is not allowed, or DuckDB's words.
        reason: String,
    },
    /// A query took longer than it may.
    #[error("querying: stopped after {seconds} seconds")]
    OutOfTime {
        /// The limit.
        seconds: u64,
    },
    /// A request that contradicts the segment.
    #[error("{doing} {}: {problem}", path.display())]
    Inconsistent {
        /// The operation.
        doing: &'static str,
        /// The database file.
        path: PathBuf,
        /// What contradicts it.
        problem: String,
    },
}

impl DuckError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            DuckError::Library { .. } => Some("run `cargo xtask fetch` and build again, or put the matching library beside the program"),
            DuckError::NewerSchema { .. } => Some("update ctxrt, or name another folder with --store"),
            DuckError::Open { .. } | DuckError::Missing { .. } | DuckError::Statement { .. } => {
                Some("if the file is damaged, `ctxrt index` builds it again from the sources")
            }
            DuckError::Read { .. } => Some("correct the file or leave it out of the source"),
            DuckError::Refused { .. } => Some("write one SELECT over the tables that `ctxrt sources` lists"),
            DuckError::OutOfTime { .. } => Some("narrow the query down"),
            DuckError::Inconsistent { .. } => None,
        }
    }

    /// Whether a statement failed by what it asks, rather than by the file that it reads.
    pub fn is_of_values(&self) -> bool {
        matches!(self, DuckError::Statement { reason, .. } if crate::tables::is_of_values(reason))
    }

    pub(crate) fn open(path: &Path, reason: impl std::fmt::Display) -> DuckError {
        DuckError::Open { path: path.to_owned(), reason: first_line(reason) }
    }

    pub(crate) fn read(path: &Path, line: u64, reason: impl std::fmt::Display) -> DuckError {
        DuckError::Read { path: path.to_owned(), line, reason: first_line(reason) }
    }

    pub(crate) fn refused(reason: impl Into<String>) -> DuckError {
        DuckError::Refused { reason: reason.into() }
    }

    pub(crate) fn statement(doing: &'static str, path: &Path) -> impl FnOnce(duckdb::Error) -> DuckError {
        let path = path.to_owned();
        move |error| DuckError::Statement { doing, path, reason: first_line(error) }
    }
}

/// DuckDB appends stack traces and advice; one line is a message.
pub(crate) fn first_line(reason: impl std::fmt::Display) -> String {
    let text = reason.to_string();
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given").trim().to_owned()
}
