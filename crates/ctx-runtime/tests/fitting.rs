//! Fitting estimators from the front door: outcomes are kept when they are absorbed, a fit judges three estimators on them, and plans
//! depend on what was fitted.

mod world;

use ctx_runtime::config::EstimatorName;
use ctx_types::Plan;
use world::{QUESTION, World, goal};

fn estimator(plan: &Plan) -> Option<String> {
    plan.stamps.iter().find(|stamp| stamp.object == "statistics default:estimators").map(|stamp| stamp.version.clone())
}

#[tokio::test]
async fn what_is_fitted_is_kept_and_plans_depend_on_it() {
    let mut world = World::new();
    world.config.costmodel.estimator = EstimatorName::Auto;
    let runtime = world.runtime().await;
    let first = runtime.plan(&goal(QUESTION, &[])).await.expect("a plan");
    assert_eq!(estimator(&first.plan).as_deref(), Some("auto-absent"));
    for _ in 0..60 {
        runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    }
    runtime.publish().await.expect("a fake store");
    // Some are absorbed and kept, some wait: a fit reads both.
    for _ in 0..4 {
        runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    }
    let fitted = runtime.fit_estimators("default", 1).await.expect("a fake store");
    let tokens = fitted.groups.iter().find(|group| group.field.as_str() == "tokens").expect("passages read have tokens");
    assert!(tokens.trained + tokens.judged >= 64, "every run read a list or more: {tokens:?}");
    assert!(fitted.outcomes >= 64 && fitted.groups.iter().all(|group| group.trained > 0 && group.judged > 0));
    assert!(runtime.fit_estimators("somebody else", 1).await.expect("a fake store").groups.is_empty(), "tenants share nothing");

    let version = format!("auto-{}", fitted.fingerprint);
    let here = runtime.plan(&goal(QUESTION, &[])).await.expect("a plan");
    assert_eq!(estimator(&here.plan), Some(version.clone()), "in force at once");
    let elsewhere = world.runtime().await;
    let there = elsewhere.plan(&goal(QUESTION, &[])).await.expect("a plan");
    assert_eq!(estimator(&there.plan), Some(version), "and in every process that starts");
    assert_eq!(here.plan.id, there.plan.id);
    assert_eq!(runtime.fit_estimators("default", 1).await.expect("a fake store").fingerprint, fitted.fingerprint);

    world.config.costmodel.estimator = EstimatorName::Learned;
    let learned = world.runtime().await.plan(&goal(QUESTION, &[])).await.expect("a plan");
    assert_eq!(estimator(&learned.plan), None, "not asked for, not read");
}
