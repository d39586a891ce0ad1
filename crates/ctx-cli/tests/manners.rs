//! Streams, signals, terminals: data on stdout, everything else on stderr, nothing hostile anywhere, no panic ever.

mod world;

use std::io::Read;
use std::process::{Command, Stdio};
use world::{World, document, done};

const QUESTION: &str = "When is the staging cluster restarted?";

#[test]
fn json_is_one_document_whatever_happens() {
    let world = World::with_docs();
    let cases: &[(&[&str], &[i32])] = &[
        (&["stats", "--json"], &[0]),
        (&["sources", "--json"], &[0]),
        (&["cache", "list", "--json"], &[0]),
        (&["trace", "list", "--json"], &[0]),
        (&["doctor", "--json"], &[0]),
        (&["explain", "--goal", "x", "--source", "docs=./docs", "--json"], &[0, 3]),
        (&["run", QUESTION, "--source", "docs=./docs", "--json"], &[0]),
        (&["search", "staging", "--source", "docs=./docs", "--json"], &[0]),
        (&["index", "--source", "docs=./docs", "--json"], &[0]),
    ];
    for (line, codes) in cases {
        let (code, value) = world.json(line);
        assert!(codes.contains(&code), "{line:?} ended with {code}: {value}");
        assert!(value.is_object(), "{line:?}: {value}");
    }
    let failing: &[&[&str]] = &[
        &["run", "--goal", "", "--source", "docs=./docs", "--json"],
        &["run", "x", "--source", "nowhere=./nowhere", "--json"],
        &["run", "x", "--json"],
        &["run", "x", "--max-cost-usd", "-1", "--json"],
        &["run", "--json", "--no-such-flag"],
        &["trace", "show", "run_none", "--json"],
        &["--json", "no-such-command"],
    ];
    for line in failing {
        let (code, value) = world.json(line);
        assert_eq!(code, 2, "{line:?}: {value}");
        assert!(value["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{line:?}: {value}");
    }
}

#[test]
fn logs_and_progress_stay_off_stdout() {
    let world = World::with_docs();
    let mut command = world.command(&["run", QUESTION, "--source", "docs=./docs", "--json"]);
    let loud = done(command.env("RUST_LOG", "debug"));
    document(&loud);
    assert!(!loud.out.contains('\u{1b}') && !loud.err.contains('\u{1b}'), "colour without a terminal");
    let quiet = world.run(&["run", QUESTION, "--source", "docs=./docs"]);
    assert!(!quiet.err.contains("DEBUG"), "{}", quiet.err);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_it_quietly_and_the_trace_is_kept() {
    let world = World::with_docs();
    world.run(&["index", "--source", "docs=./docs"]);
    let line = ["run", QUESTION, "--source", "docs=./docs"];
    let mut child = piped(&world, &line);
    // Closing our end before anything is read makes its first write fail.
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
    let status = child.wait().expect("ends");
    assert!(matches!(status.code(), Some(0)), "{status:?}: {err}");
    assert!(!err.contains("panicked") && !err.contains("RUST_BACKTRACE"), "{err}");
    let (_, traces) = world.json(&["trace", "list", "--json"]);
    assert_eq!(traces["traces"].as_array().map(Vec::len), Some(1), "{traces}");
}

#[cfg(unix)]
#[test]
fn nobody_reads_stderr_and_nothing_breaks() {
    let world = World::with_docs();
    let mut child = piped(&world, &["run", QUESTION, "--source", "docs=./docs"]);
    drop(child.stderr.take());
    let mut out = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
    assert_eq!(child.wait().expect("ends").code(), Some(0));
    assert!(out.contains("03:15"), "{out}");
}

#[cfg(unix)]
fn piped(world: &World, line: &[&str]) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ctxrt"));
    command.current_dir(world.path()).env("CTXRT_STORE", world.path().join("store")).env_remove("RUST_LOG").args(line);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts")
}

#[cfg(unix)]
#[test]
fn a_signal_stops_indexing_with_its_code_and_leaves_a_readable_store() {
    let world = World::new();
    for n in 0..3_000 {
        world.write(
            &format!("docs/{n}.md"),
            format!("# Document {n}\n\n{}\n", "Some words about things that matter to nobody. ".repeat(60)),
        );
    }
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let child = piped(&world, &["index", "--source", "docs=./docs"]);
        std::thread::sleep(std::time::Duration::from_millis(300));
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        assert!(sent.success());
        let output = child.wait_with_output().expect("ends");
        // A machine that indexes all of it within the wait has nothing to stop.
        assert!(matches!(output.status.code(), Some(c) if c == code || c == 0), "{output:?}");
    }
    let (code, _) = world.json(&["sources", "--source", "docs=./docs", "--json"]);
    assert_eq!(code, 0);
}

