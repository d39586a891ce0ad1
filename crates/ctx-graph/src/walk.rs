//! What may start, given what has ended: the one reading of edges that executor and simulator share.

use crate::{Condition, EdgeKind, ExecutionGraph, FailurePolicy, NodeId};
use ctx_types::Ppm;
use std::collections::BTreeMap;

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeEnd {
    /// It did its work and said yes, or had nothing to say.
    Passed,
    /// It did its work and said no: failed verdict, declined answer, refused approval, exhausted loop.
    Rejected,
    /// An error after its last attempt.
    Broken,
    /// It was never started, because no edge into it fired.
    Skipped,
}

/// What is known so far. A node that is absent has not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// How nodes ended.
    pub ends: BTreeMap<NodeId, NodeEnd>,
    /// P(the evidence is in the context), calibrated on the scores seen; `None` until it is known.
    pub evidence: Option<Ppm>,
}

/// What to do with a node that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Something it depends on has not ended.
    Wait,
    /// Start it.
    Run,
    /// Nothing leads to it any more.
    Skip,
    /// A join none of whose branches served: it counts as broken, under its own policy.
    Starved,
}

impl Condition {
    /// Whether it holds, given the evidence and how nodes ended.
    pub fn holds(&self, evidence: Option<Ppm>, end_of: &dyn Fn(&NodeId) -> Option<NodeEnd>) -> bool {
        match self {
            Condition::EvidenceBelow(bound) => evidence.is_none_or(|p| p < *bound),
            Condition::Failed(node) => end_of(node) == Some(NodeEnd::Broken),
            Condition::VerdictPassed(node) => end_of(node) == Some(NodeEnd::Passed),
            Condition::And(parts) => parts.iter().all(|p| p.holds(evidence, end_of)),
            Condition::Or(parts) => parts.iter().any(|p| p.holds(evidence, end_of)),
            Condition::Not(inner) => !inner.holds(evidence, end_of),
        }
    }
}

/// Whether an edge fires whose source, a node with policy `on_error`, ended as `end`. `holds` evaluates a condition.
pub fn fires(kind: &EdgeKind, end: NodeEnd, on_error: FailurePolicy, holds: impl FnOnce(&Condition) -> bool) -> bool {
    match kind {
        EdgeKind::Then | EdgeKind::Parallel => matches!(end, NodeEnd::Passed | NodeEnd::Rejected),
        EdgeKind::OnSuccess => end == NodeEnd::Passed,
        EdgeKind::OnFailure => end == NodeEnd::Rejected || (end == NodeEnd::Broken && on_error == FailurePolicy::Route),
        EdgeKind::When(condition) => end != NodeEnd::Skipped && holds(condition),
    }
}

/// Tally of the edges of one kind into a node; a valid graph has fewer than 65,536.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    fired: u16,
    unfired: u16,
    undecided: u16,
    broken: u16,
}

impl Tally {
    fn total(&self) -> u16 {
        self.fired + self.unfired + self.undecided
    }
}

/// The edges into one node, counted; [`Join::readiness`] reads them. For walkers that keep their own indices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Join {
    then: Tally,
    parallel: Tally,
    conditional: Tally,
}

impl Join {
    /// Counts an edge. `source` is how its source ended and whether the edge fires; `None` while it has not ended.
    pub fn add(&mut self, kind: &EdgeKind, source: Option<(NodeEnd, bool)>) {
        let tally = match kind {
            EdgeKind::Then => &mut self.then,
            EdgeKind::Parallel => &mut self.parallel,
            EdgeKind::OnSuccess | EdgeKind::OnFailure | EdgeKind::When(_) => &mut self.conditional,
        };
        match source {
            Some((_, true)) => tally.fired += 1,
            Some((_, false)) => tally.unfired += 1,
            None => tally.undecided += 1,
        }
        tally.broken += u16::from(matches!(source, Some((NodeEnd::Broken, _))));
    }

    /// What the counted edges say.
    pub fn readiness(&self) -> Readiness {
        decide(&self.then, &self.parallel, &self.conditional)
    }
}

