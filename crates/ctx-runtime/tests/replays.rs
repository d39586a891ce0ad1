//! A recorded run comes out again: the same plan byte for byte, the same answer, without a model and without a trace of itself.

mod world;

use ctx_contracts::{ErrorKind, PluginError};
use ctx_runtime::RuntimeError;
use ctx_runtime::replay::{Bundle, ReplayError};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::{Constraints, NanoUsd, Ppm, Sensitivity, Status};
use tokio_util::sync::CancellationToken;
use world::{QUESTION, World, goal};

const SAID: &str = "With the binding constraint and the cheapest relaxation. [1]";

fn world(script: Vec<Reply>) -> World {
    World::new().with_model(catalogs::local_model(), script)
}

async fn recorded(world: &World, force: &[&str]) -> Bundle {
    let runtime = world.runtime().await;
    let (report, bundle) = runtime.run_recorded(&goal(QUESTION, force), CancellationToken::new()).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    // What is replayed is what was read back from the file.
    Bundle::from_json(&bundle.to_json()).expect("a bundle")
}

#[tokio::test]
async fn a_recorded_run_is_replayed_elsewhere_with_the_recorded_answers() {
    let bundle = recorded(&world(vec![Reply::text(SAID)]), &["single_shot"]).await;
    assert_eq!(bundle.calls.len(), 1);
    assert_eq!(bundle.trace.nodes.iter().find_map(|n| n.actual.sent.clone()), Some(bundle.calls[0].request.clone()));
    // Another process: its own model would say something else, and it has its own statistics and cache.
    let elsewhere = world(vec![Reply::text("Something else. [1]")]);
    let runtime = elsewhere.runtime().await;
    let replayed = runtime.replay(&bundle).await.expect("a replay");
    assert_eq!(replayed.differences, Vec::<String>::new());
    assert_eq!(replayed.report.outcome.answer, SAID);
    assert_eq!(elsewhere.model.as_ref().map(|model| model.requests().len()), Some(0), "the model was called");
    assert!(elsewhere.sink.traces().is_empty(), "a replay left a trace");
    assert!(runtime.plan_cache().0.is_empty());
}

#[tokio::test]
async fn calls_made_again_are_answered_in_their_order_and_no_more_often() {
    let busy = PluginError::new(ErrorKind::RateLimited, "testing", "the test says so");
    let mut bundle = recorded(&world(vec![Reply::error(busy), Reply::text(SAID)]), &["single_shot"]).await;
    assert_eq!(bundle.calls.iter().map(|call| matches!(call.result, Some(Ok(_)))).collect::<Vec<_>>(), [false, true]);
    let runtime = world(vec![Reply::text("Unused.")]).runtime().await;
    assert_eq!(runtime.replay(&bundle).await.expect("a replay").differences, Vec::<String>::new());
    bundle.calls.pop();
    let short = runtime.replay(&bundle).await.expect("a replay");
    assert_eq!(short.report.outcome.status, Status::Failed);
    assert!(short.report.outcome.notes.iter().any(|note| note.contains("more often than it was recorded")), "{:?}", short.report.outcome);
    assert!(short.differences.iter().any(|line| line.starts_with("status: ")), "{:?}", short.differences);
}

#[tokio::test]
async fn a_call_that_was_not_recorded_is_an_error() {
    let mut bundle = recorded(&world(vec![Reply::text(SAID)]), &["single_shot"]).await;
    bundle.calls[0].request = "sha256:of something else".to_owned();
    let replayed = world(vec![Reply::text(SAID)]).runtime().await.replay(&bundle).await.expect("a replay");
    assert_eq!(replayed.report.outcome.status, Status::Failed);
    assert!(replayed.report.outcome.notes.iter().any(|note| note.contains("no answer to this request")), "{:?}", replayed.report.outcome);
}

#[tokio::test]
async fn a_plan_is_made_anew_from_the_bundle_alone_even_after_a_hit_and_where_there_was_none() {
    let first = World::new();
    let runtime = first.runtime().await;
    runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    let (report, bundle) = runtime.run_recorded(&goal(QUESTION, &[]), CancellationToken::new()).await.expect("valid goal");
    assert!(report.trace.plan_cache.contains("recorded"), "{}", report.trace.plan_cache);
    let elsewhere = World::new().runtime().await;
    elsewhere.replan(&bundle).expect("the same plan");
    let mut edited = bundle.clone();
    edited.inputs.as_mut().expect("inputs").goal.text.push('!');
    assert!(matches!(elsewhere.replan(&edited), Err(RuntimeError::Replay(ReplayError::OtherPlan { .. }))));

    let hard = goal(QUESTION, &[]).with_constraints(Constraints { min_accuracy: Some(Ppm(999_999)), ..Constraints::default() });
    let (report, bundle) = runtime.run_recorded(&hard, CancellationToken::new()).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Infeasible);
    elsewhere.replan(&bundle).expect("infeasible again");
    assert_eq!(elsewhere.replay(&bundle).await.expect("a replay").differences, Vec::<String>::new());
}

#[tokio::test]
async fn a_confidential_bundle_holds_no_text_and_says_so() {
    let world = world(vec![Reply::text(SAID)]);
    let runtime = world.runtime().await;
    let labelled =
        Constraints { sensitivity: Some(Sensitivity::Confidential), max_cost: Some(NanoUsd(1_000_000_000)), ..Constraints::default() };
    let asked = goal(QUESTION, &["single_shot"]).with_constraints(labelled);
    let (_, bundle) = runtime.run_recorded(&asked, CancellationToken::new()).await.expect("valid goal");
    let text = bundle.to_json();
    assert!(!text.contains("infeasible plan") && !text.contains("cheapest relaxation"), "{text}");
    let error = runtime.replay(&bundle).await.expect_err("redacted");
    assert_eq!((error.exit_code(), error.to_string().contains("confidential")), (9, true), "{error}");
}

#[test]
fn what_is_no_bundle_is_told_from_one_of_another_version() {
    let cause = |text: &str| Bundle::from_json(text).expect_err("no bundle").to_string();
    assert!(cause("{").contains("--record"), "{}", cause("{"));
    assert!(cause("{\"schema_version\": 99}").contains("version 99"));
}
