//! One JSON record: which text it holds, and where in the record that text stands.
//!
//! A scanner without recursion and without a tree: nesting of any depth costs a counter.

use crate::decode::clean;
use crate::offsets::OffsetMap;
use std::ops::Range;

/// Nested values deeper than this are shown as they are written.
const DEPTH_MAX: usize = 16;

/// A record made readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// `_id` or `id`; empty if there is none.
    pub(crate) id: String,
    /// `title`; empty if there is none.
    pub(crate) title: String,
    /// `text`, else every value as `key: value` lines.
    pub(crate) text: String,
    /// Offsets of `text` in the record.
    pub(crate) map: OffsetMap,
}

impl Record {
    /// A line that is no JSON, as it is.
    pub(crate) fn plain(line: &str) -> Self {
        let map = OffsetMap::identity(0, line.len());
        Self { id: String::new(), title: String::new(), text: line.to_owned(), map }
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    String,
    Scalar,
    Nested,
}

/// A key (absent in arrays) and its value, as ranges of the record.
struct Member {
    key: Option<Range<usize>>,
    value: Range<usize>,
    shape: Shape,
}

/// Reads `line`, one JSON value; `None` if it is not JSON.
pub(crate) fn record(line: &str) -> Option<Record> {
    let value = skip_blanks(line, 0)..line.trim_end().len();
    if line.as_bytes().get(value.start) != Some(&b'{') {
        let (shape, end) = shape_at(line, value.start)?;
        let member = Member { key: None, value: value.clone(), shape };
        return (end == value.end).then(|| flattened(line, vec![member], String::new(), String::new()));
    }
    let (members, end) = members(line, value.start)?;
    if end != value.end {
        return None;
    }
    let find =
        |name: &str| members.iter().find(|m| m.key.as_ref().is_some_and(|key| &line[key.clone()] == name) && m.shape != Shape::Nested);
    let read = |member: Option<&Member>| member.map_or(String::new(), |m| plain(line, m));
    let id = read(find("_id").or_else(|| find("id")));
    let title = read(find("title"));
    match find("text").filter(|m| m.shape == Shape::String) {
        Some(text) => {
            let mut out = Rendered::new();
            out.string(line, text.value.start + 1..text.value.end - 1);
            let (text, map) = out.finish(line.len());
            // A record of a title only is found by its title.
            let text = if text.trim().is_empty() { title.clone() } else { text };
            Some(Record { id, title, text, map })
        }
        None => Some(flattened(line, members, id, title)),
    }
}

fn plain(line: &str, member: &Member) -> String {
    match member.shape {
        Shape::String => {
            let mut out = Rendered::new();
            out.string(line, member.value.start + 1..member.value.end - 1);
            out.text.trim().to_owned()
        }
        _ => line[member.value.clone()].to_owned(),
    }
}

/// `key: value` lines; keys of nested objects are joined with dots, items of arrays repeat the key.
fn flattened(line: &str, members: Vec<Member>, id: String, title: String) -> Record {
    let mut out = Rendered::new();
    let mut stack: Vec<(String, std::vec::IntoIter<Member>)> = vec![(String::new(), members.into_iter())];
    while let Some((prefix, rest)) = stack.last_mut() {
        let Some(member) = rest.next() else {
            stack.pop();
            continue;
        };
        let name = match &member.key {
            Some(key) if prefix.is_empty() => line[key.clone()].to_owned(),
            Some(key) => format!("{prefix}.{}", &line[key.clone()]),
            None => prefix.clone(),
        };
        let is_opened = member.shape == Shape::Nested && stack.len() < DEPTH_MAX;
        if let Some((inner, _)) = is_opened.then(|| members_of_any(line, member.value.start)).flatten() {
            stack.push((name, inner.into_iter()));
            continue;
        }
        out.pair(line, &name, &member);
    }
    let (text, map) = out.finish(line.len());
    Record { id, title, text, map }
}

/// Text under construction with its map.
struct Rendered {
    text: String,
    map: OffsetMap,
}

impl Rendered {
    fn new() -> Self {
        Self { text: String::new(), map: OffsetMap::empty() }
    }

