//! The one writer: builds segments aside, publishes a new generation, sweeps.
//!
//! Order of a publication, each step durable before the next: segment synced → segment in place → file lists →
//! manifest → `CURRENT`. Only the last one changes what readers see.

use crate::disk;
use crate::envelope;
use crate::error::StoreError;
use crate::files::FileList;
use crate::generation::{Generation, Opened};
use crate::lock::WriterLock;
use crate::manifest::{FILE_LIST_SCHEMA, IdfIdentity, Manifest, SegmentId, SegmentRef, SourceState};
use crate::store::{Step, StepHook, Store};
use crate::sweep::{self, SweepReport};
use ctx_types::SourceName;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// How many rows a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSize {
    /// Documents.
    pub documents: u32,
    /// Passages.
    pub passages: u32,
}

/// One change of a publication.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // A publication has a handful of them.
pub enum Change {
    /// A source is new or differs.
    Update(SourceUpdate),
    /// A source goes, with everything it holds.
    Remove(SourceName),
}

/// What changes in one source. Fields left as [`SourceUpdate::new`] sets them keep what the base generation has.
#[derive(Clone, Debug)]
pub struct SourceUpdate {
    /// Which source.
    pub name: SourceName,
    /// Its absolute root.
    pub root: String,
    /// New segments, sealed by this writer.
    pub add_segments: Vec<SegmentRef>,
    /// Segments that are replaced (merged away, or indexed under other settings).
    pub drop_segments: BTreeSet<SegmentId>,
    /// Documents that disappear, by segment; added to those already deleted.
    pub tombstones: BTreeMap<SegmentId, BTreeSet<u32>>,
    /// The whole new file list; `None` keeps the old one.
    pub files: Option<FileList>,
    /// `None` keeps the old one.
    pub idf: Option<IdfIdentity>,
    /// `None` keeps the old one.
    pub settings_digest: Option<String>,
    /// `None` keeps the old ones.
    pub notes: Option<BTreeMap<String, String>>,
}

impl SourceUpdate {
    /// An update that changes nothing but the root.
    pub fn new(name: SourceName, root: impl Into<String>) -> Self {
        SourceUpdate {
            name,
            root: root.into(),
            add_segments: Vec::new(),
            drop_segments: BTreeSet::new(),
            tombstones: BTreeMap::new(),
            files: None,
            idf: None,
            settings_digest: None,
            notes: None,
        }
    }
}

/// Segments that this writer has begun (folder) or sealed (id) and not yet published: a sweep leaves them alone.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub(crate) folders: BTreeSet<PathBuf>,
    pub(crate) sealed: BTreeSet<SegmentId>,
}

/// What a writer starts from.
pub(crate) enum Base {
    /// The current generation.
    Current(Arc<Generation>),
    /// Nothing, whatever may be current: a rebuild.
    Nothing(Arc<Generation>),
}

/// The one writer of a store; the lock is held until it is dropped.
pub struct Writer {
    store: Store,
    base: Arc<Generation>,
    base_is_current: bool,
    pending: Arc<Mutex<Pending>>,
    swept: SweepReport,
    hook: Option<StepHook>,
    _lock: WriterLock,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("store", &self.store).field("base", &self.base.number()).finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn begin(store: Store, lock: WriterLock, base: Base) -> Result<Writer, StoreError> {
        let layout = store.layout();
        for folder in [layout.manifests(), layout.file_lists(), layout.segments(), layout.building(), layout.leases()] {
            disk::create_dir(&folder)?;
        }
        disk::sync_dir(layout.root())?;
        let hook = store.hook();
        let (base, base_is_current) = match base {
            Base::Current(generation) => (generation, true),
            Base::Nothing(generation) => (generation, false),
        };
        let (pending, swept) = (Arc::default(), SweepReport::default());
        let mut writer = Writer { store, base, base_is_current, pending, swept, hook, _lock: lock };
        writer.swept = writer.sweep()?;
        Ok(writer)
    }

    /// The generation that the next publication builds upon.
    pub fn base(&self) -> &Arc<Generation> {
        &self.base
    }
    /// The store written to.
    pub fn store(&self) -> &Store {
        &self.store
    }
    /// What was found left over and removed, so far.
    pub fn swept(&self) -> SweepReport {
        self.swept
    }

