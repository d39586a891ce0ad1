//! Where each file of a store stands. Names only; nothing here touches the disk.

use crate::manifest::SegmentId;
use std::path::{Path, PathBuf};

/// The paths of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
}

impl Layout {
    /// The layout below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Layout { root: root.into() }
    }
    /// The store's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }
    /// The file that names the current manifest.
    pub fn current(&self) -> PathBuf {
        self.root.join("CURRENT")
    }
    /// The folder of manifests.
    pub fn manifests(&self) -> PathBuf {
        self.root.join("manifests")
    }
    /// One generation's manifest.
    pub fn manifest(&self, generation: u64) -> PathBuf {
        self.manifests().join(format!("{generation}.json"))
    }
    /// The folder of file lists.
    pub fn file_lists(&self) -> PathBuf {
        self.root.join("files")
    }
    /// One file list by its digest.
    pub fn file_list(&self, digest: &str) -> PathBuf {
        self.file_lists().join(format!("{digest}.json"))
    }
    /// The folder of sealed segments.
    pub fn segments(&self) -> PathBuf {
        self.root.join("segments")
    }
    /// One sealed segment.
    pub fn segment(&self, id: &SegmentId) -> PathBuf {
        self.segments().join(id.as_str())
    }
    /// The folder in which segments and temporary files are made.
    pub fn building(&self) -> PathBuf {
        self.root.join("building")
    }
    /// The folder of readers' leases.
    pub fn leases(&self) -> PathBuf {
        self.root.join("leases")
    }
    /// The lease of one generation.
    pub fn lease(&self, generation: u64) -> PathBuf {
        self.leases().join(generation.to_string())
    }
    /// The folder of append-only logs.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }
    /// The folder of blobs.
    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }
    /// The lock of one journal.
    pub fn journal_lock(&self, journal: &str) -> PathBuf {
        self.logs().join(format!("{journal}.lock"))
    }
    /// The writer's lock.
    pub fn writer_lock(&self) -> PathBuf {
        self.root.join("writer.lock")
    }
}
