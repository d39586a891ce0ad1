//! A store as its readers see it: a folder whose `CURRENT` names what is visible now.
//!
//! Opening creates nothing: a store that is not there is an empty one. Writing starts at [`Store::writer`].

use crate::disk;
use crate::error::StoreError;
use crate::generation::{Generation, Opened};
use crate::layout::Layout;
use crate::lock;
use crate::writer::{Base, Writer};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Looks at `CURRENT` before giving up; each look that fails means that a writer published meanwhile.
const LOOKS_MAX: u32 = 200;
/// Pause between two looks.
const LOOK_PAUSE: Duration = Duration::from_millis(2);

/// The durable steps of a publication, in order; tests stop a process at each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The segment's files are synced, still in `building/`.
    SegmentSynced,
    /// The segment stands in `segments/`.
    SegmentInPlace,
    /// The file lists stand in `files/`.
    FileListsWritten,
    /// The new manifest stands in `manifests/`; `CURRENT` names the old one.
    ManifestWritten,
    /// `CURRENT` names the new manifest.
    CurrentReplaced,
    /// Something unreferenced was removed.
    Swept,
}

/// Called before the next step begins.
pub(crate) type StepHook = Arc<dyn Fn(Step) + Send + Sync>;

struct Shared {
    layout: Layout,
    cached: Mutex<Option<(String, Arc<Generation>)>>,
    hook: Option<StepHook>,
}

/// A handle; clones share what they have read.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("root", &self.root()).finish_non_exhaustive()
    }
}

impl Store {
    /// The store in `root`. Nothing is read or created yet.
    pub fn open(root: impl Into<PathBuf>) -> Store {
        Store::build(root.into(), None)
    }

    /// For tests of crashes: `hook` is called after each durable step and may end the process.
    #[doc(hidden)]
    pub fn open_observed(root: impl Into<PathBuf>, hook: impl Fn(Step) + Send + Sync + 'static) -> Store {
        Store::build(root.into(), Some(Arc::new(hook)))
    }

    fn build(root: PathBuf, hook: Option<StepHook>) -> Store {
        Store { shared: Arc::new(Shared { layout: Layout::new(root), cached: Mutex::default(), hook }) }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        self.shared.layout.root()
    }
    /// Where each of its files stands.
    pub fn layout(&self) -> &Layout {
        &self.shared.layout
    }
    pub(crate) fn hook(&self) -> Option<StepHook> {
        self.shared.hook.clone()
    }

    /// The generation that is current now; one small read where nothing has changed since the last call.
    pub fn current(&self) -> Result<Arc<Generation>, StoreError> {
        for _ in 0..LOOKS_MAX {
            let Some(name) = self.current_name()? else { return Ok(Generation::empty(self.layout().clone())) };
            let mut cached = self.shared.cached.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((cached_name, generation)) = cached.as_ref()
                && *cached_name == name
            {
                return Ok(Arc::clone(generation));
            }
            if let Opened::Ready(generation) = Generation::open(self.layout(), self.number(&name)?)? {
                *cached = Some((name, Arc::clone(&generation)));
                return Ok(generation);
            }
            drop(cached);
            std::thread::sleep(LOOK_PAUSE);
        }
        Err(StoreError::corrupt(&self.layout().current(), "the manifest that it names does not exist"))
    }

    /// Lets go of the generation that this handle remembers, so that a sweep may remove it.
    pub fn forget(&self) {
        *self.shared.cached.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn current_name(&self) -> Result<Option<String>, StoreError> {
        let path = self.layout().current();
        let Some(bytes) = disk::read_optional(&path)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| StoreError::corrupt(&path, "it is not text"))
    }

    fn number(&self, name: &str) -> Result<u64, StoreError> {
        name.strip_suffix(".json\n")
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| StoreError::corrupt(&self.layout().current(), "it does not name a manifest"))
    }

    /// Becomes the one writer, waiting at most `wait` for another one to finish; sweeps what a crashed one left.
    pub fn writer(&self, wait: Duration) -> Result<Writer, StoreError> {
        let lock = lock::acquire(self.layout(), wait)?;
        let base = self.current()?;
        Writer::begin(self.clone(), lock, Base::Current(base))
    }

    /// Becomes the writer of a store whose manifest cannot be read: starts from an empty generation that is numbered
    /// above everything found, so that the sources are indexed anew. Publish all sources at once: what is current now
    /// stays readable, as far as it is, until then, and is gone afterwards.
    pub fn writer_rebuilding(&self, wait: Duration) -> Result<Writer, StoreError> {
        let lock = lock::acquire(self.layout(), wait)?;
        let newest = self.manifest_numbers()?.into_iter().max().unwrap_or(0);
        let manifest = crate::manifest::Manifest { generation: newest, ..Default::default() };
        let base = Arc::new(Generation::with(self.layout().clone(), manifest, None));
        Writer::begin(self.clone(), lock, Base::Nothing(base))
    }

    /// Generations whose manifests are on disk, ascending.
    pub(crate) fn manifest_numbers(&self) -> Result<Vec<u64>, StoreError> {
        let paths = disk::list(&self.layout().manifests())?;
        let mut numbers: Vec<u64> = paths.iter().filter_map(|path| disk::file_name(path).strip_suffix(".json")?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }
}
