//! A runtime over the embedded default: what a newcomer gets.
#![allow(clippy::unwrap_used)] // a test that cannot be set up has failed

mod support;

use ctx_embedded::{EngineOptions, IndexOptions, SourceConfig};
use ctx_runtime::{Config, Runtime};
use ctx_types::{Goal, SourceName, Status};
use std::path::Path;
use std::sync::Arc;

const GUIDE: &str = "# Planner\n\n## Infeasible plans\n\nThe planner decides that a plan is infeasible when no candidate meets the hard constraints. \
    It then reports the binding constraint and by how much it is missed.\n\n## Caching\n\nThe plan cache stores decisions, not answers.\n";
const RECIPE: &str = "# Apple cake\n\nMix flour, butter and sugar, add four sliced apples and bake for an hour at 180 degrees.\n";

fn config(files: &Path, store: &Path) -> Config {
    let mut config = Config::default();
    config.store = Some(store.to_owned());
    config.sources.insert(SourceName::new("docs").unwrap(), SourceConfig::at(files));
    config
}

fn files() -> tempfile::TempDir {
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("planner.md"), GUIDE).unwrap();
    std::fs::write(files.path().join("cake.md"), RECIPE).unwrap();
    files
}

#[tokio::test]
async fn a_question_is_answered_from_files_with_citations_that_hold() {
    let (files, store) = (files(), tempfile::tempdir().unwrap());
    let runtime = Runtime::from_config(config(files.path(), store.path()), &ctx_embedded::registry().unwrap()).await.unwrap();
    let report = runtime.run(&Goal::new("How does the planner decide that a plan is infeasible?")).await.unwrap();
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome);
    let citation = &report.outcome.citations[0];
    assert_eq!(citation.locator.path, "planner.md", "{citation:?}");
    let lines: Vec<&str> = GUIDE.lines().collect();
    let cited = lines[citation.locator.line_start as usize - 1..citation.locator.line_end as usize].join("\n");
    assert!(cited.contains("no candidate meets"), "{cited}");
    let traces = runtime.parts().store.traces(10).await.unwrap();
    assert_eq!(traces.len(), 1);
    runtime.flush().await.unwrap();
    let again = Runtime::from_config(config(files.path(), store.path()), &ctx_embedded::registry().unwrap()).await.unwrap();
    assert_eq!(again.parts().store.traces(10).await.unwrap(), traces, "another process sees the trace");
    assert!(!again.plan_cache().0.is_empty(), "the plan cache is kept");
}

#[tokio::test]
async fn nothing_in_the_files_means_no_answer() {
    let (files, store) = (files(), tempfile::tempdir().unwrap());
    let runtime = Runtime::from_config(config(files.path(), store.path()), &ctx_embedded::registry().unwrap()).await.unwrap();
    let report = runtime.run(&Goal::new("Which moons of Saturn have methane lakes?")).await.unwrap();
    assert_ne!(report.outcome.status, Status::Completed, "{:?}", report.outcome);
}

#[tokio::test]
async fn an_empty_source_is_a_decision_and_not_a_crash() {
    let (files, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (runtime, engine) = ctx_embedded::open(config(files.path(), store.path()), EngineOptions::default()).await.unwrap();
    let report = runtime.run(&Goal::new("x")).await.unwrap();
    assert_ne!(report.outcome.status, Status::Completed);
    assert!(engine.store().current().unwrap().number() > 0);
}

#[tokio::test]
async fn the_same_goal_is_planned_the_same_way_twice() {
    let (files, store) = (files(), tempfile::tempdir().unwrap());
    let (runtime, _) = ctx_embedded::open(config(files.path(), store.path()), EngineOptions::default()).await.unwrap();
    let goal = Goal::new("What does the plan cache store?");
    let first = runtime.plan(&goal).await.unwrap();
    let second =
        ctx_embedded::open(config(files.path(), store.path()), EngineOptions::default()).await.unwrap().0.plan(&goal).await.unwrap();
    assert_eq!(first.plan, second.plan);
}

#[tokio::test]
async fn runs_and_indexing_go_on_side_by_side() {
    let (files, store) = (files(), tempfile::tempdir().unwrap());
    let (runtime, _) = ctx_embedded::open(config(files.path(), store.path()), EngineOptions::default()).await.unwrap();
    let (other, _) = ctx_embedded::open(config(files.path(), store.path()), EngineOptions::default()).await.unwrap();
    runtime.refresh(&[SourceName::new("docs").unwrap()], &|_| {}).await.unwrap();
    let index = other.parts().store.clone();
    let folder = Arc::new(files);
    let writing = tokio::spawn(async move {
        for n in 0..4 {
            std::fs::write(folder.path().join(format!("n{n}.md")), format!("note {n}")).unwrap();
            index.index(&[], IndexOptions::default(), &|_| {}).await.unwrap();
        }
        folder
    });
    for _ in 0..4 {
        let report = runtime.run(&Goal::new("How does the planner decide that a plan is infeasible?")).await.unwrap();
        assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome);
    }
    writing.await.unwrap();
    assert_eq!(runtime.parts().store.traces(10).await.unwrap().len(), 4);
}
