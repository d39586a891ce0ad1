//! Words of the language.

/// Words that are no names unless quoted: those that begin a statement or a clause.
pub(crate) const RESERVED: [&str; 16] = [
    "ANSWER", "EXPLAIN", "SIMULATE", "ANALYZE", "SHOW", "SET", "RESET", "CREATE", "DROP", "REFRESH", "INDEX", "FROM", "WITH", "USING",
    "HINT", "PURGE",
];

/// Words that begin a statement.
pub const STATEMENTS: [&str; 11] =
    ["ANSWER", "EXPLAIN", "SIMULATE", "ANALYZE", "SHOW", "SET", "RESET", "CREATE", "DROP", "REFRESH", "INDEX"];

/// Whether `word` is reserved.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(word))
}
