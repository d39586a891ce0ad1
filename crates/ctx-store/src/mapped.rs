//! A read-only file in memory.

use crate::error::StoreError;
use memmap2::Mmap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Shared bytes of one file; clones share the mapping.
#[derive(Clone, Debug)]
pub(crate) struct Mapped {
    map: Arc<Mmap>,
    path: Arc<PathBuf>,
}

impl Mapped {
    #[allow(unsafe_code)]
    pub(crate) fn open(path: &Path) -> Result<Mapped, StoreError> {
        let file = File::open(path).map_err(StoreError::io("opening", path))?;
        // SAFETY: files of a sealed segment are never written or truncated by this program: they are built elsewhere,
        // renamed into place and later removed (removal keeps a mapping readable). Nothing read from the mapping is
        // trusted before its checksum is.
        let map = unsafe { Mmap::map(&file) }.map_err(StoreError::io("mapping", path))?;
        Ok(Mapped { map: Arc::new(map), path: Arc::new(path.to_owned()) })
    }
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
    pub(crate) fn corrupt(&self, problem: impl Into<String>) -> StoreError {
        StoreError::corrupt(&self.path, problem)
    }
    /// Four bytes at `at`, little-endian; the caller has checked the length.
    pub(crate) fn u32_at(&self, at: usize) -> u32 {
        u32::from_le_bytes(self[at..at + 4].try_into().expect("four bytes"))
    }
    /// Eight bytes at `at`, little-endian; the caller has checked the length.
    pub(crate) fn u64_at(&self, at: usize) -> u64 {
        u64::from_le_bytes(self[at..at + 8].try_into().expect("eight bytes"))
    }
}

impl std::ops::Deref for Mapped {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.map
    }
}
