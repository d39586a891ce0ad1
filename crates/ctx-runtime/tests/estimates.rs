//! Estimates and actuals that must stay numbers: ties, zero prices, slow providers, costs that follow from usage.

mod world;

use ctx_cost::statistics::Statistics;
use ctx_planner::{Inputs, PlanError, Planned, Planner};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::estimate::TokenClasses;
use ctx_types::trace::NodeStatus;
use ctx_types::{Catalog, Certainty, Constraints, Estimated, Goal, Micros, NanoUsd, Settings, Status, Tokens};
use world::{QUESTION, World, goal};

fn plan(catalog: &Catalog, limits: &Constraints) -> Result<Planned, PlanError> {
    let goal = Goal { constraints: limits.clone(), ..goal(QUESTION, &["single_shot"]) };
    let probe = catalogs::probe(&[("docs", catalogs::source_probe(&[("plan", 90), ("infeas", 4)], &[]))]);
    let settings = Settings { verification_default: true, ..Settings::default() };
    let statistics = Statistics::default();
    Planner::builder().build().plan(&Inputs {
        goal: &goal,
        limits,
        catalog,
        probe: &probe,
        statistics: &statistics,
        denials: &[],
        settings: &settings,
        versions: None,
    })
}

fn of_two_equal_models(order: [&str; 2]) -> Catalog {
    catalogs::catalog(&[("docs", catalogs::files(500))], &order.map(|name| (name, catalogs::local_model())))
}

#[test]
fn candidates_that_are_equal_in_everything_have_finite_scores_and_one_winner() {
    let free = Constraints::default();
    let [one, two] = [["a", "b"], ["b", "a"]].map(|order| plan(&of_two_equal_models(order), &free).expect("feasible").plan);
    assert_eq!(one.id, two.id, "the order of equal models decides nothing");
    let scores = [one.score.total, one.score.cost, one.score.lat].map(|score| score.get());
    assert!(scores.iter().all(|score| score.abs() < 100_000_000) && one.estimate.cost.value == NanoUsd(0), "{scores:?}");
    assert!(one.best.windows(2).all(|pair| pair[0].score >= pair[1].score));
    let alone = catalogs::catalog(&[("docs", catalogs::files(1))], &[("a", catalogs::local_model())]);
    assert!(plan(&alone, &free).is_ok());
    let nothing = Constraints { max_tokens: Some(Tokens(10)), ..Constraints::default() };
    match plan(&of_two_equal_models(["a", "b"]), &nothing) {
        Err(PlanError::Infeasible(why)) => assert_eq!((why.binding.as_str(), why.relaxations.is_empty()), ("max_tokens", false)),
        other => panic!("ten tokens are enough: {}", other.is_ok()),
    }
}

fn usage(input: u64, output: u64) -> TokenClasses {
    TokenClasses { input: Tokens(input), output: Tokens(output), ..TokenClasses::default() }
}

#[tokio::test]
async fn what_a_run_cost_follows_from_usage_and_price_alone() {
    let entry = catalogs::remote_model();
    let sizes = [(1_000, 50), (40, 7)];
    let script = sizes.map(|(input, output)| Reply::text("answer [1]").using(usage(input, output)));
    let world = World::new().with_model(entry.clone(), script.to_vec());
    let runtime = world.runtime().await;
    let mut costs = Vec::new();
    for (question, (input, output)) in [QUESTION, "What is a budget?"].into_iter().zip(sizes) {
        let report = runtime.run(&goal(question, &["single_shot"])).await.expect("valid goal");
        assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
        let price = |per: Option<ctx_types::PicoUsd>, tokens| per.expect("a known price").times(Tokens(tokens));
        let expected = (price(entry.prices.input, input) + price(entry.prices.output, output)).half_even_nano();
        let node = report.trace.nodes.iter().find(|node| node.node == "answer").expect("an answer");
        assert_eq!((report.outcome.spend.cost, node.actual.cost, report.outcome.spend.cost_incomplete), (expected, Some(expected), false));
        costs.push(expected);
    }
    assert!(costs[0] > costs[1]);
    let rows = runtime.accounts().await.expect("a fake store");
    assert_eq!((rows[0].spent.cost, rows[0].spent.calls, rows[0].spent.assumed), (costs[0] + costs[1], 2, 0));
}

#[test]
fn a_model_with_less_certain_answers_widens_the_quote() {
    let quote = |high: u64| {
        let mut entry = catalogs::remote_model();
        entry.output_tokens = Estimated::new(Tokens(150), Tokens(30.min(high)), Tokens(high), Certainty::Prior, "test");
        let catalog = catalogs::catalog(&[("docs", catalogs::files(500))], &[("m", entry)]);
        let planned = plan(&catalog, &Constraints::default()).expect("feasible");
        ctx_simulate::simulate(&planned.plan, &planned.graph, 7).expect("a valid graph")
    };
    let (narrow, wide) = (quote(160), quote(4_000));
    let width = |quote: &ctx_simulate::Simulation| quote.cost.high.0 - quote.cost.low.0;
    assert!(width(&wide) > width(&narrow), "{:?} and {:?}", wide.cost, narrow.cost);
    assert!(wide.latency.high > narrow.latency.high);
}

