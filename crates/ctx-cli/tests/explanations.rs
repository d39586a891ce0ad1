//! `ctxrt explain` from the front door: options, formats, redaction, differences, and that it speaks of what runs.

mod world;

use serde_json::Value;
use world::World;

const QUESTION: &str = "When is the staging cluster restarted?";
const FORMATS: [&str; 7] = ["text", "json", "yaml", "mermaid", "dot", "html", "pg"];

fn explain<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", "--source", "docs=./docs", "--goal", QUESTION], more].concat()
}

#[test]
fn every_format_comes_from_the_command_line_and_shows_the_plan() {
    let world = World::with_docs();
    let (_, value) = world.json(&explain(&["--json"]));
    let title = value["plan"]["root"]["title"].as_str().expect("a title").to_owned();
    let first = title.split('_').next().unwrap_or_default();
    for format in FORMATS {
        let done = world.run(&explain(&["--format", format]));
        assert_eq!(done.code, 0, "{format}: {}", done.err);
        assert!(done.out.contains(first) && done.out.ends_with('\n'), "{format} does not show {first}:\n{}", done.out);
    }
    let page = world.run(&explain(&["--format", "html"])).out;
    assert!(
        page.starts_with("<!doctype html>") && page.contains("id=\"alternatives\""),
        "a page shows every alternative unless told otherwise"
    );
    assert!(!world.run(&explain(&["--format", "html", "--verbose=off"])).out.contains("id=\"alternatives\""));
}

#[test]
fn redaction_hides_a_planted_secret_in_every_format_with_actuals_too() {
    let world = World::with_docs();
    let goal = "When is tulip-7731-orchid@example.org restarted, and why did ZEBRA-99 <b>fail</b> \"there\"?";
    for format in FORMATS {
        let line =
            ["explain", "--source", "docs=./docs", "--goal", goal, "--redact", "--analyze", "--verbose", "--settings", "--format", format];
        let done = world.run(&line);
        assert!(done.out.contains("redacted"), "{format}: {}{}", done.out, done.err);
        for word in ["tulip", "orchid", "ZEBRA", "zebra", "<b>fail", "\"there"] {
            assert!(!done.out.contains(word), "{word} survives in {format}:\n{}", done.out);
        }
    }
}

#[test]
fn options_are_on_or_off_as_in_postgresql() {
    let world = World::with_docs();
    let shown = |more: &[&str]| {
        let done = world.run(&explain(more));
        assert_eq!(done.code, 0, "{more:?}: {}", done.err);
        done.out
    };
    assert!(shown(&[]).contains("Score:") && shown(&[]).contains("Plan Cache:"));
    for off in ["--costs=off", "--costs=false", "--costs=0", "--no-costs"] {
        assert!(!shown(&[off]).contains("Score:"), "{off}");
    }
    assert!(!shown(&["--summary=off"]).contains("Plan Cache:"));
    assert!(shown(&["--memory"]).contains("Planning Memory: used=") && !shown(&[]).contains("Planning Memory"));
    let set = shown(&["--settings", "--max-calls", "7", "--weight", "acc=2"]);
    assert!(set.contains("request.constraints.max_calls = 7") && set.contains("request.weights.acc"), "{set}");
    let analyzed = shown(&["--analyze"]);
    assert!(analyzed.contains("Buffers: ") && analyzed.contains("time=") && analyzed.contains("Planning Time:"), "{analyzed}");
    let bare = shown(&["--analyze", "--buffers=off", "--timing=off"]);
    assert!(!bare.contains("Buffers: ") && !bare.contains("own time"), "{bare}");
    for wrong in [&["--timing"][..], &["--analyze", "--generic-plan"], &["--costs=perhaps"]] {
        assert_eq!(world.run(&explain(wrong)).code, 2, "{wrong:?}");
    }
}

#[test]
fn a_generic_plan_asks_no_source_and_leaves_nothing_behind() {
    let world = World::with_docs();
    let (code, generic) = world.json(&explain(&["--generic-plan", "--buffers", "--json"]));
    assert_eq!((code, generic["summary"]["planning_lookups"].as_u64()), (0, Some(0)), "{generic}");
    assert_eq!(generic["summary"]["plan_cache"], "not used: a generic plan");
    assert_eq!(generic["options"]["generic_plan"], true);
    let (_, custom) = world.json(&explain(&["--buffers", "--json"]));
    assert!(custom["summary"]["planning_lookups"].as_u64().is_some_and(|n| n > 0), "{}", custom["summary"]);
    let (_, cache) = world.json(&["cache", "list", "--json"]);
    assert!(!cache.to_string().contains("plan_"), "{cache}");
}

#[test]
fn what_is_explained_is_what_runs_and_the_difference_says_so() {
    let world = World::with_docs();
    let plan = world.run(&explain(&["--json"])).out;
    world.write("plan.json", &plan);
    let run = world.run(&["run", "--source", "docs=./docs", "--goal", QUESTION, "--json"]);
    world.write("run.json", &run.out);
    let outcome: Value = serde_json::from_str(&run.out).expect("an outcome");
    let trace = outcome["trace"].as_str().expect("a trace").to_owned();
    for other in ["run.json", &trace, &trace[..14]] {
        let (code, found) = world.json(&["explain", "--diff", "plan.json", other, "--json"]);
        assert_eq!((code, &found["same"]), (0, &Value::Bool(true)), "{other}: {found}");
    }
    let planned = outcome["plan"].as_str().expect("a plan").to_owned();
    let (code, found) = world.json(&["explain", "--diff", "plan.json", &planned, "--json"]);
    assert_eq!((code, &found["same"]), (0, &Value::Bool(true)), "the cached plan: {found}");

    let cheap = world.run(&explain(&["--force", "bm25", "--json"])).out;
    world.write("cheap.json", &cheap);
    let text = world.run(&["explain", "--diff", "plan.json", "cheap.json"]);
    assert!(text.code == 0 && (text.out.contains("Operators:") || text.out.contains("No difference.")), "{}{}", text.out, text.err);
    for wrong in
        [&["explain", "--diff", "plan.json", "nothing-of-this-name"][..], &["explain", "--diff", "plan.json"], &["explain", "a", "b"]]
    {
        let done = world.run(wrong);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{wrong:?}: {}", done.err);
    }
}
