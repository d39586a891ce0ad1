//! Failures seen in other systems' EXPLAIN: estimate and actual of different scope, and own time by mere subtraction.

use super::planned;
use ctx_explain::{Decision, ExplainInput, Explanation, Format, Options, TextOptions, explain, json, render, text};
use ctx_graph::{Edge, EdgeKind, ExecutionGraph, FailurePolicy, Node, NodeId, NodeOp, Resource};
use ctx_testkit::traces;
use ctx_types::trace::{NodeActual, NodeStatus, NodeTrace};
use ctx_types::{AlternativeEstimate, Certainty, Estimated, Micros, NanoUsd, Tokens, Trace};

fn node(id: &str, op: NodeOp, estimate: AlternativeEstimate) -> Node {
    Node { id: NodeId::new(id), op, estimate, resource: Resource::Cpu, on_error: FailurePolicy::Fail, max_attempts: 1 }
}

fn edge(from: &str, to: &str, kind: EdgeKind) -> Edge {
    Edge { from: NodeId::new(from), to: NodeId::new(to), kind }
}

fn ran(id: &str, status: NodeStatus, span: (u64, u64), attempts: u32, actual: NodeActual) -> NodeTrace {
    NodeTrace {
        node: id.to_owned(),
        operator: id.to_owned(),
        status,
        start: Micros(span.0),
        end: Micros(span.1),
        attempts,
        estimate: AlternativeEstimate::default(),
        actual,
        error: None,
    }
}

fn explained(nodes: Vec<Node>, edges: Vec<Edge>, traced: Vec<NodeTrace>, elapsed: u64) -> Explanation {
    let planned = planned();
    let graph = ExecutionGraph::new(planned.plan.id.clone(), nodes, edges);
    let mut trace: Trace = traces::completed(&planned);
    trace.nodes = traced;
    trace.outcome.spend.elapsed = Micros(elapsed);
    explain(&ExplainInput {
        decision: Decision::Planned { plan: &planned.plan, graph: &graph },
        trace: Some(&trace),
        plan_cache: None,
        planning: None,
        settings: &[],
        probe: None,
        options: Options { buffers: true, ..Options::default() },
    })
}

fn tokens(value: u64) -> AlternativeEstimate {
    AlternativeEstimate {
        tokens: Some(Estimated::new(Tokens(value), Tokens(0), Tokens(9_999), Certainty::Prior, "test")),
        ..AlternativeEstimate::default()
    }
}

