//! The tables of a segment, in one place.

/// Version of the tables; moves with every change that an older program cannot read.
pub(crate) const SCHEMA_VERSION: i64 = 2;

/// Widest accepted embedding: what DuckDB's fixed-size arrays allow, with room.
pub(crate) const DIMENSION_MAX: u32 = 65_536;

/// Creates the tables; `dimension` 0 means that passages carry no embedding.
pub(crate) fn create(dimension: u32) -> String {
    let embedding = if dimension == 0 { String::new() } else { format!(", embedding FLOAT[{dimension}]") };
    format!(
        "CREATE TABLE segment (version BIGINT NOT NULL, documents UINTEGER NOT NULL, passages UINTEGER NOT NULL, dimension UINTEGER NOT NULL);
         CREATE TABLE documents (ordinal UINTEGER NOT NULL, path VARCHAR NOT NULL, unit UINTEGER NOT NULL, title VARCHAR NOT NULL,
             language VARCHAR NOT NULL, kind VARCHAR NOT NULL, content_hash VARCHAR NOT NULL, bytes UBIGINT NOT NULL,
             first_passage UINTEGER NOT NULL, passages UINTEGER NOT NULL);
         CREATE TABLE passages (ordinal UINTEGER NOT NULL, document UINTEGER NOT NULL, byte_start UBIGINT NOT NULL,
             byte_end UBIGINT NOT NULL, line_start UINTEGER NOT NULL, line_end UINTEGER NOT NULL, section VARCHAR NOT NULL,
             tokens UINTEGER NOT NULL{embedding});"
    )
}

/// Makes lists of ordinals a look-up instead of a scan; built once the rows are in, and only where lists are read.
pub(crate) const EMBEDDING_INDEX: &str = "CREATE UNIQUE INDEX passage_ordinals ON passages (ordinal)";

/// Columns of a passage in reading order.
pub(crate) const PASSAGE_COLUMNS: &str = "ordinal, document, byte_start, byte_end, line_start, line_end, section, tokens";

/// Columns of a document in reading order.
pub(crate) const DOCUMENT_COLUMNS: &str = "ordinal, path, unit, title, language, kind, content_hash, bytes, first_passage, passages";
