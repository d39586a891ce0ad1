//! What must hold of every explanation: text and JSON show the same numbers, no width breaks it, nothing hostile is printed,
//! and q-errors stay finite. Formats, options, differences and stability have files of their own.

mod differences;
mod field;
mod formats;
mod options;
mod stability;

use ctx_explain::{Decision, ExplainInput, Explanation, Options, TextOptions, explain, json, text};
use ctx_planner::Planned;
use ctx_testkit::plans::World;
use ctx_testkit::{catalogs, traces};
use serde_json::Value;

const GOAL: &str = "Why did Zebulon's \u{202e}checkout\u{1b}[31m fail with E4021 in \"blue harbor\" yesterday?";

fn planned() -> Planned {
    let catalog =
        catalogs::catalog(&[("docs", catalogs::files(5_000)), ("logs", catalogs::files(900))], &[("premium", catalogs::remote_model())]);
    let probe = catalogs::probe(&[
        ("docs", catalogs::source_probe(&[("checkout", 60)], &[("e4021", 1)])),
        ("logs", catalogs::source_probe(&[("checkout", 44)], &[("e4021", 7)])),
    ]);
    World::of(catalog, probe, GOAL).plan().expect("a feasible goal")
}

fn explanation(planned: &Planned, analyze: bool) -> Explanation {
    let trace = traces::completed(planned);
    explain(&ExplainInput {
        decision: Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        trace: analyze.then_some(&trace),
        plan_cache: Some("miss: first time"),
        planning: None,
        settings: &[],
        probe: None,
        options: Options { verbose: true, buffers: true, ..Options::default() },
    })
}

fn nodes(value: &Value, out: &mut Vec<Value>) {
    out.push(value.clone());
    for child in value["children"].as_array().into_iter().flatten() {
        nodes(child, out);
    }
}

#[test]
fn text_and_json_show_the_same_numbers() {
    let value = explanation(&planned(), true);
    let (printed, structured) = (text(&value, &TextOptions { width: 400 }), json(&value));
    let mut all = Vec::new();
    nodes(&structured["plan"]["root"], &mut all);
    for node in &all {
        let title = node["title"].as_str().expect("a title");
        let line = printed.lines().find(|l| l.contains(title)).unwrap_or_else(|| panic!("no line for {title}"));
        for (field, word) in [("tokens", "tokens"), ("passages", "passages")] {
            for numbers in [&node["estimate"], &node["actual"]["numbers"]] {
                let Some(n) = numbers[field].as_u64() else { continue };
                assert!(line.contains(&format!("{word}={n}")), "{field} {n} of {title} is not in: {line}");
            }
        }
    }
    assert!(printed.contains(&format!("{} complete plans", structured["plan"]["candidates"])));
}

#[test]
fn the_same_plan_is_explained_by_the_same_bytes() {
    let (a, b) = (explanation(&planned(), true), explanation(&planned(), true));
    assert_eq!(text(&a, &TextOptions::default()), text(&b, &TextOptions::default()));
    assert_eq!(json(&a).to_string(), json(&b).to_string());
}

#[test]
fn no_width_breaks_it_and_nothing_hostile_is_printed() {
    let value = explanation(&planned(), true);
    for width in (0..130).chain([usize::MAX]) {
        let printed = text(&value, &TextOptions { width });
        assert!(!printed.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "at width {width}");
    }
}

#[test]
fn an_estimate_of_zero_has_a_finite_error() {
    let planned = planned();
    let mut trace = traces::completed(&planned);
    let mut graph = planned.graph.clone();
    for node in &mut graph.nodes {
        if let Some(tokens) = &mut node.estimate.tokens {
            tokens.value = ctx_types::Tokens(0);
        }
    }
    for node in &mut trace.nodes {
        node.attempts = 3;
    }
    let input = ExplainInput {
        decision: Decision::Planned { plan: &planned.plan, graph: &graph },
        trace: Some(&trace),
        plan_cache: None,
        planning: None,
        settings: &[],
        probe: None,
        options: Options::default(),
    };
    let printed = text(&explain(&input), &TextOptions::default());
    assert!(printed.contains("loops=3") && printed.contains("tokens=0"), "{printed}");
    assert!(!printed.contains("inf") && !printed.contains("NaN"), "{printed}");
}
