//! Every rule of validation has a graph that breaks it and nothing else.

use EdgeKind::{OnFailure, OnSuccess, Parallel, Then, When};
use ctx_graph::{Condition, Edge, EdgeKind, ExecutionGraph, FailurePolicy, GraphError, Node, NodeId, NodeOp, Resource};
use ctx_types::{AlternativeEstimate, ContentId, Ppm, Status, Strategy};

fn id(name: &str) -> NodeId {
    NodeId::new(name)
}

fn node(name: &str, op: NodeOp) -> Node {
    Node {
        id: id(name),
        op,
        estimate: AlternativeEstimate::default(),
        resource: Resource::Cpu,
        on_error: FailurePolicy::Fail,
        max_attempts: 1,
    }
}

fn tool(name: &str) -> Node {
    node(name, NodeOp::Tool { name: "t".into(), irreversible: true })
}

fn answer(name: &str) -> Node {
    node(name, NodeOp::Answer { strategy: Strategy::Extractive, model: None })
}

fn stop(name: &str) -> Node {
    node(name, NodeOp::Stop { status: Status::Abstained })
}

fn verify(name: &str) -> Node {
    node(name, NodeOp::Verify { verifier: "citations".into() })
}

fn graph(nodes: Vec<Node>, edges: &[(&str, &str, EdgeKind)]) -> ExecutionGraph {
    let edges = edges.iter().map(|(a, b, kind)| Edge { from: id(a), to: id(b), kind: kind.clone() }).collect();
    ExecutionGraph::new(ContentId("plan_t".into()), nodes, edges)
}

fn problem(nodes: Vec<Node>, edges: &[(&str, &str, EdgeKind)]) -> String {
    let error = graph(nodes, edges).validate().expect_err("the graph breaks a rule");
    assert!(!error.hint().is_empty());
    error.to_string()
}

fn looped(max_iterations: u32) -> NodeOp {
    NodeOp::Loop { body: id("a"), max_iterations }
}

#[test]
fn the_smallest_graph_and_a_full_one_are_accepted() {
    graph(vec![answer("a")], &[]).validate().expect("an answer is enough");
    let nodes = vec![
        tool("t"),
        node("approve", NodeOp::Approval { subject: "delete".into() }),
        tool("u"),
        node("m", NodeOp::Merge),
        answer("a"),
        verify("v"),
        node("again", looped(2)),
        stop("s"),
        node("undo", NodeOp::Rollback { compensates: id("t") }),
        node("hand", NodeOp::Transfer { to: "desk".into() }),
    ];
    let edges = [
        ("t", "approve", Then),
        ("approve", "u", OnSuccess),
        ("approve", "undo", OnFailure),
        ("t", "m", Parallel),
        ("u", "m", Parallel),
        ("m", "a", Then),
        ("a", "v", OnSuccess),
        ("v", "again", OnFailure),
        ("again", "a", Then),
        ("again", "s", OnFailure),
        ("a", "hand", OnFailure),
    ];
    graph(nodes, &edges).validate().expect("every kind in its place");
}

#[test]
fn names_and_references() {
    assert!(problem(vec![answer("a"), answer("a")], &[]).contains("two nodes are named a"));
    assert!(problem(vec![answer("a")], &[("a", "ghost", Then)]).contains("names ghost, which is not a node"));
    assert!(problem(vec![answer("")], &[]).contains("empty, too long or unprintable"));
    assert!(problem(vec![answer("a\nb")], &[]).contains("unprintable"));
    assert!(problem(vec![answer("a"), stop("s")], &[("a", "s", OnFailure), ("a", "s", OnFailure)]).contains("stands twice"));
    let mut old = graph(vec![answer("a")], &[]);
    old.schema_version = 0;
    assert_eq!(old.validate(), Err(GraphError::Version { found: 0 }));
}

