//! Statements on the command line: they print what the commands print, stop at what is wrong, and change nothing for good.

mod world;

use serde_json::Value;
use world::{World, document, done};

const QUESTION: &str = "When is the staging cluster restarted?";
const SOURCE: [&str; 2] = ["--source", "docs=./docs"];

fn statement(world: &World, text: &str) -> world::Done {
    world.run(&[&["-c", text][..], &SOURCE].concat())
}

#[test]
fn explain_and_simulate_print_the_same_bytes_as_their_commands() {
    let world = World::with_docs();
    world.run(&["index", "--source", "docs=./docs"]);
    let pairs: [(&[&str], String); 6] = [
        (&["explain"], format!("EXPLAIN ANSWER '{QUESTION}'")),
        (&["explain"], format!("explain answer $${QUESTION}$$ from docs;")),
        (
            &["explain", "--verbose", "--settings", "--max-cost-usd", "0.05"],
            format!("EXPLAIN (VERBOSE, SETTINGS) ANSWER '{QUESTION}' WITH (max_cost_usd = 0.05)"),
        ),
        (&["explain", "--format", "json", "--weight", "acc=2"], format!("EXPLAIN (FORMAT JSON) ANSWER '{QUESTION}' USING (acc = 2)")),
        (&["explain", "--min-accuracy", "0.999999"], format!("EXPLAIN ANSWER '{QUESTION}' WITH (min_accuracy = 0.999999)")),
        (&["simulate", "--force", "bm25", "--seed", "7"], format!("SIMULATE ANSWER '{QUESTION}' USING (seed = 7) HINT (FORCE bm25)")),
    ];
    for (command, text) in pairs {
        let line = [command, &["--goal", QUESTION][..], &SOURCE].concat();
        let (by_command, by_statement) = (world.run(&line), statement(&world, &text));
        assert!(!by_command.out.is_empty(), "{line:?}: {}", by_command.err);
        assert_eq!((by_command.code, &by_command.out), (by_statement.code, &by_statement.out), "{text}: {}", by_statement.err);
    }
    let line = [&["explain", "--json", "--goal", QUESTION][..], &SOURCE].concat();
    let by_statement = world.run(&[&["--json", "-c", &format!("EXPLAIN ANSWER '{QUESTION}'")][..], &SOURCE].concat());
    assert_eq!(world.run(&line).out, by_statement.out);
}

#[test]
fn an_answer_is_an_answer_and_what_fails_has_its_exit_code() {
    let world = World::with_docs();
    let answer = statement(&world, &format!("ANSWER '{QUESTION}' FROM docs"));
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.contains("03:15") && answer.out.contains("Sources:\n[1] docs/restart.md:"), "{}", answer.out);
    let strict = statement(&world, &format!("ANSWER '{QUESTION}' WITH (min_accuracy = 0.999999); SHOW SOURCES"));
    assert_eq!((strict.code, strict.out.as_str()), (3, ""), "it stops there: {}", strict.err);
    let script = format!("ANSWER '{QUESTION}' WITH (min_accuracy = 0.999999); SHOW SOURCES; SHOW TRACE run_none");
    let on = world.run(&[&["--keep-going", "-c", &script][..], &SOURCE].concat());
    assert_eq!(on.code, 3, "{}", on.err);
    assert!(on.out.contains("docs") && on.err.contains("SHOW TRACES"), "{}\n{}", on.out, on.err);
}

