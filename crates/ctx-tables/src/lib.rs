//! Tables without a database: types from all rows, a value index, and from a goal to a typed query to SQL.
//!
//! ```text
//! cells ─▶ typing ─▶ Table (schema, counts)          goal ─▶ Question
//!                 └▶ ValueIndex                               │
//!                         └──────────▶ candidates ◀───────────┘
//!                                          │ rank: coefficients fitted on questions with known answers
//!                                          ▼
//!                            Query, P(right), or a refusal that says between what ─▶ sql
//! ```
//!
//! Pure: no database, file or clock. Reading files and running SQL is the business of `ctx-duckdb`.
//!
//! Reading order: [`words`], [`reading`] → [`typing`] → [`schema`] → [`values`] → [`query`] → [`question`] →
//! [`candidates`] → [`joined`] → [`features`] → [`plain`] → [`explained`] → [`rivals`] → [`rank`] → [`sql`]; [`interpret`] is the reference that SQL is tested against.

pub mod candidates;
pub mod describe;
pub mod equal;
pub mod explained;
pub mod features;
pub mod interpret;
pub mod joined;
pub mod learn;
pub mod memory;
mod pairs;
pub mod plain;
pub mod query;
pub mod question;
pub mod rank;
pub mod reading;
mod refusal;
pub mod rivals;
pub mod schema;
pub mod sql;
pub mod typing;
pub mod values;
pub mod words;

pub use query::Query;
pub use rank::{Choice, Offered, Parsed, Refusal, parse};
pub use schema::{Column, Table};
pub use typing::{ColumnSketch, ColumnType};
pub use values::{Value, ValueIndex};
