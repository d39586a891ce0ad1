//! Rows of comma- or tab-separated values as `header: value` lines, each with its place in the file.

use super::layout::{Join, Layout};
use crate::offsets::OffsetMap;
use std::ops::Range;

/// Separators that a table without a telling extension may use.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Rows made readable.
pub(crate) struct Rows {
    /// `header: value` lines, a blank line after each row.
    pub(crate) text: String,
    /// Offsets of `text` in the table.
    pub(crate) map: OffsetMap,
    /// One block a row.
    pub(crate) layout: Layout,
}

/// Column names and separator, from the first row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    names: Vec<String>,
    separator: u8,
}

impl Header {
    /// Reads the first row of `table`; returns where the second begins.
    pub(crate) fn read(table: &str, path: &str) -> (Self, usize) {
        let first_line = &table[..memchr::memchr(b'\n', table.as_bytes()).unwrap_or(table.len())];
        let is_tab = path.to_ascii_lowercase().ends_with(".tsv") || path.to_ascii_lowercase().ends_with(".tab");
        let separator = if is_tab { b'\t' } else { likeliest_separator(first_line) };
        let mut row = Row::new(table, 0, separator, true);
        let mut names = Vec::new();
        while let Some(field) = row.next() {
            names.push(unquoted(&table[field]).trim().to_owned());
        }
        (Self { names, separator }, row.at)
    }

    /// Renders the rows of `table` from `start` on.
    pub(crate) fn rows(&self, table: &str, start: usize) -> Rows {
        let mut rows = Rows { text: String::new(), map: OffsetMap::empty(), layout: Layout::new(Join::Prose) };
        let (mut at, mut quotes_pair) = (start, true);
        while at < table.len() {
            let begin = rows.text.len();
            let mut row = Row::new(table, at, self.separator, quotes_pair);
            let mut column = 0;
            while let Some(field) = row.next() {
                self.pair(table, column, field, &mut rows);
                column += 1;
            }
            (at, quotes_pair) = (row.at, row.quotes_pair);
            if rows.text.len() > begin {
                rows.fixed("\n", at);
                rows.layout.push(begin..rows.text.len(), 0);
            }
        }
        rows.map.finish(table.len() as u64);
        rows
    }

    fn pair(&self, table: &str, column: usize, field: Range<usize>, rows: &mut Rows) {
        if unquoted_range(table, &field).is_empty() {
            return;
        }
        if let Some(name) = self.names.get(column).filter(|name| !name.is_empty()) {
            rows.fixed(name, field.start);
            rows.fixed(": ", field.start);
        }
        rows.value(table, field.clone());
        rows.fixed("\n", field.end);
    }
}

impl Rows {
    fn fixed(&mut self, text: &str, at: usize) {
        self.map.push(self.text.len(), at as u64, 0);
        self.text.push_str(text);
    }

    /// A field without its quotes; a doubled quote is one.
    fn value(&mut self, table: &str, field: Range<usize>) {
        let inner = unquoted_range(table, &field);
        let is_quoted = inner.len() < field.len();
        let mut at = inner.start;
        while is_quoted && at < inner.end {
            let Some(found) = memchr::memmem::find(&table.as_bytes()[at..inner.end], b"\"\"") else { break };
            self.map.push(self.text.len(), at as u64, 1);
            self.text.push_str(&table[at..at + found + 1]);
            at += found + 2;
        }
        self.map.push(self.text.len(), at as u64, 1);
        self.text.push_str(&table[at..inner.end]);
    }
}

/// The fields of one row.
struct Row<'a> {
    table: &'a str,
    at: usize,
    separator: u8,
    has_ended: bool,
    /// Cleared by the first quote that is never closed: from there on quotes are characters, and no search is repeated.
    quotes_pair: bool,
}

impl<'a> Row<'a> {
    fn new(table: &'a str, at: usize, separator: u8, quotes_pair: bool) -> Self {
        Self { table, at, separator, has_ended: false, quotes_pair }
    }

    /// The next field, quotes included; `None` once the line end is passed.
    fn next(&mut self) -> Option<Range<usize>> {
        if self.has_ended {
            return None;
        }
        let bytes = self.table.as_bytes();
        let start = self.at;
        let is_quoted = self.quotes_pair && bytes.get(start) == Some(&b'"');
        let quoted = if is_quoted { quoted_end(bytes, start) } else { Some(start) };
        self.quotes_pair &= quoted.is_some();
        let after_quotes = quoted.unwrap_or(start);
        let found = memchr::memchr2(self.separator, b'\n', &bytes[after_quotes..]);
        let end = found.map_or(bytes.len(), |n| after_quotes + n);
        self.has_ended = bytes.get(end) != Some(&self.separator);
        self.at = (end + 1).min(bytes.len());
        Some(start..end)
    }
}

/// One past the closing quote, if there is one.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while let Some(found) = memchr::memchr(b'"', &bytes[at..]) {
        at += found + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn unquoted_range(table: &str, field: &Range<usize>) -> Range<usize> {
    let text = &table[field.clone()];
    let is_quoted = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
    if is_quoted { field.start + 1..field.end - 1 } else { field.clone() }
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(field)
}

/// The separator that the first line holds most often.
fn likeliest_separator(line: &str) -> u8 {
    let count = |separator: u8| line.bytes().filter(|b| *b == separator).count();
    let mut best = SEPARATORS[0];
    for separator in SEPARATORS {
        if count(separator) > count(best) {
            best = separator;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(table: &str, path: &str) -> Vec<String> {
        let (header, start) = Header::read(table, path);
        let rows = header.rows(table, start);
        rows.layout.blocks.iter().map(|b| rows.text[b.range.clone()].to_owned()).collect()
    }

    #[test]
    fn rows_carry_their_column_names() {
        assert_eq!(rendered("id,name\n1,a\n\n2,\n", "x.csv"), ["id: 1\nname: a\n\n", "id: 2\n\n"]);
        assert_eq!(rendered("a;b\n1,5;2\n", "x.csv"), ["a: 1,5\nb: 2\n\n"]);
        assert_eq!(rendered("a\tb\n1\t2", "x.tsv"), ["a: 1\nb: 2\n\n"]);
    }

    #[test]
    fn quoted_fields_hold_separators_line_ends_and_quotes() {
        let table = "id,\"long name\"\n1,\"say \"\"hi\"\",\nthen go\"\n2,\"open\n";
        assert_eq!(rendered(table, "x.csv")[0], "id: 1\nlong name: say \"hi\",\nthen go\n\n");
        let (header, start) = Header::read(table, "x.csv");
        let rows = header.rows(table, start);
        let at = rows.text.find("then").expect("present");
        assert_eq!(&table[rows.map.start(at) as usize..rows.map.end(at + 7) as usize], "then go");
        assert!(rows.text.contains("long name: \"open"), "an unclosed quote is text: {}", rows.text);
    }

    #[test]
    fn a_million_columns_are_one_row() {
        let table = format!("{}\n{}\n", vec!["c"; 1_000_000].join(","), vec!["1"; 1_000_000].join(","));
        let rows = rendered(&table, "wide.csv");
        assert_eq!((rows.len(), rows[0].len()), (1, 5_000_001));
    }
}
