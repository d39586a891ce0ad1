//! Coefficient files: keys in order, one block a line, so that people can read and compare them.

use anyhow::Context;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;

/// Nesting that is written over several lines.
const OPEN_DEPTH: usize = 2;

/// Writes a value to a file.
pub fn file(path: &Path, value: &Value) -> anyhow::Result<()> {
    std::fs::write(path, text(value)).with_context(|| format!("writing {}", path.display()))
}

/// The text: objects down to a fixed depth are opened, deeper ones stand in a line.
pub fn text(value: &Value) -> String {
    let mut out = String::new();
    open(value, 0, &mut out);
    out.push('\n');
    out
}

fn open(value: &Value, depth: usize, out: &mut String) {
    let Value::Object(map) = value else { return line(value, out) };
    if depth >= OPEN_DEPTH || map.is_empty() {
        return line(value, out);
    }
    out.push_str("{\n");
    let pad = "  ".repeat(depth + 1);
    for (at, (key, inner)) in map.iter().enumerate() {
        let comma = if at + 1 < map.len() { "," } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(out, "{pad}{}: ", Value::from(key.as_str()));
        open(inner, depth + 1, out);
        let _ = writeln!(out, "{comma}");
    }
    out.push_str(&"  ".repeat(depth));
    out.push('}');
}

fn line(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            out.push('{');
            for (at, (key, inner)) in map.iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                let _ = write!(out, "{comma}{}: ", Value::from(key.as_str()));
                line(inner, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, inner) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                line(inner, out);
            }
            out.push(']');
        }
        plain => out.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_reads_back() {
        let value = json!({ "a": { "b": { "c": [1, 2.5] }, "d": "x\"y" }, "e": 1 });
        let text = text(&value);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
        assert_eq!(text.lines().count(), 7);
    }
}
