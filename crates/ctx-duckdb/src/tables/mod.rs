//! Tables: files of rows into one sealed database per source, and bounded, read-only queries over it.
//!
//! ```
//! use ctx_duckdb::tables::{Bounds, TableDb, TableWriter};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("deploys.csv"), "id,minutes\n7,12.5\n8,30\n")?;
//! let path = folder.path().join("tables.duckdb");
//! let mut writer = TableWriter::create(&path)?;
//! writer.add("deploys", folder.path(), &["deploys.csv".to_owned()])?;
//! writer.finish()?;
//!
//! let tables = TableDb::open(&path)?;
//! let computed = tables.run_own("SELECT sum(minutes) FROM deploys", &Bounds::default())?;
//! assert_eq!(computed.values(), ["42.5"]);
//! # Ok(()) }
//! ```
//!
//! Reading order: `files` (cells as they stand) → [`load`] (types from all rows, one file out) → [`open`] → [`run`]
//! (bounds, rows behind an answer) → [`guard`] (a person's own SQL).

mod catalog;
mod files;
pub mod guard;
pub mod load;
pub mod open;
pub mod run;

pub use catalog::Joinable;
pub use files::{Format, format_of};
pub use load::TableWriter;
pub use open::TableDb;
pub(crate) use run::is_of_values;
pub use run::{Bounds, Computed, SourceRow};

/// Name of the database file of a source's tables.
pub const TABLES_FILE: &str = "tables.duckdb";
