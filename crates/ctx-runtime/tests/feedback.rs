//! What people say of answers moves the estimate of who gave them, once, and what a judge says does not.

mod world;

use ctx_cost::statistics::{Field, StatKey};
use ctx_runtime::{FeedbackBy, Runtime, RuntimeError};
use ctx_types::{Ppm, Stage, Status, Trace};
use world::{QUESTION, World, goal};

async fn answered(runtime: &Runtime) -> Trace {
    let report = runtime.run(&goal(QUESTION, &["extractive"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    report.trace
}

/// P(right | evidence) that a plan now gives its answerer, and the statistics' keys that it read.
async fn expected(runtime: &Runtime) -> Ppm {
    let planned = runtime.plan(&goal(QUESTION, &["extractive"])).await.expect("a plan");
    let answer = planned.plan.chosen(&Stage::Answer).expect("an answer");
    answer.estimate.quality.as_ref().expect("an estimate").value
}

#[tokio::test]
async fn wrong_answers_lower_what_is_expected_of_who_gave_them() {
    let runtime = World::new().runtime().await;
    let before = expected(&runtime).await;
    for _ in 0..30 {
        let trace = answered(&runtime).await;
        let said = runtime.feedback(&trace, Ppm(0), FeedbackBy::User).await.expect("an answer was given");
        assert!(said.counted, "{said:?}");
    }
    runtime.publish().await.expect("a fake store");
    let after = expected(&runtime).await;
    assert!(after.get() + 100_000 < before.get(), "{after} after thirty wrong answers, {before} before");
    let statistics = runtime.statistics().await.expect("a fake store");
    let accuracy = statistics.rows().into_iter().filter(|row| row.field == Field::Accuracy.as_str() && row.operator.is_some());
    assert!(accuracy.clone().count() > 0 && accuracy.into_iter().all(|row| row.n == 30));
    assert_eq!(runtime.feedback_given("default").await.expect("a fake store").len(), 30);
    assert_eq!(runtime.feedback_given("somebody else").await.expect("a fake store").len(), 0);
}

#[tokio::test]
async fn a_judge_alone_and_a_second_word_teach_nothing() {
    let runtime = World::new().runtime().await;
    let trace = answered(&runtime).await;
    let judged = runtime.feedback(&trace, Ppm(0), FeedbackBy::Judge).await.expect("kept");
    assert!(!judged.counted && judged.reason.is_some_and(|reason| reason.contains("judge")));
    let first = runtime.feedback(&trace, Ppm::ONE, FeedbackBy::User).await.expect("kept");
    let second = runtime.feedback(&trace, Ppm(0), FeedbackBy::User).await.expect("kept");
    assert!(first.counted && !second.counted);
    let statistics = runtime.statistics().await.expect("a fake store");
    let accuracy = |row: &&ctx_runtime::StatRow| row.field == Field::Accuracy.as_str();
    assert!(statistics.rows().iter().filter(accuracy).all(|row| row.n == 1), "one word, one outcome");
    assert_eq!(runtime.feedback_given("default").await.expect("a fake store").len(), 3, "everything said is kept");
}

#[tokio::test]
async fn a_run_without_an_answer_is_not_right_or_wrong() {
    let runtime = World::new().runtime().await;
    let mut trace = answered(&runtime).await;
    trace.outcome.status = Status::Abstained;
    let error = runtime.feedback(&trace, Ppm::ONE, FeedbackBy::Gold).await.expect_err("no answer");
    assert!(matches!(error, RuntimeError::Label(_)) && error.exit_code() == 2 && error.to_string().contains("completed"), "{error}");
}

#[tokio::test]
async fn a_plan_says_that_it_depends_on_what_was_said() {
    let runtime = World::new().runtime().await;
    let planned = runtime.plan(&goal(QUESTION, &["extractive"])).await.expect("a plan");
    let object = StatKey::strategy("default", Field::Accuracy, ctx_types::Strategy::Extractive, planned.plan.intent.bucket).object();
    assert!(planned.plan.stamps.iter().any(|stamp| stamp.object == object), "{:?}", planned.plan.stamps);
}
