//! Every lesson runs and ends well, so that what a reader copies works.

use std::process::Command;

const LESSONS: [&str; 6] = ["quickstart", "02_explain", "03_constraints_infeasible", "04_simulate", "05_custom_plugin", "06_statements"];

/// Cargo builds the examples of a package before it runs the package's tests, into the folder beside the tests' own.
fn program(lesson: &str) -> std::path::PathBuf {
    let test = std::env::current_exe().expect("a test knows where it stands");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("tests stand in target/PROFILE/deps");
    profile.join("examples").join(format!("{lesson}{}", std::env::consts::EXE_SUFFIX))
}

#[test]
fn every_lesson_ends_well() {
    for lesson in LESSONS {
        let path = program(lesson);
        assert!(path.is_file(), "{} is not built: run the tests of the whole package", path.display());
        let temporary = tempfile::tempdir().expect("a temporary folder");
        let output = Command::new(&path).env("TMPDIR", temporary.path()).env("TMP", temporary.path()).output().expect("it starts");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{lesson} failed: {out}\n{err}");
        assert!(!out.trim().is_empty(), "{lesson} shows nothing");
    }
}

#[test]
fn the_readme_shows_the_quick_start_as_it_is() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let lesson = std::fs::read_to_string(root.join("examples/quickstart.rs")).expect("the lesson");
    let readme = std::fs::read_to_string(root.join("../README.md")).expect("the README");
    let shown = lesson.split_once("\nuse ").map(|(_, code)| format!("use {}", code.trim_end())).expect("the lesson has imports");
    assert!(readme.contains(&shown), "copy examples/examples/quickstart.rs from its first `use` on into README.md");
}