/// Whether `node` may start. Edges from a loop to its body are not looked at: the executor follows them when the loop passes.
/// Edges from unknown nodes never fire; a validated graph has none.
pub fn readiness(graph: &ExecutionGraph, node: &NodeId, facts: &Facts) -> Readiness {
    let end_of = |id: &NodeId| facts.ends.get(id).copied();
    let mut join = Join::default();
    for edge in graph.incoming(node).filter(|e| !graph.is_back_edge(e)) {
        let on_error = graph.node(&edge.from).map_or(FailurePolicy::Fail, |n| n.on_error);
        let source = end_of(&edge.from).map(|end| (end, fires(&edge.kind, end, on_error, |c| c.holds(facts.evidence, &end_of))));
        join.add(&edge.kind, source);
    }
    join.readiness()
}

fn decide(then: &Tally, parallel: &Tally, conditional: &Tally) -> Readiness {
    if then.unfired > 0 {
        return Readiness::Skip;
    }
    if then.undecided > 0 || parallel.undecided > 0 {
        return Readiness::Wait;
    }
    if parallel.total() > 0 && parallel.fired == 0 {
        return if parallel.broken > 0 { Readiness::Starved } else { Readiness::Skip };
    }
    match (conditional.total(), conditional.fired, conditional.undecided) {
        (0, _, _) => Readiness::Run,
        (_, 0, 0) => Readiness::Skip,
        (_, 0, _) => Readiness::Wait,
        _ => Readiness::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Edge, Node, NodeOp, Resource};
    use ctx_types::{AlternativeEstimate, ContentId};

    fn graph(edges: &[(&str, &str, EdgeKind)]) -> ExecutionGraph {
        let mut names: Vec<&str> = edges.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        names.sort_unstable();
        names.dedup();
        let node = |name: &&str| Node {
            id: NodeId::new(*name),
            op: NodeOp::Branch,
            estimate: AlternativeEstimate::default(),
            resource: Resource::Cpu,
            on_error: FailurePolicy::Degrade,
            max_attempts: 1,
        };
        let edge = |(a, b, kind): &(&str, &str, EdgeKind)| Edge { from: NodeId::new(*a), to: NodeId::new(*b), kind: kind.clone() };
        ExecutionGraph::new(ContentId("plan_t".into()), names.iter().map(node).collect(), edges.iter().map(edge).collect())
    }

    fn facts(ends: &[(&str, NodeEnd)]) -> Facts {
        Facts { ends: ends.iter().map(|(n, e)| (NodeId::new(*n), *e)).collect(), evidence: None }
    }

    #[test]
    fn a_join_waits_for_all_branches_and_runs_with_those_that_served() {
        let g = graph(&[("a", "j", EdgeKind::Parallel), ("b", "j", EdgeKind::Parallel)]);
        let at = |ends: &[(&str, NodeEnd)]| readiness(&g, &NodeId::new("j"), &facts(ends));
        assert_eq!(at(&[("a", NodeEnd::Passed)]), Readiness::Wait);
        assert_eq!(at(&[("a", NodeEnd::Passed), ("b", NodeEnd::Broken)]), Readiness::Run);
        assert_eq!(at(&[("a", NodeEnd::Broken), ("b", NodeEnd::Broken)]), Readiness::Starved);
        assert_eq!(at(&[("a", NodeEnd::Skipped), ("b", NodeEnd::Skipped)]), Readiness::Skip);
    }

    #[test]
    fn one_fired_condition_is_enough_and_none_is_a_skip() {
        let g = graph(&[("a", "s", EdgeKind::OnFailure), ("b", "s", EdgeKind::OnFailure)]);
        let at = |ends: &[(&str, NodeEnd)]| readiness(&g, &NodeId::new("s"), &facts(ends));
        assert_eq!(at(&[]), Readiness::Wait);
        assert_eq!(at(&[("a", NodeEnd::Passed)]), Readiness::Wait);
        assert_eq!(at(&[("a", NodeEnd::Rejected)]), Readiness::Run);
        assert_eq!(at(&[("a", NodeEnd::Passed), ("b", NodeEnd::Skipped)]), Readiness::Skip);
        assert_eq!(at(&[("a", NodeEnd::Broken), ("b", NodeEnd::Skipped)]), Readiness::Skip, "a degraded node is not routed");
    }

    #[test]
    fn unknown_evidence_is_below_every_bound() {
        let below = Condition::EvidenceBelow(Ppm(1));
        assert!(below.holds(None, &|_| None));
        assert!(!below.holds(Some(Ppm(1)), &|_| None));
    }
}
