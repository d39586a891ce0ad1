//! Quotes against what can be computed by hand, and properties over any estimates.

#[path = "../../ctx-graph/tests/support/mod.rs"]
mod support;

use ctx_graph::{ExecutionGraph, latency, lower};
use ctx_simulate::{Batch, DRAWS, SAMPLES_MIN, SimulateError, Simulation, priors, simulate};
use ctx_types::{
    AccessPath, AlternativeEstimate, Certainty, Constraints, ContentId, Estimated, Micros, NanoUsd, Operator, Plan, Ppm, Stage, Tokens,
};
use proptest::prelude::*;
use statrs::distribution::{ContinuousCDF, LogNormal};
use support::{PlanBuilder, estimated, latency_only};

fn quoted(plan: &Plan, seed: u64) -> Simulation {
    let graph: ExecutionGraph = lower(plan).expect("a complete plan");
    simulate(plan, &graph, seed).expect("a valid graph")
}

fn extractive() -> Plan {
    PlanBuilder::new("q").source("docs", AccessPath::Bm25).build()
}

fn generated(limits: Constraints) -> Plan {
    PlanBuilder::new("q")
        .source("docs", AccessPath::HybridLinear)
        .source("logs", AccessPath::Bm25)
        .single_shot("premium")
        .limits(limits)
        .build()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_does_not() {
    let plan = generated(Constraints::default());
    let text = |seed| serde_json::to_string(&quoted(&plan, seed)).expect("plain data");
    assert_eq!(text(7), text(7));
    assert_ne!(text(7), text(8));
}

#[test]
fn a_single_latency_keeps_its_lognormal_quantiles() {
    let mut builder = PlanBuilder::new("q").unverified();
    builder.choose(
        Stage::Pack,
        Operator::Pack { budget: Tokens(100), layout: ctx_types::Layout::ContextFirst },
        AlternativeEstimate { latency: Some(exactly(0)), ..AlternativeEstimate::default() },
    );
    let slow = AlternativeEstimate {
        latency: Some(estimated(Micros(25_000), Micros(100_000), Micros(400_000))),
        ..AlternativeEstimate::default()
    };
    builder.choose(Stage::Answer, Operator::Answer { strategy: ctx_types::Strategy::Extractive, model: None }, slow);
    let simulation = quoted(&builder.build(), 3);
    let reference = LogNormal::new((100_000f64).ln(), 4f64.ln() / latency::Z90).expect("finite");
    for (got, q) in [(simulation.latency.low, 0.05), (simulation.latency.mid, 0.5), (simulation.latency.high, 0.95)] {
        let want = reference.inverse_cdf(q);
        assert!((got.0 as f64 / want - 1.0).abs() < 0.12, "{q}: {got} instead of {want}");
    }
}

fn exactly(micros: u64) -> Estimated<Micros> {
    Estimated::exact(Micros(micros), "test")
}

#[test]
fn parallel_reads_take_as_long_as_the_slowest_and_steps_add() {
    let reads = |paths: &[(&str, u64)]| {
        let mut builder = PlanBuilder::new("q").unverified();
        for (name, latency) in paths {
            builder = builder.source(name, AccessPath::Bm25);
            builder.choose(
                Stage::Access(support::source(name)),
                support::access(AccessPath::Bm25),
                AlternativeEstimate { latency: Some(exactly(*latency)), ..AlternativeEstimate::default() },
            );
        }
        for stage in [Stage::Fuse, Stage::Pack, Stage::Answer] {
            if let Some(chosen) = builder.plan.chosen.iter_mut().find(|c| c.alternative.stage == stage) {
                chosen.estimate.latency = Some(exactly(1_000));
            }
        }
        quoted(&builder.build(), 1).latency
    };
    let both = reads(&[("a", 7_000), ("b", 30_000)]);
    assert_eq!((both.low, both.mid), (Micros(33_000), Micros(33_000)), "30 ms beside 7 ms, then 3 × 1 ms");
    assert_eq!(both.certainty, Certainty::Configured);
    assert_eq!(reads(&[("a", 7_000)]).mid, Micros(9_000));
}

#[test]
fn an_extractive_answerer_abstains_without_evidence_and_calls_nobody() {
    let simulation = quoted(&extractive(), 11);
    // P(no evidence) .2; of the answers given with evidence a quarter is wrong, half of these are caught.
    let wrong_caught = 0.8 * 0.25 * 0.5;
    let abstains = simulation.p_abstain.share();
    assert!((abstains - 0.2 - wrong_caught).abs() < 0.035, "{abstains}");
    assert_eq!((simulation.cost.high, simulation.tokens.high), (NanoUsd(0), Tokens(0)));
    assert!(simulation.expected_models.is_empty() && !simulation.cost_incomplete);
    assert!((simulation.confidence.mid.share() - 0.8 * 0.75).abs() < 0.03, "{}", simulation.confidence.mid);
    assert!(simulation.confidence.low < simulation.confidence.mid && simulation.confidence.mid < simulation.confidence.high);
    assert_eq!(simulation.based_on_samples, 40);
}

#[test]
fn rejected_answers_are_paid_again_while_the_limits_allow_it() {
    let free = quoted(&generated(Constraints::default()), 5);
    let calls = free.expected_models[0].calls_milli;
    assert!(calls > 1_020 && calls < 1_500, "{calls}");
    let one = Constraints { max_calls: Some(1), ..Constraints::default() };
    assert!(quoted(&generated(one), 5).expected_models[0].calls_milli <= 1_000);
    let poor = Constraints { max_cost: Some(NanoUsd(21_000_000)), ..Constraints::default() };
    let poor = quoted(&generated(poor), 5);
    assert!(poor.expected_models[0].calls_milli <= 1_000 && poor.cost.high <= NanoUsd(21_000_000), "{:?}", poor.cost);
    assert!(free.p_verification_failed > Ppm(0) && free.p_failed < Ppm(10_000));
}

#[test]
fn dollars_follow_the_calls_and_stay_below_their_bound() {
    let once = Constraints { max_calls: Some(1), ..Constraints::default() };
    let simulation = quoted(&generated(once), 9);
    assert!(simulation.cost.low >= NanoUsd(4_000_000) && simulation.cost.high <= NanoUsd(20_000_000), "{:?}", simulation.cost);
    assert!((simulation.cost.mid.usd() / 0.01 - 1.0).abs() < 0.1 && simulation.tokens.mid.0.abs_diff(3_000) < 200);
    assert_eq!(simulation.draws, DRAWS);
}

#[test]
fn an_unknown_price_is_named_and_not_counted_as_zero() {
    let mut plan = generated(Constraints::default());
    let answer = plan.chosen.iter_mut().find(|c| c.alternative.stage == Stage::Answer).expect("built so");
    answer.estimate.cost = None;
    let simulation = quoted(&plan, 2);
    assert!(simulation.cost_incomplete && simulation.unknown_price_tokens > Tokens(2_500));
    assert_eq!(simulation.unpriced_models, [simulation.expected_models[0].model.clone()]);
    assert_eq!((simulation.cost.mid, simulation.cost.certainty), (NanoUsd(0), Certainty::Unknown));
}

#[test]
fn without_samples_the_quote_is_wide_and_says_so() {
    let mut plan = generated(Constraints::default());
    plan.chosen.iter_mut().for_each(|c| c.estimate = AlternativeEstimate::default());
    let simulation = quoted(&plan, 4);
    assert_eq!(simulation.based_on_samples, 0);
    assert_eq!(simulation.latency.certainty, Certainty::Unknown);
    assert!(simulation.latency.high.0 >= 20 * simulation.latency.low.0, "{:?}", simulation.latency);
    assert!(simulation.latency.mid >= priors::REMOTE_LATENCY.min(Micros(3_000_000)));
    assert!(simulation.confidence.high.0 - simulation.confidence.low.0 > 300_000, "{:?}", simulation.confidence);
}

#[test]
fn the_share_that_outlasts_the_limit_is_stated() {
    let limits = Constraints { max_latency: Some(Micros(1_000_000)), ..Constraints::default() };
    let over = quoted(&generated(limits), 6).p_over_latency_limit.expect("there is a limit");
    assert!(over > Ppm(400_000) && over < Ppm(750_000), "the call's median alone is the limit: {over}");
    assert_eq!(quoted(&generated(Constraints::default()), 6).p_over_latency_limit, None);
}

#[test]
fn a_graph_of_another_plan_is_refused() {
    let plan = extractive();
    let graph = lower(&plan).expect("complete");
    let other = Plan { id: ContentId("plan_1".into()), ..plan };
    assert!(matches!(simulate(&other, &graph, 1), Err(SimulateError::OtherPlan { .. })));
}

#[test]
fn the_schema_is_integers_and_text() {
    let schema = serde_json::to_string(&schemars::schema_for!(Simulation)).expect("a schema is JSON");
    assert!(!schema.contains("\"number\""), "{schema}");
}

fn certainty() -> impl Strategy<Value = Certainty> {
    prop_oneof![
        Just(Certainty::Configured),
        (0u32..500).prop_map(|n| Certainty::Measured { n }),
        Just(Certainty::Prior),
        Just(Certainty::Unknown)
    ]
}

fn any_estimate(most: u64) -> impl Strategy<Value = Option<(u64, u64, u64, Certainty)>> {
    prop::option::of((0..=most, 0..=most, 0..=most, certainty()))
}

fn of<T: Copy + Ord>(raw: Option<(u64, u64, u64, Certainty)>, unit: impl Fn(u64) -> T) -> Option<Estimated<T>> {
    raw.map(|(value, low, high, c)| Estimated::new(unit(value), unit(low), unit(high), c, "test"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn intervals_are_ordered_whatever_the_estimates(
        latency in any_estimate(u64::MAX), tokens in any_estimate(10_000_000), cost in any_estimate(i64::MAX as u64), quality in any_estimate(1_000_000),
        evidence in 0u32..=1_000_000, hallucination in 0u32..=1_000_000, verification in -1_000_000i64..=1_000_000, seed in any::<u64>(),
    ) {
        let mut plan = generated(Constraints::default());
        plan.estimate.evidence = Estimated::new(Ppm(evidence), Ppm(0), Ppm::ONE, Certainty::Prior, "test");
        plan.estimate.hallucination = Ppm(hallucination);
        plan.estimate.verification = verification;
        let answer = plan.chosen.iter_mut().find(|c| c.alternative.stage == Stage::Answer).expect("built so");
        answer.estimate = AlternativeEstimate {
            latency: of(latency, Micros), tokens: of(tokens, Tokens), cost: of(cost, |x| NanoUsd(x as i64)), quality: of(quality, |x| Ppm(x as u32)),
            ..latency_only(1)
        };
        let s = quoted(&plan, seed);
        prop_assert!(s.cost.low <= s.cost.mid && s.cost.mid <= s.cost.high && s.cost.low >= NanoUsd(0));
        prop_assert!(s.latency.low <= s.latency.mid && s.latency.mid <= s.latency.high);
        prop_assert!(s.tokens.low <= s.tokens.mid && s.tokens.mid <= s.tokens.high);
        prop_assert!(s.confidence.low <= s.confidence.mid && s.confidence.mid <= s.confidence.high && s.confidence.high <= Ppm::ONE);
        prop_assert!(s.p_abstain.0 + s.p_verification_failed.0 + s.p_failed.0 <= 1_000_003);
        let text = serde_json::to_string(&s).expect("plain data");
        prop_assert!(!text.contains("NaN") && !text.contains("null,null"));
    }
}

#[test]
fn a_batch_keeps_every_quote_and_its_total_keeps_what_calls_share() {
    let plan = generated(Constraints::default());
    let graph = ctx_graph::lower(&plan).expect("a valid plan");
    let mut batch = Batch::new(11);
    let quotes: Vec<Simulation> = (0..25).map(|_| batch.add(&plan, &graph).expect("a valid graph")).collect();
    assert!(quotes.iter().all(|quote| *quote == quoted(&plan, plan.seed)), "a goal's quote is the one it has alone");
    let total = batch.total();
    let width = |low: u64, high: u64| (high - low) as f64;
    let (one, all) = (&quotes[0].tokens, &total.tokens);
    assert!(all.mid.0 > 20 * one.mid.0 && all.mid.0 < 35 * one.mid.0, "{one:?} {all:?}");
    let growth = width(all.low.0, all.high.0) / width(one.low.0, one.high.0);
    // Independent calls would give about √25 = 5, wholly dependent ones 25; half the variance is shared.
    assert!((8.0..25.0).contains(&growth), "{growth}");
    assert_eq!((total.goals, total.draws), (25, DRAWS));
    let mut again = Batch::new(11);
    (0..25).for_each(|_| drop(again.add(&plan, &graph).expect("a valid graph")));
    assert_eq!(again.total(), total, "the same seed gives the same bytes");
}

#[test]
fn estimates_that_few_observations_stand_behind_are_named() {
    let mut plan = generated(Constraints::default());
    let times = plan.chosen.iter_mut().filter_map(|chosen| chosen.estimate.latency.as_mut());
    times.for_each(|latency| latency.certainty = Certainty::Measured { n: SAMPLES_MIN - 1 });
    let quote = quoted(&plan, 7);
    assert!(
        quote.under_sampled.iter().any(|line| line.starts_with("time of answer") && line.ends_with("(n=19)")),
        "{:?}",
        quote.under_sampled
    );
}