    /// A folder in which a segment of `source` can be built; dropping it removes it.
    pub fn begin_segment(&self, source: &SourceName) -> Result<SegmentBuild, StoreError> {
        let id = SegmentId::new_unique();
        let path = self.store.layout().building().join(id.as_str());
        self.lock_pending().folders.insert(path.clone());
        fs::create_dir(&path).map_err(StoreError::io("creating", &path))?;
        Ok(SegmentBuild {
            target: self.store.layout().segment(&id),
            id,
            path,
            source: source.clone(),
            pending: Arc::clone(&self.pending),
            hook: self.hook.clone(),
            sealed: false,
        })
    }

    /// Publishes all changes at once as the next generation and sweeps what nobody reads any more.
    /// Without changes the base stays current.
    pub fn publish(&mut self, changes: Vec<Change>) -> Result<Arc<Generation>, StoreError> {
        if changes.is_empty() {
            return Ok(Arc::clone(&self.base));
        }
        let mut manifest = self.base.manifest().clone();
        manifest.generation += 1;
        for change in changes {
            match change {
                Change::Remove(name) => {
                    manifest.sources.remove(&name);
                }
                Change::Update(update) => self.apply(&mut manifest, update)?,
            }
        }
        manifest.check().map_err(inconsistent)?;
        self.check_segments(&manifest)?;
        self.at(Step::FileListsWritten);
        self.write(&manifest)?;
        self.base = self.reopen(&manifest)?;
        self.base_is_current = true;
        self.lock_pending().sealed.retain(|id| !manifest.segment_ids().contains(id));
        // Published is published: what cannot be removed now is removed by the next writer.
        if let Ok(report) = self.sweep() {
            self.swept = self.swept + report;
        }
        Ok(Arc::clone(&self.base))
    }

    fn apply(&self, manifest: &mut Manifest, update: SourceUpdate) -> Result<(), StoreError> {
        let old = manifest.sources.remove(&update.name);
        let list = match (&update.files, &old) {
            (Some(files), _) => self.write_file_list(files)?,
            (None, Some(old)) => (old.file_list.clone(), old.files, old.fingerprint.clone()),
            (None, None) => self.write_file_list(&FileList::default())?,
        };
        let old_segments = old.as_ref().map(|old| old.segments.clone()).unwrap_or_default();
        let segments = merge_segments(old_segments, &update)?;
        let (file_list, files, fingerprint) = list;
        let state = SourceState {
            root: update.root,
            segments,
            file_list,
            files,
            fingerprint,
            idf: update.idf.or_else(|| old.as_ref().and_then(|old| old.idf.clone())),
            settings_digest: update.settings_digest.or_else(|| old.as_ref().map(|old| old.settings_digest.clone())).unwrap_or_default(),
            published_at_ns: now_ns(),
            notes: update.notes.or_else(|| old.map(|old| old.notes)).unwrap_or_default(),
        };
        manifest.sources.insert(update.name, state);
        Ok(())
    }

    /// Digest, number of files, fingerprint. The file is named by its digest: an equal list is written once.
    fn write_file_list(&self, files: &FileList) -> Result<(String, u64, String), StoreError> {
        let bytes = envelope::seal(FILE_LIST_SCHEMA, files).expect("a file list has string keys and plain values");
        let digest = disk::sha256_hex(&bytes);
        let path = self.store.layout().file_list(&digest);
        // An existing file may be damaged; it is cheap to compare and wrong to trust.
        if disk::read_optional(&path)?.as_deref() != Some(&bytes) {
            disk::replace(&path, &self.store.layout().building(), &bytes)?;
        }
        Ok((digest, files.len() as u64, files.fingerprint()))
    }

    /// A segment that disappeared (somebody removed the folder) must not be published.
    fn check_segments(&self, manifest: &Manifest) -> Result<(), StoreError> {
        for id in manifest.segment_ids() {
            let path = self.store.layout().segment(id);
            if !path.is_dir() {
                return Err(StoreError::corrupt(&path, "the segment's folder is missing"));
            }
        }
        Ok(())
    }

