//! Cells of a file as they stand: CSV, TSV and JSON Lines. Nothing is interpreted here, and nothing is left out unseen.

use crate::error::DuckError;
use crate::tables::load::nul_note;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A format that rows are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Separated by a comma, semicolon, bar or tab, found in the first line; RFC 4180 quotes.
    Csv,
    /// Separated by tabs.
    Tsv,
    /// One JSON object per line.
    JsonLines,
    /// Typed already.
    Parquet,
}

/// The format that a file's name says.
pub fn format_of(path: &str) -> Option<Format> {
    match Path::new(path).extension()?.to_str()?.to_lowercase().as_str() {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "jsonl" | "ndjson" => Some(Format::JsonLines),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

/// Longest line of a JSON Lines file.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Examples of ragged rows in a note.
const EXAMPLES_MAX: usize = 3;

/// What the reader meets: the header, then rows with the line they begin at.
pub(crate) trait Sink {
    /// The header of a file.
    fn header(&mut self, names: &[String]) -> Result<(), DuckError>;
    /// One row; cells beyond its end are missing.
    fn row(&mut self, line: u64, cells: &[Option<String>]) -> Result<(), DuckError>;
    /// What a person should know about the file.
    fn note(&mut self, note: String);
}

/// Feeds a file to a sink.
pub(crate) fn read(path: &Path, format: Format, sink: &mut dyn Sink) -> Result<(), DuckError> {
    match format {
        Format::Csv => separated(path, None, sink),
        Format::Tsv => separated(path, Some(b'\t'), sink),
        Format::JsonLines => json_lines(path, sink),
        Format::Parquet => Err(DuckError::read(path, 0, "a Parquet file is read by DuckDB itself")),
    }
}

fn open(path: &Path) -> Result<BufReader<File>, DuckError> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(|error| DuckError::read(path, 0, error))?);
    let start = reader.fill_buf().map_err(|error| DuckError::read(path, 0, error))?;
    if start.starts_with(b"\xef\xbb\xbf") {
        reader.consume(3);
    }
    Ok(reader)
}

/// What was changed in the cells of a file so that they are text.
#[derive(Default)]
struct Changed {
    /// Cells read as Latin-1.
    foreign: u64,
    /// NUL characters that became spaces.
    nuls: u64,
}

impl Changed {
    /// Text of bytes; what is not UTF-8 is read as Latin-1 and counted.
    fn text(&mut self, bytes: &[u8]) -> String {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                self.foreign += 1;
                bytes.iter().map(|byte| char::from(*byte)).collect()
            }
        };
        self.without_nuls(text)
    }

    /// A space in place of every NUL, as in all text.
    fn without_nuls(&mut self, text: String) -> String {
        let nuls = text.matches('\0').count();
        self.nuls += nuls as u64;
        if nuls > 0 { text.replace('\0', " ") } else { text }
    }

    fn say(&self, sink: &mut dyn Sink) {
        if self.foreign > 0 {
            sink.note(format!("{} cells are not UTF-8 and were read as Latin-1", self.foreign));
        }
        if let Some(note) = nul_note(self.nuls) {
            sink.note(note);
        }
    }
}

/// The separator that the first line holds most of, outside quotes.
fn separator(path: &Path) -> Result<u8, DuckError> {
    let mut first = Vec::new();
    let mut reader = open(path)?.take(1 << 16);
    reader.read_until(b'\n', &mut first).map_err(|error| DuckError::read(path, 1, error))?;
    let mut quoted = false;
    let mut counts = [(b',', 0_u32), (b';', 0), (b'\t', 0), (b'|', 0)];
    for byte in first {
        quoted ^= byte == b'"';
        for (separator, count) in &mut counts {
            *count += u32::from(!quoted && byte == *separator);
        }
    }
    Ok(counts.into_iter().rev().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map_or(b',', |(separator, _)| separator))
}

