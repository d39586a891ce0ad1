//! EXPLAIN: one tree value, several renderers, redaction.
