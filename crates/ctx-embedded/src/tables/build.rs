//! Loading a source's files and publishing the result: the database aside, then one small file replaced by rename.

use super::files::{self, FileState};
use crate::error::EmbeddedError;
use crate::place::Place;
use crate::statistics::sensitive_warning;
use ctx_contracts::{IndexEvent, IndexReport, SkippedFile};
use ctx_duckdb::tables::{TableDb, TableWriter};
use ctx_intent::sensitive::{Detector, for_each};
use ctx_runtime::config::{AutoLabel, SourceConfig};
use ctx_tables::schema::Table;
use ctx_types::id::sha256_hex;
use ctx_types::{SourceKind, SourceName};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Version of the small file.
const VERSION: u32 = 1;

/// What is published of one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Published {
    version: u32,
    /// Counts publications.
    pub(crate) generation: u64,
    /// Hash over paths and contents.
    pub(crate) fingerprint: String,
    /// Files as loaded.
    pub(crate) files: Vec<FileState>,
    /// Per column (`table.column`), the columns in which its values stand.
    pub(crate) joins: BTreeMap<String, Vec<String>>,
    /// Files that could not be read, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) left_out: Vec<(String, String)>,
    /// Sensitive values by detector, if they were looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sensitive: Option<BTreeMap<String, u64>>,
    /// Where the files stood; older publications do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<Place>,
    /// Why the files could not be loaded, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
}

/// Where the files of all tables sources stand in a store.
pub(crate) fn folder(store: &Path) -> PathBuf {
    store.join("tables")
}

fn note_path(store: &Path, name: &SourceName) -> PathBuf {
    folder(store).join(format!("{}.json", safe(name)))
}

/// The database of a publication.
pub(crate) fn database(store: &Path, name: &SourceName, fingerprint: &str) -> PathBuf {
    folder(store).join(format!("{}-{}.duckdb", safe(name), &fingerprint[..16.min(fingerprint.len())]))
}

/// A source's name as part of a file's: hashed, because it may hold any character.
fn safe(name: &SourceName) -> String {
    sha256_hex(name.as_str().as_bytes())[..16].to_owned()
}

/// What is published of a source; `None` if nothing is.
pub(crate) fn published(store: &Path, name: &SourceName) -> Result<Option<Published>, EmbeddedError> {
    let path = note_path(store, name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(EmbeddedError::io("reading", &path)(error)),
    };
    let damaged = |problem: String| EmbeddedError::Damaged { path: path.clone(), problem };
    let found: Published = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if found.version > VERSION {
        return Err(damaged(format!("version {}, this program knows {VERSION}", found.version)));
    }
    Ok(Some(found))
}

/// Loads the source anew if a file changed. The caller holds the writer's lock.
pub(crate) fn index(
    store: &Path,
    name: &SourceName,
    config: &SourceConfig,
    progress: &dyn Fn(IndexEvent),
) -> Result<IndexReport, EmbeddedError> {
    let root = files::root(&config.path);
    let mut found = files::scan(&config.path)?;
    progress(IndexEvent::Found { source: name.clone(), files: found.len() as u64 });
    let before = published(store, name).ok().flatten();
    for file in &mut found {
        file.hash = files::hash(&root.join(&file.path))?;
    }
    let parts: Vec<String> = found.iter().map(|file| format!("{}\n{}\n", file.path, file.hash)).collect();
    let fingerprint = sha256_hex(parts.concat().as_bytes());
    let path = database(store, name, &fingerprint);
    let known = |file: &FileState| before.as_ref().is_some_and(|b| b.files.iter().any(|f| f.path == file.path && f.hash == file.hash));
    let unchanged = found.iter().filter(|file| known(file)).count() as u64;
    let removed = before.iter().flat_map(|b| &b.files).filter(|file| !found.iter().any(|f| f.path == file.path)).count() as u64;
    let same = before.as_ref().filter(|b| b.fingerprint == fingerprint && path.is_file());
    let (tables, joins, left_out) = match same {
        Some(before) => (TableDb::open(&path)?.tables().to_vec(), before.joins.clone(), before.left_out.clone()),
        None => load(name, &root, &found, &path, progress)?,
    };
    let counted = same.and_then(|before| before.sensitive.clone());
    let sensitive = match (looks_for_values(config), counted) {
        (false, _) => None,
        (true, Some(counted)) => Some(counted),
        (true, None) => Some(sensitive(&TableDb::open(&path)?)?),
    };
    let mut warnings: Vec<String> = tables.iter().flat_map(remarks).collect();
    warnings.extend(sensitive.as_ref().and_then(|found| sensitive_warning(config, found)));
    let generation = before.as_ref().map_or(1, |b| b.generation + u64::from(b.fingerprint != fingerprint));
    let total = found.len() as u64;
    let note = Published {
        version: VERSION,
        generation,
        fingerprint: fingerprint.clone(),
        files: found,
        joins,
        left_out,
        sensitive,
        place: Some(Place::of(&config.path)),
        problem: None,
    };
    publish(store, name, &note)?;
    if let Some(old) = before.filter(|b| b.fingerprint != fingerprint) {
        // A reader may hold the old database open: on Unix its file lives until it is closed.
        let _ = std::fs::remove_file(database(store, name, &old.fingerprint));
    }
    Ok(IndexReport {
        source: name.to_string(),
        indexed: total - unchanged,
        unchanged,
        removed,
        passages: tables.iter().map(|table| table.rows).sum(),
        skipped: note.left_out.into_iter().map(|(path, reason)| SkippedFile { path, reason }).collect(),
        warnings,
        generation,
        fingerprint,
        ..IndexReport::default()
    })
}

