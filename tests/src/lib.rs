//! What the whole-system tests share: the program, run as a user runs it, and places to run it in.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The `ctxrt` program of this build: it stands beside the test's own executable.
pub fn ctxrt() -> PathBuf {
    let test = std::env::current_exe().expect("a test has an executable");
    let folder = test.parent().and_then(Path::parent).expect("test executables stand in deps/");
    let program = folder.join(format!("ctxrt{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "{} is missing: build the workspace, not this package alone", program.display());
    program
}

/// Root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the repository").to_owned()
}

/// A command with an environment of its own: nothing of the user's configuration leaks in.
pub fn command(folder: &Path, store: &Path) -> Command {
    let mut command = Command::new(ctxrt());
    command.current_dir(folder).env_clear().env("HOME", store).env("CTXRT_STORE", store).env("TZ", "UTC");
    command
}

/// Runs it to its end.
pub fn run(folder: &Path, store: &Path, args: &[&str]) -> Output {
    command(folder, store).args(args).output().expect("the program starts")
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Both streams, for messages of failed assertions.
pub fn both(output: &Output) -> String {
    format!("exit {:?}\n{}\n{}", output.status.code(), stdout(output), String::from_utf8_lossy(&output.stderr))
}

/// Standard output as one JSON document.
pub fn json(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("standard output is not one JSON document: {e}\n{}", both(output)))
}

/// A folder with files, and a store.
#[derive(Debug)]
pub struct Place {
    /// The folder.
    pub files: TempDir,
    /// The store.
    pub store: TempDir,
}

impl Place {
    /// Both empty.
    pub fn empty() -> Place {
        Place { files: tempfile::tempdir().expect("a folder"), store: tempfile::tempdir().expect("a folder") }
    }

    /// A file below the folder.
    pub fn write(&self, name: &str, text: &str) {
        let file = self.files.path().join(name);
        std::fs::create_dir_all(file.parent().expect("below the folder")).expect("made");
        std::fs::write(file, text).expect("written");
    }

    /// The program, run there to its end while servers of the test go on.
    pub async fn run(&self, args: &[&str]) -> Output {
        let mut command = command(self.files.path(), self.store.path());
        command.args(args);
        tokio::task::spawn_blocking(move || command.output().expect("the program starts")).await.expect("it ends")
    }
}
