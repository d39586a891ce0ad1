//! From plans to graphs, and what executors rely on.

mod support;

use ctx_graph::{
    EdgeKind, ExecutionGraph, Facts, FailurePolicy, GraphError, LegFusion, NodeEnd, NodeId, NodeOp, Readiness, Resource, lower, readiness,
};
use ctx_types::{AccessPath, AlternativeEstimate, AlternativeId, Fate, Operator, Plan, Stage, Status};
use std::collections::BTreeSet;
use support::{PlanBuilder, access, source};

fn names(graph: &ExecutionGraph) -> Vec<&str> {
    graph.nodes.iter().map(|n| n.id.as_str()).collect()
}

fn edges(graph: &ExecutionGraph) -> Vec<String> {
    graph.edges.iter().map(|e| format!("{} {} {}", e.from, e.kind, e.to)).collect()
}

fn lowered(plan: &Plan) -> ExecutionGraph {
    lower(plan).expect("a complete plan lowers")
}

#[test]
fn one_source_quoted_and_checked() {
    let graph = lowered(&PlanBuilder::new("q").source("docs", AccessPath::Bm25).build());
    assert_eq!(names(&graph), ["access.docs.bm25", "pack", "answer", "verify", "abstain"]);
    assert_eq!(
        edges(&graph),
        [
            "access.docs.bm25 then pack",
            "pack then answer",
            "answer on failure abstain",
            "answer on success verify",
            "verify on failure abstain",
        ]
    );
    assert_eq!(graph.nodes[0].on_error, FailurePolicy::Fail, "nothing else could serve");
    assert_eq!(graph.nodes[0].resource, Resource::Store);
}

#[test]
fn a_hybrid_is_two_legs_and_a_merge_of_which_one_may_break() {
    let graph = lowered(&PlanBuilder::new("q").source("docs", AccessPath::HybridLinear).build());
    assert_eq!(names(&graph)[..3], ["access.docs.bm25", "access.docs.dense", "fuse.docs"]);
    assert!(graph.nodes[..2].iter().all(|n| n.on_error == FailurePolicy::Degrade));
    let NodeOp::FuseLegs { method: LegFusion::Linear { weights }, exact: None, .. } = &graph.nodes[2].op else {
        panic!("{:?}", graph.nodes[2].op)
    };
    assert_eq!(weights.iter().map(|w| w.weight.0).sum::<u32>(), 1_000_000);
    let facts = |ends: &[(&str, NodeEnd)]| Facts { ends: ends.iter().map(|(n, e)| (NodeId::new(*n), *e)).collect(), evidence: None };
    let fuse = NodeId::new("fuse.docs");
    let one = facts(&[("access.docs.bm25", NodeEnd::Passed), ("access.docs.dense", NodeEnd::Broken)]);
    assert_eq!(readiness(&graph, &fuse, &one), Readiness::Run);
    let none = facts(&[("access.docs.bm25", NodeEnd::Broken), ("access.docs.dense", NodeEnd::Broken)]);
    assert_eq!(readiness(&graph, &fuse, &none), Readiness::Starved);
}

#[test]
fn an_identifier_in_the_goal_adds_a_leg_whose_hits_come_first() {
    let outscored = || Fate::Dominated { by: AlternativeId(0) };
    for path in [AccessPath::Bm25, AccessPath::Dense, AccessPath::HybridLinear, AccessPath::HybridRrf] {
        let plan = PlanBuilder::new("E0502").source("docs", path).identifier("E0502").identifier_alternative("docs", outscored()).build();
        let graph = lowered(&plan);
        let fuse = graph.node(&NodeId::new("fuse.docs")).expect("a merge");
        let NodeOp::FuseLegs { exact, .. } = &fuse.op else { panic!("{:?}", fuse.op) };
        assert_eq!(exact.as_ref().map(NodeId::as_str), Some("access.docs.identifier"), "{path}");
        assert!(graph.inputs(&fuse.id).any(|n| n.as_str() == "access.docs.identifier"));
    }
}