#[tokio::test]
async fn a_provider_known_to_be_slow_is_refused_before_spending_and_an_unknown_one_stopped_on_the_way() {
    let mut slow = catalogs::remote_model();
    let seconds = |s: u64| Micros(s * 1_000_000);
    slow.first_token = Estimated::new(seconds(76), seconds(60), seconds(110), Certainty::Measured { n: 40 }, "observed");
    slow.per_token = Estimated::new(Micros(10), Micros(5), Micros(20), Certainty::Measured { n: 40 }, "observed");
    let catalog = catalogs::catalog(&[("docs", catalogs::files(500))], &[("m", slow.clone())]);
    let planned = plan(&catalog, &Constraints::default()).expect("feasible");
    let quote = ctx_simulate::simulate(&planned.plan, &planned.graph, 7).expect("a valid graph");
    assert!(quote.latency.high >= seconds(110), "the interval leaves out the observed p90: {:?}", quote.latency);
    let mut hasty = goal(QUESTION, &["single_shot"]);
    hasty.constraints.max_latency = Some(seconds(70));
    let world = World::new().with_model(slow, vec![Reply::text("never")]);
    let report = world.runtime().await.run(&hasty).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Infeasible, "{:?}", report.outcome.notes);
    assert!(report.infeasible.is_some_and(|why| why.binding == "max_latency_seconds"));
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);

    let late = Reply::text("late").after(std::time::Duration::from_secs(3_600));
    let world = World::new().with_model(catalogs::local_model(), vec![late]);
    let mut hasty = goal(QUESTION, &["single_shot"]);
    hasty.constraints.max_latency = Some(Micros(150_000));
    let report = world.runtime().await.run(&hasty).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetTime);
    let done = report.trace.nodes.iter().filter(|node| node.status == NodeStatus::Done).count();
    assert!(done > 0 && world.sink.traces().len() == 1 && !report.context.is_empty(), "what was read is kept");
}

/// A goal that only a model may answer, within a limit.
fn within(limit: Micros) -> Goal {
    let mut goal = goal(QUESTION, &["single_shot"]);
    goal.constraints.max_latency = Some(limit);
    goal
}

#[tokio::test]
async fn after_thirty_runs_a_models_latency_is_measured_and_decides() {
    let script = Reply::text("answer [1]").using(usage(900, 30)).after(std::time::Duration::from_millis(20));
    let world = World::new().with_model(catalogs::local_model(), vec![script]);
    let runtime = world.runtime().await;
    for _ in 0..30 {
        let report = runtime.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
        assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
        runtime.flush().await.expect("a fake store");
    }
    let plan = &runtime.plan(&within(Micros(30_000_000))).await.expect("thirty seconds are plenty").plan;
    assert!(!plan.notes.iter().any(|note| note.contains("not measured")), "{:?}", plan.notes);
    let answer = plan.chosen.iter().find_map(|chosen| chosen.estimate.latency.as_ref().filter(|_| chosen.estimate.call.is_some()));
    let answer = answer.expect("a model answers");
    assert!(answer.certainty.observations() >= 20 && answer.high < Micros(1_000_000), "{answer:?}");
    let report = runtime.run(&within(Micros(200))).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Infeasible, "{:?}", report.outcome.notes);
    let why = report.infeasible.expect("a diagnosis");
    assert!(why.binding == "max_latency_seconds" && why.missed_by.contains("model `m` takes") && why.missed_by.contains("n=2"), "{why:?}");
}

#[tokio::test]
async fn a_call_that_cannot_end_in_time_does_not_starve_what_is_read_and_is_named() {
    let late = Reply::text("late").after(std::time::Duration::from_secs(3_600));
    let world = World::new().with_model(catalogs::local_model(), vec![late]);
    let runtime = world.runtime().await;
    let hasty = within(Micros(300_000));
    let planned = runtime.plan(&hasty).await.expect("feasible, unverified");
    let reads = planned.schedule.steps.iter().filter(|step| step.node.0.starts_with("access."));
    let limits: Vec<Micros> = reads.filter_map(|step| step.attempt_timeout).collect();
    assert!(!limits.is_empty() && limits.iter().all(|limit| *limit >= Micros(50_000)), "{limits:?}");
    assert!(
        planned.plan.notes.iter().any(|note| note.contains("model `m` takes") && note.contains("the limit is")),
        "{:?}",
        planned.plan.notes
    );
    let report = runtime.run(&hasty).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetTime);
    assert!(report.outcome.notes.iter().any(|note| note.contains("model `m`")), "{:?}", report.outcome.notes);
}
