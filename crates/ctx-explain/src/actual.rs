//! Actuals beside estimates: same node, same scope (all attempts), same units.

use crate::explanation::{ActualView, NodeView, Numbers, QError};
use ctx_types::Trace;
use ctx_types::trace::{NodeStatus, NodeTrace};

/// Actual of one node; a node that the trace does not hold never ran.
pub(crate) fn view(trace: &Trace, traced: Option<&NodeTrace>, estimate: &Numbers, children: &[NodeView]) -> ActualView {
    let Some(node) = traced.filter(|n| n.status != NodeStatus::NotRun) else { return not_run() };
    let elapsed = node.end.get().saturating_sub(node.start.get());
    let numbers = Numbers {
        cost_nano_usd: node.actual.cost.map(|c| c.get()),
        cost_unknown: false,
        latency_us: Some(elapsed),
        latency_p90_us: None,
        passages: node.actual.hits.map(u64::from),
        tokens: node.actual.tokens.map(|t| t.get()),
        evidence_ppm: node.actual.evidence.map(|p| p.get()),
        quality_ppm: None,
        certainty: String::new(),
    };
    ActualView {
        status: status(node.status).to_owned(),
        elapsed_us: Some(elapsed),
        own_us: Some(own_time((node.start.get(), node.end.get()), &child_intervals(trace, children))),
        loops: node.attempts,
        q_errors: q_errors(estimate, &numbers),
        bytes: node.actual.bytes,
        cache_hits: node.actual.cache_hits,
        dropped: node.actual.dropped.clone(),
        error: node.error.clone(),
        numbers,
    }
}

fn not_run() -> ActualView {
    ActualView {
        status: "not run".to_owned(),
        elapsed_us: None,
        own_us: None,
        loops: 0,
        numbers: Numbers::default(),
        q_errors: Vec::new(),
        bytes: None,
        cache_hits: None,
        dropped: Vec::new(),
        error: None,
    }
}

fn status(status: NodeStatus) -> &'static str {
    match status {
        NodeStatus::Done => "done",
        NodeStatus::Degraded => "degraded",
        NodeStatus::Failed => "failed",
        NodeStatus::NotRun => "not run",
        NodeStatus::Cancelled => "cancelled",
    }
}

fn child_intervals(trace: &Trace, children: &[NodeView]) -> Vec<(u64, u64)> {
    let of = |id: &str| trace.nodes.iter().find(|n| n.node == id && n.status != NodeStatus::NotRun).map(|n| (n.start.get(), n.end.get()));
    children.iter().filter_map(|c| of(&c.id)).collect()
}

/// Time of a node not covered by any child: parallel children count once, nothing goes negative.
pub(crate) fn own_time(node: (u64, u64), children: &[(u64, u64)]) -> u64 {
    let (start, end) = (node.0, node.1.max(node.0));
    let mut inside: Vec<(u64, u64)> =
        children.iter().map(|&(a, b)| (a.clamp(start, end), b.clamp(start, end))).filter(|(a, b)| a < b).collect();
    inside.sort_unstable();
    let (mut covered, mut reached) = (0, start);
    for (a, b) in inside {
        covered += b.saturating_sub(a.max(reached));
        reached = reached.max(b);
    }
    (end - start) - covered
}

/// q-error in thousandths of two amounts, both raised to at least one unit so that zero is comparable.
pub(crate) fn q_error_milli(estimate: u64, actual: u64) -> u64 {
    let (e, a) = (estimate.max(1), actual.max(1));
    let (large, small) = (u128::from(e.max(a)), u128::from(e.min(a)));
    u64::try_from(large * 1_000 / small).unwrap_or(u64::MAX)
}

fn q_errors(estimate: &Numbers, actual: &Numbers) -> Vec<QError> {
    let non_negative = |v: Option<i64>| v.map(|v| u64::try_from(v).unwrap_or(0));
    let pairs = [
        ("passages", estimate.passages, actual.passages),
        ("tokens", estimate.tokens, actual.tokens),
        ("latency", estimate.latency_us, actual.latency_us),
        ("cost", non_negative(estimate.cost_nano_usd).filter(|c| *c > 0), non_negative(actual.cost_nano_usd)),
    ];
    pairs.into_iter().filter_map(|(field, e, a)| Some(QError { field: field.to_owned(), milli: q_error_milli(e?, a?) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_time_counts_parallel_children_once_and_is_never_negative() {
        assert_eq!(own_time((0, 100), &[(0, 95), (2, 92)]), 5);
        assert_eq!(own_time((0, 100), &[(0, 95), (0, 90), (90, 130)]), 0);
        assert_eq!(own_time((10, 10), &[(0, 50)]), 0);
        assert_eq!(own_time((0, 100), &[]), 100);
        assert_eq!(own_time((0, 30), &[(0, 10), (20, 30)]), 10);
    }

    #[test]
    fn an_estimate_of_zero_is_comparable() {
        assert_eq!(q_error_milli(0, 2), 2_000);
        assert_eq!(q_error_milli(0, 0), 1_000);
        assert_eq!(q_error_milli(8, 4), 2_000);
    }
}
