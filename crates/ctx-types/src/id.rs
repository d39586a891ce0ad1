//! Content ids: kind, underscore, the first 32 hex digits of SHA-256 over canonical JSON.
//!
//! Canonical JSON: UTF-8, keys sorted by bytes, no insignificant blank, integers and strings only (plus booleans, null,
//! arrays and objects). A float is an error: it would make ids differ by platform.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt;

/// A content id such as `plan_3f2a…`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ContentId(pub String);

impl fmt::Display for ContentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a value has no content id.
#[derive(Debug, thiserror::Error)]
pub enum IdError {
    /// The value cannot be written as JSON.
    #[error("hashing a {kind}: it does not serialise to JSON: {cause}")]
    NotJson {
        /// What was hashed.
        kind: String,
        /// The serialiser's words.
        cause: String,
    },
    /// Floats print differently by platform, so ids may not hold one.
    #[error("hashing a {kind}: it holds the float {value}; use an integer unit")]
    Float {
        /// What was hashed.
        kind: String,
        /// The offending number.
        value: String,
    },
}

/// Canonical JSON text of `value`. Errors on floats.
pub fn canonical_json(kind: &str, value: &impl Serialize) -> Result<String, IdError> {
    let tree = serde_json::to_value(value).map_err(|e| IdError::NotJson { kind: kind.to_owned(), cause: e.to_string() })?;
    let mut out = String::with_capacity(1024);
    write_canonical(kind, &tree, &mut out)?;
    Ok(out)
}

fn write_canonical(kind: &str, value: &Value, out: &mut String) -> Result<(), IdError> {
    match value {
        Value::Number(n) if n.is_f64() => return Err(IdError::Float { kind: kind.to_owned(), value: n.to_string() }),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_canonical(kind, item, out)?;
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            if !entries.is_sorted_by_key(|(key, _)| *key) {
                entries.sort_unstable_by_key(|(key, _)| *key);
            }
            out.push('{');
            for (i, (key, value)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_canonical(kind, value, out)?;
            }
            out.push('}');
        }
        Value::String(text) => write_string(text, out),
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(n) => out.push_str(&n.to_string()),
    }
    Ok(())
}

/// Hashing is a good part of planning, and nearly every string needs no escape.
fn write_string(text: &str, out: &mut String) {
    if text.bytes().any(|b| b < 0x20 || b == b'"' || b == b'\\') {
        out.push_str(&Value::String(text.to_owned()).to_string());
    } else {
        out.push('"');
        out.push_str(text);
        out.push('"');
    }
}

/// The id of `value`: `kind_` and 32 hex digits.
pub fn content_id(kind: &str, value: &impl Serialize) -> Result<ContentId, IdError> {
    let text = canonical_json(kind, value)?;
    Ok(ContentId(format!("{kind}_{}", &sha256_hex(text.as_bytes())[..32])))
}

/// Lower-case hex SHA-256 of bytes.
pub fn sha256_hex(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let mut out = String::with_capacity(64);
    for byte in digest {
        out.push(HEX[usize::from(byte >> 4)] as char);
        out.push(HEX[usize::from(byte & 15)] as char);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_order_does_not_matter_and_floats_are_refused() {
        let a: Value = serde_json::from_str(r#"{"b":1,"a":[true,null,"x"]}"#).expect("literal");
        let b: Value = serde_json::from_str(r#"{"a":[true,null,"x"],"b":1}"#).expect("literal");
        assert_eq!(content_id("t", &a).expect("no floats"), content_id("t", &b).expect("no floats"));
        assert_eq!(canonical_json("t", &a).expect("no floats"), r#"{"a":[true,null,"x"],"b":1}"#);
        assert!(matches!(content_id("t", &1.5), Err(IdError::Float { .. })));
    }

    #[test]
    fn strings_are_written_as_json_writes_them() {
        for text in ["", "plain", "ключ 鍵", "a\"b", "back\\slash", "new\nline", "\u{7f}", "\u{1}", "</script>"] {
            let expected = serde_json::to_string(text).expect("a string");
            assert_eq!(canonical_json("t", &text).expect("no float"), expected);
            let map = std::collections::BTreeMap::from([(text, 1)]);
            assert_eq!(canonical_json("t", &map).expect("no float"), format!("{{{expected}:1}}"));
        }
    }

    #[test]
    fn ids_have_kind_and_32_digits() {
        let id = content_id("plan", &"x").expect("string");
        assert!(id.0.starts_with("plan_") && id.0.len() == 37);
    }
}
