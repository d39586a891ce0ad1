//! What a run, an explanation and a quote print, and that they speak of the same plan.

mod world;

use serde_json::Value;
use world::World;

const QUESTION: &str = "When is the staging cluster restarted?";

#[test]
fn an_answer_cites_lines_that_open() {
    let world = World::with_docs();
    let done = world.run(&["run", QUESTION, "--source", "docs=./docs"]);
    assert_eq!(done.code, 0, "{}\n{}", done.out, done.err);
    assert!(done.out.contains("03:15") && done.out.contains("Sources:\n[1] docs/restart.md:"), "{}", done.out);
    assert!(done.err.contains("sentences quoted, not composed") && done.err.contains("trace run_"), "{}", done.err);

    let (code, value) = world.json(&["run", QUESTION, "--source", "docs=./docs", "--json"]);
    assert_eq!((code, value["status"].as_str()), (0, Some("completed")));
    let citation = &value["citations"][0];
    let text = std::fs::read_to_string(world.path().join("docs").join(citation["locator"]["path"].as_str().expect("path"))).expect("opens");
    let first = citation["locator"]["line_start"].as_u64().expect("line") as usize;
    let last = citation["locator"]["line_end"].as_u64().expect("line") as usize;
    let cited: Vec<&str> = text.lines().skip(first - 1).take(last - first + 1).collect();
    assert!(cited.join("\n").contains("03:15"), "lines {first} to {last} hold {cited:?}");
}

#[test]
fn a_citation_names_the_copies_of_what_it_cites() {
    let world = World::with_docs();
    let docs = world.path().join("docs");
    std::fs::copy(docs.join("restart.md"), docs.join("z-copy.md")).expect("copied");
    let done = world.run(&["run", QUESTION, "--source", "docs=./docs"]);
    assert!(done.out.contains("[1] docs/restart.md:") && done.out.contains("\n    the same at z-copy.md\n"), "{}", done.out);
}

#[test]
fn explain_run_and_analyze_name_one_plan_and_explain_changes_nothing() {
    let world = World::with_docs();
    let line = |command: &'static [&'static str]| [command, &["--goal", QUESTION, "--source", "docs=./docs", "--json"]].concat();
    let (_, first) = world.json(&line(&["explain"]));
    let (_, again) = world.json(&line(&["explain"]));
    assert_eq!(first, again, "the same explanation twice");
    let (_, before) = world.json(&["stats", "--json"]);
    assert_eq!(before["rows"], Value::Array(Vec::new()), "explaining observes nothing");
    let (_, run) = world.json(&line(&["run"]));
    let (_, analyzed) = world.json(&line(&["explain", "--analyze"]));
    let (_, after) = world.json(&line(&["explain"]));
    let (_, fresh) = world.json(&[&line(&["explain"])[..], &["--settings"]].concat());
    let id = |value: &Value| value["plan"]["id"].as_str().expect("a plan").to_owned();
    assert_eq!([id(&analyzed), id(&after), id(&fresh)], [id(&first), id(&first), id(&first)], "one run moved the plan");
    assert_eq!(run["plan"].as_str(), Some(id(&first).as_str()));
    assert_eq!((&first["plan"]["estimate"], &first["plan"]["score"]), (&after["plan"]["estimate"], &after["plan"]["score"]));
    assert_eq!(analyzed["run"]["cost_nano_usd"], 0);
    let (_, traces) = world.json(&["trace", "list", "--json"]);
    assert_eq!(traces["traces"].as_array().map(Vec::len), Some(2), "a run and an EXPLAIN ANALYZE");
    let (_, shown) = world.json(&["trace", "show", run["trace"].as_str().expect("id"), "--json"]);
    assert_eq!(shown["plan"], run["plan"]);
    let text = world.run(&["explain", QUESTION, "--source", "docs=./docs", "--verbose"]);
    let score = &first["plan"]["score"]["total"];
    assert!(text.out.contains("Score: ") && score.is_i64(), "{}\n{score}", text.out);
}