#[test]
fn hostile_names_and_texts_are_escaped_everywhere() {
    let world = World::new();
    world.write("docs/長い名前のファイル.md", "# Ünï\n\nThe answer is forty-two, said the \u{1b}[31mred\u{1b}[0m oracle of staging.\n");
    #[cfg(unix)]
    {
        world.write("docs/a\tb\nc.md", "The staging oracle spoke a second time about staging.\n");
        world.write("docs/\u{202e}gnp.md", "The staging oracle spoke a third time about staging.\n");
    }
    let hostile = |text: &str| text.chars().any(|c| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c));
    let goal = "what did the staging oracle \u{1b}[2J say \u{202e}?";
    for line in [
        vec!["explain", goal, "--source", "docs=./docs"],
        vec!["explain", goal, "--source", "docs=./docs", "--verbose"],
        vec!["run", goal, "--source", "docs=./docs"],
        vec!["run", goal, "--source", "docs=./docs", "--json"],
        vec!["search", "staging oracle", "--source", "docs=./docs"],
        vec!["search", "staging oracle", "--source", "docs=./docs", "--json"],
        vec!["trace", "list"],
        vec!["trace", "show"],
        vec!["cache", "list"],
        vec!["sources", "--source", "docs=./docs"],
    ] {
        let done = world.run(&line);
        assert!(!hostile(&done.out) && !hostile(&done.err), "{line:?}: {:?} {:?}", done.out, done.err);
    }
}

#[test]
fn any_width_will_do() {
    let world = World::with_docs();
    for columns in ["0", "1", "7", "abc", ""] {
        for line in [
            &["explain", "x", "--source", "docs=./docs"][..],
            &["stats"],
            &["sources", "--source", "docs=./docs"],
            &["search", "staging", "--source", "docs=./docs"],
        ] {
            let done = done(world.command(line).env("COLUMNS", columns));
            assert!(matches!(done.code, 0 | 3), "COLUMNS={columns} {line:?}: {}", done.err);
        }
    }
}

#[test]
fn completions_and_manual_come_from_the_same_definition() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let done = world.run(&["completions", shell]);
        assert!(done.code == 0 && done.out.contains("ctxrt") && done.out.contains("simulate"), "{shell}");
    }
    let manual = world.run(&["man"]);
    assert!(manual.code == 0 && manual.out.starts_with(".ie") || manual.out.contains(".TH ctxrt"), "{}", manual.out);
    assert!(manual.out.contains("Exit codes") && manual.out.contains("max\\-cost\\-usd"), "{}", manual.out);
}

#[test]
fn a_recorded_run_is_replayed_by_another_process_and_an_edited_source_shows() {
    let world = World::with_docs();
    let goal = "When is the staging cluster restarted?";
    let run = world.run(&["run", goal, "--source", "docs=docs", "--record", "run.json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let traces = || world.run(&["trace", "list", "--json"]).out;
    let before = traces();
    let again = world.run(&["replay", "run.json", "--source", "docs=docs"]);
    assert_eq!((again.code, &again.out), (0, &run.out), "{}", again.err);
    assert!(again.err.contains("the same plan, answer, citations and cost"), "{}", again.err);
    assert_eq!(traces(), before, "a replay left a trace");
    // The plan alone needs neither source nor store.
    let elsewhere = World::new();
    let bundle = world.path().join("run.json");
    let plan = elsewhere.run(&["replay", &bundle.to_string_lossy(), "--plan-only"]);
    assert_eq!((plan.code, plan.out.contains("byte for byte")), (0, true), "{}", plan.err);

    let without = elsewhere.run(&["replay", &bundle.to_string_lossy()]);
    assert!(without.code != 0 && without.err.contains("source docs") && without.err.contains("--source docs=PATH"), "{}", without.err);

    world.write("docs/restart.md", "# Restart\n\n## Staging\n\nThe staging cluster is restarted every noon by the job noon-restart.\n");
    world.run(&["index", "--source", "docs=docs"]);
    let changed = world.run(&["replay", "run.json", "--source", "docs=docs"]);
    assert_eq!(changed.code, 1, "{}", changed.err);
    assert!(changed.err.contains("answer: recorded"), "{}", changed.err);
    let broken = world.run(&["replay", "docs/errors.md"]);
    assert_eq!((broken.code, broken.err.contains("--record")), (2, true), "{}", broken.err);
}

#[test]
fn a_store_that_is_a_file_is_told_by_every_command_that_looks() {
    let world = World::with_docs();
    world.write("taken", "not a store");
    for line in [&["sources"][..], &["cache", "list"], &["stats"], &["trace", "list"], &["run", "When?", "--source", "docs=docs"]] {
        let told = world.run(&[line, &["--store", "taken"]].concat());
        assert_eq!((told.code, told.err.contains("taken")), (10, true), "{line:?}: {}", told.err);
    }
}

#[test]
fn cached_plans_travel_to_another_store_and_what_is_no_cache_is_refused() {
    let world = World::with_docs();
    let goal = "When is the staging cluster restarted?";
    assert_eq!(world.run(&["run", goal, "--source", "docs=docs"]).code, 0);
    assert_eq!(world.run(&["cache", "export", "plans.cache"]).code, 0);
    let taken = world.run(&["cache", "import", "plans.cache", "--store", "other"]);
    assert_eq!((taken.code, taken.out.contains("2 plans taken in")), (0, true), "{}{}", taken.out, taken.err);
    let again = world.run(&["cache", "import", "plans.cache", "--store", "other"]);
    assert!(again.out.contains("0 plans taken in, 2 known already"), "{}", again.out);
    // The plan serves as it was made and as a template. The other store reads the same folder.
    let told = world.run(&["explain", goal, "--source", "docs=docs", "--store", "other"]);
    assert!(told.out.contains("Plan Cache: hit (literal)"), "{}", told.out);
    let refused = world.run(&["cache", "import", "docs/errors.md"]);
    assert_eq!((refused.code, refused.err.contains("not a plan cache")), (2, true), "{}", refused.err);
}