#[test]
fn no_identifier_leg_where_it_would_find_nothing_or_is_all_there_is() {
    let has_leg = |plan: Plan| names(&lowered(&plan)).iter().filter(|n| n.ends_with(".identifier")).count();
    let pruned = Fate::Pruned { rule: "no_hits".into(), reason: "identifier: docs holds none of E0502".into() };
    let kept = Fate::Dominated { by: AlternativeId(0) };
    let bm25 = |fate| PlanBuilder::new("E0502").source("docs", AccessPath::Bm25).identifier_alternative("docs", fate);
    assert_eq!(has_leg(bm25(pruned).identifier("E0502").build()), 0, "pruned");
    assert_eq!(has_leg(bm25(kept.clone()).build()), 0, "no identifier in the goal");
    assert_eq!(
        has_leg(
            PlanBuilder::new("E0502")
                .source("logs", AccessPath::Bm25)
                .identifier_alternative("docs", kept.clone())
                .identifier("E0502")
                .build()
        ),
        0,
        "another source"
    );
    assert_eq!(
        has_leg(
            PlanBuilder::new("E0502").source("docs", AccessPath::Whole).identifier_alternative("docs", kept).identifier("E0502").build()
        ),
        0,
        "whole"
    );
    assert_eq!(has_leg(PlanBuilder::new("E0502").source("docs", AccessPath::Identifier).identifier("E0502").build()), 1, "the path itself");
}

#[test]
fn several_sources_meet_and_each_may_fail() {
    let plan = PlanBuilder::new("q").source("docs", AccessPath::HybridRrf).source("logs", AccessPath::Bm25).build();
    let graph = lowered(&plan);
    assert_eq!(names(&graph)[..5], ["access.docs.bm25", "access.docs.dense", "fuse.docs", "access.logs.bm25", "fuse"]);
    for list in ["fuse.docs", "access.logs.bm25"] {
        assert_eq!(graph.node(&NodeId::new(list)).expect("lowered").on_error, FailurePolicy::Degrade);
    }
    assert_eq!(graph.inputs(&NodeId::new("fuse")).map(NodeId::as_str).collect::<Vec<_>>(), ["fuse.docs", "access.logs.bm25"]);
}

#[test]
fn a_skipped_source_is_not_read() {
    let mut builder = PlanBuilder::new("q").source("docs", AccessPath::Bm25);
    builder.choose(Stage::Access(source("logs")), Operator::Skip, AlternativeEstimate::default());
    assert!(!names(&lowered(&builder.build())).iter().any(|n| n.contains("logs")));
}

/// Walks as an executor does: everything passes except what `says` decides.
fn walk(graph: &ExecutionGraph, says: impl Fn(&NodeId, u32) -> NodeEnd) -> (Vec<String>, Option<Status>) {
    let (mut facts, mut ran, mut loops) = (Facts::default(), Vec::new(), 0);
    loop {
        let open = graph.nodes.iter().filter(|n| !facts.ends.contains_key(&n.id));
        let Some((node, readiness)) = open.map(|n| (n, readiness(graph, &n.id, &facts))).find(|(_, r)| *r != Readiness::Wait) else {
            return (ran, None);
        };
        if readiness != Readiness::Run {
            facts.ends.insert(node.id.clone(), NodeEnd::Skipped);
            continue;
        }
        ran.push(node.id.to_string());
        match &node.op {
            NodeOp::Stop { status } => return (ran, Some(*status)),
            NodeOp::Loop { max_iterations, .. } if loops < *max_iterations => {
                loops += 1;
                graph.loop_resets(&node.id).iter().for_each(|n| {
                    facts.ends.remove(n);
                });
            }
            NodeOp::Loop { .. } => {
                facts.ends.insert(node.id.clone(), NodeEnd::Rejected);
            }
            _ => {
                facts.ends.insert(node.id.clone(), says(&node.id, loops));
            }
        }
        assert!(ran.len() < 50, "the walk does not end: {ran:?}");
    }
}

