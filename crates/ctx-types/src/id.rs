//! Content ids: kind, underscore, the first 32 hex digits of SHA-256 over canonical JSON.
//!
//! Canonical JSON: UTF-8, keys sorted by bytes, no insignificant blank, integers and strings only (plus booleans, null,
//! arrays and objects). A float is an error: it would make ids differ by platform.

mod canonical;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
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
    canonical::text(value).map_err(|failure| failure.of(kind))
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
    use serde_json::Value;
    use std::collections::BTreeMap;

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

    #[derive(Serialize)]
    enum Shape {
        Unit,
        One(u8),
        Two(i64, String),
        Named { zulu: Option<bool>, alpha: char },
    }

    #[derive(Serialize)]
    struct Everything {
        zebra: Vec<Shape>,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
        apple: (u8, &'static str, ()),
        numbers: BTreeMap<u64, bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
    }

    #[test]
    fn every_kind_of_value_is_written_as_its_json_tree_with_sorted_keys() {
        let value = Everything {
            zebra: vec![Shape::Unit, Shape::One(7), Shape::Two(-1, "x".into()), Shape::Named { zulu: None, alpha: 'é' }],
            rest: BTreeMap::from([("m\"k".to_owned(), serde_json::json!({"b": [], "a": {}})), ("0".to_owned(), Value::Null)]),
            apple: (1, "two", ()),
            numbers: BTreeMap::from([(10, true), (9, false)]),
            absent: None,
        };
        let written = canonical_json("t", &value).expect("no floats");
        // The tree keeps objects sorted by key.
        let tree = serde_json::to_value(&value).expect("JSON");
        assert_eq!(written, tree.to_string());
        assert_eq!(canonical_json("t", &tree).expect("no floats"), written);
        assert!(matches!(canonical_json("t", &BTreeMap::from([(vec![1], 1)])), Err(IdError::NotJson { .. })));
    }

    #[test]
    fn ids_have_kind_and_32_digits() {
        let id = content_id("plan", &"x").expect("string");
        assert!(id.0.starts_with("plan_") && id.0.len() == 37);
    }
}
