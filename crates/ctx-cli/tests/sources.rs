//! Sources over time and before people: text that is deleted, one that cannot be read, one that not everybody may read.

mod world;

use serde_json::Value;
use std::path::Path;
use world::World;

const QUESTION: &str = "When is the staging cluster restarted?";

/// Whether some file below a folder holds these bytes.
fn held(folder: &Path, words: &str) -> bool {
    let entries = std::fs::read_dir(folder).expect("listed").map(|entry| entry.expect("listed").path());
    entries.into_iter().any(|path| match path.is_dir() {
        true => held(&path, words),
        false => std::fs::read(&path).is_ok_and(|bytes| bytes.windows(words.len()).any(|part| part == words.as_bytes())),
    })
}

#[test]
fn deleted_text_is_shown_by_no_trace_and_a_purge_takes_it_out_of_the_store() {
    let world = World::with_docs();
    let source = ["--source", "docs=./docs"];
    let ran = world.run(&[&["run", QUESTION][..], &source].concat());
    assert!(ran.code == 0 && ran.out.contains("03:15"), "{}\n{}", ran.out, ran.err);
    let told = || world.run(&["trace", "show", "--all", "--json"]).out + &world.run(&["trace", "show"]).out;
    assert!(told().contains("03:15"));

    // Text that only moved is still the text that was read.
    let text = std::fs::read_to_string(world.path().join("docs/restart.md")).expect("there");
    world.write("docs/restart.md", format!("# About\n\nThis page is on restarts of clusters.\n\n{text}"));
    assert_eq!(world.run(&[&["index"][..], &source].concat()).code, 0);
    assert!(told().contains("03:15"), "{}", told());

    std::fs::remove_file(world.path().join("docs/restart.md")).expect("removed");
    assert_eq!(world.run(&[&["index"][..], &source].concat()).code, 0);
    let after = told();
    assert!(!after.contains("03:15") && !after.contains("nightly-restart"), "{after}");
    assert!(after.contains("text of source `docs` that was changed or deleted since") && after.contains(QUESTION), "{after}");
    let statement = world.run(&["-c", "SHOW TRACES; SHOW STATISTICS"]);
    assert!(!statement.out.contains("03:15"), "{}", statement.out);

    let (code, purged) = world.json(&[&["index", "--purge", "--json"][..], &source].concat());
    assert_eq!((code, &purged["sources"][0]["traces_blanked"]), (0, &Value::from(1)), "{purged}");
    assert!(!held(&world.path().join("store"), "nightly-restart"), "deleted text is still in the store");
    assert!(!told().contains("03:15") && told().contains(QUESTION));
    let again = world.run(&[&["index", "--purge"][..], &source].concat());
    assert!(again.code == 0 && !again.out.contains("recorded runs"), "{}", again.out);
}

#[test]
fn one_source_that_cannot_be_read_does_not_stop_the_others() {
    let world = World::with_docs();
    world.write("ctxrt.yaml", "sources:\n  archive: {path: ./archive}\n  docs: {path: ./docs}\n  zoo: {path: ./zoo}\n");
    let done = world.run(&["index"]);
    assert_eq!(done.code, 2, "that of the first failure: {}\n{}", done.out, done.err);
    assert!(done.out.contains("indexed docs: 2 files"), "{}", done.out);
    for name in ["archive", "zoo"] {
        assert!(done.err.contains(&format!("{name} is not brought up to date: ")), "{}", done.err);
    }
    let (code, report) = world.json(&["index", "--json"]);
    let failed: Vec<bool> = report["sources"].as_array().expect("rows").iter().map(|row| row["failure"].is_object()).collect();
    assert_eq!((code, failed), (2, vec![true, false, true]), "{report}");

    world
        .write("docs/restart.md", "# Restart\n\n## Staging\n\nThe staging cluster is restarted every night at 04:45 by the job nightly.\n");
    let ran = world.run(&["run", QUESTION]);
    assert!(ran.code == 0 && ran.out.contains("04:45"), "{}\n{}", ran.out, ran.err);
    assert_eq!(ran.err.matches("not refreshed, planned on what was indexed before").count(), 2, "{}", ran.err);
    let script = world.run(&["-c", "REFRESH"]);
    assert_eq!(script.code, 2, "{}\n{}", script.out, script.err);
}

#[test]
fn a_source_that_who_asks_may_not_read_is_counted_and_not_named() {
    let world = World::with_docs();
    world.write("pay/list.md", "# Salaries\n\nThe staging cluster is restarted by people who earn 4,711 a month.\n");
    world.write("ctxrt.yaml", "sources:\n  docs: {path: ./docs}\n  payroll: {path: ./pay, readable_by: [hr]}\n");
    let lines: [&[&str]; 8] = [
        &["sources"],
        &["explain", QUESTION, "--verbose"],
        &["explain", QUESTION, "--analyze", "--json"],
        &["run", QUESTION],
        &["simulate", QUESTION],
        &["search", "staging cluster restarted"],
        &["-c", "SHOW SOURCES"],
        &["trace", "show", "--json"],
    ];
    for line in lines {
        let done = world.run(line);
        assert_eq!(done.code, 0, "{line:?}: {}", done.err);
        let all = done.out + &done.err;
        assert!(!all.contains("payroll") && !all.contains("4,711") && !all.contains("list.md"), "{line:?}: {all}");
    }
    let (_, listed) = world.json(&["sources", "--json"]);
    assert_eq!((listed["sources"].as_array().map(Vec::len), &listed["hidden"]), (Some(1), &Value::from(1)), "{listed}");
    let explained = world.run(&["explain", QUESTION]);
    assert!(explained.out.contains("1 source is not shown"), "{}", explained.out);
    let misspelt = world.run(&["run", QUESTION, "--source", "doc"]);
    assert!(misspelt.code == 2 && !misspelt.err.contains("payroll"), "{}", misspelt.err);

    let shown = world.run(&["sources", "--role", "hr"]);
    assert!(shown.out.contains("payroll"), "{}", shown.out);
    let explained = world.run(&["explain", QUESTION, "--role", "hr"]);
    assert!(explained.out.contains("Source: payroll"), "{}", explained.out);
}
