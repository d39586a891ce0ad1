//! Exploring: off unless asked for, within what the goal permits, with true probabilities in the trace; and what the log then says of other
//! ways to choose.

mod world;

use ctx_runtime::{ExplainOptions, FeedbackBy, Policy};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::exploration::Exploration;
use ctx_types::goal::Hint;
use ctx_types::{NanoUsd, Ppm, Status, Trace};
use std::collections::BTreeSet;
use world::{QUESTION, World, goal};

const SHARE: Ppm = Ppm(500_000);

fn exploring(mut world: World) -> World {
    world.config.learning.explore = SHARE;
    world.config.learning.within = Ppm(400_000);
    world
}

fn explored(trace: &Trace) -> &Exploration {
    trace.exploration.as_ref().expect("exploration is on")
}

#[tokio::test]
async fn nothing_is_explored_unless_asked_for() {
    let runtime = World::new().runtime().await;
    let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!((report.trace.propensity, report.trace.exploration), (Ppm::ONE, None));
}

#[tokio::test]
async fn runs_draw_among_feasible_plans_and_write_down_how_likely_each_was() {
    let runtime = exploring(World::new()).runtime().await;
    let (mut shapes, mut left) = (BTreeSet::new(), 0u32);
    let runs = 80;
    // What runs teach moves the probabilities between them.
    let (mut expected, mut variance) = (0.0, 0.0);
    for _ in 0..runs {
        let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
        let trace = &report.trace;
        let choice = explored(trace);
        assert_eq!(choice.arms.iter().map(|arm| arm.propensity.get()).sum::<u32>(), 1_000_000);
        assert_eq!(trace.propensity, choice.arms[choice.chosen].propensity);
        assert!(choice.arms.iter().all(|arm| arm.score <= choice.arms[0].score), "the best stands first");
        assert_eq!(report.planned.as_ref().map(|p| &p.plan.gist), Some(&choice.arms[choice.chosen].gist), "what was drawn is what ran");
        assert_eq!(report.outcome.notes.iter().any(|note| note.starts_with("explored `")), choice.left_the_best());
        assert!(trace.plan_cache.contains("exploration"), "{}", trace.plan_cache);
        shapes.insert(choice.arms[choice.chosen].shape.clone());
        left += u32::from(choice.left_the_best());
        let written = Ppm(1_000_000 - choice.arms[0].propensity.get());
        assert!(written <= SHARE, "{written}");
        expected += written.share();
        variance += written.share() * (1.0 - written.share());
    }
    assert!(shapes.len() > 1, "{shapes:?}");
    assert!((f64::from(left) - expected).abs() <= 4.0 * variance.sqrt(), "left the best in {left} runs, written {expected}");
}

#[tokio::test]
async fn an_explanation_shows_the_best_plan_and_what_else_would_be_tried() {
    let world = exploring(World::new());
    let runtime = world.runtime().await;
    let plain = World::new().runtime().await.plan(&goal(QUESTION, &[])).await.expect("a plan");
    for _ in 0..5 {
        let inputs = runtime.explain(&goal(QUESTION, &[]), ExplainOptions::default()).await.expect("valid goal");
        let notes = &inputs.prepared.notes;
        assert!(notes.iter().any(|note| note.starts_with("exploration: a run takes this plan with probability 0.")), "{notes:?}");
        assert_eq!(inputs.prepared.planned().map(|p| &p.plan.id), Some(&plain.plan.id));
    }
    assert!(world.sink.traces().is_empty());
}

