//! Actuals beside estimates: same node, same scope (all attempts together), same units; per attempt where there were several.

use crate::explanation::{ActualView, NodeView, Numbers, QError};
use crate::options::Options;
use ctx_types::Trace;
use ctx_types::trace::{NodeStatus, NodeTrace};

/// Actual of one node; a node that the trace does not hold never ran.
pub(crate) fn view(trace: &Trace, id: &str, estimate: &Numbers, children: &[NodeView], options: &Options) -> ActualView {
    let Some(node) = ran(trace, id) else { return not_run() };
    let span = (node.start.get(), node.end.get());
    // Several attempts are waits and work in turn: their own clock adds the work up. One attempt is its span.
    let elapsed = node.actual.busy.filter(|_| node.attempts > 1).map_or(span.1.saturating_sub(span.0), |busy| busy.get());
    let own = if node.attempts > 1 && node.actual.busy.is_some() { elapsed } else { own_time(span, &child_intervals(trace, children)) };
    let timed = |us: u64| options.timing.then_some(us);
    let numbers = Numbers {
        cost_nano_usd: node.actual.cost.map(|c| c.get()),
        cost_unknown: false,
        latency_us: timed(elapsed),
        latency_p90_us: None,
        passages: node.actual.hits.map(u64::from),
        tokens: node.actual.tokens.map(|t| t.get()),
        evidence_ppm: node.actual.evidence.map(|p| p.get()),
        quality_ppm: None,
        certainty: String::new(),
    };
    let read = |of: Option<u64>| of.filter(|_| options.buffers);
    ActualView {
        status: status(node.status).to_owned(),
        elapsed_us: timed(elapsed),
        own_us: timed(own),
        own_share_ppm: options.timing.then(|| share_ppm(own, total(trace))),
        start_us: timed(span.0),
        end_us: timed(span.1),
        loops: node.attempts,
        per_loop: (node.attempts > 1).then(|| per_loop(&numbers, u64::from(node.attempts))),
        q_errors: q_errors(estimate, &numbers),
        chunks: read(node.actual.chunks),
        bytes: read(node.actual.bytes),
        cache_hits: read(node.actual.cache_hits),
        dropped: node.actual.dropped.clone(),
        error: node.error.clone(),
        numbers,
    }
}

fn not_run() -> ActualView {
    ActualView {
        status: status(NodeStatus::NotRun).to_owned(),
        elapsed_us: None,
        own_us: None,
        own_share_ppm: None,
        start_us: None,
        end_us: None,
        loops: 0,
        numbers: Numbers::default(),
        per_loop: None,
        q_errors: Vec::new(),
        chunks: None,
        bytes: None,
        cache_hits: None,
        dropped: Vec::new(),
        error: None,
    }
}

/// What adds up over attempts, divided by them.
fn per_loop(all: &Numbers, loops: u64) -> Numbers {
    Numbers {
        cost_nano_usd: all.cost_nano_usd.map(|cost| cost / i64::try_from(loops).unwrap_or(i64::MAX)),
        latency_us: all.latency_us.map(|us| us / loops),
        tokens: all.tokens.map(|tokens| tokens / loops),
        ..Numbers::default()
    }
}

/// The run's wall time; never less than the end of a node.
fn total(trace: &Trace) -> u64 {
    trace.nodes.iter().map(|n| n.end.get()).fold(trace.outcome.spend.elapsed.get(), u64::max)
}

/// A share in 0..=1,000,000; of nothing it is nothing.
fn share_ppm(part: u64, whole: u64) -> u32 {
    let ppm = u128::from(part.min(whole)) * 1_000_000 / u128::from(whole.max(1));
    u32::try_from(ppm).unwrap_or(1_000_000)
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

fn ran<'a>(trace: &'a Trace, id: &str) -> Option<&'a NodeTrace> {
    trace.nodes.iter().find(|n| n.node == id && n.status != NodeStatus::NotRun)
}

fn child_intervals(trace: &Trace, children: &[NodeView]) -> Vec<(u64, u64)> {
    let of = |id: &str| ran(trace, id).map(|n| (n.start.get(), n.end.get()));
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
    fn shares_stay_within_the_whole() {
        assert_eq!((share_ppm(5, 0), share_ppm(0, 9), share_ppm(200, 100), share_ppm(25, 100)), (0, 0, 1_000_000, 250_000));
    }

    #[test]
    fn an_estimate_of_zero_is_comparable() {
        assert_eq!(q_error_milli(0, 2), 2_000);
        assert_eq!(q_error_milli(0, 0), 1_000);
        assert_eq!(q_error_milli(8, 4), 2_000);
    }
}
