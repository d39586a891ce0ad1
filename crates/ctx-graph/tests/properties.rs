//! Properties over random plans and random graphs.

mod support;

use ctx_graph::{Edge, EdgeKind, ExecutionGraph, FailurePolicy, GraphError, Node, NodeId, NodeOp, Resource, Topology, lower};
use ctx_types::{AccessPath, AlternativeEstimate, AlternativeId, ContentId, Fate, Status, Strategy as AnswerStrategy};
use proptest::prelude::*;
use support::PlanBuilder;

fn op(code: u8) -> NodeOp {
    match code % 8 {
        0 => NodeOp::Answer { strategy: AnswerStrategy::Extractive, model: None },
        1 => NodeOp::Verify { verifier: "v".into() },
        2 => NodeOp::Stop { status: Status::Abstained },
        3 => NodeOp::Loop { body: NodeId::new(format!("n{}", code / 8)), max_iterations: u32::from(code % 5) },
        4 => NodeOp::Rollback { compensates: NodeId::new(format!("n{}", code / 8)) },
        5 => NodeOp::Merge,
        6 => NodeOp::Branch,
        _ => NodeOp::Tool { name: "t".into(), irreversible: false },
    }
}

fn kind(code: u8) -> EdgeKind {
    match code % 4 {
        0 => EdgeKind::Then,
        1 => EdgeKind::Parallel,
        2 => EdgeKind::OnSuccess,
        _ => EdgeKind::OnFailure,
    }
}

fn graph(ops: &[u8], edges: &[(usize, usize, u8)]) -> ExecutionGraph {
    let node = |(i, code): (usize, &u8)| Node {
        id: NodeId::new(format!("n{i}")),
        op: op(*code),
        estimate: AlternativeEstimate::default(),
        resource: Resource::Cpu,
        on_error: FailurePolicy::Fail,
        max_attempts: 1,
    };
    let edge = |(a, b, k): &(usize, usize, u8)| Edge {
        from: NodeId::new(format!("n{}", a % ops.len())),
        to: NodeId::new(format!("n{}", b % ops.len())),
        kind: kind(*k),
    };
    ExecutionGraph::new(ContentId("plan_p".into()), ops.iter().enumerate().map(node).collect(), edges.iter().map(edge).collect())
}

fn path() -> impl Strategy<Value = AccessPath> {
    proptest::sample::select(AccessPath::ALL)
}

proptest! {
    #[test]
    fn validation_never_panics(ops in prop::collection::vec(any::<u8>(), 1..12), edges in prop::collection::vec((0usize..12, 0usize..12, any::<u8>()), 0..24)) {
        let graph = graph(&ops, &edges);
        if graph.validate().is_ok() {
            prop_assert!(Topology::of(&graph).is_ok() && graph.hash().is_ok());
        }
    }

    #[test]
    fn the_order_respects_every_edge_and_a_closed_circle_is_found(n in 2usize..20, pairs in prop::collection::vec((0usize..20, 0usize..20, any::<u8>()), 1..40)) {
        let forward: Vec<(usize, usize, u8)> = pairs.iter().map(|(a, b, k)| (a % n, b % n, *k)).filter(|(a, b, _)| a != b).map(|(a, b, k)| (a.min(b), a.max(b), k)).collect();
        let tools = vec![7u8; n];
        let dag = graph(&tools, &forward);
        let topology = Topology::of(&dag).expect("edges lead to higher numbers only");
        let mut place = vec![0; n];
        topology.order().iter().enumerate().for_each(|(at, node)| place[*node] = at);
        prop_assert_eq!(topology.order().len(), n);
        for (a, b, _) in &forward {
            prop_assert!(place[*a] < place[*b]);
        }
        if let Some((a, b, _)) = forward.first() {
            let mut closed = forward.clone();
            closed.push((*b, *a, 0));
            let found = Topology::of(&graph(&tools, &closed));
            prop_assert!(matches!(&found, Err(GraphError::Cycle { nodes }) if nodes.contains(&NodeId::new(format!("n{a}"))) && nodes.contains(&NodeId::new(format!("n{b}")))) || matches!(&found, Err(GraphError::Cycle { nodes }) if nodes.len() > 1), "{:?}", found.err());
        }
    }

    #[test]
    fn every_plan_lowers_to_a_valid_graph_that_reads_each_source_once(paths in prop::collection::vec(path(), 0..6), generated in any::<bool>(), verified in any::<bool>(), identifier in any::<bool>()) {
        let mut builder = PlanBuilder::new("goal");
        for (i, path) in paths.iter().enumerate() {
            builder = builder.source(&format!("s{i}"), *path).identifier_alternative(&format!("s{i}"), Fate::Dominated { by: AlternativeId(0) });
        }
        builder = if generated { builder.single_shot("m") } else { builder };
        builder = if verified { builder } else { builder.unverified() };
        builder = if identifier { builder.identifier("E0502") } else { builder };
        let plan = builder.build();
        let graph = lower(&plan).expect("a complete plan");
        prop_assert_eq!(graph.validate(), Ok(()));
        prop_assert_eq!(&lower(&plan).expect("again"), &graph);
        for (i, path) in paths.iter().enumerate() {
            let legs = graph.nodes.iter().filter(|n| matches!(&n.op, NodeOp::Access { source, .. } if source.as_str() == format!("s{i}"))).count();
            let ranked = if matches!(path, AccessPath::HybridLinear | AccessPath::HybridRrf) { 2 } else { 1 };
            let exact = usize::from(identifier && !matches!(path, AccessPath::Identifier | AccessPath::Whole | AccessPath::Table));
            prop_assert_eq!(legs, ranked + exact);
        }
    }
}
