//! Runs on fakes: what is asked travels verbatim, what fails has its planned consequence, and every run leaves a trace.

mod world;

use ctx_contracts::{ErrorKind, Freshness, PluginError};
use ctx_runtime::ExplainOptions;
use ctx_testkit::catalogs;
use ctx_testkit::fakes::{FakeRetriever, Reply};
use ctx_types::catalog::SourceState;
use ctx_types::trace::NodeStatus;
use ctx_types::{AccessPath, Constraints, Micros, NanoUsd, Ppm, Sensitivity, Status, Tokens};
use std::sync::Arc;
use std::time::Duration;
use world::{QUESTION, World, goal};

fn unavailable() -> PluginError {
    PluginError::new(ErrorKind::Unavailable, "testing", "the test says so")
}

#[tokio::test]
async fn a_goal_is_answered_with_a_citation_and_a_complete_trace() {
    let world = World::new();
    let report = world.runtime().await.run(&goal(QUESTION, &["extractive"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert!(report.outcome.answer.ends_with("relaxation. [1]"), "{}", report.outcome.answer);
    assert_eq!(report.outcome.citations[0].locator.path, "infeasible.md");
    assert!(world.retriever.requests().iter().all(|r| r.query == QUESTION), "the words did not travel verbatim");
    let traces = world.sink.traces();
    assert_eq!(traces.len(), 1);
    let planned = report.planned.expect("a plan");
    assert_eq!(traces[0].nodes.len(), planned.graph.nodes.len());
    assert_eq!((&traces[0].plan, &traces[0].goal), (&planned.plan.id, &QUESTION.to_owned()));
    assert!(traces[0].nodes.iter().any(|n| n.operator.starts_with("pack") && n.actual.evidence.is_some()));
}

#[tokio::test]
async fn bad_input_is_an_error_and_names_what_exists() {
    let runtime = World::new().runtime().await;
    assert_eq!(runtime.run(&goal("  ", &[])).await.expect_err("empty").exit_code(), 2);
    let stranger = goal(QUESTION, &[]).with_source(catalogs::source("wiki"));
    let error = runtime.run(&stranger).await.expect_err("unknown source");
    assert!(error.to_string().contains("wiki") && error.to_string().contains("docs") && error.exit_code() == 2, "{error}");
}

#[tokio::test]
async fn one_failing_leg_leaves_the_other_and_the_trace_says_so() {
    let world = World::new();
    world.retriever.fail(AccessPath::Dense, 99, unavailable());
    let report = world.runtime().await.run(&goal(QUESTION, &["extractive", "hybrid_rrf"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert!(report.outcome.notes.iter().any(|n| n.contains("degraded") && n.contains("dense")), "{:?}", report.outcome.notes);
    let dense = report.trace.nodes.iter().find(|n| n.node.ends_with(".dense")).expect("a dense leg");
    assert_eq!(dense.status, NodeStatus::Degraded);
}

#[tokio::test]
async fn a_transient_failure_is_retried_and_a_lasting_one_ends_the_run_as_the_store() {
    let world = World::new();
    world.retriever.fail(AccessPath::Bm25, 1, unavailable());
    let runtime = world.runtime().await;
    let report = runtime.run(&goal(QUESTION, &["extractive", "bm25"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert_eq!(report.trace.nodes.iter().find(|n| n.node.ends_with(".bm25")).map(|n| n.attempts), Some(2));
    world.retriever.fail(AccessPath::Bm25, 99, unavailable());
    let report = runtime.run(&goal(QUESTION, &["extractive", "bm25"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::StoreUnavailable);
    assert!(report.outcome.answer.is_empty());
}

#[tokio::test]
async fn weak_evidence_abstains_and_a_rejected_quote_is_withheld() {
    let weak = World { answers_from: Ppm(1_000_001), ..World::new() };
    let report = weak.runtime().await.run(&goal(QUESTION, &["extractive"])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::Abstained, ""));
    assert!(report.outcome.notes.iter().any(|n| n.contains("insufficient evidence")));
    let rejected = World::new().with_verdicts(&[Ok(false)]);
    let mut checked = goal(QUESTION, &["extractive"]);
    checked.constraints.require_verification = Some(true);
    let report = rejected.runtime().await.run(&checked).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::Abstained, ""));
    assert!(report.outcome.citations.is_empty());
}

#[tokio::test]
async fn a_rejected_answer_is_made_anew_once_with_the_complaint_then_fails_verification() {
    let script = || vec![Reply::text("wrong [1]"), Reply::text("right [1]")];
    let world = World::new().with_model(catalogs::local_model(), script()).with_verdicts(&[Ok(false), Ok(true)]);
    let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::Completed, "right [1]"), "{:?}", report.outcome.notes);
    let requests = world.model.as_ref().expect("a model").requests();
    assert!(requests.len() == 2 && requests[1].messages[0].content.contains("the test rejects it"));
    assert_eq!(report.outcome.spend.calls, 2);
    let world = World::new().with_model(catalogs::local_model(), script()).with_verdicts(&[Ok(false), Ok(false), Ok(false)]);
    let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::VerificationFailed, ""));
}

#[tokio::test]
async fn a_verifier_that_breaks_is_not_a_pass() {
    let broken = PluginError::new(ErrorKind::Internal, "verifying", "broken");
    let world = World::new().with_model(catalogs::local_model(), vec![Reply::text("x [1]")]).with_verdicts(&[Err(broken)]);
    let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::Failed, ""));
}

#[tokio::test]
async fn providers_failures_have_their_own_statuses() {
    for (kind, status) in [(ErrorKind::Unauthorized, Status::ProviderFailed), (ErrorKind::Refused, Status::Refused)] {
        let error = PluginError::new(kind, "calling", "the test says so");
        let world = World::new().with_model(catalogs::local_model(), vec![Reply::error(error)]);
        let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
        assert_eq!(report.outcome.status, status);
        assert_eq!(world.model.as_ref().expect("a model").requests().len(), 1, "{kind:?} was tried again");
    }
}

#[tokio::test]
async fn budgets_hold_and_missing_usage_is_charged_as_estimated() {
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("answer [1]").without_usage()]);
    let runtime = world.runtime().await;
    let report = runtime.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert!(report.outcome.spend.cost > NanoUsd(0) && report.outcome.spend.cost_incomplete);
    let node = report.trace.nodes.iter().find(|n| n.node == "answer").expect("an answer node");
    assert_eq!((node.actual.cost, node.actual.tokens), (None, None), "what the provider did not report is unknown to statistics");
    assert!(node.actual.sent.as_deref().is_some_and(|hash| hash.starts_with("sha256:")));
    let mut frugal = goal(QUESTION, &["single_shot"]);
    frugal.constraints = Constraints { max_calls: Some(1), ..Constraints::default() };
    let world = World::new().with_model(catalogs::local_model(), vec![Reply::text("answer [1]")]).with_verdicts(&[Ok(false), Ok(true)]);
    let report = world.runtime().await.run(&frugal).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetCalls, "the retry was made although one call was allowed");
    assert_eq!(report.outcome.spend.calls, 1);
}

