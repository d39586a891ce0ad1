//! Two plans or runs against each other.

use super::{explanation, planned};
use ctx_explain::diff::{Difference, Kind, Side, diff, text};
use ctx_testkit::plans::World;
use ctx_testkit::{catalogs, traces};
use ctx_types::{NanoUsd, Tokens};

fn smaller() -> ctx_planner::Planned {
    let catalog = catalogs::catalog(&[("docs", catalogs::files(40))], &[]);
    World::of(catalog, catalogs::probe(&[("docs", catalogs::source_probe(&[("checkout", 3)], &[]))]), super::GOAL).plan().expect("feasible")
}

#[test]
fn nothing_differs_from_itself() {
    let value = explanation(&planned(), true);
    let found = diff(&Side::of_explanation("a", &value), &Side::of_explanation("b", &value));
    assert!(found.same, "{found:?}");
    assert_eq!(text(&found), "a: a\nb: b\nNo difference.\n");
}

#[test]
fn a_run_agrees_with_the_plan_that_was_explained() {
    let planned = planned();
    let (plan, run) = (explanation(&planned, false), traces::completed(&planned));
    let found = diff(&Side::of_explanation("plan", &plan), &Side::of_trace("run", &run));
    assert!(found.same, "a plan and its run have the same operators and estimates: {}", text(&found));
}

#[test]
fn operators_sources_estimates_and_actuals_that_differ_are_named_and_no_others() {
    let (a, b) = (explanation(&planned(), true), explanation(&smaller(), true));
    let found = diff(&Side::of_explanation("a", &a), &Side::of_explanation("b", &b));
    assert!(!found.same);
    let names = |changes: &[ctx_explain::diff::WordChange]| changes.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    assert!(names(&found.words).contains(&"plan".to_owned()) && !names(&found.words).contains(&"goal".to_owned()), "{found:?}");
    assert!(names(&found.sources).contains(&"logs".to_owned()), "{found:?}");
    assert!(!found.operators.is_empty() && found.operators.iter().all(|c| c.a != c.b), "{found:?}");
    assert!(found.whole.iter().any(|c| c.kind == Kind::Estimate), "{found:?}");
    let printed = text(&found);
    assert!(printed.contains("Operators:\n") && printed.contains(" → "), "{printed}");
    assert!(!printed.contains('\u{202e}') && !printed.contains('\u{1b}'));
    let written = serde_json::to_value(&found).expect("plain data");
    assert_eq!(serde_json::from_value::<Difference>(written).expect("its own form"), found);
}

#[test]
fn two_runs_of_one_plan_differ_in_what_happened() {
    let planned = planned();
    let first = traces::completed(&planned);
    let mut second = first.clone();
    let answer = second.nodes.iter_mut().find(|n| n.node == "answer").expect("an answer");
    answer.actual.tokens = Some(Tokens(77_777));
    second.outcome.spend.cost = NanoUsd(second.outcome.spend.cost.get() + 5_000_000);
    let found = diff(&Side::of_trace("a", &first), &Side::of_trace("b", &second));
    assert!(found.words.is_empty() && found.operators.is_empty(), "{found:?}");
    assert_eq!(found.steps.len(), 1);
    assert!(text(&found).contains("answer: actual tokens"), "{}", text(&found));
    assert!(found.whole.iter().any(|c| c.name == "cost" && c.kind == Kind::Actual), "{found:?}");
}
