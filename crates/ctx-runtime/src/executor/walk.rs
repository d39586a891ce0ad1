//! The walk: start what may start, apply what ended, until nothing is left or something ends the run.

use super::lists::{Leg, SourceList};
use super::node::{self, Finished, Inputs, Packed};
use super::{Context, Ending, Value, replan};
use ctx_contracts::{Answer, ErrorKind, PluginError};
use ctx_graph::{ExecutionGraph, Facts, FailurePolicy, Node, NodeEnd, NodeId, NodeOp, Readiness, Resource, readiness};
use ctx_planner::Planned;
use ctx_types::outcome::Verdict;
use ctx_types::trace::{NodeActual, NodeStatus, NodeTrace};
use ctx_types::{Micros, Probe, Status, Strategy};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Most node starts of one run: every node of the largest graph, with every loop.
const STARTS_MAX: u32 = 4_096;

/// What is known of a run so far.
pub(crate) struct Progress {
    pub(crate) planned: Arc<Planned>,
    facts: Facts,
    values: BTreeMap<NodeId, Value>,
    pub(crate) records: BTreeMap<NodeId, NodeTrace>,
    /// Nodes in start order.
    pub(crate) order: Vec<NodeId>,
    running: BTreeMap<NodeId, Resource>,
    iterations: BTreeMap<NodeId, u32>,
    complaints: Vec<String>,
    pub(crate) notes: Vec<String>,
    errors: BTreeMap<NodeId, PluginError>,
    pub(crate) packed: Option<Arc<Packed>>,
    pub(crate) answer: Option<(Strategy, Arc<Answer>)>,
    pub(crate) verdict: Option<Verdict>,
    /// What planning the rest was told, once the plan has changed.
    pub(crate) probe: Option<Probe>,
    /// Plans that surprising evidence replaced, and whether a prompt was rejected as too long.
    pub(super) replans: u32,
    pub(super) shortened: bool,
    /// A context that nobody has compared with its estimate yet.
    unseen: bool,
    starts: u32,
}

type Running = JoinSet<(NodeId, Finished)>;

/// Walks until the run ends. Whatever still runs then is aborted, and its reservations are settled by being dropped.
pub(crate) async fn walk(context: &Arc<Context>, progress: &mut Progress, cancel: &CancellationToken) -> Ending {
    let mut running: Running = JoinSet::new();
    let ending = loop {
        if cancel.is_cancelled() {
            break Ending::new(Status::Cancelled, "cancelled by the caller");
        }
        if let Some(ending) = progress.advance(context, &mut running) {
            break ending;
        }
        if running.is_empty() {
            break progress.ending();
        }
        tokio::select! {
            biased;
            () = cancel.cancelled() => break Ending::new(Status::Cancelled, "cancelled by the caller"),
            () = until(context) => {
                let limit = context.prepared.limits.max_latency.unwrap_or_default();
                let still = progress.still_at_work().map(|work| format!(" while {work}")).unwrap_or_default();
                let note = format!("stopped at the deadline of {limit}{still}; allow more time or ask for less");
                break Ending::new(Status::BudgetTime, note);
            }
            Some(ended) = running.join_next() => {
                if let Some(ending) = progress.joined(context, ended).or_else(|| progress.adapt(context)) {
                    break ending;
                }
            }
        }
    };
    running.shutdown().await;
    progress.cancel_running(context.elapsed());
    ending
}

