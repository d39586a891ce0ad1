//! Small named snapshots: statistics, plan cache, frozen weights. Replaced whole by rename, checked when read.
//!
//! File: magic `CTXBLOB1` 8 · SHA-256 of the content 32 · content.

use crate::disk;
use crate::error::StoreError;
use crate::store::Store;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MAGIC: &[u8; 8] = b"CTXBLOB1";
const HEADER_BYTES: usize = 40;
const SCRATCH: &str = "tmp";
/// A temporary file older than this belongs to a process that died.
const STALE: Duration = Duration::from_secs(3600);

impl Store {
    /// The content of a blob; `None` where there is none. Damage is an error that names the file.
    pub fn read_blob(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.blob_path("reading a blob", name)?;
        let Some(mut bytes) = disk::read_optional(&path)? else { return Ok(None) };
        let sum = bytes
            .get(..HEADER_BYTES)
            .and_then(|header| header.strip_prefix(MAGIC))
            .ok_or_else(|| StoreError::corrupt(&path, "not a blob"))?;
        if Sha256::digest(&bytes[HEADER_BYTES..])[..] != *sum {
            return Err(StoreError::corrupt(&path, "its checksum does not match its content"));
        }
        bytes.drain(..HEADER_BYTES);
        Ok(Some(bytes))
    }

    /// Replaces a blob: readers see the old or the new content, whole. The last of several writers wins.
    pub fn write_blob_atomic(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.blob_path("writing a blob", name)?;
        let scratch = self.layout().blobs().join(SCRATCH);
        disk::create_dir(&scratch)?;
        remove_stale(&scratch);
        let mut bytes = Vec::with_capacity(HEADER_BYTES + content.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&Sha256::digest(content));
        bytes.extend_from_slice(content);
        disk::replace(&path, &scratch, &bytes)
    }

    /// Removes a blob; one that is not there is fine.
    pub fn remove_blob(&self, name: &str) -> Result<(), StoreError> {
        let path = self.blob_path("removing a blob", name)?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(StoreError::io("removing", &path)(error)),
            _ => Ok(()),
        }
    }

    fn blob_path(&self, doing: &'static str, name: &str) -> Result<PathBuf, StoreError> {
        let plain = name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_'));
        if name.is_empty() || name.len() > 128 || !plain || name.starts_with('.') || name == SCRATCH {
            let problem = format!("{name:?} is not a name of lower-case letters, digits, '.', '-' and '_'");
            return Err(StoreError::Inconsistent { doing, problem });
        }
        Ok(self.layout().blobs().join(name))
    }
}

/// Best effort: what cannot be removed now is removed another time.
fn remove_stale(scratch: &Path) {
    for path in disk::list(scratch).unwrap_or_default() {
        let age = fs::metadata(&path).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_replaced_whole_and_damage_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path());
        assert_eq!(store.read_blob("statistics").unwrap(), None);
        store.write_blob_atomic("statistics", b"one").unwrap();
        store.write_blob_atomic("statistics", b"").unwrap();
        store.write_blob_atomic("statistics", b"two").unwrap();
        assert_eq!(store.read_blob("statistics").unwrap().as_deref(), Some(&b"two"[..]));
        let path = store.layout().blobs().join("statistics");
        for cut in [0, 10, 41] {
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..cut]).unwrap();
            let error = store.read_blob("statistics").unwrap_err();
            assert!(error.to_string().contains("statistics") && error.hint().is_some(), "{error}");
            fs::write(&path, &bytes).unwrap();
        }
        store.remove_blob("statistics").unwrap();
        store.remove_blob("statistics").unwrap();
    }

    #[test]
    fn a_blob_name_is_never_a_path() {
        let store = Store::open("/nonexistent");
        for bad in ["", "../x", "a/b", ".hidden", "tmp", "A"] {
            assert!(matches!(store.read_blob(bad), Err(StoreError::Inconsistent { .. })), "{bad:?}");
        }
    }
}