    fn finish(mut self, end: usize) -> (String, OffsetMap) {
        self.map.finish(end as u64);
        (self.text, self.map)
    }

    fn pair(&mut self, line: &str, name: &str, member: &Member) {
        if line[member.value.clone()].trim_matches('"').is_empty() || &line[member.value.clone()] == "null" {
            return;
        }
        let at = member.key.as_ref().map_or(member.value.start, |key| key.start);
        if !self.text.is_empty() {
            self.fixed("\n", at);
        }
        if !name.is_empty() {
            self.fixed(name, at);
            self.fixed(": ", at);
        }
        match member.shape {
            Shape::String => self.string(line, member.value.start + 1..member.value.end - 1),
            _ => self.verbatim(line, member.value.clone()),
        }
    }

    fn fixed(&mut self, text: &str, at: usize) {
        self.map.push(self.text.len(), at as u64, 0);
        self.text.push_str(text);
    }

    fn verbatim(&mut self, line: &str, range: Range<usize>) {
        self.map.push(self.text.len(), range.start as u64, 1);
        self.text.push_str(&line[range]);
    }

    /// The content of a string, escapes read.
    fn string(&mut self, line: &str, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let next = memchr::memchr(b'\\', &line.as_bytes()[at..range.end]).map_or(range.end, |n| at + n);
            if next > at {
                self.verbatim(line, at..next);
            }
            if next == range.end {
                return;
            }
            let (c, length) = escape(&line[next..range.end]);
            // A written "\r\n" is one line end.
            if !(c == '\r' && line[next + length..range.end].starts_with("\\n")) {
                let c = clean(c);
                self.map.push(self.text.len(), next as u64, length.div_ceil(c.len_utf8()) as u64);
                self.text.push(c);
            }
            at = next + length;
        }
    }
}