/// Publishes that the files cannot be loaded as they are.
pub(crate) fn give_up(store: &Path, name: &SourceName, config: &SourceConfig, problem: &str) -> Result<(), EmbeddedError> {
    let files = files::scan(&config.path)?;
    let generation = published(store, name).ok().flatten().map_or(1, |before| before.generation + 1);
    let joins = BTreeMap::new();
    let problem = Some(problem.to_owned());
    let note = Published {
        version: VERSION,
        generation,
        fingerprint: String::new(),
        files,
        joins,
        left_out: Vec::new(),
        sensitive: None,
        place: Some(Place::of(&config.path)),
        problem,
    };
    publish(store, name, &note)
}

/// The text beside rows is searched for sensitive values already.
pub(crate) fn looks_for_values(config: &SourceConfig) -> bool {
    config.kind == SourceKind::Tables && config.auto_label != AutoLabel::Off
}

/// Sensitive values of all rows by detector. A value stands behind the name of its column, which may say what it is.
fn sensitive(db: &TableDb) -> Result<BTreeMap<String, u64>, EmbeddedError> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    db.each_value(&mut |column, value, rows| {
        let text = format!("{column}: {value}");
        for_each(&text, |detector, range| {
            if detector != Detector::Url && range.start > column.len() {
                *found.entry(detector.name().to_owned()).or_insert(0) += rows;
            }
        });
    })?;
    Ok(found)
}

type Loaded = (Vec<Table>, BTreeMap<String, Vec<String>>, Vec<(String, String)>);

fn load(name: &SourceName, root: &Path, found: &[FileState], path: &Path, progress: &dyn Fn(IndexEvent)) -> Result<Loaded, EmbeddedError> {
    let parent = path.parent().unwrap_or(root);
    std::fs::create_dir_all(parent).map_err(EmbeddedError::io("creating", parent))?;
    let aside = path.with_extension("loading");
    match std::fs::remove_file(&aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(EmbeddedError::io("removing", &aside)(error)),
        _ => {}
    }
    let mut writer = TableWriter::create(&aside)?;
    let mut left_out = Vec::new();
    for (done, file) in found.iter().enumerate() {
        let stem = Path::new(&file.path).file_stem().map_or_else(|| file.path.clone(), |stem| stem.to_string_lossy().into_owned());
        if let Err(error) = writer.add(&stem, root, std::slice::from_ref(&file.path)) {
            if found.len() == 1 {
                return Err(error.into());
            }
            left_out.push((file.path.clone(), error.to_string()));
        }
        progress(IndexEvent::Progress { source: name.clone(), done: done as u64 + 1, total: found.len() as u64 });
    }
    let tables = writer.finish()?;
    std::fs::rename(&aside, path).map_err(EmbeddedError::io("publishing", path))?;
    let mut joins: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for joinable in TableDb::open(path)?.joinable()? {
        let column = |(table, column): &(String, String)| format!("{table}.{column}");
        joins.entry(column(&joinable.from)).or_default().push(column(&joinable.to));
    }
    Ok((tables, joins, left_out))
}

fn publish(store: &Path, name: &SourceName, note: &Published) -> Result<(), EmbeddedError> {
    let path = note_path(store, name);
    let parent = folder(store);
    std::fs::create_dir_all(&parent).map_err(EmbeddedError::io("creating", &parent))?;
    let bytes = serde_json::to_vec(note).map_err(|error| EmbeddedError::Json { doing: "publishing tables", reason: error.to_string() })?;
    Ok(ctx_store::replace_file(&path, &bytes)?)
}

/// What a person should know about a table, in words.
fn remarks(table: &Table) -> Vec<String> {
    let of_columns = table.columns.iter().flat_map(|c| c.notes.iter().map(move |note| format!("{}.{}: {note}", table.name, c.name)));
    table.notes.iter().map(|note| format!("{}: {note}", table.name)).chain(of_columns).collect()
}