async fn until(context: &Context) {
    match context.deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

impl Progress {
    pub(crate) fn new(_: &Context, planned: &Arc<Planned>) -> Progress {
        Progress {
            planned: planned.clone(),
            facts: Facts::default(),
            values: BTreeMap::new(),
            records: BTreeMap::new(),
            order: Vec::new(),
            running: BTreeMap::new(),
            iterations: BTreeMap::new(),
            complaints: Vec::new(),
            notes: Vec::new(),
            errors: BTreeMap::new(),
            packed: None,
            answer: None,
            verdict: None,
            probe: None,
            replans: 0,
            shortened: false,
            unseen: false,
            starts: 0,
        }
    }

    fn graph(&self) -> &ExecutionGraph {
        &self.planned.graph
    }

    /// Decides every node that can be decided and starts what may start. `Some`: the run ends here.
    fn advance(&mut self, context: &Arc<Context>, running: &mut Running) -> Option<Ending> {
        let planned = self.planned.clone();
        loop {
            let mut changed = false;
            for step in &planned.schedule.steps {
                let id = &step.node;
                if self.facts.ends.contains_key(id) || self.running.contains_key(id) {
                    continue;
                }
                let node = planned.graph.node(id)?;
                match readiness(&planned.graph, id, &self.facts) {
                    Readiness::Wait => {}
                    Readiness::Skip => {
                        self.facts.ends.insert(id.clone(), NodeEnd::Skipped);
                        changed = true;
                    }
                    Readiness::Starved => {
                        changed = true;
                        let error = self.starved(node);
                        if let Some(ending) = self.broke(context, node, error) {
                            return Some(ending);
                        }
                    }
                    Readiness::Run => match &node.op {
                        NodeOp::Stop { status } => return Some(self.stop(context, node, *status)),
                        NodeOp::Loop { body, max_iterations } => {
                            changed = true;
                            self.loop_once(context, node, body, *max_iterations);
                        }
                        _ if self.has_room(&node.resource) => {
                            self.starts += 1;
                            if self.starts > STARTS_MAX {
                                return Some(Ending::new(Status::MaxSteps, format!("stopped after {STARTS_MAX} steps")));
                            }
                            self.start(context, node, running);
                        }
                        _ => {}
                    },
                }
            }
            if !changed {
                return None;
            }
        }
    }

    fn has_room(&self, resource: &Resource) -> bool {
        let limit = self.planned.schedule.concurrency.iter().find(|limit| limit.resource == *resource).map_or(1, |limit| limit.at_once_max);
        let busy = self.running.values().filter(|other| *other == resource).count();
        busy < usize::try_from(limit).unwrap_or(usize::MAX)
    }

    fn start(&mut self, context: &Arc<Context>, node: &Node, running: &mut Running) {
        let Some(step) = self.planned.schedule.step(&node.id).cloned() else { return };
        self.open(node, context.elapsed());
        self.running.insert(node.id.clone(), node.resource.clone());
        let inputs = Inputs {
            planned: self.planned.clone(),
            values: self.graph().inputs(&node.id).filter_map(|id| self.values.get(id).cloned()).collect(),
            complaints: self.complaints.clone(),
            packed: self.packed.clone(),
            answer: self.answer.clone(),
        };
        let (context, node) = (context.clone(), node.clone());
        let id = node.id.clone();
        running.spawn(async move { (id, node::run(context, node, step, inputs).await) });
    }

    /// The record of a node, opened at its first start.
    fn open(&mut self, node: &Node, now: Micros) {
        if self.records.contains_key(&node.id) {
            return;
        }
        self.order.push(node.id.clone());
        self.records.insert(
            node.id.clone(),
            NodeTrace {
                node: node.id.to_string(),
                operator: node.op.to_string(),
                status: NodeStatus::Cancelled,
                start: now,
                end: now,
                attempts: 0,
                estimate: node.estimate.clone(),
                actual: NodeActual::default(),
                error: None,
            },
        );
    }

    fn joined(&mut self, context: &Context, ended: Result<(NodeId, Finished), tokio::task::JoinError>) -> Option<Ending> {
        match ended {
            Ok((id, finished)) => self.apply(context, &id, finished),
            // A plugin that panics takes its node with it, and the run: which node it was is not known for certain.
            Err(join) if join.is_panic() => Some(Ending::new(Status::Failed, "a plugin panicked; see the log")),
            Err(_) => Some(Ending::new(Status::Cancelled, "a step was cancelled")),
        }
    }

    fn apply(&mut self, context: &Context, id: &NodeId, finished: Finished) -> Option<Ending> {
        self.running.remove(id);
        let planned = self.planned.clone();
        let node = planned.graph.node(id)?;
        self.close(id, &finished);
        match finished.result {
            Ok(done) => {
                self.notes.extend(done.notes);
                self.facts.ends.insert(id.clone(), done.end);
                self.keep(id, done.value);
                None
            }
            Err(error) => self.broke(context, node, error),
        }
    }

    /// What runs now and is expected to take longest: calls by their model.
    fn still_at_work(&self) -> Option<String> {
        let expected = |id: &NodeId| {
            let node = self.planned.graph.nodes.iter().find(|node| node.id == *id)?;
            node.estimate.latency.as_ref().map(|latency| latency.value)
        };
        let (id, resource) = self.running.iter().max_by_key(|(id, _)| expected(id))?;
        let who = match resource {
            Resource::Model(model) => format!("model `{model}`"),
            _ => id.to_string(),
        };
        Some(match expected(id) {
            Some(latency) => format!("{who} was at work, which is expected to take {latency}"),
            None => format!("{who} was at work"),
        })
    }

    /// Adds an end to the node's record: attempts and figures sum over loop iterations.
    fn close(&mut self, id: &NodeId, finished: &Finished) {
        let Some(record) = self.records.get_mut(id) else { return };
        record.attempts += finished.attempts;
        record.end = finished.ended;
        let (status, actual) = match &finished.result {
            Ok(done) => (NodeStatus::Done, done.actual.clone()),
            Err(error) => {
                record.error = Some(error.to_string());
                (NodeStatus::Failed, NodeActual::default())
            }
        };
        record.status = status;
        let before = std::mem::take(&mut record.actual);
        let spent = &finished.spent;
        record.actual = NodeActual {
            tokens: added(before.tokens, spent.tokens.or(actual.tokens)),
            cost: added(before.cost, spent.cost.or(actual.cost)),
            busy: added(before.busy, Some(Micros(finished.ended.get().saturating_sub(finished.started.get())))),
            sent: spent.sent.clone().or(before.sent),
            model: spent.model.clone().or_else(|| actual.model.clone()).or(before.model),
            prompt: spent.prompt,
            call: spent.call,
            ..actual
        };
    }

    fn keep(&mut self, id: &NodeId, value: Value) {
        match &value {
            Value::Context(packed) => {
                self.facts.evidence = Some(packed.evidence);
                self.packed = Some(packed.clone());
                self.unseen = true;
            }
            Value::Answer(strategy, answer) => self.answer = Some((*strategy, answer.clone())),
            Value::Verdict(verdict) => {
                self.complaints = if verdict.passed { Vec::new() } else { verdict.findings.clone() };
                self.verdict = Some(verdict.clone());
            }
            Value::Leg(_) | Value::Lists(_) | Value::Nothing => {}
        }
        self.values.insert(id.clone(), value);
    }

    /// Compares a context that was just packed with what was expected of it.
    fn adapt(&mut self, context: &Context) -> Option<Ending> {
        let due = std::mem::take(&mut self.unseen) && self.running.is_empty();
        if due { replan::after_packing(context, self) } else { None }
    }

    /// The list of every source as it was read, or as far as its legs got.
    pub(super) fn lists(&self) -> Vec<SourceList> {
        let merged = |source: &str| self.values.get(&NodeId::new(format!("fuse.{source}")));
        let single = |source: &str| self.values.values().find(|value| value.leg().is_some_and(|leg| leg.source.as_str() == source));
        let sources = self.planned.plan.accesses().map(|(source, _, _)| source.as_str());
        node::source_lists(sources.filter_map(|source| merged(source).or_else(|| single(source))))
    }

    /// Goes on with another plan for the rest: what was read stays, everything behind it starts again.
    pub(super) fn take_over(&mut self, planned: Arc<Planned>) {
        let quota_of = |id: &NodeId| match planned.graph.node(id).map(|node| &node.op) {
            Some(NodeOp::Access { quota, .. }) => Some(*quota),
            _ => None,
        };
        self.facts.ends.retain(|id, _| quota_of(id).is_some());
        self.errors.retain(|id, _| quota_of(id).is_some());
        self.values.retain(|id, _| quota_of(id).is_some());
        for (id, value) in &mut self.values {
            if let (Value::Leg(leg), Some(quota)) = (value, quota_of(id)) {
                *leg = Arc::new(Leg { quota, ..Leg::clone(leg) });
            }
        }
        for node in planned.graph.nodes.iter().filter(|node| quota_of(&node.id).is_none()) {
            if let Some(record) = self.records.get_mut(&node.id) {
                record.estimate = node.estimate.clone();
                record.operator = node.op.to_string();
            }
        }
        self.facts.evidence = None;
        (self.packed, self.answer, self.verdict) = (None, None, None);
        self.complaints.clear();
        self.iterations.clear();
        self.planned = planned;
    }

    /// An error after the last attempt: the run fails, goes on degraded, or follows the node's edges.
    fn broke(&mut self, context: &Context, node: &Node, error: PluginError) -> Option<Ending> {
        self.open(node, context.elapsed());
        if let Some(record) = self.records.get_mut(&node.id) {
            record.status = if node.on_error == FailurePolicy::Degrade { NodeStatus::Degraded } else { NodeStatus::Failed };
            record.error = Some(error.to_string());
        }
        if let (ErrorKind::ContextOverflow, NodeOp::Answer { model: Some(model), .. }) = (error.kind, &node.op)
            && replan::after_overflow(context, self, model, &error)
        {
            return None;
        }
        self.facts.ends.insert(node.id.clone(), NodeEnd::Broken);
        let ending = match node.on_error {
            FailurePolicy::Fail => Some(Ending::new(node::status_of(&self.resource_of(node), &error), error.to_string())),
            FailurePolicy::Degrade => {
                self.notes.push(format!("degraded: {} failed ({error}); the answer rests on the rest", node.id));
                None
            }
            FailurePolicy::Route => None,
        };
        self.errors.insert(node.id.clone(), error);
        ending
    }

    /// A join that starved broke for the reason of a branch, on the branch's resource.
    fn resource_of(&self, node: &Node) -> Resource {
        let branch = self.graph().inputs(&node.id).filter(|id| self.errors.contains_key(*id)).find_map(|id| self.graph().node(id));
        branch.map_or_else(|| node.resource.clone(), |branch| branch.resource.clone())
    }

    fn starved(&self, node: &Node) -> PluginError {
        let cause = self.graph().inputs(&node.id).find_map(|id| self.errors.get(id)).cloned();
        cause.unwrap_or_else(|| PluginError::new(ErrorKind::Internal, format!("running {}", node.id), "none of its branches served"))
    }

    /// Passed: the body starts again, with what the check found as complaints. Rejected: no iteration is left.
    fn loop_once(&mut self, context: &Context, node: &Node, body: &NodeId, max_iterations: u32) {
        self.open(node, context.elapsed());
        let used = self.iterations.entry(node.id.clone()).or_insert(0);
        let again = *used < max_iterations;
        *used += u32::from(again);
        let count = *used;
        if let Some(record) = self.records.get_mut(&node.id) {
            record.status = NodeStatus::Done;
            record.attempts += 1;
            record.end = context.elapsed();
        }
        if !again {
            self.facts.ends.insert(node.id.clone(), NodeEnd::Rejected);
            return;
        }
        self.notes.push(format!("{body} again ({count} of {max_iterations}): the check rejected the answer"));
        let forgotten = self.graph().loop_resets(&node.id);
        self.facts.ends.retain(|id, _| !forgotten.contains(id));
        self.values.retain(|id, _| !forgotten.contains(id));
    }

    fn stop(&mut self, context: &Context, node: &Node, status: Status) -> Ending {
        self.open(node, context.elapsed());
        if let Some(record) = self.records.get_mut(&node.id) {
            record.status = NodeStatus::Done;
            record.attempts = 1;
        }
        self.facts.ends.insert(node.id.clone(), NodeEnd::Passed);
        Ending { status, notes: self.why_stopped(status) }
    }

    fn why_stopped(&self, status: Status) -> Vec<String> {
        let declined = self.answer.as_ref().and_then(|(_, answer)| answer.abstained.clone());
        let findings = self.verdict.iter().filter(|verdict| !verdict.passed).flat_map(|verdict| verdict.findings.clone());
        match (status, declined) {
            (Status::Abstained, Some(why)) => vec![format!("insufficient evidence: {why}")],
            (Status::Abstained, None) => {
                let mut notes = vec!["insufficient evidence: the answer did not pass its check and is withheld".to_owned()];
                notes.extend(findings);
                notes
            }
            _ => findings.collect(),
        }
    }

    /// Nothing runs and nothing may start: the answer stands if it passed what was planned for it.
    fn ending(&self) -> Ending {
        let passed = |wanted: fn(&NodeOp) -> bool| {
            let ends: Vec<Option<&NodeEnd>> =
                self.graph().nodes.iter().filter(|n| wanted(&n.op)).map(|n| self.facts.ends.get(&n.id)).collect();
            ends.iter().all(|end| *end == Some(&NodeEnd::Passed))
        };
        let answered = self.answer.is_some() && passed(|op| matches!(op, NodeOp::Answer { .. }));
        if answered && passed(|op| matches!(op, NodeOp::Verify { .. })) {
            return Ending { status: Status::Completed, notes: Vec::new() };
        }
        match self.errors.iter().next_back() {
            Some((id, error)) => {
                let resource = self.graph().node(id).map_or(Resource::Cpu, |node| node.resource.clone());
                Ending::new(node::status_of(&resource, error), error.to_string())
            }
            None => Ending::new(Status::Failed, "the graph ended without an answer"),
        }
    }

    fn cancel_running(&mut self, now: Micros) {
        for id in std::mem::take(&mut self.running).into_keys() {
            if let Some(record) = self.records.get_mut(&id) {
                record.status = NodeStatus::Cancelled;
                record.end = now;
            }
        }
    }
}

/// Unknown stays unknown only while nothing is known.
fn added<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
