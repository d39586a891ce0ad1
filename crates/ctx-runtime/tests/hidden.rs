//! Sources that who asks may not read: planned around without a name, counted, and named only to those who named them.

mod world;

use ctx_runtime::{ExplainOptions, RuntimeError};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::FakeRetriever;
use ctx_types::{Goal, Status};
use std::collections::BTreeSet;
use std::sync::Arc;
use world::{DOCS, QUESTION, World, goal};

fn world() -> World {
    let mut world = World::new();
    world.retriever = Arc::new(FakeRetriever::default().with_source("docs", DOCS).with_source("payroll", DOCS));
    world.retriever.edit_entry("payroll", |entry| entry.readable_by = BTreeSet::from(["hr".to_owned()]));
    world
}

fn as_hr(mut goal: Goal) -> Goal {
    goal.principal.roles = BTreeSet::from(["hr".to_owned()]);
    goal
}

#[tokio::test]
async fn neither_plan_nor_trace_nor_error_names_a_source_that_is_hidden() {
    let world = world();
    let runtime = world.runtime().await;
    let asked = goal(QUESTION, &["extractive"]);
    let explained = runtime.explain(&asked, ExplainOptions::default()).await.expect("valid goal");
    let planned = explained.prepared.planned().expect("a plan").clone();
    let texts = [serde_json::to_string(&planned.plan), serde_json::to_string(&*explained.prepared.catalog)];
    for text in texts.map(|text| text.expect("plain data")) {
        assert!(text.contains("docs") && !text.contains("payroll"), "{text}");
    }
    assert!(explained.prepared.notes.iter().any(|note| note.contains("1 source is not shown")), "{:?}", explained.prepared.notes);

    let report = runtime.run(&asked).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert_eq!(report.trace.plan, planned.plan.id, "EXPLAIN's plan is the run's");
    let trace = serde_json::to_string(&report.trace).expect("plain data");
    assert!(!trace.contains("payroll"), "{trace}");
    let stranger = runtime.run(&asked.clone().with_source(catalogs::source("wiki"))).await.expect_err("unknown source");
    assert!(stranger.to_string().contains("docs") && !stranger.to_string().contains("payroll"), "{stranger}");

    let allowed = runtime.explain(&as_hr(asked), ExplainOptions::default()).await.expect("valid goal");
    let sources: Vec<String> = allowed.prepared.planned().expect("a plan").plan.sources.iter().map(|s| s.source.to_string()).collect();
    assert_eq!(sources, ["docs", "payroll"]);
    assert!(!allowed.prepared.notes.iter().any(|note| note.contains("not shown")), "{:?}", allowed.prepared.notes);
}

#[tokio::test]
async fn who_names_a_source_is_told_why_it_is_refused_and_who_may_read_none_how_many_there_are() {
    let world = world();
    let runtime = world.runtime().await;
    let named = goal(QUESTION, &["extractive"]).with_source(catalogs::source("payroll"));
    let outcome = runtime.run(&named).await.expect("valid goal").outcome;
    assert_eq!(outcome.status, Status::Blocked);
    assert!(outcome.notes.iter().any(|note| note.contains("payroll")), "{:?}", outcome.notes);

    world.retriever.edit_entry("docs", |entry| entry.readable_by = BTreeSet::from(["staff".to_owned()]));
    let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.status.exit_code()), (Status::Blocked, 9));
    let notes = report.outcome.notes.join("\n");
    assert!(notes.contains("none of the 2 sources") && !notes.contains("docs") && !notes.contains("payroll"), "{notes}");
    let explained = runtime.explain(&goal(QUESTION, &[]), ExplainOptions::default()).await.map(|_| ()).expect_err("nothing to plan over");
    assert!(matches!(explained, RuntimeError::Hidden { sources: 2, .. }) && explained.exit_code() == 9, "{explained}");
}
