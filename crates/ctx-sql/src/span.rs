//! Places in a script: byte ranges, and the line and column that people count.

use std::ops::Range;

/// Bytes of a script. Both ends stand on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// First byte after it.
    pub end: usize,
}

impl Span {
    /// A span over `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// From the start of this one to the end of the other.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.start) }
    }

    /// As a range. A span that does not fit the text is cut to it.
    pub fn range(self, text: &str) -> Range<usize> {
        let fit = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let start = fit(self.start);
        start..fit(self.end).max(start)
    }
}

/// Line and column of a place, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
}

/// Where byte `at` of `text` stands.
pub fn position(text: &str, at: usize) -> Position {
    let before = &text[Span::new(0, at).range(text)];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Position { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
}

/// A value and where it was written. Two values are equal wherever they were written.
#[derive(Clone, Debug)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub at: Span,
}

impl<T> Located<T> {
    /// A value with its place.
    pub fn new(value: T, at: Span) -> Located<T> {
        Located { value, at }
    }
}

impl<T> From<T> for Located<T> {
    /// A value that nobody wrote.
    fn from(value: T) -> Self {
        Located { value, at: Span::default() }
    }
}

impl<T: PartialEq> PartialEq for Located<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Located<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_at_line_feeds() {
        let text = "один\r\nдва три";
        assert_eq!(position(text, 0), Position { line: 1, column: 1 });
        assert_eq!(position(text, text.find("три").expect("there")), Position { line: 2, column: 5 });
        assert_eq!(position(text, 9_999), Position { line: 2, column: 8 });
        // The middle of a character belongs to it.
        assert_eq!(position(text, 1), Position { line: 1, column: 1 });
    }
}
