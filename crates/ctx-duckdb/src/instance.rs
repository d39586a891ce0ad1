//! One database instance per file and process, shared by all threads.
//!
//! DuckDB lets one process open a file twice and gives two instances that do not know each other. So instances live in
//! a registry keyed by canonical path: a second open finds the first. The registry itself keeps the most recently used
//! ones open; an evicted one closes when its last [`SegmentDb`] is dropped.

use crate::error::DuckError;
use crate::schema::SCHEMA_VERSION;
use duckdb::{AccessMode, Config, Connection};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// The library that the pinned `duckdb` crate belongs to.
pub const LIBRARY_VERSION: &str = "v1.5.6";
/// Instances kept open without a user: two sources at their segment limit.
const INSTANCES_MAX: usize = 16;
/// Idle connections kept per instance.
const CONNECTIONS_MAX: usize = 8;
/// What DuckDB may use per segment for reading.
const MEMORY_LIMIT: &str = "128MB";

/// An open database and its idle connections.
pub(crate) struct Instance {
    number: u64,
    path: PathBuf,
    documents: u32,
    passages: u32,
    dimension: u32,
    idle: Mutex<Vec<Connection>>,
}

/// A segment's database, opened read-only. Clones share it; usable from any thread.
#[derive(Clone)]
pub struct SegmentDb {
    instance: Arc<Instance>,
}

impl std::fmt::Debug for SegmentDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentDb").field("path", &self.path()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Registry {
    open: BTreeMap<PathBuf, Weak<Instance>>,
    recent: VecDeque<Arc<Instance>>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

impl SegmentDb {
    /// Opens a sealed segment, or finds it open.
    pub fn open(path: &Path) -> Result<SegmentDb, DuckError> {
        let canonical = path.canonicalize().map_err(|error| DuckError::open(path, error))?;
        let mut guard = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
        let registry = guard.get_or_insert_with(Registry::default);
        let found = registry.open.get(&canonical).and_then(Weak::upgrade);
        let instance = match found {
            Some(instance) => instance,
            None => Arc::new(Instance::open(&canonical)?),
        };
        registry.remember(canonical, &instance);
        Ok(SegmentDb { instance })
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.instance.path
    }
    /// Documents, deleted ones included.
    pub fn documents_len(&self) -> u32 {
        self.instance.documents
    }
    /// Passages, deleted ones included.
    pub fn passages_len(&self) -> u32 {
        self.instance.passages
    }
    /// Values per embedding; `None` where there are no embeddings.
    pub fn dimension(&self) -> Option<u32> {
        (self.instance.dimension > 0).then_some(self.instance.dimension)
    }

    /// Tells instances apart in the cache of rows.
    pub(crate) fn number(&self) -> u64 {
        self.instance.number
    }

    /// Lends a connection to `work` and keeps it, with its prepared statements, for the next caller.
    pub(crate) fn with<T>(&self, doing: &'static str, work: impl FnOnce(&Connection) -> duckdb::Result<T>) -> Result<T, DuckError> {
        let connection = self.instance.take().map_err(DuckError::statement(doing, self.path()))?;
        let result = work(&connection).map_err(DuckError::statement(doing, self.path()));
        self.instance.give_back(connection);
        result
    }
}

impl Registry {
    fn remember(&mut self, path: PathBuf, instance: &Arc<Instance>) {
        // A segment that was swept from disk is not kept open: its space would stay taken.
        self.recent.retain(|other| !Arc::ptr_eq(other, instance) && other.path.exists());
        self.recent.push_front(Arc::clone(instance));
        self.recent.truncate(INSTANCES_MAX);
        self.open.insert(path, Arc::downgrade(instance));
        self.open.retain(|_, instance| instance.strong_count() > 0);
    }
}

impl Instance {
    fn open(path: &Path) -> Result<Instance, DuckError> {
        let failed = |error: duckdb::Error| DuckError::open(path, error);
        let connection = config().and_then(|config| Connection::open_with_flags(path, config)).map_err(failed)?;
        check_version(&connection, path)?;
        connection.execute_batch("SET lock_configuration = true").map_err(failed)?;
        let row: (i64, u32, u32, u32) = connection
            .query_row("SELECT version, documents, passages, dimension FROM segment", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .map_err(failed)?;
        let (found, documents, passages, dimension) = row;
        if found > SCHEMA_VERSION {
            return Err(DuckError::NewerSchema { path: path.to_owned(), found, supported: SCHEMA_VERSION });
        }
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Instance { number, path: path.to_owned(), documents, passages, dimension, idle: Mutex::new(vec![connection]) })
    }

    /// An idle connection or a new one to the same instance; the last idle one is never given away, only cloned.
    fn take(&self) -> duckdb::Result<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        match idle.len() {
            0 | 1 => idle.first().map_or_else(|| Err(duckdb::Error::QueryReturnedNoRows), Connection::try_clone),
            _ => Ok(idle.swap_remove(1)),
        }
    }

    fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < CONNECTIONS_MAX {
            idle.push(connection);
        }
    }
}

fn config() -> duckdb::Result<Config> {
    Config::default()
        .access_mode(AccessMode::ReadOnly)?
        .enable_external_access(false)?
        .enable_autoload_extension(false)?
        .threads(1)?
        .max_memory(MEMORY_LIMIT)
}

/// Checks once per process that the library is the one that this crate was built for.
pub(crate) fn check_version(connection: &Connection, path: &Path) -> Result<(), DuckError> {
    static FOUND: OnceLock<String> = OnceLock::new();
    let found = match FOUND.get() {
        Some(found) => found,
        None => {
            let version = connection.version().map_err(|error| DuckError::open(path, error))?;
            FOUND.get_or_init(|| version)
        }
    };
    if found == LIBRARY_VERSION {
        return Ok(());
    }
    Err(DuckError::Library { found: found.clone(), expected: LIBRARY_VERSION })
}

/// Checks the library without a segment: for start-up and for `ctxrt doctor`. Returns its version.
pub fn check_library() -> Result<&'static str, DuckError> {
    let path = Path::new(":memory:");
    let connection = Connection::open_in_memory().map_err(|error| DuckError::open(path, error))?;
    check_version(&connection, path).map(|()| LIBRARY_VERSION)
}
