//! What each option takes away or adds is the same in every format, because it is missing or there in the value.

use super::planned;
use ctx_explain::{Decision, ExplainInput, Explanation, Format, Options, TextOptions, explain, json, render};
use ctx_testkit::{catalogs, traces};
use ctx_types::{Micros, Trace};

fn with(options: Options, trace: Option<&Trace>) -> Explanation {
    let planned = planned();
    let probe = catalogs::probe(&[("docs", catalogs::source_probe(&[("checkout", 60)], &[("e4021", 1)]))]);
    explain(&ExplainInput {
        decision: Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        trace,
        plan_cache: Some("miss: the cache is cold"),
        planning: Some(Micros(91_817)),
        settings: &[("budgets.max_calls".to_owned(), "7171".to_owned())],
        probe: Some(&probe),
        options,
    })
}

/// Formats that show everything; the drawings show the tree only.
const WHOLE: [Format; 5] = [Format::Text, Format::Json, Format::Yaml, Format::Html, Format::Pg];

fn shown(value: &Explanation, words: &[&str]) -> Vec<&'static str> {
    let holds = |format: &Format| {
        let text = render(value, *format, &TextOptions { width: 400 });
        words.iter().any(|word| text.contains(word))
    };
    WHOLE.into_iter().filter(holds).map(Format::as_str).collect()
}

const EVERYWHERE: [&str; 5] = ["text", "json", "yaml", "html", "pg"];
const NOWHERE: [&str; 0] = [];

#[test]
fn settings_summary_and_memory_are_there_or_not_in_every_format() {
    let off = with(Options { summary: false, ..Options::default() }, None);
    let on = with(Options { settings: true, memory: true, ..Options::default() }, None);
    for words in [&["7171"][..], &["the cache is cold"], &["91.8", "91817"], &["Planning Memory", "Planning memory", "used_bytes"]] {
        assert_eq!(shown(&off, words), NOWHERE, "{words:?}");
        assert_eq!(shown(&on, words), EVERYWHERE, "{words:?}");
    }
}

#[test]
fn memory_is_counted_and_adds_up() {
    let on = with(Options { memory: true, ..Options::default() }, None);
    let memory = on.memory.expect("asked for");
    assert_eq!(memory.used_bytes, memory.alternative_bytes + memory.search.label_bytes + memory.search.plan_bytes);
    assert!(memory.alternatives > 0 && memory.search.labels > 0 && memory.search.plans > 0, "{memory:?}");
    assert_eq!(on.memory, with(Options { memory: true, ..Options::default() }, None).memory, "the same inputs, the same bytes");
}

#[test]
fn costs_take_every_estimate_with_them() {
    let trace = traces::completed(&planned());
    let off = with(Options { verbose: true, costs: false, ..Options::default() }, Some(&trace));
    let value = json(&off);
    assert!(value["plan"]["score"].is_null() && value["plan"]["estimate"].is_null() && value["plan"]["margin"].is_null());
    assert!(off.alternatives.iter().all(|rejection| rejection.estimate.is_none()));
    assert_eq!(shown(&off, &["Total Cost", "right=", "Score:"]), NOWHERE);
    assert!(!render(&off, Format::Mermaid, &TextOptions::default()).contains("right="));
    let on = with(Options { verbose: true, ..Options::default() }, Some(&trace));
    assert_eq!(shown(&on, &["Total Cost", "score"]), EVERYWHERE);
}

#[test]
fn timing_and_buffers_concern_nodes_and_not_the_run() {
    let trace = traces::completed(&planned());
    let bare = with(Options { timing: false, buffers: false, ..Options::default() }, Some(&trace));
    let full = with(Options { timing: true, buffers: true, ..Options::default() }, Some(&trace));
    for words in [&["own time", "own_us\": 1", "Actual Total Time", "own_us: 1"][..], &["chunks", "Shared Read Blocks", "Buffers"]] {
        assert_eq!(shown(&full, words).len(), WHOLE.len(), "{words:?}");
    }
    let root = &json(&bare)["plan"]["root"]["actual"];
    for key in ["elapsed_us", "own_us", "start_us", "end_us", "chunks", "bytes", "cache_hits"] {
        assert!(root[key].is_null(), "{key}: {root}");
    }
    assert!(json(&bare)["run"]["elapsed_us"].as_u64().is_some_and(|us| us > 0), "the run's time stays");
    assert_eq!(full.summary.and_then(|s| s.planning_lookups), Some(2));
    assert_eq!(bare.summary.and_then(|s| s.planning_lookups), None);
}
