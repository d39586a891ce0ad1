//! The one place where a path below a root becomes an open file.
//!
//! Refused: absolute paths, `..`, drive prefixes, and whatever resolves (through symbolic links) to a place outside the
//! root. Only regular files are opened, so nothing blocks on a fifo or a device.

use crate::error::IngestError;
use crate::walk::{SkipReason, Stamp};
use std::fs::{File, Metadata};
use std::path::{Component, Path, PathBuf};

/// The real place of `path` below `root`, which must be canonical.
pub fn resolve_below(root: &Path, path: &str) -> Result<PathBuf, IngestError> {
    let outside = || IngestError::OutsideRoot { path: path.to_owned() };
    let relative = Path::new(path);
    if path.contains('\0') || !relative.components().all(|c| matches!(c, Component::Normal(_))) || path.is_empty() {
        return Err(outside());
    }
    let real = root.join(relative).canonicalize().map_err(|cause| IngestError::Read { path: path.to_owned(), cause })?;
    if real.starts_with(root) { Ok(real) } else { Err(outside()) }
}

/// Opens a regular file below `root` for reading, with its metadata as of the open handle.
pub fn open_below(root: &Path, path: &str) -> Result<(File, Stamp), IngestError> {
    let read = |cause| IngestError::Read { path: path.to_owned(), cause };
    let special = || IngestError::Skipped { path: path.to_owned(), reason: SkipReason::Special };
    let real = resolve_below(root, path)?;
    if !real.symlink_metadata().map_err(read)?.is_file() {
        return Err(special());
    }
    let file = File::open(&real).map_err(read)?;
    let metadata = file.metadata().map_err(read)?;
    if !metadata.is_file() {
        return Err(special());
    }
    let stamp = stamp_of(&metadata);
    Ok((file, stamp))
}

/// Size, times and inode of a file.
#[cfg(unix)]
pub(crate) fn stamp_of(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000).saturating_add(nanos);
    Stamp {
        size: metadata.len(),
        mtime_ns: nanos(metadata.mtime(), metadata.mtime_nsec()),
        ctime_ns: nanos(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
    }
}

/// Size and modification time; other systems tell no more.
#[cfg(not(unix))]
pub(crate) fn stamp_of(metadata: &Metadata) -> Stamp {
    let since = metadata.modified().ok().and_then(|t| t.duration_since(std::time::UNIX_EPOCH).ok());
    let mtime_ns = since.map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
    Stamp { size: metadata.len(), mtime_ns, ctime_ns: 0, inode: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let docs = dir.path().join("docs");
        std::fs::create_dir(&docs).expect("docs");
        std::fs::write(docs.join("a.md"), "hi").expect("a.md");
        std::fs::write(dir.path().join("passwd"), "root:x").expect("passwd");
        let canonical = docs.canonicalize().expect("exists");
        (dir, canonical)
    }

    #[test]
    fn paths_outside_the_root_are_refused_by_every_route() {
        let (_dir, root) = root();
        assert!(open_below(&root, "a.md").is_ok());
        for bad in ["../passwd", "/etc/passwd", "a/../../passwd", "", ".", "file:///etc/passwd", "a\0b"] {
            assert!(resolve_below(&root, bad).is_err(), "{bad:?} was opened");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leaves_the_root_is_refused_after_resolution() {
        let (dir, root) = root();
        std::os::unix::fs::symlink(dir.path().join("passwd"), root.join("out")).expect("link");
        std::os::unix::fs::symlink(dir.path(), root.join("up")).expect("link");
        for bad in ["out", "up/passwd"] {
            assert!(matches!(open_below(&root, bad), Err(IngestError::OutsideRoot { .. })), "{bad} was opened");
        }
    }
}