/// The character of the escape at the start of `text`, and its length. Broken ones become U+FFFD.
fn escape(text: &str) -> (char, usize) {
    let simple = |c| (c, 2);
    match text.as_bytes().get(1) {
        Some(b'n') => simple('\n'),
        Some(b't') => simple('\t'),
        Some(b'r') => simple('\r'),
        Some(b'b') => simple('\u{8}'),
        Some(b'f') => simple('\u{c}'),
        Some(c @ (b'"' | b'\\' | b'/')) => simple(char::from(*c)),
        Some(b'u') => unicode_escape(text),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |at: usize| text.get(at..at + 4).and_then(|hex| u16::from_str_radix(hex, 16).ok());
    let Some(high) = unit(2) else { return (char::REPLACEMENT_CHARACTER, 2) };
    let low = if text[6..].starts_with("\\u") { unit(8) } else { None };
    match (char::decode_utf16([high]).next(), low) {
        (Some(Ok(c)), _) => (c, 6),
        (_, Some(low)) => match char::decode_utf16([high, low]).next() {
            Some(Ok(c)) => (c, 12),
            _ => (char::REPLACEMENT_CHARACTER, 6),
        },
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn skip_blanks(line: &str, mut at: usize) -> usize {
    while line.as_bytes().get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

fn members_of_any(line: &str, start: usize) -> Option<(Vec<Member>, usize)> {
    if line.as_bytes()[start] == b'{' { members(line, start) } else { items(line, start) }
}

/// The members of the object at `start`, and where it ends.
fn members(line: &str, start: usize) -> Option<(Vec<Member>, usize)> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = skip_blanks(line, start + 1);
    if bytes.get(at) == Some(&b'}') {
        return Some((found, at + 1));
    }
    loop {
        let key_end = string_end(bytes, at)?;
        let key = at + 1..key_end - 1;
        at = skip_blanks(line, key_end);
        if bytes.get(at) != Some(&b':') {
            return None;
        }
        let value_start = skip_blanks(line, at + 1);
        let (shape, value_end) = shape_at(line, value_start)?;
        found.push(Member { key: Some(key), value: value_start..value_end, shape });
        at = skip_blanks(line, value_end);
        match bytes.get(at)? {
            b',' => at = skip_blanks(line, at + 1),
            b'}' => return Some((found, at + 1)),
            _ => return None,
        }
    }
}

/// The items of the array at `start`, and where it ends.
fn items(line: &str, start: usize) -> Option<(Vec<Member>, usize)> {
    let bytes = line.as_bytes();
    let mut found = Vec::new();
    let mut at = skip_blanks(line, start + 1);
    if bytes.get(at) == Some(&b']') {
        return Some((found, at + 1));
    }
    loop {
        let (shape, end) = shape_at(line, at)?;
        found.push(Member { key: None, value: at..end, shape });
        at = skip_blanks(line, end);
        match bytes.get(at)? {
            b',' => at = skip_blanks(line, at + 1),
            b']' => return Some((found, at + 1)),
            _ => return None,
        }
    }
}

/// Shape and end of the value at `start`.
fn shape_at(line: &str, start: usize) -> Option<(Shape, usize)> {
    let bytes = line.as_bytes();
    match bytes.get(start)? {
        b'"' => Some((Shape::String, string_end(bytes, start)?)),
        b'{' | b'[' => Some((Shape::Nested, nested_end(bytes, start)?)),
        _ => {
            let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
            let length = bytes[start..].iter().take_while(|b| is_part(b)).count();
            (length > 0).then_some((Shape::Scalar, start + length))
        }
    }
}

/// One past the closing quote of the string at `start`.
fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    if bytes.get(start) != Some(&b'"') {
        return None;
    }
    let mut at = start + 1;
    loop {
        let found = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[found] == b'"' {
            return Some(found + 1);
        }
        at = found + 2;
    }
}

/// One past the bracket that closes the one at `start`: depth is a number here.
fn nested_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match bytes.get(at)? {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn collections_give_id_title_and_text() {
        let line = r#" {"_id": 17, "title": "A \"plan\"", "text": "One\nTwo \u00e9\ud83d\ude00\u0000.", "metadata": {"a": [1]}} "#;
        let read = record(line).expect("JSON");
        assert_eq!((read.id.as_str(), read.title.as_str()), ("17", "A \"plan\""));
        assert_eq!(read.text, "One\nTwo é😀 .");
        let at = read.text.find("Two").expect("present");
        assert_eq!(&line[read.map.start(at) as usize..read.map.end(at + 6) as usize], r"Two \u00e9");
    }

    #[test]
    fn other_shapes_are_flattened() {
        let read = record(r#"{"id":"x","user":{"name":"Ann","tags":["a","b"]},"n":3,"none":null,"empty":""}"#).expect("JSON");
        assert_eq!(read.text, "id: x\nuser.name: Ann\nuser.tags: a\nuser.tags: b\nn: 3");
        assert_eq!(record("[1,\"b\"]").expect("JSON").text, "1\nb");
        assert_eq!(record("{}").expect("JSON").text, "");
    }

    #[test]
    fn broken_records_are_refused() {
        for bad in ["", "{", "{\"a\"}", "{\"a\":}", "{\"a\":1}x", "{\"a\":\"b}", "not json at all", "[1,", "{\"a\":1,}"] {
            assert_eq!(record(bad), None, "{bad:?} was read");
        }
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(record(&deep).is_some());
        assert_eq!(record(&"[".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_full_parser(text in "\\PC{0,40}", title in "[ -~]{1,20}") {
            let line = serde_json::json!({"id": "7", "title": title, "text": format!("x{text}")}).to_string();
            let read = record(&line).expect("JSON");
            prop_assert_eq!(read.text, format!("x{text}"));
            prop_assert_eq!(read.title, title.trim());
        }

        #[test]
        fn never_panics(line in "[\\[\\]{}\":,\\\\a1 u]{0,60}") {
            let _ = record(&line);
        }
    }
}
