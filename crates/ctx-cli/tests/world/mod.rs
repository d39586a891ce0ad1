//! A folder with files, a store of its own, and `ctxrt` run in it with a clean environment.
#![allow(dead_code)]

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A world of one test.
pub(crate) struct World {
    folder: TempDir,
}

/// What a command left.
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// An empty folder.
    pub(crate) fn new() -> World {
        World { folder: tempfile::tempdir().expect("a folder") }
    }

    /// A folder with two documents that answer a question.
    pub(crate) fn with_docs() -> World {
        let world = World::new();
        world.write(
            "docs/restart.md",
            "# Restart\n\n## Staging\n\nThe staging cluster is restarted every night at 03:15 by the job nightly-restart.\n",
        );
        world.write(
            "docs/errors.md",
            "# Errors\n\nError E0502 means that a value is borrowed twice.\nThe fix is to end the first borrow before the second begins.\n",
        );
        world
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folder");
        std::fs::write(&path, text).expect("written");
        path
    }

    /// `ctxrt` in this folder; nothing of the caller's environment but the search path for programs.
    pub(crate) fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::cargo_bin("ctxrt").expect("built");
        command.current_dir(self.path()).env_clear();
        for name in ["PATH", "LD_LIBRARY_PATH", "SystemRoot"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", self.path().join("home")).env("CTXRT_STORE", self.path().join("store")).args(line);
        command
    }

    pub(crate) fn run(&self, line: &[&str]) -> Done {
        done(&mut self.command(line))
    }

    /// The one document that `--json` promises.
    pub(crate) fn json(&self, line: &[&str]) -> (i32, Value) {
        let done = self.run(line);
        (done.code, document(&done))
    }
}

pub(crate) fn done(command: &mut Command) -> Done {
    let output = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8 only");
    let done = Done { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) };
    assert!(!done.err.contains("panicked") && done.code != 101, "it panicked: {}", done.err);
    done
}

/// Parses stdout as exactly one JSON document.
pub(crate) fn document(done: &Done) -> Value {
    let found: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&done.out).into_iter().collect();
    let mut found = found.unwrap_or_else(|e| panic!("not JSON: {e}\n{}\n{}", done.out, done.err));
    assert_eq!(found.len(), 1, "not exactly one document: {}", done.out);
    found.remove(0)
}
