//! YAML that reads back as the JSON form, by any version of YAML: what is not a plain word is quoted.

use crate::escape::hostile;
use serde_json::Value;

/// Longest sequence of short scalars written on one line.
const FLOW_ITEMS_MAX: usize = 8;
/// Longest scalar in such a line, in bytes.
const FLOW_BYTES_MAX: usize = 40;

/// A JSON value as a YAML document. Every line ends with a newline.
pub(crate) fn yaml(value: &Value) -> String {
    let mut out = String::with_capacity(4_096);
    block(&mut out, value, 0);
    out
}

/// A value where a line of its own begins.
fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    pad(out, indent);
                }
                out.push_str(&scalar(key));
                out.push(':');
                below(out, value, indent);
            }
        }
        Value::Array(items) if !items.is_empty() && flow(items).is_none() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    pad(out, indent);
                }
                out.push_str("- ");
                block(out, item, indent + 2);
            }
        }
        other => {
            out.push_str(&inline(other));
            out.push('\n');
        }
    }
}

/// A value behind its key.
fn below(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) if !map.is_empty() => {}
        Value::Array(items) if !items.is_empty() && flow(items).is_none() => {}
        other => {
            out.push(' ');
            out.push_str(&inline(other));
            out.push('\n');
            return;
        }
    }
    out.push('\n');
    pad(out, indent + 2);
    block(out, value, indent + 2);
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// Short scalars on one line, as long as all of them are short.
fn flow(items: &[Value]) -> Option<String> {
    let short = |item: &Value| match item {
        Value::Object(_) | Value::Array(_) => None,
        other => Some(inline(other)).filter(|text| text.len() <= FLOW_BYTES_MAX),
    };
    let parts: Option<Vec<String>> = items.iter().map(short).collect();
    parts.filter(|parts| parts.len() <= FLOW_ITEMS_MAX).map(|parts| format!("[{}]", parts.join(", ")))
}

fn inline(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(text) => scalar(text),
        Value::Array(items) => flow(items).unwrap_or_else(|| "[]".to_owned()),
        Value::Object(_) => "{}".to_owned(),
    }
}

/// A string: plain where no reader of any version takes it for something else, else in double quotes.
fn scalar(text: &str) -> String {
    if plain(text) { text.to_owned() } else { quoted(text) }
}

/// Words that YAML 1.1 or 1.2 reads as Booleans or nothing.
const RESERVED: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"];

fn plain(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(word)
        && !RESERVED.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if u32::from(c) > 0xffff && !printable(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
            c if !printable(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What YAML may hold as it is and what shows as what it is.
fn printable(c: char) -> bool {
    !hostile(c) && !matches!(u32::from(c), 0xfffe | 0xffff | 0xe000..=0xf8ff) && u32::from(c) & 0xfffe != 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_words_stay_plain_and_everything_doubtful_is_quoted() {
        let doubtful = [
            "",
            " a",
            "a ",
            "no",
            "Null",
            "1",
            "1e3",
            "0x1f",
            "12:30",
            "2026-01-02",
            "- a",
            "a: b",
            "a #b",
            "*a",
            "&a",
            "!x",
            "%{",
            "~",
            "é",
        ];
        for text in doubtful {
            assert!(scalar(text).starts_with('"'), "{text:?} is written as {}", scalar(text));
        }
        assert_eq!(scalar("read by hybrid_rrf"), "read by hybrid_rrf");
    }

    #[test]
    fn nesting_reads_as_it_is_meant() {
        let value = json!({"a": [], "b": {}, "c": [["lookup", 1], ["list", 2]], "d": [{"x": null, "y": [1, 2]}, {"x": "\u{202e}\n"}]});
        let expected = "a: []\nb: {}\nc:\n  - [lookup, 1]\n  - [list, 2]\nd:\n  - x: null\n    \"y\": [1, 2]\n  - x: \"\\u202e\\n\"\n";
        assert_eq!(yaml(&value), expected);
    }
}