#[tokio::test]
async fn a_goal_that_nothing_can_meet_is_infeasible_with_a_trace_and_an_explanation() {
    let mut dear = goal(QUESTION, &["single_shot"]);
    dear.constraints.max_cost = Some(NanoUsd(1));
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("never")]);
    let runtime = world.runtime().await;
    let report = runtime.run(&dear).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Infeasible);
    assert!(report.infeasible.is_some() && world.sink.traces().len() == 1);
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);
    let explained = runtime.explain(&dear, ExplainOptions::default()).await.expect("valid goal");
    assert!(explained.prepared.planned().is_none());
}

#[tokio::test]
async fn the_deadline_stops_the_call_and_the_run() {
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("late [1]").after(Duration::from_secs(3600))]);
    let mut hasty = goal(QUESTION, &["single_shot"]);
    hasty.constraints.max_latency = Some(Micros(150_000));
    let report = world.runtime().await.run(&hasty).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetTime, "{:?}", report.outcome.notes);
    assert_eq!(world.model.as_ref().expect("a model").aborted(), 1);
    assert!(report.outcome.spend.cost_incomplete, "an aborted call is charged at its bound, marked");
}

#[tokio::test]
async fn a_dropped_caller_stops_the_spend_and_the_trace_is_still_recorded() {
    let world = World::new().with_model(catalogs::local_model(), vec![Reply::text("late [1]").after(Duration::from_secs(3600))]);
    let runtime = world.runtime().await;
    let model = world.model.clone().expect("a model");
    let running = tokio::spawn({
        let runtime = runtime.clone();
        async move { runtime.run(&goal(QUESTION, &["single_shot"])).await }
    });
    while model.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    running.abort();
    let _ = running.await;
    runtime.flush().await.expect("a fake store");
    assert_eq!(model.aborted(), 1);
    let traces = world.sink.traces();
    assert_eq!((traces.len(), traces[0].outcome.status, traces[0].outcome.spend.calls), (1, Status::Cancelled, 1));
    assert!(traces[0].nodes.iter().any(|n| n.node == "answer" && n.status == NodeStatus::Cancelled));
}

#[tokio::test]
async fn what_changed_on_disk_is_not_cited() {
    let world = World::new();
    world.store.set_freshness("infeasible.md", Freshness::Changed);
    let report = world.runtime().await.run(&goal(QUESTION, &["extractive"])).await.expect("valid goal");
    assert!(report.outcome.citations.iter().all(|c| c.locator.path != "infeasible.md"));
    assert!(report.outcome.notes.iter().any(|n| n.contains("no longer stand")), "{:?}", report.outcome.notes);
    let pack = report.trace.nodes.iter().find(|n| n.node == "pack").expect("a pack node");
    assert!(pack.actual.dropped.iter().any(|d| d.contains("infeasible.md") && d.contains("changed on disk")));
}

