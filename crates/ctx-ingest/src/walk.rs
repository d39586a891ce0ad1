//! Finds the files of a source: sorted, each real file once, with everything that was left out and why.
//!
//! Symbolic links are not followed: a link to a place inside the root leads to files that are found anyway, and a link
//! to a place outside must not be read. Nothing but regular files is ever opened.

use crate::confine::stamp_of;
use crate::error::IngestError;
use crate::kind::{SNIFF_BYTES, is_binary_content, is_binary_name};
use crate::secrets::{is_secret_content, is_secret_name};
use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The project's own ignore file: same syntax as `.gitignore`, wins over it, negations included.
pub const IGNORE_FILE: &str = ".ctxrtignore";

/// Folders that are never part of a source, whatever the ignore files say.
const NEVER: &[&str] = &["target", "node_modules", ".git"];

/// What tells cheaply whether a file changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    pub size: u64,
    /// Modification time, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Change time of the inode, nanoseconds since 1970; 0 where the system has none.
    pub ctime_ns: i64,
    /// Inode number; 0 where the system has none.
    pub inode: u64,
}

/// A file to index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Entry {
    /// Path below the root, `/`-separated.
    pub path: String,
    /// Its metadata.
    pub stamp: Stamp,
}

/// Why something below the root is not indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// Looks like a secret, by name or by a private-key header.
    Secret,
    /// Not text.
    Binary,
    /// A link whose target lies below the root and is found under its own name.
    LinkInside,
    /// A link to one of the folders it stands in.
    LinkLoop,
    /// A link that leaves the root.
    LinkOutside,
    /// A link to nothing.
    LinkDangling,
    /// A fifo, socket or device.
    Special,
    /// Reading it failed.
    Unreadable,
    /// The name is not UTF-8, so that no citation could name it.
    NameNotUtf8,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SkipReason::Secret => "looks like a secret",
            SkipReason::Binary => "binary",
            SkipReason::LinkInside => "link to a file that is indexed under its own name",
            SkipReason::LinkLoop => "link to a folder it stands in",
            SkipReason::LinkOutside => "link that leaves the source",
            SkipReason::LinkDangling => "link to nothing",
            SkipReason::Special => "not a regular file",
            SkipReason::Unreadable => "unreadable",
            SkipReason::NameNotUtf8 => "name is not UTF-8",
        })
    }
}

/// Something left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Skip {
    /// Path below the root, `/`-separated; U+FFFD for what is not UTF-8.
    pub path: String,
    /// Why.
    pub reason: SkipReason,
}

/// What was found below a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Canonical folder that all paths are relative to (the parent, if the root is one file).
    pub root: PathBuf,
    /// Files to index, sorted by path.
    pub entries: Vec<Entry>,
    /// What was left out, sorted by path. Files named by ignore rules are not listed.
    pub skips: Vec<Skip>,
}

impl Walk {
    /// How many were left out, by reason.
    pub fn skip_counts(&self) -> BTreeMap<SkipReason, u64> {
        let mut counts = BTreeMap::new();
        for skip in &self.skips {
            *counts.entry(skip.reason).or_insert(0) += 1;
        }
        counts
    }
}

/// Tells from path and stamp that a file was accepted before and is unchanged.
pub type IsKnown<'a> = &'a dyn Fn(&str, &Stamp) -> bool;

/// What the caller knows beforehand.
#[derive(Clone, Default)]
pub struct WalkOptions<'a> {
    /// Folders never entered: the store and whatever else the application writes.
    pub exclude: Vec<PathBuf>,
    /// Files that need not be opened to see whether they are text, since an earlier walk did. `None` opens every file.
    pub is_known: Option<IsKnown<'a>>,
}

impl fmt::Debug for WalkOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WalkOptions").field("exclude", &self.exclude).finish_non_exhaustive()
    }
}

/// Walks `root`, a folder or one file.
pub fn walk(root: &Path, options: &WalkOptions<'_>) -> Result<Walk, IngestError> {
    let fail = |cause| IngestError::Root { root: root.to_owned(), cause };
    let canonical = root.canonicalize().map_err(fail)?;
    let metadata = canonical.metadata().map_err(fail)?;
    let base = if metadata.is_dir() { canonical.clone() } else { canonical.parent().unwrap_or(&canonical).to_owned() };
    let mut walker = Walker { walk: Walk { root: base, entries: Vec::new(), skips: Vec::new() }, options };
    if metadata.is_dir() {
        walker.folder(&canonical);
    } else {
        walker.visit(&canonical);
    }
    let mut walk = walker.walk;
    walk.entries.sort_unstable();
    walk.skips.sort_unstable();
    Ok(walk)
}

