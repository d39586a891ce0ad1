//! Schedules of lowered plans, and properties over random graphs.

#[path = "../../ctx-graph/tests/support/mod.rs"]
mod support;

use ctx_graph::{Edge, EdgeKind, ExecutionGraph, FailurePolicy, GraphError, Node, NodeId, NodeOp, Resource, lower};
use ctx_scheduler::{Concurrency, RUN_RETRIES_MAX, Schedule, ScheduleError, critical_path, schedule, schedule_with};
use ctx_types::{AccessPath, Constraints, ContentId, Micros, Strategy as AnswerStrategy};
use proptest::prelude::*;
use std::collections::BTreeMap;
use support::{PlanBuilder, latency_only};

fn within(seconds: u64) -> Constraints {
    Constraints { max_latency: Some(Micros(seconds * 1_000_000)), ..Constraints::default() }
}

fn two_sources() -> ExecutionGraph {
    lower(&PlanBuilder::new("q").source("docs", AccessPath::HybridLinear).source("logs", AccessPath::Bm25).single_shot("premium").build())
        .expect("a complete plan")
}

fn step<'a>(schedule: &'a Schedule, node: &str) -> &'a ctx_scheduler::Step {
    schedule.step(&NodeId::new(node)).expect("every node is scheduled")
}

#[test]
fn reads_run_side_by_side_and_conditional_targets_last() {
    let schedule = schedule(&two_sources(), &Constraints::default()).expect("a valid graph");
    let waves: Vec<Vec<&str>> = schedule.waves().map(|w| w.iter().map(|s| s.node.as_str()).collect()).collect();
    assert_eq!(waves[0].len(), 3, "three legs start at once: {waves:?}");
    assert_eq!(waves[0][2], "access.logs.bm25", "the longer remaining way first");
    let wave = |n| step(&schedule, n).wave;
    assert!(wave("fuse.docs") < wave("fuse") && wave("fuse") < wave("pack") && wave("answer") < wave("verify"));
    assert!(
        wave("verify") < wave("retry") && wave("retry") < wave("verification_failed"),
        "an edge back to the answer is no reason to go first"
    );
    assert!(step(&schedule, "verify").primary && !step(&schedule, "retry").primary);
    assert_eq!((schedule.deadline, schedule.retries_max), (None, RUN_RETRIES_MAX));
    let limits: Vec<String> = schedule.concurrency.iter().map(|l| l.resource.to_string()).collect();
    assert_eq!(limits, ["store", "cpu", "model:premium"]);
}

#[test]
fn deadlines_leave_time_for_what_follows() {
    let schedule = schedule(&two_sources(), &within(10)).expect("a valid graph");
    assert_eq!(step(&schedule, "verify").deadline, Some(Micros(10_000_000)));
    assert_eq!(step(&schedule, "answer").deadline, Some(Micros(10_000_000 - 500)));
    let packed = step(&schedule, "pack").deadline.expect("limited");
    assert_eq!(packed, Micros(10_000_000 - 500 - 1_000_000), "the call keeps its median");
}

#[test]
fn one_stalled_attempt_does_not_eat_the_time_of_the_others() {
    let schedule = schedule(&two_sources(), &within(10)).expect("a valid graph");
    let answer = step(&schedule, "answer");
    let timeout = answer.attempt_timeout.expect("models are timed");
    assert_eq!(answer.retry.max_attempts, 3);
    assert!(timeout >= Micros(2_000_000), "an attempt may take its ninth decile: {timeout}");
    assert!(timeout.0 * 2 < 10_000_000, "two attempts fit: {timeout}");
}

#[test]
fn medians_that_do_not_fit_are_shared_out() {
    let tight = Constraints { max_latency: Some(Micros(500_000)), ..Constraints::default() };
    let schedule = schedule(&two_sources(), &tight).expect("the deadline is the executor's to enforce");
    assert!(schedule.critical_path_p50 > Micros(500_000));
    for step in &schedule.steps {
        let (deadline, timeout) = (step.deadline.expect("limited"), step.attempt_timeout.expect("timed"));
        assert!(deadline > Micros(0) && deadline <= Micros(500_000) && timeout > Micros(0) && timeout <= Micros(500_000), "{step:?}");
        let early = !step.node.0.starts_with("answer") && !step.node.0.starts_with("verify");
        assert!(!early || deadline >= Micros(250_000), "a read is not starved by a call that cannot end in time: {step:?}");
    }
}

#[test]
fn waits_double_within_a_quarter_and_are_the_same_every_time() {
    let graph = two_sources();
    let first = schedule(&graph, &within(60)).expect("a valid graph");
    assert_eq!(first, schedule(&graph, &within(60)).expect("a valid graph"));
    let waits = &step(&first, "answer").retry.waits;
    assert_eq!(waits.len(), 2);
    for (wait, middle) in waits.iter().zip([500_000u64, 1_000_000]) {
        assert!((middle * 3 / 4..=middle * 5 / 4).contains(&wait.0), "{wait} around {middle}");
    }
}

