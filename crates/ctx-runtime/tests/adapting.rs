//! Planning the rest of a run anew: when what was read is not what was expected, and when a prompt is too long.

mod world;

use ctx_contracts::{ErrorKind, PluginError};
use ctx_runtime::{ExplainOptions, RunReport};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::{FakeRetriever, Reply};
use ctx_types::{Goal, Objective, Operator, Stage, Status, Tokens};
use std::sync::Arc;
use world::{QUESTION, World, goal};

/// Every word of the question occurs in the source, no passage holds more than one of them.
const SCATTERED: &[(&str, &str)] = &[
    ("a.md", "The infeasible corner of a drawing is left white, whatever else stands on the sheet beside it."),
    ("b.md", "Our plan for the summer holds two long walks along the river and one along the coast."),
    ("c.md", "It was reported that the ferry left late, with fewer passengers than in other years."),
    ("d.md", "How the bell was cast nobody knows, since the foundry burnt down with all of its books."),
];

fn operator(report: &RunReport, stage: &Stage) -> Operator {
    let planned = report.planned.as_ref().expect("a plan");
    planned.plan.chosen(stage).expect("a choice").alternative.operator.clone()
}

fn scattered() -> World {
    let mut world =
        World::new().with_model(catalogs::local_model(), vec![Reply::text("From what I know: with its binding constraint. [1]")]);
    world.retriever = Arc::new(FakeRetriever::default().with_source("docs", SCATTERED));
    world
}

#[tokio::test]
async fn evidence_that_is_not_there_changes_the_rest_of_the_plan_within_the_run() {
    // A model answers best from evidence, a quotation withholds best without.
    let accurate = || Goal { objective: Objective::MaxAccuracy, ..goal(QUESTION, &[]) };
    let world = scattered();
    let runtime = world.runtime().await;
    let first = runtime.plan(&accurate()).await.expect("feasible");
    let report = runtime.run(&accurate()).await.expect("valid goal");
    let expected = &first.plan.estimate.evidence;
    let notes = report.outcome.notes.join("\n");
    assert!(report.outcome.evidence.is_some_and(|seen| seen < expected.low), "{:?} in {expected:?}", report.outcome.evidence);
    let planned = report.planned.as_ref().expect("a plan");
    assert_eq!(planned.plan.parent.as_ref(), Some(&first.plan.id), "{notes}");
    assert_eq!((&report.trace.plan, report.trace.parent_plan.as_ref()), (&planned.plan.id, Some(&first.plan.id)));
    assert_ne!(planned.plan.id, first.plan.id);
    assert!(notes.contains("re-planned: evidence") && notes.contains(&first.plan.id.0) && notes.contains(&planned.plan.id.0), "{notes}");
    assert!(report.trace.probe.read.contains_key(&catalogs::source("docs")), "what was read is recorded with the probe");
    let reads = |report: &RunReport| report.trace.nodes.iter().filter(|n| n.node.starts_with("access.")).map(|n| n.attempts).max();
    assert_eq!(reads(&report), Some(1), "nothing is read twice");
    assert!(report.trace.nodes.iter().all(|n| planned.graph.node(&ctx_graph::NodeId::new(n.node.clone())).is_some()));

    // The same lists give the same plan, and the running ceiling is the run's.
    let again = scattered().runtime().await.run(&accurate()).await.expect("valid goal");
    assert_eq!(again.trace.plan, report.trace.plan);
    let analyze = ExplainOptions { analyze: true, ..ExplainOptions::default() };
    let explained = scattered().runtime().await.explain(&accurate(), analyze).await.expect("valid goal");
    assert_eq!(explained.prepared.planned().map(|p| p.plan.id.clone()), Some(first.plan.id.clone()));
    assert_eq!(explained.report.map(|r| r.trace.plan), Some(planned.plan.id.clone()));
}

#[tokio::test]
async fn evidence_as_expected_changes_nothing() {
    let world = World::new();
    let runtime = world.runtime().await;
    let first = runtime.plan(&goal(QUESTION, &[])).await.expect("feasible");
    let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!((report.outcome.status, &report.trace.plan, report.trace.parent_plan.is_none()), (Status::Completed, &first.plan.id, true));
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_planned_shorter_once() {
    let long: Vec<(String, String)> = (0..40)
        .map(|at| (format!("{at}.md"), format!("Part {at}: an infeasible plan is reported {}", "with many words ".repeat(60))))
        .collect();
    let docs: Vec<(&str, &str)> = long.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let overflow = || Reply::error(PluginError::new(ErrorKind::ContextOverflow, "calling", "the prompt is longer than the window"));
    let world = |script| {
        let mut world = World::new().with_model(catalogs::local_model(), script);
        world.retriever = Arc::new(FakeRetriever::default().with_source("docs", &docs));
        world
    };
    let forgiving = world(vec![overflow(), Reply::text("reported [1]")]);
    let report = forgiving.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    let requests = forgiving.model.as_ref().expect("a model").requests();
    let length = |at: usize| requests[at].messages[0].content.len();
    assert!(requests.len() == 2 && length(1) < length(0), "{} and {}", length(0), length(requests.len() - 1));
    assert!(
        report.trace.parent_plan.is_some() && report.outcome.notes.iter().any(|n| n.contains("too long")),
        "{:?}",
        report.outcome.notes
    );
    assert!(matches!(operator(&report, &Stage::Pack), Operator::Pack { .. }));
    let spend = &report.outcome.spend;
    assert_eq!((spend.calls, spend.failed_calls, spend.tokens.total()), (2, 1, Tokens(120)), "a rejected prompt costs nothing");

    let stubborn = world(vec![overflow()]);
    let report = stubborn.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::ProviderFailed, "{:?}", report.outcome.notes);
    assert_eq!(stubborn.model.as_ref().expect("a model").requests().len(), 2);
}
