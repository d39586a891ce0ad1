//! Durable file operations: write aside, sync, rename, sync the folder. Nothing here knows what the bytes mean.

use crate::error::StoreError;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Lower-case hex of SHA-256.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A name that no other process and no earlier call has used: 16 hex digits.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let seed = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed), std::time::SystemTime::now());
    format!("{:016x}", RandomState::new().hash_one(seed))
}

pub(crate) fn create_dir(path: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(path).map_err(StoreError::io("creating", path))
}

/// The file's bytes; `None` where there is no such file.
pub(crate) fn read_optional(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io("reading", path)(error)),
    }
}

/// Makes a rename in this folder durable. Folders cannot be synced everywhere; where not, there is nothing to do.
pub(crate) fn sync_dir(path: &Path) -> Result<(), StoreError> {
    if cfg!(unix) {
        File::open(path).and_then(|folder| folder.sync_all()).map_err(StoreError::io("syncing", path))?;
    }
    Ok(())
}

/// Writes `bytes` aside in `scratch`, syncs, and renames onto `path`: readers see the old or the new file, whole.
pub(crate) fn replace(path: &Path, scratch: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let aside = scratch.join(format!("tmp-{}", unique_name()));
    let result = write_synced(&aside, bytes).and_then(|()| rename(&aside, path));
    if result.is_err() {
        let _ = fs::remove_file(&aside);
    }
    result
}

/// Replaces a file by `bytes`, written beside it: readers see the old or the new file, whole, and it survives a power cut. What
/// is there and no file (a device, a pipe) is written to, never replaced; a link stays one.
pub fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return fs::write(path, bytes).map_err(StoreError::io("writing", path));
    }
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    replace(path, folder, bytes)
}

fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = File::create_new(path).map_err(StoreError::io("creating", path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(StoreError::io("writing", path))
}

/// Renames and syncs the folder renamed into.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::rename(from, to).map_err(StoreError::io("renaming into place", to))?;
    to.parent().filter(|folder| !folder.as_os_str().is_empty()).map_or(Ok(()), sync_dir)
}

/// Syncs every file and folder below `path`; returns the bytes found.
pub(crate) fn sync_tree(path: &Path) -> Result<u64, StoreError> {
    let mut bytes = 0;
    for entry in list(path)? {
        let meta = fs::symlink_metadata(&entry).map_err(StoreError::io("reading", &entry))?;
        if meta.is_dir() {
            bytes += sync_tree(&entry)?;
        } else if meta.is_file() {
            let file = File::open(&entry).map_err(StoreError::io("opening", &entry))?;
            file.sync_all().map_err(StoreError::io("syncing", &entry))?;
            bytes += meta.len();
        }
    }
    sync_dir(path)?;
    Ok(bytes)
}

/// The entries of a folder, sorted; a missing folder is empty.
pub(crate) fn list(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::io("listing", path)(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(StoreError::io("listing", path))?.path());
    }
    paths.sort();
    Ok(paths)
}

/// The last component as text; empty where it is not UTF-8.
pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or("")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_one_and_a_device_is_written_to() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        replace_file(&file, b"old").expect("a new file");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        replace_file(&link, b"new").expect("through the link");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"new");
        replace_file(Path::new("/dev/null"), b"gone").expect("a device takes it");
        assert!(fs::metadata("/dev/null").expect("there").file_type().is_char_device());
    }
}
