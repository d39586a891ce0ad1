//! Text from goals and sources, made safe to print: no control, bidirectional or zero-width trick reaches the terminal.

use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Whether a character must not reach a terminal as it is. Tab and newline count: one line stays one line.
pub(crate) fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{2028}' | '\u{2029}')
}

/// One line of printable text: hostile characters as `\u{…}`, newline as `\n`.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hostile) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if hostile(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Several lines of printable text: newlines stay, everything else hostile is escaped.
pub fn block(text: &str) -> String {
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Columns that `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// At most `columns` wide, with an ellipsis where cut. `columns` below 2 gives at most one character.
pub fn clip(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let room = columns.saturating_sub(1);
    let mut used = 0;
    let mut out: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hostile_passes() {
        assert_eq!(line("a\tb\nc"), "a\\tb\\nc");
        assert_eq!(line("\u{202e}gnp.md"), "\\u{202e}gnp.md");
        assert_eq!(line("\x1b[31mred"), "\\u{1b}[31mred");
        assert_eq!(block("a\nb\x07"), "a\nb\\u{7}");
    }

    #[test]
    fn clipping_counts_columns_and_survives_any_width() {
        let name = "長い名前のファイル.md";
        for columns in 0..30 {
            assert!(width(&clip(name, columns)) <= columns, "{columns}");
        }
        assert_eq!(clip("abc", 3), "abc");
    }
}