#[tokio::test]
async fn sensitive_runs_keep_hashes_and_stay_away_from_remote_models() {
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("leak [1]")]);
    world.retriever.edit_entry("docs", |entry| entry.sensitivity = Sensitivity::Restricted);
    let report = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);
    let text = serde_json::to_string(&world.sink.traces()).expect("plain data");
    assert!(!text.contains("infeasible plan") && !text.contains("binding constraint"), "{text}");
    assert!(report.outcome.answer.contains("binding constraint"), "the caller gets the answer itself");
}

#[tokio::test]
async fn values_in_retrieved_text_are_withheld_from_a_model_that_may_not_see_them() {
    let docs: &[(&str, &str)] =
        &[("a.md", "An infeasible plan is reported here with the key sk-12345."), ("b.md", "An infeasible plan is reported plainly.")];
    let mut world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("fine [2] [1]")]);
    world.retriever = Arc::new(FakeRetriever::default().with_source("docs", docs));
    world.policy = world.policy.clone().value("sk-12345", Sensitivity::Restricted);
    let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    let sent = world.model.as_ref().expect("a model").requests();
    assert!(!sent[0].messages[0].content.contains("sk-12345") && sent[0].messages[0].content.contains("plainly"));
    assert!(report.outcome.notes.iter().any(|n| n.contains("withheld")));
}

#[tokio::test]
async fn a_detector_that_is_down_counts_as_restricted() {
    let mut world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("leak")]);
    world.policy = world.policy.clone().with_detector_down();
    let report = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);
    assert!(report.outcome.notes.iter().any(|n| n.contains("restricted")));
}

#[tokio::test]
async fn an_identifier_of_the_goal_wins() {
    let world = World::new();
    let report = world.runtime().await.run(&goal("What does E0502 mean?", &["extractive"])).await.expect("valid goal");
    assert_eq!(report.outcome.citations.first().map(|c| c.locator.path.as_str()), Some("codes.md"), "{:?}", report.outcome);
}

#[tokio::test]
async fn configured_ceilings_are_never_raised_by_a_request() {
    let mut world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("x [1]")]);
    world.config.budgets.max_tokens = Some(Tokens(10));
    let mut greedy = goal(QUESTION, &["single_shot"]);
    greedy.constraints.max_tokens = Some(Tokens(1_000_000));
    let report = world.runtime().await.run(&greedy).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Infeasible);
}

#[tokio::test]
async fn a_store_that_cannot_be_described_is_a_status_with_a_trace() {
    let world = World::new();
    world.retriever.fail_describe(PluginError::new(ErrorKind::Corrupt, "opening the store", "the manifest is damaged"));
    let report = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::StoreUnavailable);
    assert_eq!(world.sink.traces().len(), 1);
}

#[tokio::test]
async fn a_run_that_may_or_can_read_nothing_says_so_instead_of_insufficient_evidence() {
    let world = World::new();
    world.retriever.edit_entry("docs", |entry| entry.readable_by = std::collections::BTreeSet::from(["staff".to_owned()]));
    let runtime = world.runtime().await;
    let blocked = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal").outcome;
    assert_eq!((blocked.status, blocked.status.exit_code()), (Status::Blocked, 9), "{:?}", blocked.notes);
    assert!(blocked.notes.iter().any(|note| note.contains("readable_by") && !note.contains("docs")), "{:?}", blocked.notes);
    let named = runtime.run(&goal(QUESTION, &[]).with_source(catalogs::source("docs"))).await.expect("valid goal").outcome;
    assert_eq!(named.status, Status::Blocked);
    assert!(named.notes.iter().any(|note| note.contains("docs") && note.contains("roles")), "who names it knows it: {:?}", named.notes);
    let (readable, refused) = runtime.readable(&goal(QUESTION, &[]).principal, &[catalogs::source("docs")]).await.expect("described");
    assert_eq!((readable.len(), refused.len(), refused[0].rule.as_str()), (0, 1, "readable_by"));

    let world = World::new();
    let damaged = || SourceState::Unavailable { reason: "the manifest is damaged".to_owned() };
    world.retriever.edit_entry("docs", |entry| entry.state = damaged());
    let unreadable = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal").outcome;
    assert_eq!((unreadable.status, unreadable.status.exit_code()), (Status::StoreUnavailable, 10), "{:?}", unreadable.notes);
    assert!(unreadable.notes.iter().any(|note| note.contains("the manifest is damaged")), "{:?}", unreadable.notes);
}