#[test]
fn what_is_wrong_is_pointed_at_before_anything_runs() {
    let world = World::with_docs();
    let wrong = statement(&world, "SHOW SOURCES;\nANSWER 'why' FORM docs");
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""), "nothing ran");
    assert!(wrong.err.contains("--> -c:2:14") && wrong.err.contains("^^^^ did you mean FROM?"), "{}", wrong.err);
    let unknown = statement(&world, "ANSWER 'why' FROM dosc");
    assert!(unknown.code == 2 && unknown.err.contains("^^^^ did you mean docs?"), "{}", unknown.err);
    let format = statement(&world, "EXPLAIN (ANALYZE, FORMAT pdf) ANSWER 'why'");
    assert!(format.code == 2 && format.err.contains("pdf"), "{}", format.err);
    let (code, value) = world.json(&[&["--json", "-c", "SHOW ALLL"][..], &SOURCE].concat());
    assert_eq!((code, value["error"]["place"]["column"].as_u64()), (2, Some(6)), "{value}");
    for line in [&["--keep-going"][..], &["-c", "SHOW ALL", "stats"], &["-f", "no-such-file.sql"]] {
        assert_eq!(world.run(line).code, 2, "{line:?}");
    }
}

#[test]
fn json_is_one_document_for_any_number_of_statements() {
    let world = World::with_docs();
    let line = |text: &str| document(&world.run(&[&["--json", "-c", text][..], &SOURCE].concat()));
    assert!(line("SHOW SOURCES")["sources"].is_array());
    let two = line("SET max_calls = 2; SHOW max_calls; SHOW SOURCES");
    let statements = two["statements"].as_array().expect("a list");
    assert_eq!(statements.len(), 3);
    assert_eq!(statements[1]["result"]["settings"][0]["value"], "2");
    assert_eq!((statements[2]["statement"].as_str(), statements[2]["exit_code"].as_u64()), (Some("SHOW SOURCES"), Some(0)));
    let failed = line("SHOW SOURCES; SHOW TRACE run_none; SHOW ALL");
    assert_eq!((failed["exit_code"].as_u64(), failed["statements"].as_array().map(Vec::len)), (Some(2), Some(2)), "{failed}");
    assert!(failed["error"]["message"].is_string());
    assert_eq!(line("-- nothing")["statements"], Value::Array(Vec::new()));
}

#[test]
fn a_script_creates_its_source_includes_files_and_leaves_no_trace_in_the_configuration() {
    let world = World::with_docs();
    world.write("ask.sql", format!("ANSWER '{QUESTION}' FROM notes;\n"));
    let script = "\\timing on\nCREATE SOURCE notes FROM './docs' WITH (sensitivity = confidential);\n\\o answer.txt\n\\i ask.sql\n\\o\n\\x\nSHOW SOURCES;\n";
    world.write("script.sql", script);
    let ran = world.run(&["-f", "script.sql"]);
    assert_eq!(ran.code, 0, "{}\n{}", ran.out, ran.err);
    let answer = std::fs::read_to_string(world.path().join("answer.txt")).expect("written");
    assert!(answer.contains("03:15") && answer.contains("docs/restart.md:"), "{answer}");
    assert!(!ran.out.contains("03:15") && ran.out.contains("label     | confidential"), "{}", ran.out);
    assert!(ran.err.contains("Time: ") && ran.err.contains("lasts as long as this session"), "{}", ran.err);
    let later = world.run(&["-c", "ANSWER 'x' FROM notes"]);
    assert!(later.code == 2 && later.err.contains("CREATE SOURCE name FROM"), "{}", later.err);
}

#[test]
fn a_shell_without_a_terminal_reads_its_script_from_stdin() {
    let world = World::with_docs();
    let mut command = world.command(&[&["shell", "--tenant", "t"][..], &SOURCE].concat());
    let told = done(command.write_stdin("SHOW SETTINGS; SET acc = 1.5;\n\\d\nSHOW acc;\n\\q\nSHOW nothing"));
    assert_eq!(told.code, 2, "read whole before it runs: {}", told.err);
    let mut command = world.command(&[&["shell"][..], &SOURCE].concat());
    let told = done(command.write_stdin("SET acc = 1.5;\n\\d\nSHOW acc;\n\\q\nSHOW SOURCES;"));
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.out.contains("1.5") && told.out.contains("session") && told.out.matches("./docs").count() <= 1, "{}", told.out);
    assert!(!told.out.contains("ctxrt>") && !told.err.contains("ctxrt>"), "no prompt where nobody types");
}
