//! One published generation, held open by a reader.
//!
//! While a [`Generation`] value lives, its process holds a shared lock on `leases/<n>`, and the writer's sweep leaves
//! everything that generation shows on disk. Dropping it (or dying) releases the lease. Where a lease cannot be taken
//! (read-only folder, a file system without locks) the generation still reads; then a sweep may outrun it, and what is
//! missing is reported as an error that asks for another look at `CURRENT`.

use crate::disk;
use crate::envelope;
use crate::error::StoreError;
use crate::files::FileList;
use crate::layout::Layout;
use crate::manifest::{FILE_LIST_SCHEMA, Manifest, SegmentId, SourceState};
use ctx_types::SourceName;
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A generation: immutable, cheap to share, safe to read for as long as it is held.
#[derive(Debug)]
pub struct Generation {
    manifest: Manifest,
    fingerprint: String,
    layout: Layout,
    lists: Mutex<BTreeMap<String, Arc<FileList>>>,
    _lease: Option<HeldLease>,
}

/// What became of an attempt to open a generation.
pub(crate) enum Opened {
    /// Here it is.
    Ready(Arc<Generation>),
    /// It was swept between reading `CURRENT` and taking the lease: look again.
    Swept,
}

impl Generation {
    /// The store before its first publication.
    pub(crate) fn empty(layout: Layout) -> Arc<Generation> {
        Arc::new(Generation::with(layout, Manifest::default(), None))
    }

    pub(crate) fn with(layout: Layout, manifest: Manifest, lease: Option<HeldLease>) -> Generation {
        let fingerprint = manifest.fingerprint();
        Generation { manifest, fingerprint, layout, lists: Mutex::default(), _lease: lease }
    }

    /// Takes the lease first and reads the manifest second: a manifest that is there under our lease stays there.
    pub(crate) fn open(layout: &Layout, number: u64) -> Result<Opened, StoreError> {
        let lease = match take_lease(layout, number) {
            Lease::Taken(file) => Some(file),
            Lease::Unavailable => None,
            Lease::BeingSwept => return Ok(Opened::Swept),
        };
        let path = layout.manifest(number);
        let Some(bytes) = disk::read_optional(&path)? else { return Ok(Opened::Swept) };
        let manifest = Manifest::decode(&path, &bytes)?;
        if manifest.generation != number {
            return Err(StoreError::corrupt(&path, format!("it says generation {}", manifest.generation)));
        }
        Ok(Opened::Ready(Arc::new(Generation::with(layout.clone(), manifest, lease))))
    }

    /// Its number: counts publications.
    pub fn number(&self) -> u64 {
        self.manifest.generation
    }
    /// Its content.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }
    /// Merkle root over all sources: equal content, equal fingerprint, whatever the history.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }
    /// All sources by name.
    pub fn sources(&self) -> impl Iterator<Item = (&SourceName, &SourceState)> {
        self.manifest.sources.iter()
    }
    /// One source.
    pub fn source(&self, name: &SourceName) -> Option<&SourceState> {
        self.manifest.sources.get(name)
    }
    /// The folder of a segment.
    pub fn segment_path(&self, id: &SegmentId) -> PathBuf {
        self.layout.segment(id)
    }
    /// Where the store is.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// A source's file list; read once, then shared. Empty for a source that is not in this generation.
    pub fn files(&self, name: &SourceName) -> Result<Arc<FileList>, StoreError> {
        let Some(source) = self.source(name) else { return Ok(Arc::default()) };
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = lists.get(&source.file_list) {
            return Ok(Arc::clone(list));
        }
        let path = self.layout.file_list(&source.file_list);
        let bytes = fs::read(&path).map_err(StoreError::io("reading", &path))?;
        if disk::sha256_hex(&bytes) != source.file_list {
            return Err(StoreError::corrupt(&path, "its content does not match its name"));
        }
        let list: Arc<FileList> = Arc::new(envelope::unseal(FILE_LIST_SCHEMA, &path, &bytes)?);
        lists.insert(source.file_list.clone(), Arc::clone(&list));
        Ok(list)
    }
}

/// A shared lock. Unlocked by hand: a child process that is just being started has a copy of the handle, and closing
/// ours would not end the lock.
#[derive(Debug)]
pub(crate) struct HeldLease(File);

impl Drop for HeldLease {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

enum Lease {
    Taken(HeldLease),
    Unavailable,
    BeingSwept,
}

fn take_lease(layout: &Layout, number: u64) -> Lease {
    let opened =
        File::options().create(true).truncate(false).write(true).open(layout.lease(number)).or_else(|_| File::open(layout.lease(number)));
    let Ok(file) = opened else { return Lease::Unavailable };
    match file.try_lock_shared() {
        Ok(()) => Lease::Taken(HeldLease(file)),
        Err(TryLockError::WouldBlock) => Lease::BeingSwept,
        Err(TryLockError::Error(_)) => Lease::Unavailable,
    }
}