fn separated(path: &Path, given: Option<u8>, sink: &mut dyn Sink) -> Result<(), DuckError> {
    let separator = given.map_or_else(|| separator(path), Ok)?;
    let mut reader = csv::ReaderBuilder::new().delimiter(separator).flexible(true).has_headers(false).from_reader(open(path)?);
    let mut record = csv::ByteRecord::new();
    let (mut width, mut changed) = (0, Changed::default());
    let mut ragged: Vec<(u64, usize)> = Vec::new();
    let mut ragged_rows = 0_u64;
    let mut first = true;
    let mut line = 1;
    loop {
        let more = reader.read_byte_record(&mut record).map_err(|error| DuckError::read(path, line, error))?;
        if !more {
            break;
        }
        line = record.position().map_or(line, csv::Position::line);
        let cells: Vec<String> = record.iter().map(|cell| changed.text(cell)).collect();
        if first {
            first = false;
            width = cells.len();
            sink.header(&cells)?;
            continue;
        }
        if cells.len() != width {
            ragged_rows += 1;
            if ragged.len() < EXAMPLES_MAX {
                ragged.push((line, cells.len()));
            }
        }
        sink.row(line, &cells.into_iter().map(Some).collect::<Vec<_>>())?;
    }
    if ragged_rows > 0 {
        let examples: Vec<String> = ragged.iter().map(|(line, cells)| format!("line {line}: {cells}")).collect();
        sink.note(format!("{ragged_rows} rows do not have the header's {width} cells ({}); missing cells are null, further cells have columns of their own", examples.join(", ")));
    }
    changed.say(sink);
    Ok(())
}

fn json_lines(path: &Path, sink: &mut dyn Sink) -> Result<(), DuckError> {
    let mut names: Vec<String> = Vec::new();
    let mut changed = Changed::default();
    each_object(path, &mut |_, members| {
        for (name, _) in members {
            let name = Changed::default().without_nuls(name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Ok(())
    })?;
    sink.header(&names)?;
    each_object(path, &mut |line, members| {
        let mut cells = vec![None; names.len()];
        for (name, value) in members {
            let name = changed.without_nuls(name);
            if let Some(at) = names.iter().position(|known| *known == name) {
                cells[at] = value.map(|value| changed.without_nuls(value));
            }
        }
        sink.row(line, &cells)
    })?;
    changed.say(sink);
    Ok(())
}

type Members = Vec<(String, Option<String>)>;

fn each_object(path: &Path, found: &mut dyn FnMut(u64, Members) -> Result<(), DuckError>) -> Result<(), DuckError> {
    let mut reader = open(path)?;
    let mut line = 0;
    loop {
        line += 1;
        let mut bytes = Vec::new();
        let read =
            reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes).map_err(|error| DuckError::read(path, line, error))?;
        if read == 0 {
            return Ok(());
        }
        let text = std::str::from_utf8(&bytes).map_err(|error| DuckError::read(path, line, error))?.trim();
        if !text.is_empty() {
            found(line, members(text).map_err(|reason| DuckError::read(path, line, reason))?)?;
        }
    }
}

/// Members of an object: strings without quotes, `null` as nothing, everything else in the very characters of the file, so
/// that no digit of a number is lost.
fn members(object: &str) -> Result<Members, String> {
    // The line that serde counts is this one.
    let reason = |error: serde_json::Error| error.to_string().replace(" at line 1 column ", " at column ");
    let checked: serde_json::Value = serde_json::from_str(object).map_err(reason)?;
    if !checked.is_object() {
        return Err("not a JSON object".to_owned());
    }
    let inner = &object[1..object.len() - 1];
    let mut members = Vec::new();
    for part in split(inner, b',').into_iter().filter(|part| !part.trim().is_empty()) {
        let pair = split(part, b':');
        let [name, value @ ..] = pair.as_slice() else { continue };
        let value = value.join(":");
        let name: String = serde_json::from_str(name.trim()).map_err(|error| error.to_string())?;
        let value = match value.trim() {
            "null" => None,
            quoted if quoted.starts_with('"') => Some(serde_json::from_str::<String>(quoted).map_err(|error| error.to_string())?),
            other => Some(other.to_owned()),
        };
        members.push((name, value));
    }
    Ok(members)
}

/// Parts of well-formed JSON at a separator outside strings, lists and objects; at `:` only the first counts.
fn split(text: &str, separator: u8) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut start) = (0_u32, false, false, 0);
    for (at, byte) in text.bytes().enumerate() {
        if quoted {
            quoted = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ if byte == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_every_digit() {
        let found = members(r#"{"id": "007", "n": 12345678901234567890123, "d": 0.10, "o": {"a": [1, "},"]}, "x": null, "e": "a\"b"}"#);
        let shown: Vec<(String, Option<String>)> = found.expect("well formed");
        let expected = [
            ("id", Some("007")),
            ("n", Some("12345678901234567890123")),
            ("d", Some("0.10")),
            ("o", Some(r#"{"a": [1, "},"]}"#)),
            ("x", None),
            ("e", Some("a\"b")),
        ];
        assert_eq!(shown, expected.map(|(name, value)| (name.to_owned(), value.map(str::to_owned))));
        assert!(members("[1]").is_err() && members("{").is_err());
    }
}
