//! Heads, tails, waves and deadlines: all times a node gets, from medians along the graph.

use ctx_graph::{ExecutionGraph, Node, Resource, Topology, latency};
use ctx_types::Micros;

/// Attempt timeout without a run deadline: so many times the ninth decile, but at least [`TIMEOUT_MIN_LOCAL`] or [`TIMEOUT_MIN_REMOTE`].
const TIMEOUT_FACTOR: u64 = 10;
/// A local read that takes longer is stuck.
const TIMEOUT_MIN_LOCAL: Micros = Micros(5_000_000);
/// Small models on busy machines were seen to take 29 s.
const TIMEOUT_MIN_REMOTE: Micros = Micros(60_000_000);

/// Where the medians do not fit before the deadline, what comes early may still use this share of the time, a local read's
/// longest at most: a read of milliseconds before a call of seconds would else get a millisecond.
const EARLY_SHARE: u64 = 2;

/// Even a node whose median is zero gets this long.
const TIMEOUT_FLOOR: Micros = Micros(1_000);

/// Times of every node, by position.
pub(crate) struct Timing {
    /// Runs when nothing fails.
    pub(crate) primary: Vec<bool>,
    /// Steps on the longest way to it: it can start only after all of them.
    pub(crate) wave: Vec<u32>,
    /// Median time until it has ended, the longest way to it; on the primary path only over what runs when nothing fails.
    pub(crate) head: Vec<Micros>,
    /// Median time from its start to the end of what follows, the longest way.
    pub(crate) rank: Vec<Micros>,
    /// When it must have ended, under a deadline.
    pub(crate) latest: Option<Vec<Micros>>,
}

impl Timing {
    pub(crate) fn of(graph: &ExecutionGraph, topology: &Topology, deadline: Option<Micros>) -> Timing {
        let n = graph.nodes.len();
        let none = || vec![Micros(0); n];
        let mut timing = Timing { primary: topology.primary(graph), wave: vec![0; n], head: none(), rank: none(), latest: None };
        let own = |node: usize| latency::of_node(&graph.nodes[node]).0;
        for node in topology.order() {
            timing.wave[*node] = topology.predecessors(*node).map(|p| timing.wave[p] + 1).max().unwrap_or(0);
            let counts = |p: &usize| timing.primary[*p] || !timing.primary[*node];
            timing.head[*node] = topology.predecessors(*node).filter(counts).map(|p| timing.head[p]).max().unwrap_or_default() + own(*node);
        }
        for node in topology.order().iter().rev() {
            timing.rank[*node] = timing.tail(topology, *node) + own(*node);
        }
        timing.latest = deadline.map(|deadline| timing.latest_ends(topology, deadline));
        timing
    }

    /// Latest ends of all nodes: never later than that of anything that follows.
    fn latest_ends(&self, topology: &Topology, deadline: Micros) -> Vec<Micros> {
        let mut ends = vec![deadline; self.head.len()];
        for &node in topology.order().iter().rev() {
            let counts = |s: &usize| self.primary[*s] || !self.primary[node];
            let following = topology.successors(node).filter(counts).map(|s| ends[s]).min();
            ends[node] = self.latest_end(topology, node, deadline).min(following.unwrap_or(deadline));
        }
        ends
    }

    /// Median time of what follows a node: on the primary path only what runs when nothing fails, elsewhere everything.
    pub(crate) fn tail(&self, topology: &Topology, node: usize) -> Micros {
        let counts = |s: &usize| self.primary[*s] || !self.primary[node];
        topology.successors(node).filter(counts).map(|s| self.rank[s]).max().unwrap_or_default()
    }

    /// When a node must have ended so that what follows still has its median time before the run's deadline. Where the medians
    /// do not fit at all, each node gets its share of what there is, early ones more.
    fn latest_end(&self, topology: &Topology, node: usize, deadline: Micros) -> Micros {
        let (head, tail) = (self.head[node], self.tail(topology, node));
        let whole = head + tail;
        if whole <= deadline {
            return deadline - tail;
        }
        let share = u128::from(deadline.0) * u128::from(head.0) / u128::from(whole.0.max(1));
        let early = Micros(deadline.0 / EARLY_SHARE).min(TIMEOUT_MIN_LOCAL);
        Micros(u64::try_from(share).unwrap_or(deadline.0)).max(early)
    }

    /// Longest time of one attempt. An attempt may take its ninth decile, but leaves the others their share where it can, so
    /// that a stalled first one does not eat the time of the second. People are not timed.
    pub(crate) fn attempt_timeout(&self, topology: &Topology, node: &Node, index: usize, deadline: Option<Micros>) -> Option<Micros> {
        let (_, ninth) = latency::of_node(node);
        match (&node.resource, deadline.zip(self.latest.as_ref())) {
            (Resource::Person, _) => None,
            (_, Some((deadline, latest))) => {
                let window = self.window(topology, index, latest);
                let share = Micros(window.0 / u64::from(node.max_attempts.max(1)));
                Some(share.max(ninth).min(window).max(TIMEOUT_FLOOR.min(deadline)))
            }
            (Resource::Model(_) | Resource::Tool(_), None) => Some(Micros(ninth.0.saturating_mul(TIMEOUT_FACTOR)).max(TIMEOUT_MIN_REMOTE)),
            (Resource::Store | Resource::Cpu, None) => Some(Micros(ninth.0.saturating_mul(TIMEOUT_FACTOR)).max(TIMEOUT_MIN_LOCAL)),
        }
    }

    /// From the moment a node starts at the latest, if its predecessors keep their medians or at least their deadlines, to its own.
    fn window(&self, topology: &Topology, index: usize, ends: &[Micros]) -> Micros {
        let expected = topology.predecessors(index).map(|p| self.head[p]).max().unwrap_or_default();
        let latest = topology.predecessors(index).map(|p| ends[p]).max().unwrap_or_default();
        ends[index] - expected.min(latest)
    }
}