    fn write(&self, manifest: &Manifest) -> Result<(), StoreError> {
        let layout = self.store.layout();
        disk::replace(&layout.manifest(manifest.generation), &layout.building(), &manifest.encode())?;
        self.at(Step::ManifestWritten);
        let name = format!("{}.json\n", manifest.generation);
        disk::replace(&layout.current(), &layout.building(), name.as_bytes())?;
        self.at(Step::CurrentReplaced);
        Ok(())
    }

    fn reopen(&self, manifest: &Manifest) -> Result<Arc<Generation>, StoreError> {
        match Generation::open(self.store.layout(), manifest.generation)? {
            Opened::Ready(generation) => Ok(generation),
            Opened::Swept => {
                let path = self.store.layout().manifest(manifest.generation);
                Err(StoreError::corrupt(&path, "it disappeared while it was being published"))
            }
        }
    }

    /// Removes what neither the current generation nor any reader's lease needs. Publishing does this by itself; before
    /// a rebuild has published, nothing is removed.
    pub fn sweep(&self) -> Result<SweepReport, StoreError> {
        if !self.base_is_current {
            return Ok(SweepReport::default());
        }
        // The handle's own memory of an older generation would keep that one alive.
        self.store.forget();
        let pending = self.lock_pending();
        sweep::run(&self.store, self.base.manifest(), &pending, &|| self.at(Step::Swept))
    }

    fn at(&self, step: Step) {
        if let Some(hook) = &self.hook {
            hook(step);
        }
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn inconsistent(problem: impl Into<String>) -> StoreError {
    StoreError::Inconsistent { doing: "publishing a generation", problem: problem.into() }
}

/// Old segments minus the dropped ones, with their new tombstones, then the added ones. A segment with no visible
/// document left is dropped.
fn merge_segments(old: Vec<SegmentRef>, update: &SourceUpdate) -> Result<Vec<SegmentRef>, StoreError> {
    let mut segments = old;
    for id in &update.drop_segments {
        if !segments.iter().any(|segment| segment.id == *id) {
            return Err(inconsistent(format!("source {} has no segment {id} to drop", update.name)));
        }
    }
    segments.retain(|segment| !update.drop_segments.contains(&segment.id));
    segments.extend(update.add_segments.iter().cloned());
    for (id, documents) in &update.tombstones {
        let segment = segments
            .iter_mut()
            .find(|segment| segment.id == *id)
            .ok_or_else(|| inconsistent(format!("source {} has no segment {id} to delete from", update.name)))?;
        let all: BTreeSet<u32> = segment.tombstones.iter().chain(documents).copied().collect();
        segment.tombstones = all.into_iter().collect();
    }
    segments.retain(|segment| segment.documents == 0 || segment.tombstones.len() < segment.documents as usize);
    Ok(segments)
}

pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A segment under construction: a folder of its own that nobody reads.
pub struct SegmentBuild {
    id: SegmentId,
    path: PathBuf,
    target: PathBuf,
    source: SourceName,
    pending: Arc<Mutex<Pending>>,
    hook: Option<StepHook>,
    sealed: bool,
}

impl std::fmt::Debug for SegmentBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentBuild").field("id", &self.id).field("path", &self.path).finish_non_exhaustive()
    }
}

impl SegmentBuild {
    /// The folder to fill.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Its id, which stays the same once it is sealed.
    pub fn id(&self) -> &SegmentId {
        &self.id
    }
    /// The source it belongs to.
    pub fn source(&self) -> &SourceName {
        &self.source
    }

    /// Syncs every file and moves the folder into place. Close all handles into it first.
    pub fn seal(mut self, size: SegmentSize) -> Result<SegmentRef, StoreError> {
        let bytes = disk::sync_tree(&self.path)?;
        self.at(Step::SegmentSynced);
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).sealed.insert(self.id.clone());
        disk::rename(&self.path, &self.target)?;
        self.sealed = true;
        self.at(Step::SegmentInPlace);
        let SegmentSize { documents, passages } = size;
        Ok(SegmentRef { id: self.id.clone(), documents, passages, bytes, tombstones: Vec::new() })
    }

    fn at(&self, step: Step) {
        if let Some(hook) = &self.hook {
            hook(step);
        }
    }
}

impl Drop for SegmentBuild {
    fn drop(&mut self) {
        if !self.sealed {
            let _ = fs::remove_dir_all(&self.path);
        }
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).folders.remove(&self.path);
    }
}