#[tokio::test]
async fn what_a_goal_rules_out_is_never_tried() {
    let world = exploring(World::new().with_model(catalogs::remote_model(), vec![Reply::text("x [1]")]));
    let runtime = world.runtime().await;
    let forced = goal(QUESTION, &["extractive", "docs:bm25"]);
    let mut free = goal(QUESTION, &[]);
    free.constraints.max_cost = Some(NanoUsd(0));
    let gist = World::new().runtime().await.plan(&forced).await.expect("a plan").plan.gist.clone();
    let mut pinned = goal(QUESTION, &[]);
    pinned.hints.push(Hint::Gist(gist));
    for _ in 0..20 {
        let arms = |trace: &Trace| explored(trace).arms.clone();
        let report = runtime.run(&forced).await.expect("valid goal");
        assert!(arms(&report.trace).iter().all(|arm| arm.shape.contains("extractive") && arm.shape.contains("docs:bm25")));
        let report = runtime.run(&free).await.expect("valid goal");
        assert!(arms(&report.trace).iter().all(|arm| arm.cost == NanoUsd(0)));
        assert_eq!(report.outcome.spend.cost, NanoUsd(0));
        let report = runtime.run(&pinned).await.expect("valid goal");
        assert_eq!(arms(&report.trace).len(), 1, "a pinned shape has no contenders");
    }
}

#[tokio::test]
async fn a_log_of_explored_runs_says_what_other_policies_would_have_earned() {
    let world = exploring(World::new());
    let runtime = world.runtime().await;
    // Whatever leaves the best plan is wrong.
    for _ in 0..120 {
        let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
        if report.outcome.status == Status::Completed {
            let right = if explored(&report.trace).left_the_best() { Ppm(0) } else { Ppm::ONE };
            runtime.feedback(&report.trace, right, FeedbackBy::Gold).await.expect("an answer was given");
        }
    }
    let traces = world.sink.traces();
    let found = runtime.evaluate("default", &traces, &[Policy::Best, Policy::Uniform, Policy::AsLogged], 1).await.expect("a fake store");
    assert_eq!((found.runs, found.explored), (120, 120));
    let [best, uniform, logged] = [0, 1, 2].map(|at| &found.policies[at].evaluated);
    assert!(best.snips.value > logged.snips.value && logged.snips.value > uniform.snips.value, "{found:?}");
    assert!((logged.snips.value - logged.logged).abs() < 1e-9, "the log judges itself as it was");
    assert!(best.doubly_robust.interval.0 > uniform.doubly_robust.interval.1, "the two are told apart: {found:?}");
    let other = runtime.evaluate("somebody else", &traces, &[Policy::Best], 1).await.expect("a fake store");
    assert_eq!((other.runs, other.policies.len()), (0, 0), "runs of other tenants do not exist for who asks");
}

#[tokio::test]
async fn both_estimators_are_compared_on_runs_that_neither_had_seen() {
    let mut world = World::new();
    world.config.learning.shadow = true;
    let runtime = world.runtime().await;
    let run = async |runs: usize| {
        for _ in 0..runs {
            runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
        }
        runtime.flush().await.expect("a fake store");
        runtime.compare_estimators("default", 1).await.expect("a fake store")
    };
    // Fewer than are absorbed the first time.
    let before = run(4).await;
    assert_eq!((before.runs, before.planned_otherwise), (4, 0));
    let tokens = before.rows.iter().find(|row| row.field == "tokens").expect("passages read have tokens");
    assert!(tokens.n >= 4 && tokens.gain == 0.0 && tokens.learned == tokens.prior, "nothing was learned yet: {tokens:?}");
    runtime.publish().await.expect("a fake store");
    let after = run(25).await;
    assert_eq!(after.runs, 29);
    assert!(after.rows.iter().any(|row| row.gain != 0.0), "estimates are corrected by now: {:?}", after.rows);
    assert_eq!(runtime.compare_estimators("somebody else", 1).await.expect("a fake store").runs, 0);
    let plain = World::new().runtime().await;
    plain.run(&goal(QUESTION, &[])).await.expect("valid goal");
    plain.flush().await.expect("a fake store");
    assert_eq!(plain.compare_estimators("default", 1).await.expect("a fake store").runs, 0, "off unless asked for");
}