#[test]
fn a_generated_answer_is_produced_once_more_and_then_withheld() {
    let graph = lowered(&PlanBuilder::new("q").source("docs", AccessPath::Bm25).single_shot("premium").build());
    let rejecting = |n: &NodeId, _: u32| if n.as_str() == "verify" { NodeEnd::Rejected } else { NodeEnd::Passed };
    let (ran, status) = walk(&graph, rejecting);
    assert_eq!(ran, ["access.docs.bm25", "pack", "answer", "verify", "retry", "answer", "verify", "retry", "verification_failed"]);
    assert_eq!(status, Some(Status::VerificationFailed));

    let second_passes = |n: &NodeId, loops: u32| if n.as_str() == "verify" && loops == 0 { NodeEnd::Rejected } else { NodeEnd::Passed };
    let (ran, status) = walk(&graph, second_passes);
    assert_eq!((ran.iter().filter(|n| *n == "answer").count(), status), (2, None));

    let declines_second = |n: &NodeId, loops: u32| match (n.as_str(), loops) {
        ("verify", _) | ("answer", 1) => NodeEnd::Rejected,
        _ => NodeEnd::Passed,
    };
    assert_eq!(walk(&graph, declines_second).1, Some(Status::Abstained), "abstaining was skipped the first time only");
}

#[test]
fn a_quoted_answer_that_fails_its_check_is_withheld_at_once() {
    let graph = lowered(&PlanBuilder::new("q").source("docs", AccessPath::Bm25).build());
    let (ran, status) = walk(&graph, |n, _| if n.as_str() == "verify" { NodeEnd::Rejected } else { NodeEnd::Passed });
    assert_eq!((ran.last().map(String::as_str), status), (Some("abstain"), Some(Status::Abstained)));
    let (_, status) = walk(&graph, |_, _| NodeEnd::Passed);
    assert_eq!(status, None, "an answer that passed is given");
}

#[test]
fn without_a_check_the_answer_is_the_end() {
    let graph = lowered(&PlanBuilder::new("q").source("docs", AccessPath::Bm25).unverified().build());
    assert_eq!(names(&graph), ["access.docs.bm25", "pack", "answer", "abstain"]);
}

#[test]
fn incomplete_and_mixed_up_plans_are_named() {
    let mut plan = PlanBuilder::new("q").source("docs", AccessPath::Bm25).build();
    plan.chosen.retain(|c| c.alternative.stage != Stage::Answer);
    assert!(matches!(lower(&plan), Err(GraphError::MissingStage { stage: "answer", .. })));
    let mut builder = PlanBuilder::new("q");
    builder.choose(Stage::Pack, access(AccessPath::Bm25), AlternativeEstimate::default());
    assert!(matches!(lower(&builder.build()), Err(GraphError::WrongOperator { .. })));
    let mut two = PlanBuilder::new("q").source("a", AccessPath::Bm25).source("b", AccessPath::Bm25).build();
    two.chosen.retain(|c| c.alternative.stage != Stage::Fuse);
    assert!(matches!(lower(&two), Err(GraphError::MissingStage { stage: "fuse", .. })));
}

#[test]
fn the_hash_names_the_content_and_json_keeps_it() {
    let plan = PlanBuilder::new("q").source("docs", AccessPath::HybridLinear).single_shot("premium").build();
    let graph = lowered(&plan);
    let text = serde_json::to_string(&graph).expect("plain data");
    let back: ExecutionGraph = serde_json::from_str(&text).expect("own output");
    assert_eq!(back, graph);
    assert_eq!(back.hash().expect("no float"), lowered(&plan).hash().expect("no float"));
    let other = lowered(&PlanBuilder::new("q").source("docs", AccessPath::HybridRrf).single_shot("premium").build());
    assert_ne!(other.hash().expect("no float"), graph.hash().expect("no float"));
}

#[test]
fn the_schema_has_no_floats_and_names_every_operator() {
    let schema = serde_json::to_string(&schemars::schema_for!(ExecutionGraph)).expect("a schema is JSON");
    assert!(!schema.contains("\"number\""), "{schema}");
    let kinds: BTreeSet<&str> = [
        "access",
        "fuse_legs",
        "fuse",
        "rerank",
        "pack",
        "compress",
        "answer",
        "verify",
        "tool",
        "branch",
        "loop",
        "approval",
        "ask",
        "merge",
        "rollback",
        "delegate",
        "transfer",
    ]
    .into();
    for kind in kinds {
        assert!(schema.contains(&format!("\"const\":\"{kind}\"")), "{kind} is missing");
    }
    assert!(matches!(EdgeKind::Then, EdgeKind::Then) && schema.contains("evidence_below"));
}
