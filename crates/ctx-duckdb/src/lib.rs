//! The only crate that links DuckDB: sealed segments and SQL.