#[test]
fn what_runs_teach_is_seen_at_once_and_planned_with_when_it_is_published() {
    let world = World::with_docs();
    let line = |command: &'static str| [command, QUESTION, "--source", "docs=./docs", "--json"];
    let (_, first) = world.json(&line("explain"));
    // Fewer than the five outcomes after which what was seen is absorbed at once.
    for _ in 0..4 {
        world.json(&line("run"));
    }
    let (_, seen) = world.json(&["stats", "--json"]);
    let n = |value: &Value| value["rows"].as_array().expect("rows").iter().filter_map(|row| row["n"].as_u64()).max();
    let published = |value: &Value| value["rows"].as_array().expect("rows").iter().filter(|row| row["version"] != "absent").count();
    assert!(n(&seen) >= Some(4) && published(&seen) == 0, "{seen}");
    assert_eq!(world.json(&line("explain")).1["plan"]["id"], first["plan"]["id"]);
    assert_eq!(world.run(&["analyze", "--source", "docs=./docs"]).code, 0);
    let (_, now) = world.json(&["stats", "--json"]);
    assert!(published(&now) > 0 && n(&now) == n(&seen), "analyze publishes: {now}");
    let (_, moved) = world.json(&line("explain"));
    assert_ne!(moved["plan"]["id"], first["plan"]["id"]);
    let numbers = moved.to_string();
    assert!(!numbers.contains("NaN") && !numbers.contains("9223372036854775807"), "{numbers}");
}

#[test]
fn text_and_json_of_an_explanation_show_the_same_plan() {
    let world = World::with_docs();
    let text = world.run(&["explain", QUESTION, "--source", "docs=./docs"]);
    assert_eq!(text.code, 0, "{}", text.err);
    let (_, value) = world.json(&["explain", QUESTION, "--source", "docs=./docs", "--format", "json"]);
    let title = value["plan"]["root"]["title"].as_str().expect("title");
    assert!(text.out.contains(title), "{title} is not in\n{}", text.out);
    assert!(!text.out.contains("inf") || text.out.contains("infeasible"), "{}", text.out);
    assert!(!text.out.contains("NaN"), "{}", text.out);
}

#[test]
fn what_no_plan_can_meet_exits_3_and_says_what_would_suffice() {
    let world = World::with_docs();
    let line = ["run", QUESTION, "--source", "docs=./docs", "--min-accuracy", "0.999999"];
    let done = world.run(&line);
    assert_eq!((done.code, done.out.as_str()), (3, ""), "{}", done.err);
    assert!(done.err.contains("min_accuracy"), "{}", done.err);
    let (code, value) = world.json(&[&line[..], &["--json"]].concat());
    assert_eq!((code, value["error"]["kind"].as_str()), (3, Some("infeasible")));
    let (code, value) = world.json(&["explain", QUESTION, "--source", "docs=./docs", "--min-accuracy", "0.999999", "--json"]);
    assert_eq!((code, value["error"]["kind"].as_str()), (3, Some("infeasible")));
}

#[test]
fn without_evidence_it_abstains_with_4() {
    let world = World::with_docs();
    let done = world.run(&["run", "Which colour has the flag of Burkina Faso?", "--source", "docs=./docs"]);
    assert_eq!((done.code, done.out.as_str()), (4, ""), "{}", done.err);
    assert!(done.err.contains("insufficient evidence"), "{}", done.err);
}

#[test]
fn a_quote_executes_nothing() {
    let world = World::with_docs();
    let (code, value) = world.json(&["simulate", QUESTION, "--source", "docs=./docs", "--json"]);
    assert_eq!((code, value["cost"]["high"].as_i64()), (0, Some(0)));
    let (_, traces) = world.json(&["trace", "list", "--json"]);
    assert_eq!(traces["traces"], Value::Array(Vec::new()));
    let text = world.run(&["simulate", QUESTION, "--source", "docs=./docs"]);
    assert!(text.out.contains("P(right answer)") && text.out.contains("Reads: docs"), "{}", text.out);
}