/// F-152: a loop of three iterations. Estimate and actual stand in the same scope, per loop and in all, and an estimate of
/// zero has a finite ratio.
#[test]
fn a_loop_is_compared_in_one_scope_and_shown_per_loop_too() {
    let stop = NodeOp::Stop { status: ctx_types::Status::VerificationFailed };
    let again = NodeOp::Loop { body: NodeId::new("answer"), max_iterations: 3 };
    let nodes = vec![
        node("pack", NodeOp::Merge, tokens(0)),
        node("answer", NodeOp::Branch, tokens(900)),
        node("verify", NodeOp::Verify { verifier: "support".into() }, AlternativeEstimate::default()),
        node("retry", again, AlternativeEstimate::default()),
        node("verification_failed", stop, AlternativeEstimate::default()),
    ];
    let edges = vec![
        edge("pack", "answer", EdgeKind::Then),
        edge("answer", "verify", EdgeKind::OnSuccess),
        edge("verify", "retry", EdgeKind::OnFailure),
        edge("retry", "answer", EdgeKind::Then),
        edge("retry", "verification_failed", EdgeKind::OnFailure),
    ];
    let spent =
        NodeActual { tokens: Some(Tokens(2_700)), cost: Some(NanoUsd(3_000_000)), busy: Some(Micros(60_000)), ..NodeActual::default() };
    let traced = vec![
        ran("pack", NodeStatus::Done, (0, 1_000), 1, NodeActual { tokens: Some(Tokens(2)), ..NodeActual::default() }),
        ran("answer", NodeStatus::Done, (1_000, 91_000), 3, spent),
        ran("verify", NodeStatus::Done, (21_000, 100_000), 3, NodeActual { busy: Some(Micros(9_000)), ..NodeActual::default() }),
        ran("retry", NodeStatus::Done, (30_000, 70_000), 2, NodeActual::default()),
    ];
    let value = explained(nodes, edges, traced, 100_000);
    let printed = text(&value, &TextOptions { width: 400 });
    let line = printed.lines().find(|l| l.contains("Branch")).expect("the body of the loop");
    assert!(line.contains("(tokens=900 ~)") && line.contains("(actual time=60.0 ms tokens=2700 cost=$0.003 loops=3)"), "{line}");
    assert!(printed.contains("q-error: tokens 3.00; own time 60.0 ms, 60.0 % of the run"), "{printed}");
    assert!(printed.contains("Per loop: time=20.0 ms tokens=900 cost=$0.001; above, all 3 together"), "{printed}");
    assert!(printed.contains("On failure: Again from answer, at most 3  (actual time=40.0 ms loops=2)"), "{printed}");
    assert!(printed.contains("tokens=0 ~") && printed.contains("q-error: tokens 2.00"), "an estimate of zero beside two: {printed}");
    for format in Format::ALL {
        let text = render(&value, format, &TextOptions::default());
        assert!(!text.contains("inf%") && !text.contains("NaN") && !text.contains(" inf "), "{}", format.as_str());
    }
    let answer = &json(&value)["plan"]["root"]["children"][0];
    assert_eq!((answer["actual"]["numbers"]["tokens"].as_u64(), answer["actual"]["per_loop"]["tokens"].as_u64()), (Some(2_700), Some(900)));
}

/// F-198: parallel children of a wave, a branch that never ran, and a loop.
#[test]
fn own_time_is_never_negative_and_what_never_ran_says_so() {
    let ids = ["a", "b", "c", "loop"];
    let mut nodes: Vec<Node> = ids.iter().map(|id| node(id, NodeOp::Branch, AlternativeEstimate::default())).collect();
    nodes.push(node("wave", NodeOp::Merge, AlternativeEstimate::default()));
    let edges = ids.iter().map(|id| edge(id, "wave", EdgeKind::Parallel)).collect();
    let none = NodeActual::default;
    let traced = vec![
        ran("a", NodeStatus::Done, (0, 95_000), 1, none()),
        ran("b", NodeStatus::Done, (2_000, 92_000), 1, none()),
        ran("c", NodeStatus::NotRun, (0, 0), 0, none()),
        ran("loop", NodeStatus::Done, (60_000, 90_000), 3, none()),
        ran("wave", NodeStatus::Done, (0, 100_000), 1, none()),
    ];
    let value = explained(nodes, edges, traced, 100_000);
    let root = &value.plan.as_ref().expect("a plan").root;
    let own = |view: &ctx_explain::explanation::NodeView| view.actual.as_ref().and_then(|a| a.own_us);
    assert_eq!(own(root), Some(5_000), "the wave's time minus the union of its branches");
    for view in root.children.iter().chain([root]) {
        let actual = view.actual.as_ref().expect("analyzed");
        assert!(actual.own_us.is_none_or(|own| own <= 100_000) && actual.own_share_ppm.is_none_or(|share| share <= 1_000_000), "{view:?}");
    }
    let never = root.children.iter().find(|view| view.id == "c").and_then(|view| view.actual.as_ref()).expect("shown");
    assert_eq!((never.status.as_str(), never.elapsed_us, never.own_us), ("not run", None, None));
    for format in [Format::Text, Format::Html, Format::Yaml, Format::Mermaid, Format::Dot, Format::Pg] {
        let text = render(&value, format, &TextOptions::default());
        assert!(text.contains("not run"), "{} does not say it", format.as_str());
        assert!(!text.contains("NaN") && !text.contains("-85"), "{}", format.as_str());
    }
}
