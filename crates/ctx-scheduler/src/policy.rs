//! How many at once, and how often again after which wait.

use crate::ScheduleError;
use ctx_graph::{ExecutionGraph, Node, Resource};
use ctx_types::id::sha256_hex;
use ctx_types::{ContentId, Micros};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most retries of one run, over all nodes: nested fallbacks and loops share it, so that attempts add and never multiply.
pub const RUN_RETRIES_MAX: u32 = 4;

/// First wait before a local read is repeated: a merge publishes its segments within milliseconds.
const STORE_WAIT: Micros = Micros(5_000);
/// First wait before a model or tool is called again; providers ask for about a second under load.
const REMOTE_WAIT: Micros = Micros(500_000);
/// Longest wait of our own choosing. A wait that the server names may be longer, up to the node's deadline.
const WAIT_MAX: Micros = Micros(8_000_000);

/// How many nodes of one resource class may run at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// Reads of index and segment files.
    pub store: u32,
    /// Computations in this process.
    pub cpu: u32,
    /// Calls of one model tier.
    pub model: u32,
    /// Calls of one tool.
    pub tool: u32,
}

impl Default for Concurrency {
    /// Reads are short and mostly in memory; a tier of one's own answers few calls at a time.
    fn default() -> Self {
        Concurrency { store: 8, cpu: 4, model: 4, tool: 4 }
    }
}

/// The limit of one resource that the graph uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceLimit {
    /// Which.
    pub resource: Resource,
    /// Most nodes at once.
    pub at_once_max: u32,
}

impl Concurrency {
    fn of(&self, resource: &Resource) -> u32 {
        match resource {
            Resource::Store => self.store,
            Resource::Cpu => self.cpu,
            Resource::Model(_) => self.model,
            Resource::Tool(_) => self.tool,
            Resource::Person => 1,
        }
    }

    /// Limits of the resources in `graph`, in canonical order.
    pub(crate) fn limits(&self, graph: &ExecutionGraph) -> Result<Vec<ResourceLimit>, ScheduleError> {
        let used: BTreeSet<&Resource> = graph.nodes.iter().map(|n| &n.resource).collect();
        used.into_iter()
            .map(|resource| match self.of(resource) {
                0 => Err(ScheduleError::NoCapacity { resource: resource.to_string() }),
                at_once_max => Ok(ResourceLimit { resource: resource.clone(), at_once_max }),
            })
            .collect()
    }
}

/// How often again. Only errors that say they are transient are retried; a refusal, a bad request or a used-up quota is not.
/// A wait that the server names replaces ours; where it does not fit before the node's deadline, the node is broken at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetryPolicy {
    /// Attempts in all, the first included.
    pub max_attempts: u32,
    /// Wait before the second, third, … attempt: doubling, spread by ±25 % so that runs do not fall into step.
    pub waits: Vec<Micros>,
}

impl RetryPolicy {
    /// The policy of a node. The spread is a function of graph, node and attempt: the same graph waits the same.
    pub(crate) fn of(node: &Node, graph: &ContentId) -> RetryPolicy {
        let first = match node.resource {
            Resource::Store | Resource::Cpu => STORE_WAIT,
            Resource::Model(_) | Resource::Tool(_) | Resource::Person => REMOTE_WAIT,
        };
        let wait = |attempt: u32| {
            let doubled = first.0.saturating_mul(1u64.checked_shl(attempt - 1).unwrap_or(u64::MAX));
            spread(Micros(doubled.min(WAIT_MAX.0)), &format!("{graph}/{}/{attempt}", node.id))
        };
        RetryPolicy { max_attempts: node.max_attempts, waits: (1..node.max_attempts).map(wait).collect() }
    }
}

/// `wait` times 0.75 to 1.25, by the hash of `salt`.
fn spread(wait: Micros, salt: &str) -> Micros {
    let digits = sha256_hex(salt.as_bytes());
    let share = digits.get(..4).and_then(|d| u64::from_str_radix(d, 16).ok()).unwrap_or(0x8000);
    Micros(wait.0 * 3 / 4 + wait.0 / 2 * share / 0xffff)
}