#[test]
fn who_may_not_read_gets_9_from_run_and_from_search_and_is_told_why() {
    let world = World::with_docs();
    world.write("ctxrt.yaml", "sources:\n  docs: {path: ./docs, readable_by: [staff]}\n");
    for line in [["run", QUESTION], ["search", "staging"]] {
        let done = world.run(&line);
        assert_eq!((done.code, done.out.as_str()), (9, ""), "{line:?}: {}", done.err);
        assert!(done.err.contains("readable_by") && !done.err.contains("docs"), "{line:?}: {}", done.err);
        let named = world.run(&[&line[..], &["--source", "docs"]].concat());
        assert!(named.code == 9 && named.err.contains("docs"), "who names it knows it: {line:?}: {}", named.err);
        let done = world.run(&[&line[..], &["--role", "staff"]].concat());
        assert_eq!(done.code, 0, "{line:?}: {}", done.err);
    }
}

#[test]
fn a_store_that_cannot_be_read_is_10_and_not_a_lack_of_evidence() {
    let world = World::with_docs();
    world.write("occupied", "a file where the store's folder should be");
    for line in [["run", QUESTION], ["search", "staging"], ["explain", QUESTION]] {
        let done = world.run(&[&line[..], &["--source", "docs=./docs", "--store", "occupied"]].concat());
        assert_eq!(done.code, 10, "{line:?}: {}\n{}", done.out, done.err);
        assert!(done.err.contains("occupied") || done.out.contains("occupied"), "{line:?}: {}\n{}", done.out, done.err);
    }
}

#[test]
fn counts_of_nothing_and_negative_numbers_are_bad_input_in_words() {
    let world = World::with_docs();
    for (line, wanted) in [
        (["search", "staging", "-k", "0"], "at least 1"),
        (["run", QUESTION, "--final-k", "0"], "at least 1"),
        (["run", QUESTION, "--max-cost-usd", "-1"], "at least 0"),
    ] {
        let done = world.run(&[&line[..], &["--source", "docs=./docs"]].concat());
        assert_eq!(done.code, 2, "{line:?}: {}", done.err);
        assert!(done.err.contains(wanted), "{line:?}: {}", done.err);
    }
}

#[test]
fn one_file_with_the_answer_is_enough_before_and_after_analyze() {
    let world = World::new();
    world.write("small/a.md", "# Boiler\n\nThe boiler pressure is 4 bar.\n");
    let source = ["--source", "s=./small"];
    for goal in ["What is the boiler pressure?", "boiler pressure"] {
        let done = world.run(&[&["run", goal][..], &source].concat());
        assert!(done.code == 0 && done.out.contains("4 bar"), "{goal}: {}\n{}", done.out, done.err);
    }
    assert_eq!(world.run(&[&["analyze"][..], &source].concat()).code, 0);
    for more in [&[][..], &["--force", "s:whole"]] {
        let done = world.run(&[&["run", "What is the boiler pressure?"][..], &source, more].concat());
        assert!(done.code == 0 && done.out.contains("4 bar"), "{more:?}: {}\n{}", done.out, done.err);
    }
    let none = world.run(&[&["run", "Who painted the ceiling of the chapel?"][..], &source].concat());
    assert_eq!(none.code, 4, "{}\n{}", none.out, none.err);
}

#[test]
fn a_source_whose_path_is_another_one_serves_nothing_of_the_old_place() {
    let world = World::with_docs();
    let goal = "When is the staging cluster restarted?";
    world.write("ctxrt.yaml", "sources:\n  docs:\n    path: docs\n");
    assert_eq!(world.run(&["run", goal]).code, 0);
    // The same place, briefly gone: what was indexed stands, and a document says so as a terminal does.
    std::fs::rename(world.path().join("docs"), world.path().join("away")).expect("renamed");
    let (_, value) = world.json(&["run", goal, "--json"]);
    assert!(value["notes"].to_string().contains("not refreshed"), "{value}");
    std::fs::rename(world.path().join("away"), world.path().join("docs")).expect("renamed");
    // Another place: nothing of the old one.
    world.write("ctxrt.yaml", "sources:\n  docs:\n    path: dosc\n");
    for line in [&["run", goal][..], &["run", goal, "--no-index"]] {
        let done = world.run(line);
        assert!(done.code != 0 && !done.out.contains("03:15"), "{}\n{}", done.out, done.err);
    }
    let shown = world.run(&["sources"]);
    let shown = format!("{}{}", shown.out, shown.err);
    let named = |folder: &str| shown.contains(&world.path().join(folder).display().to_string());
    assert!(shown.contains("unavailable") && named("docs") && named("dosc") && shown.contains("ctxrt index"), "{shown}");
    // The same folder under its new name is indexed anew.
    std::fs::rename(world.path().join("docs"), world.path().join("dosc")).expect("renamed");
    let done = world.run(&["run", goal]);
    assert!(done.code == 0 && done.out.contains("dosc/restart.md"), "{}\n{}", done.out, done.err);
}

