//! The rules of ARCHITECTURE.md that a machine can check; one file per rule, each with a planted violation in its tests.

mod architecture;
mod bans;
mod closure;
mod edges;
mod heads;
mod words;

use crate::workspace::{self, Workspace};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Crates that know no I/O, clock, thread, environment or async.
pub(crate) const PLANNER: [&str; 12] = [
    "ctx-types",
    "ctx-graph",
    "ctx-intent",
    "ctx-candidates",
    "ctx-cost",
    "ctx-optimizer",
    "ctx-simulate",
    "ctx-scheduler",
    "ctx-planner",
    "ctx-plan-cache",
    "ctx-learn",
    "ctx-explain",
];

/// A broken rule: where, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// A crate, or a file with its line.
    pub(crate) place: String,
    /// What is wrong and why it matters.
    pub(crate) problem: String,
}

impl Violation {
    fn new(place: impl Into<String>, problem: impl Into<String>) -> Violation {
        Violation { place: place.into(), problem: problem.into() }
    }
}

/// A text file of the repository.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Relative to the root, `/`-separated.
    pub(crate) path: String,
    /// Its content.
    pub(crate) text: String,
}

/// Checks every rule and prints what is broken.
pub(crate) fn tidy() -> Result<ExitCode> {
    let workspace = Workspace::load()?;
    let files = tracked_text_files(&workspace::root())?;
    let architecture = files.iter().find(|file| file.path == "ARCHITECTURE.md").map_or("", |file| file.text.as_str());
    let mut violations = Vec::new();
    violations.extend(edges::check(&workspace));
    violations.extend(closure::check(&workspace));
    violations.extend(architecture::check(&workspace, architecture));
    violations.extend(heads::check(&files));
    violations.extend(bans::check(&files));
    violations.extend(words::check(&files));
    violations.sort();
    for violation in &violations {
        eprintln!("{}: {}", violation.place, violation.problem);
    }
    eprintln!("tidy: {} files, {} crates, {} violations", files.len(), workspace.packages.len(), violations.len());
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files that git knows or would add, as far as they are text.
fn tracked_text_files(root: &Path) -> Result<Vec<TextFile>> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("running git ls-files")?;
    let mut paths: Vec<PathBuf> = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| PathBuf::from(String::from_utf8_lossy(path).into_owned()))
        .collect();
    paths.sort();
    paths.dedup();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(root.join(&path)).ok()?;
        Some(TextFile { path: path.to_string_lossy().replace('\\', "/"), text })
    };
    Ok(paths.into_iter().filter_map(read).collect())
}

/// The crate that a source file belongs to: the folder before `src`.
fn crate_of(path: &str) -> Option<&str> {
    path.split_once("/src/").map(|(folder, _)| folder.rsplit('/').next().unwrap_or(folder))
}
