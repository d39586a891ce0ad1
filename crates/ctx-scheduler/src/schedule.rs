//! The schedule as a value, and the function that makes it.

use crate::ScheduleError;
use crate::policy::{Concurrency, RUN_RETRIES_MAX, ResourceLimit, RetryPolicy};
use crate::timing::Timing;
use ctx_graph::{ExecutionGraph, NodeId, Topology, latency};
use ctx_types::{Constraints, ContentId, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Version of the persisted schedule format.
pub const SCHEDULE_SCHEMA_VERSION: u32 = 1;

/// When and where. Times are from the run's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// [`SCHEDULE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The plan.
    pub plan: ContentId,
    /// The graph it schedules.
    pub graph: ContentId,
    /// When the run must have ended; `None` without a latency limit.
    pub deadline: Option<Micros>,
    /// Most retries of the run over all nodes.
    pub retries_max: u32,
    /// Most nodes at once by resource.
    pub concurrency: Vec<ResourceLimit>,
    /// Every node once: by wave, then the longest remaining way first.
    pub steps: Vec<Step>,
    /// Median until everything that runs when nothing fails has ended.
    pub critical_path_p50: Micros,
    /// Its ninth decile, by the rule of `ctx_graph::latency`.
    pub critical_path_p90: Micros,
}

/// One node's place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Which node.
    pub node: NodeId,
    /// It starts only when every node it depends on, all of them in earlier waves, has ended.
    pub wave: u32,
    /// Whether it runs when nothing fails.
    pub primary: bool,
    /// Median time from its start to the run's end: of several that may start, the largest first.
    pub priority: Micros,
    /// When it starts if every median holds.
    pub expected_start: Micros,
    /// When it must have ended; `None` without a latency limit.
    pub deadline: Option<Micros>,
    /// Longest time of one attempt; `None` for people.
    pub attempt_timeout: Option<Micros>,
    /// How often again.
    pub retry: RetryPolicy,
}

impl Schedule {
    /// The step of a node.
    pub fn step(&self, node: &NodeId) -> Option<&Step> {
        self.steps.iter().find(|s| s.node == *node)
    }

    /// Steps wave by wave.
    pub fn waves(&self) -> impl Iterator<Item = &[Step]> {
        self.steps.chunk_by(|a, b| a.wave == b.wave)
    }
}

/// The schedule of a graph with default concurrency.
pub fn schedule(graph: &ExecutionGraph, constraints: &Constraints) -> Result<Schedule, ScheduleError> {
    schedule_with(graph, constraints, &Concurrency::default())
}

/// The schedule of a graph. Fails on every graph that cannot be executed: a cycle is an error, never an empty schedule.
pub fn schedule_with(graph: &ExecutionGraph, constraints: &Constraints, concurrency: &Concurrency) -> Result<Schedule, ScheduleError> {
    graph.validate()?;
    let deadline = constraints.max_latency;
    if deadline == Some(Micros(0)) {
        return Err(ScheduleError::NoTime);
    }
    let topology = Topology::of(graph)?;
    let timing = Timing::of(graph, &topology, deadline);
    let id = graph.hash()?;
    let (critical_path_p50, critical_path_p90) = latency::critical_path(graph)?;
    let mut order: Vec<usize> = topology.order().to_vec();
    order.sort_by_key(|n| (timing.wave[*n], Reverse(timing.rank[*n]), *n));
    let step = |n: usize| place(graph, &topology, &timing, &id, n, deadline);
    Ok(Schedule {
        schema_version: SCHEDULE_SCHEMA_VERSION,
        plan: graph.plan.clone(),
        deadline,
        retries_max: RUN_RETRIES_MAX,
        concurrency: concurrency.limits(graph)?,
        steps: order.into_iter().map(step).collect(),
        critical_path_p50,
        critical_path_p90,
        graph: id.clone(),
    })
}

impl Schedule {
    /// This schedule for the same graph under another plan's id: what waits and retries is as before, the jitter of retries is
    /// the graph's own.
    pub fn under(&self, graph: &ExecutionGraph) -> Result<Schedule, ScheduleError> {
        let id = graph.hash()?;
        let mut schedule = Schedule { plan: graph.plan.clone(), graph: id.clone(), ..self.clone() };
        for step in &mut schedule.steps {
            if let Some(node) = graph.nodes.iter().find(|node| node.id == step.node) {
                step.retry = RetryPolicy::of(node, &id);
            }
        }
        Ok(schedule)
    }
}

fn place(graph: &ExecutionGraph, topology: &Topology, timing: &Timing, id: &ContentId, index: usize, deadline: Option<Micros>) -> Step {
    let node = &graph.nodes[index];
    Step {
        node: node.id.clone(),
        wave: timing.wave[index],
        primary: timing.primary[index],
        priority: timing.rank[index],
        expected_start: timing.head[index] - latency::of_node(node).0,
        deadline: timing.latest.as_ref().map(|latest| latest[index]),
        attempt_timeout: timing.attempt_timeout(topology, node, index, deadline),
        retry: RetryPolicy::of(node, id),
    }
}