#[test]
fn cycles_need_a_bounded_loop() {
    let circle = graph(vec![tool("t"), tool("u"), answer("a")], &[("t", "u", Then), ("u", "t", OnFailure), ("t", "a", Then)]);
    assert_eq!(circle.validate(), Err(GraphError::Cycle { nodes: vec![id("t"), id("u")] }));
    assert_eq!(graph(vec![answer("a")], &[("a", "a", Then)]).validate(), Err(GraphError::Cycle { nodes: vec![id("a")] }));
    let with_loop =
        |max, edges: &[(&str, &str, EdgeKind)]| problem(vec![answer("a"), verify("v"), node("again", looped(max)), stop("s")], edges);
    let all = [("a", "v", OnSuccess), ("v", "again", OnFailure), ("again", "a", Then), ("again", "s", OnFailure)];
    assert!(with_loop(0, &all).contains("max_iterations 0"));
    assert!(with_loop(17, &all).contains("max_iterations 17"));
    assert!(with_loop(1, &[all[0].clone(), all[1].clone(), all[3].clone()]).contains("no edge back to its body"));
    assert!(problem(vec![answer("a"), verify("v"), node("again", looped(1))], &all[..3]).contains("no way out"));
    assert!(
        problem(
            vec![answer("a"), tool("t"), node("again", looped(1)), stop("s")],
            &[("t", "again", Then), ("again", "a", Then), ("again", "s", OnFailure)]
        )
        .contains("does not follow its own body")
    );
}

#[test]
fn checks_and_approvals_have_consequences() {
    assert!(problem(vec![answer("a"), verify("v")], &[("a", "v", OnSuccess)]).contains("has no consequence"));
    assert!(
        problem(vec![answer("a"), verify("v"), tool("t")], &[("a", "v", OnSuccess), ("v", "t", OnSuccess)]).contains("has no consequence")
    );
    let approval = node("p", NodeOp::Approval { subject: "delete".into() });
    assert!(problem(vec![approval, answer("a")], &[("p", "a", Then)]).contains("whether approved or not"));
    assert!(problem(vec![answer("a"), stop("s"), tool("t")], &[("a", "s", OnFailure), ("s", "t", Then)]).contains("ends the run"));
    assert!(
        problem(vec![answer("a"), node("x", NodeOp::Transfer { to: "b".into() }), tool("t")], &[("a", "x", OnFailure), ("x", "t", Then)])
            .contains("hands the run over")
    );
}

#[test]
fn branches_merges_rollbacks_and_conditions() {
    let branch = || node("b", NodeOp::Branch);
    assert!(
        problem(vec![answer("a"), branch(), stop("s")], &[("a", "b", Then), ("b", "s", OnFailure)]).contains("fewer than two ways out")
    );
    assert!(
        problem(vec![answer("a"), branch(), stop("s"), tool("t")], &[("a", "b", Then), ("b", "s", OnFailure), ("b", "t", Then)])
            .contains("no condition guards")
    );
    assert!(problem(vec![answer("a"), node("m", NodeOp::Merge)], &[("a", "m", Then)]).contains("fewer than two branches"));
    let undo = |what: &str| node("undo", NodeOp::Rollback { compensates: id(what) });
    assert!(problem(vec![answer("a"), undo("a")], &[("a", "undo", OnFailure)]).contains("changes nothing"));
    assert!(problem(vec![answer("a"), tool("t"), undo("t")], &[("a", "undo", OnFailure)]).contains("does not come before it"));
    assert!(problem(vec![answer("a"), undo("ghost")], &[("a", "undo", OnFailure)]).contains("names ghost"));
    assert!(
        problem(vec![answer("a"), tool("t"), stop("s")], &[("a", "s", When(Condition::Failed(id("t"))))]).contains("has not ended then")
    );
    assert!(problem(vec![answer("a"), stop("s")], &[("a", "s", When(Condition::Failed(id("ghost"))))]).contains("names ghost"));
    let deep = (0..20).fold(Condition::EvidenceBelow(Ppm(1)), |c, _| Condition::Not(Box::new(c)));
    assert!(problem(vec![answer("a"), stop("s")], &[("a", "s", When(deep))]).contains("nested deeper"));
}

#[test]
fn one_answer_and_no_orphans() {
    assert_eq!(graph(vec![tool("t")], &[]).validate(), Err(GraphError::AnswerPaths { found: 0 }));
    assert_eq!(graph(vec![answer("a"), answer("b")], &[]).validate(), Err(GraphError::AnswerPaths { found: 2 }));
    graph(vec![answer("a"), answer("b")], &[("a", "b", OnFailure)]).validate().expect("a fallback answers only when the first does not");
    assert_eq!(graph(vec![answer("a"), stop("s")], &[]).validate(), Err(GraphError::Unreachable { id: id("s") }));
    let mut tired = graph(vec![answer("a")], &[]);
    tired.nodes[0].max_attempts = 0;
    assert!(tired.validate().expect_err("no attempt").to_string().contains("max_attempts 0"));
}
