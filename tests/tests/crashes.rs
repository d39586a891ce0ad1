//! Killing `index` and `run` at twenty points loses nothing: the old generation stays readable, the next start is clean.

use ctx_tests::{both, command, json, run};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

const FILES: u32 = 300;

fn write(folder: &Path, round: u32) {
    for i in 0..FILES {
        fs::write(folder.join(format!("f{i}.md")), format!("# Note {i}\n\nmarker{i} stands in round {round}.\n")).expect("written");
    }
}

#[test]
fn twenty_kills_lose_nothing() {
    let (files, store) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    write(files.path(), 0);
    let first = run(files.path(), store.path(), &["index", "--source", "notes=."]);
    assert_eq!(first.status.code(), Some(0), "{}", both(&first));
    for kill in 0..20u32 {
        write(files.path(), kill + 1);
        let args: &[&str] =
            if kill % 2 == 0 { &["index", "--source", "notes=."] } else { &["run", "what is marker7?", "--source", "notes=."] };
        let mut child =
            command(files.path(), store.path()).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        // Points spread over the run: prime steps, so that no two kills hit the same moment of the same command.
        sleep(Duration::from_millis(u64::from(kill * 37 % 230)));
        let _ = child.kill();
        child.wait().expect("ended");
        // What was published before must still be readable, without indexing.
        let search = run(files.path(), store.path(), &["search", "marker42", "--source", "notes=.", "--no-index", "--json"]);
        assert_eq!(search.status.code(), Some(0), "after kill {kill}: {}", both(&search));
        assert!(json(&search).to_string().contains("f42.md"), "after kill {kill}: {}", both(&search));
    }
    let last = run(files.path(), store.path(), &["index", "--source", "notes=.", "--json"]);
    assert_eq!(last.status.code(), Some(0), "{}", both(&last));
    for i in [0, 17, 299] {
        let found = json(&run(files.path(), store.path(), &["search", &format!("marker{i}"), "--source", "notes=.", "--json"])).to_string();
        assert!(found.contains("round 20") && !found.contains("round 19"), "marker{i}: {found}");
    }
    let leftovers: Vec<_> =
        fs::read_dir(store.path().join("building")).map(|d| d.flatten().map(|e| e.path()).collect()).unwrap_or_default();
    assert!(leftovers.is_empty(), "left behind: {leftovers:?}");
}