#[test]
fn what_cannot_run_is_an_error() {
    let mut circle = two_sources();
    circle.edges.push(Edge { from: NodeId::new("answer"), to: NodeId::new("pack"), kind: EdgeKind::OnFailure });
    assert!(matches!(schedule(&circle, &Constraints::default()), Err(ScheduleError::Graph(GraphError::Cycle { .. }))));
    assert_eq!(schedule(&two_sources(), &within(0)), Err(ScheduleError::NoTime));
    let none = Concurrency { store: 0, ..Concurrency::default() };
    assert!(matches!(schedule_with(&two_sources(), &Constraints::default(), &none), Err(ScheduleError::NoCapacity { .. })));
}

#[test]
fn the_schema_is_integers_and_text() {
    let schema = serde_json::to_string(&schemars::schema_for!(Schedule)).expect("a schema is JSON");
    assert!(!schema.contains("\"number\""), "{schema}");
}

/// Tools with random latencies in a random order, and an answer after the first.
fn random(latencies: &[u64], pairs: &[(usize, usize, u8)]) -> ExecutionGraph {
    let n = latencies.len();
    let node = |id: String, op: NodeOp, latency: u64| Node {
        id: NodeId::new(id),
        op,
        estimate: latency_only(latency),
        resource: Resource::Tool("t".into()),
        on_error: FailurePolicy::Route,
        max_attempts: 2,
    };
    let tool = |(i, l): (usize, &u64)| node(format!("n{i}"), NodeOp::Tool { name: "t".into(), irreversible: false }, *l);
    let mut nodes: Vec<Node> = latencies.iter().enumerate().map(tool).collect();
    nodes.push(node("answer".into(), NodeOp::Answer { strategy: AnswerStrategy::Extractive, model: None }, 10));
    let kinds = [EdgeKind::Then, EdgeKind::Parallel, EdgeKind::OnSuccess, EdgeKind::OnFailure];
    let mut edges = BTreeMap::from([((0, n), EdgeKind::Then)]);
    for (a, b, k) in pairs {
        let (a, b) = (a % n, b % n);
        if a != b {
            edges.insert((a.min(b), a.max(b)), kinds[usize::from(*k) % 4].clone());
        }
    }
    let name = |i: usize| NodeId::new(if i == n { "answer".to_owned() } else { format!("n{i}") });
    let edges = edges.into_iter().map(|((a, b), kind)| Edge { from: name(a), to: name(b), kind }).collect();
    ExecutionGraph::new(ContentId("plan_p".into()), nodes, edges)
}

proptest! {
    #[test]
    fn every_node_once_and_never_before_a_predecessor(
        latencies in prop::collection::vec(0u64..5_000_000, 1..16),
        pairs in prop::collection::vec((0usize..16, 0usize..16, any::<u8>()), 0..40),
        limit in prop::option::of(1u64..30_000_000),
    ) {
        let graph = random(&latencies, &pairs);
        let limits = Constraints { max_latency: limit.map(Micros), ..Constraints::default() };
        let schedule = schedule(&graph, &limits).expect("an acyclic graph with one answer");
        prop_assert_eq!(schedule.steps.len(), graph.nodes.len());
        let place: BTreeMap<&NodeId, usize> = schedule.steps.iter().enumerate().map(|(i, s)| (&s.node, i)).collect();
        prop_assert_eq!(place.len(), graph.nodes.len());
        for edge in &graph.edges {
            let (before, after) = (&schedule.steps[place[&edge.from]], &schedule.steps[place[&edge.to]]);
            prop_assert!(place[&edge.from] < place[&edge.to] && before.wave < after.wave);
            if before.primary == after.primary {
                prop_assert!(before.deadline <= after.deadline, "{:?} {:?}", before, after);
            }
        }
        for step in &schedule.steps {
            prop_assert!(step.deadline <= schedule.deadline || schedule.deadline.is_none());
            prop_assert!(step.attempt_timeout.is_some_and(|t| t > Micros(0)));
        }
    }

    #[test]
    fn the_critical_path_is_at_least_the_longest_way_and_its_tail_is_later(latencies in prop::collection::vec(1u64..1_000_000, 1..12), pairs in prop::collection::vec((0usize..12, 0usize..12, 0u8..3), 0..24)) {
        let graph = random(&latencies, &pairs);
        let (p50, p90) = critical_path(&graph).expect("acyclic");
        let schedule = schedule(&graph, &Constraints::default()).expect("acyclic");
        let longest = schedule.steps.iter().filter(|s| s.primary).map(|s| s.expected_start + s.priority).max().unwrap_or_default();
        prop_assert!(p50.0 + 1 >= longest.0, "{} {}", p50, longest);
        prop_assert!(p90 >= p50);
    }
}