struct Walker<'a> {
    walk: Walk,
    options: &'a WalkOptions<'a>,
}

impl Walker<'_> {
    fn folder(&mut self, root: &Path) {
        let excluded: Vec<PathBuf> = self.options.exclude.iter().filter_map(|p| p.canonicalize().ok()).collect();
        let top = root.to_owned();
        let mut builder = WalkBuilder::new(root);
        builder
            .hidden(false)
            .require_git(false)
            .git_global(false)
            .parents(is_inside_repository(root))
            .add_custom_ignore_filename(IGNORE_FILE)
            .filter_entry(move |entry| {
                let folder = entry.file_type().is_some_and(|t| t.is_dir());
                let path = entry.path();
                path == top
                    || !(NEVER.iter().any(|never| entry.file_name() == *never && (folder || *never == ".git"))
                        || (folder && excluded.iter().any(|e| e == path)))
            });
        for result in builder.build() {
            match result {
                Ok(entry) if entry.file_type().is_some_and(|t| t.is_dir()) => {}
                Ok(entry) => self.visit(entry.path()),
                Err(error) => self.unreadable(root, &error),
            }
        }
    }

    fn visit(&mut self, path: &Path) {
        let Some(name) = self.relative(path) else { return };
        match self.judge(path, &name) {
            Ok(stamp) => self.walk.entries.push(Entry { path: name, stamp }),
            Err(reason) => self.walk.skips.push(Skip { path: name, reason }),
        }
    }

    /// The path below the root; a name that is not UTF-8 is reported and has none.
    fn relative(&mut self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(&self.walk.root).ok()?;
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        if parts.is_none() {
            self.walk.skips.push(Skip { path: display_path(below), reason: SkipReason::NameNotUtf8 });
        }
        parts.map(|parts| parts.join("/"))
    }

    fn judge(&self, path: &Path, name: &str) -> Result<Stamp, SkipReason> {
        let metadata = path.symlink_metadata().map_err(|_| SkipReason::Unreadable)?;
        if metadata.file_type().is_symlink() {
            return Err(judge_link(path, &self.walk.root));
        }
        if !metadata.is_file() {
            return Err(SkipReason::Special);
        }
        if is_secret_name(name) {
            return Err(SkipReason::Secret);
        }
        if is_binary_name(name) {
            return Err(SkipReason::Binary);
        }
        let stamp = stamp_of(&metadata);
        if !self.options.is_known.is_some_and(|is_known| is_known(name, &stamp)) {
            let head = read_head(path).map_err(|_| SkipReason::Unreadable)?;
            if let Some(reason) = judge_content(name, &head) {
                return Err(reason);
            }
        }
        Ok(stamp)
    }

    fn unreadable(&mut self, root: &Path, error: &ignore::Error) {
        let path = path_of(error).unwrap_or(root);
        let below = path.strip_prefix(root).unwrap_or(path);
        self.walk.skips.push(Skip { path: display_path(below), reason: SkipReason::Unreadable });
    }
}

/// Whether the first bytes of a file forbid indexing it.
pub(crate) fn judge_content(name: &str, head: &[u8]) -> Option<SkipReason> {
    if is_secret_content(head) {
        Some(SkipReason::Secret)
    } else if is_binary_content(name, head) {
        Some(SkipReason::Binary)
    } else {
        None
    }
}

fn judge_link(path: &Path, root: &Path) -> SkipReason {
    match path.canonicalize() {
        Err(_) if path.read_link().is_ok_and(|to| to.as_os_str() == path.as_os_str()) => SkipReason::LinkLoop,
        Err(_) => SkipReason::LinkDangling,
        Ok(target) if path.starts_with(&target) => SkipReason::LinkLoop,
        Ok(target) if target.starts_with(root) => SkipReason::LinkInside,
        Ok(_) => SkipReason::LinkOutside,
    }
}

fn read_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(SNIFF_BYTES);
    std::fs::File::open(path)?.take(SNIFF_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

fn display_path(path: &Path) -> String {
    path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn is_inside_repository(root: &Path) -> bool {
    root.ancestors().skip(1).any(|folder| folder.join(".git").exists())
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => path_of(err),
        ignore::Error::Loop { child, .. } => Some(child),
        _ => None,
    }
}
