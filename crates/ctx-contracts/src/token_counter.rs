//! Counting tokens.

/// Counts tokens of a family.
pub trait TokenCounter: Send + Sync {
    /// Family name (`o200k`, `cl100k`).
    fn family(&self) -> &str;
    /// Tokens of `text`. Special-token syntax inside it counts as ordinary text.
    fn count(&self, text: &str) -> u32;
}