#[test]
fn a_configured_name_keeps_its_label_and_readers() {
    let world = World::with_docs();
    world.write("ctxrt.yaml", "sources:\n  docs:\n    path: docs\n    sensitivity: restricted\n    readable_by: [hr]\n");
    let goal = "When is the staging cluster restarted?";
    for typed in ["docs:public=docs", "docs=.", "docs:table=docs"] {
        let done = world.run(&["run", goal, "--source", typed]);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{typed}: {}", done.err);
        assert!(done.err.contains("there is a source of this name in"), "{typed}: {}", done.err);
    }
    for typed in ["docs", "docs=docs", "docs:restricted=docs"] {
        let done = world.run(&["run", goal, "--source", typed]);
        assert!(done.code != 0 && !done.out.contains("03:15"), "nobody of hr asks: {typed}: {}\n{}", done.out, done.err);
    }
}

#[test]
fn a_configured_model_that_cannot_be_used_is_told() {
    let world = World::with_docs();
    world.write(
        "ctxrt.yaml",
        "models:\n  tiers:\n  - {name: small, provider: openai_compatible, base_url: 'http://127.0.0.1:9', model: m, api_key_env: NO_SUCH_KEY}\n",
    );
    let done = world.run(&["run", QUESTION, "--source", "docs=docs"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(done.err.matches("model `small` is not available: ").count(), 1, "{}", done.err);
}

#[test]
fn a_value_that_does_not_exist_is_told_once_and_where() {
    let world = World::with_docs();
    world.write("ctxrt.yaml", "policy: {engine: cedar}\nsources:\n  payroll: {path: docs, kind: spreadsheet}\n");
    let done = world.run(&["sources"]);
    assert_eq!((done.code, done.err.matches("builtin").count()), (2, 1), "{}", done.err);
    assert!(done.err.contains("sources.payroll.kind"), "{}", done.err);
}

#[test]
fn a_fused_list_has_its_own_tokens_and_the_pack_its_own() {
    let world = World::with_docs();
    for at in 0..30 {
        world.write(
            &format!("docs/more{at}.md"),
            format!("# Cluster {at}\n\nThe cluster {at} is restarted by hand when its disk {at} is full.\n"),
        );
    }
    let (code, value) = world.json(&["explain", QUESTION, "--source", "docs=docs", "--analyze", "--json"]);
    assert_eq!(code, 0, "{value}");
    let mut seen = Vec::new();
    numbers(&value["plan"]["root"], &mut seen);
    let most = seen.iter().filter_map(|(passages, tokens)| Some((passages.as_u64()?, tokens.as_u64()?))).collect::<Vec<_>>();
    let all = most.iter().max().expect("a list");
    assert!(most.iter().any(|node| node.0 < all.0 && node.1 < all.1), "a list holds more than what is packed of it: {most:?}");
    assert!(most.iter().all(|node| node.0 == all.0 || node.1 < all.1), "{most:?}");
}

/// Passages and tokens of every node that ran.
fn numbers(node: &Value, seen: &mut Vec<(Value, Value)>) {
    let actual = &node["actual"]["numbers"];
    seen.push((actual["passages"].clone(), actual["tokens"].clone()));
    node["children"].as_array().into_iter().flatten().for_each(|child| numbers(child, seen));
}
