//! The rows of a segment as plain values.

/// One document: a file, or one record of a file of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentRow {
    /// Position in the segment; [`crate::SegmentWriter`] numbers documents from 0 and overwrites this.
    pub ordinal: u32,
    /// Path below the source's root, `/`-separated.
    pub path: String,
    /// Record within the file, from 0; 0 for a file that is one document.
    pub unit: u32,
    /// Front matter title, first heading or file name.
    pub title: String,
    /// ISO 639-1 code, `und` if unknown.
    pub language: String,
    /// How it was cut: `markdown`, `code`, …
    pub kind: String,
    /// Hex SHA-256 of the file's bytes.
    pub content_hash: String,
    /// Bytes of the file.
    pub bytes: u64,
    /// Its first passage; set by the writer.
    pub first_passage: u32,
    /// Number of its passages, consecutive from the first; set by the writer.
    pub passages: u32,
}

/// What is counted and filtered of a passage. Its text stands in the segment's passage file, where retrieval reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PassageRow {
    /// Position in the segment; [`crate::SegmentWriter`] numbers passages from 0 and overwrites this.
    pub ordinal: u32,
    /// Its document; set by the writer to the document added last.
    pub document: u32,
    /// First byte in the file on disk.
    pub byte_start: u64,
    /// One past the last byte.
    pub byte_end: u64,
    /// First line, 1-based.
    pub line_start: u32,
    /// Last line, inclusive.
    pub line_end: u32,
    /// Heading path, symbol path or record id.
    pub section: String,
    /// Tokens of the text under o200k.
    pub tokens: u32,
}
