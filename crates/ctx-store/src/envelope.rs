//! A JSON file that knows its format, its version and its checksum.
//!
//! `{"format":"manifest","version":1,"sha256":"…","body":…}`: valid JSON, and the checksum is over the body's exact
//! bytes, so no re-serialisation has to agree with what was written.

use crate::disk::sha256_hex;
use crate::error::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Format name and newest version that this program reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Short name: letters and hyphens.
    pub format: &'static str,
    /// Newest version.
    pub version: u32,
}

/// Wraps a value.
pub fn seal<T: Serialize>(schema: Schema, value: &T) -> Result<Vec<u8>, serde_json::Error> {
    let body = serde_json::to_vec(value)?;
    let mut bytes =
        format!("{{\"format\":\"{}\",\"version\":{},\"sha256\":\"{}\",\"body\":", schema.format, schema.version, sha256_hex(&body))
            .into_bytes();
    bytes.extend_from_slice(&body);
    bytes.extend_from_slice(b"}\n");
    Ok(bytes)
}

/// Checks format, version and checksum, and reads the value. `path` is for messages only.
pub fn unseal<T: DeserializeOwned>(schema: Schema, path: &Path, bytes: &[u8]) -> Result<T, StoreError> {
    let damaged = |problem: &str| StoreError::corrupt(path, problem);
    let head = format!("{{\"format\":\"{}\",\"version\":", schema.format);
    let rest = bytes.strip_prefix(head.as_bytes()).ok_or_else(|| damaged("not a file of this format"))?;
    let comma = rest.iter().take(11).position(|b| *b == b',').ok_or_else(|| damaged("no version"))?;
    let version: u32 =
        std::str::from_utf8(&rest[..comma]).ok().and_then(|digits| digits.parse().ok()).ok_or_else(|| damaged("no version"))?;
    if version > schema.version {
        return Err(StoreError::NewerSchema { path: path.to_owned(), found: version, supported: schema.version });
    }
    let rest = rest[comma..].strip_prefix(b",\"sha256\":\"").ok_or_else(|| damaged("no checksum"))?;
    let (sum, rest) = rest.split_at_checked(64).ok_or_else(|| damaged("cut short"))?;
    let body = rest.strip_prefix(b"\",\"body\":").and_then(|rest| rest.strip_suffix(b"}\n")).ok_or_else(|| damaged("cut short"))?;
    if sha256_hex(body).as_bytes() != sum {
        return Err(damaged("its checksum does not match its content"));
    }
    serde_json::from_slice(body).map_err(|error| damaged(&format!("unexpected content: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SCHEMA: Schema = Schema { format: "sample", version: 2 };

    #[test]
    fn what_is_sealed_is_json_and_comes_back() {
        let bytes = seal(SCHEMA, &vec!["a", "ü\n"]).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json["version"], 2);
        assert_eq!(unseal::<Vec<String>>(SCHEMA, Path::new("f"), &bytes).unwrap(), ["a", "ü\n"]);
    }

    #[test]
    fn a_newer_version_is_named_as_such() {
        let bytes = seal(Schema { version: 3, ..SCHEMA }, &1).unwrap();
        let error = unseal::<u32>(SCHEMA, Path::new("f"), &bytes).unwrap_err();
        assert!(matches!(error, StoreError::NewerSchema { found: 3, supported: 2, .. }), "{error}");
    }

    proptest! {
        #[test]
        fn no_flipped_byte_passes(at in 0_usize..200, flip in 1_u8..=255) {
            let mut bytes = seal(SCHEMA, &vec![7_u64; 20]).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            let read = unseal::<Vec<u64>>(SCHEMA, Path::new("f"), &bytes);
            // A flip inside the version's digit can only make it an older version of the same body.
            prop_assert!(read.is_err() || read.unwrap() == vec![7; 20]);
        }

        #[test]
        fn no_input_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(unseal::<Vec<u64>>(SCHEMA, Path::new("f"), &bytes).is_err());
        }

        #[test]
        fn no_prefix_passes(cut in 0_usize..150) {
            let bytes = seal(SCHEMA, &"content").unwrap();
            prop_assume!(cut < bytes.len());
            prop_assert!(unseal::<String>(SCHEMA, Path::new("f"), &bytes[..cut]).is_err());
        }
    }
}
