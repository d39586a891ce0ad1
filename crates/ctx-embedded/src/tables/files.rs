//! Files of a tables source: which ones, in which order, and whether they changed. Confined to the source's folder.

use crate::error::EmbeddedError;
use ctx_duckdb::tables::format_of;
use ctx_types::id::sha256_hex;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Files of one source.
const FILES_MAX: usize = 10_000;
/// Folders below the source's.
const DEPTH_MAX: usize = 16;

/// A file as it was when it was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    /// Below the root, `/`-separated.
    pub(crate) path: String,
    /// Bytes.
    pub(crate) bytes: u64,
    /// Modification time in nanoseconds.
    pub(crate) modified: u128,
    /// SHA-256 of the bytes; empty until the file is read.
    pub(crate) hash: String,
}

/// The folder that paths are below: the source's own, or that of its only file.
pub(crate) fn root(path: &Path) -> PathBuf {
    if path.is_dir() { path.to_owned() } else { path.parent().map_or_else(|| PathBuf::from("."), Path::to_owned) }
}

/// Files that hold rows, by path. Links out of the folder are not followed.
pub(crate) fn scan(path: &Path) -> Result<Vec<FileState>, EmbeddedError> {
    let root = root(path);
    let mut found = Vec::new();
    if path.is_dir() {
        walk(&root, &root, 0, &mut found)?;
    } else {
        found.push(state(&root, path)?);
    }
    // An empty file has no columns: nothing to load, and nothing is lost.
    found.retain(|file: &FileState| file.bytes > 0);
    found.sort_by(|a: &FileState, b| a.path.cmp(&b.path));
    Ok(found)
}

fn walk(root: &Path, folder: &Path, depth: usize, found: &mut Vec<FileState>) -> Result<(), EmbeddedError> {
    for entry in std::fs::read_dir(folder).map_err(EmbeddedError::io("reading", folder))? {
        let entry = entry.map_err(EmbeddedError::io("reading", folder))?;
        let kind = entry.file_type().map_err(EmbeddedError::io("reading", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || found.len() >= FILES_MAX {
            continue;
        }
        if kind.is_dir() && depth < DEPTH_MAX {
            walk(root, &entry.path(), depth + 1, found)?;
        } else if kind.is_file() && format_of(&name).is_some() {
            found.push(state(root, &entry.path())?);
        }
    }
    Ok(())
}

/// A file as it is now, its hash apart.
pub(crate) fn state(root: &Path, path: &Path) -> Result<FileState, EmbeddedError> {
    let meta = std::fs::metadata(path).map_err(EmbeddedError::io("reading", path))?;
    let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).map_or(0, |at| at.as_nanos());
    let below = path.strip_prefix(root).unwrap_or(path);
    let path = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/");
    Ok(FileState { path, bytes: meta.len(), modified, hash: String::new() })
}

/// Hash of a file's bytes.
pub(crate) fn hash(path: &Path) -> Result<String, EmbeddedError> {
    Ok(sha256_hex(&std::fs::read(path).map_err(EmbeddedError::io("reading", path))?))
}

/// Whether two scans saw the same files, hashes apart.
pub(crate) fn same(a: &[FileState], b: &[FileState]) -> bool {
    let plain = |files: &[FileState]| files.iter().map(|f| (f.path.clone(), f.bytes, f.modified)).collect::<Vec<_>>();
    plain(a) == plain(b)
}
