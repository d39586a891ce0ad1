//! The embedded default: local files through DuckDB, tantivy and the static model, wired behind the contracts.
