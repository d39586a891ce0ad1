//! The executor: walks exactly the graph and the schedule.
//!
//! What may start is read by `ctx_graph::readiness`, in the order and with the concurrency of the schedule. A failing leg
//! degrades, a failing check has the consequence that its edges name, a deadline or a cancellation aborts what runs; the
//! ledger is settled and a complete trace is recorded however the run ends.

#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod lists;
mod models;
mod node;
mod pack;
mod record;
mod refine;
mod replan;
mod walk;

pub(crate) use models::sent_hash;

use crate::ledger::Ledger;
use crate::ledger::book::Book;
use crate::prepare::Prepared;
use crate::runtime::{Inner, RunReport};
use crate::{Choice, RuntimeError};
use ctx_contracts::{Answer, PluginError, VerifyRequest};
use ctx_graph::NodeOp;
use ctx_plan_cache::StoredResult;
use ctx_planner::Planned;
use ctx_types::outcome::Verdict;
use ctx_types::{Micros, Probe, Sensitivity, SourceName, Status, Strategy};
use node::Packed;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a node gave.
#[derive(Clone)]
pub(crate) enum Value {
    Leg(Arc<lists::Leg>),
    Lists(Arc<lists::Merged>),
    Context(Arc<Packed>),
    Answer(Strategy, Arc<Answer>),
    Verdict(Verdict),
    Nothing,
}

impl Value {
    fn leg(&self) -> Option<&Arc<lists::Leg>> {
        if let Value::Leg(leg) = self { Some(leg) } else { None }
    }

    fn lists(&self) -> Option<&Arc<lists::Merged>> {
        if let Value::Lists(lists) = self { Some(lists) } else { None }
    }
}

/// How a run ends.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) status: Status,
    pub(crate) notes: Vec<String>,
}

impl Ending {
    fn new(status: Status, note: impl Into<String>) -> Ending {
        Ending { status, notes: vec![note.into()] }
    }
}

/// The caller went away or cancelled before there was a plan.
pub(crate) fn cancelled_before_start() -> Ending {
    Ending::new(Status::Cancelled, "cancelled before planning ended")
}

/// A plugin that planning needs is not there.
pub(crate) fn plugin_failure(error: PluginError) -> Ending {
    let status = match error.status() {
        Status::ProviderFailed => Status::StoreUnavailable,
        status => status,
    };
    Ending::new(status, error.to_string())
}

/// Who asks may read none of the sources.
pub(crate) fn blocked(error: &RuntimeError) -> Ending {
    Ending::new(Status::Blocked, error.to_string())
}

/// What every node of a run can reach.
pub(crate) struct Context {
    pub(crate) inner: Arc<Inner>,
    pub(crate) prepared: Prepared,
    pub(crate) probe: std::sync::OnceLock<Probe>,
    /// Of [`Context::coverage`], by source.
    coverages: std::sync::OnceLock<BTreeMap<SourceName, f64>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) book: Arc<Book>,
    pub(crate) sensitivity: Sensitivity,
    pub(crate) retries: AtomicU32,
    /// Whether a model stopped at its limit of output tokens.
    pub(crate) cut: AtomicBool,
    /// Reports of usage that contradict themselves, each once.
    pub(crate) doubts: Mutex<BTreeSet<String>>,
    started: Micros,
    deadline: Option<Instant>,
}

impl Context {
    /// The stored answer that is given again instead of executing the plan.
    pub(crate) fn stored(&self) -> Option<&StoredResult> {
        self.prepared.stored.as_ref()?.given.as_deref()
    }

    /// Time since the run started, planning included.
    pub(crate) fn elapsed(&self) -> Micros {
        self.inner.parts.clock.monotonic() - self.started
    }

    /// Time until the deadline.
    pub(crate) fn time_left(&self) -> Option<Micros> {
        let left = self.deadline?.saturating_duration_since(Instant::now());
        Some(Micros(u64::try_from(left.as_micros()).unwrap_or(u64::MAX)))
    }

    /// What of the goal a source can hold, over the statistics of all probed sources.
    pub(crate) fn coverage(&self, source: &SourceName) -> f64 {
        let Some(probe) = self.probe.get() else { return 1.0 };
        let coverages = self.coverages.get_or_init(|| ctx_cost::evidence::shared_coverage(&self.prepared.catalog, probe));
        coverages.get(source).copied().unwrap_or(1.0)
    }

    /// Largest possible BM25 score of the goal in a source; 0 where it was not probed.
    pub(crate) fn ceiling(&self, source: &SourceName) -> f64 {
        let probe = self.probe.get().and_then(|probe| probe.sources.get(source));
        let entry = self.prepared.catalog.sources.get(source);
        entry.and_then(|entry| ctx_cost::evidence::before(probe, entry)).map_or(0.0, |features| features.ceiling)
    }
}

/// One run.
pub(crate) struct Run {
    pub(crate) context: Arc<Context>,
    pub(crate) cancel: CancellationToken,
    id: String,
    purpose: String,
    started_at: String,
}

impl Run {
    pub(crate) fn new(inner: Arc<Inner>, prepared: Prepared, cancel: CancellationToken, id: String, purpose: &str) -> Run {
        let now = inner.parts.clock.monotonic();
        let started = now - prepared.planning;
        let left = prepared.limits.max_latency.map(|limit| limit - prepared.planning);
        let retries = prepared.planned().map_or(0, |planned| planned.schedule.retries_max);
        Run {
            started_at: inner.parts.clock.rfc3339(),
            context: Arc::new(Context {
                ledger: Ledger::new(&prepared.limits),
                book: inner.book(&prepared.goal.principal.tenant, &id),
                sensitivity: prepared.sensitivity(),
                deadline: left.map(|left| Instant::now() + std::time::Duration::from_micros(left.0)),
                probe: std::sync::OnceLock::new(),
                coverages: std::sync::OnceLock::new(),
                retries: AtomicU32::new(retries),
                cut: AtomicBool::new(false),
                doubts: Mutex::default(),
                started,
                prepared,
                inner,
            }),
            cancel,
            id,
            purpose: purpose.to_owned(),
        }
    }

    /// Executes to the end and records.
    pub(crate) async fn drive(self) -> RunReport {
        let context = self.context.clone();
        let (ending, progress) = match (context.prepared.unreadable(), &context.prepared.choice) {
            (Some((status, why)), _) => (Ending::new(status, why), None),
            (None, Choice::Infeasible(infeasible)) => (Ending::new(Status::Infeasible, infeasible.to_string()), None),
            (None, Choice::Planned(_)) if context.stored().is_some() => (Ending { status: Status::Completed, notes: Vec::new() }, None),
            (None, Choice::Planned(planned)) => {
                let mut progress = walk::Progress::new(&context, planned);
                self.probe(planned).await;
                let ending = walk::walk(&context, &mut progress, &self.cancel).await;
                (ending, Some(progress))
            }
        };
        let report = record::report(&self.context, progress, ending, self.id, self.purpose, self.started_at);
        record::deliver(&self.context, &report).await;
        report
    }

    /// Calibration needs the probe; a cached plan came without one.
    async fn probe(&self, planned: &Planned) {
        let context = &self.context;
        let known = &context.prepared.probe;
        let probe = if known.sources.is_empty() {
            // Lists of several sources are compared over the statistics of all that may be read.
            let several = planned.plan.accesses().count() > 1;
            let used = planned.plan.sources.iter().filter(|source| several || source.used);
            let asked: Vec<SourceName> = used.map(|source| source.source.clone()).collect();
            let ask = context.inner.probe_sources(&context.prepared.goal.text, &asked, &context.prepared.readers);
            let probe = tokio::select! {
                biased;
                () = self.cancel.cancelled() => Probe::default(),
                probe = ask => probe,
            };
            Probe { prompt_caches: known.prompt_caches.clone(), ..probe }
        } else {
            known.clone()
        };
        let _ = context.probe.set(probe);
    }
}

/// Refuses a graph with a node that nothing here executes, and one that does not belong to its schedule, before anything starts.
pub(crate) fn executable(planned: &Planned) -> Result<(), RuntimeError> {
    let plan = || planned.plan.id.to_string();
    planned.graph.validate().map_err(|e| RuntimeError::Graph { plan: plan(), cause: e.to_string() })?;
    for node in &planned.graph.nodes {
        let known = matches!(
            node.op,
            NodeOp::Access { .. }
                | NodeOp::FuseLegs { .. }
                | NodeOp::Fuse { .. }
                | NodeOp::Rerank { .. }
                | NodeOp::Pack { .. }
                | NodeOp::Compress { .. }
                | NodeOp::Answer { .. }
                | NodeOp::Verify { .. }
                | NodeOp::Stop { .. }
                | NodeOp::Loop { .. }
                | NodeOp::Branch
                | NodeOp::Merge
        );
        if !known {
            return Err(RuntimeError::Unsupported { plan: plan(), node: node.id.to_string(), kind: node.op.kind().to_owned() });
        }
        if planned.schedule.step(&node.id).is_none() {
            return Err(RuntimeError::Graph { plan: plan(), cause: format!("the schedule does not name node {}", node.id) });
        }
    }
    Ok(())
}

/// Checks an answer again. `None`: the plan has no verifier, or there is no answer.
pub(crate) async fn verify_again(parts: &crate::Parts, report: &RunReport) -> Result<Option<Verdict>, RuntimeError> {
    let Some(planned) = report.planned.as_ref().filter(|_| report.outcome.status == Status::Completed) else { return Ok(None) };
    let mut verifier = None;
    let mut strategy = Strategy::Extractive;
    for node in &planned.graph.nodes {
        match &node.op {
            NodeOp::Verify { verifier: name } => verifier = Some(name.clone()),
            NodeOp::Answer { strategy: planned, .. } => strategy = *planned,
            _ => {}
        }
    }
    let Some(name) = verifier else { return Ok(None) };
    let request = VerifyRequest {
        goal: &planned.plan.goal,
        intent: &planned.plan.intent,
        strategy,
        answer: &report.outcome.answer,
        citations: &report.outcome.citations,
        context: &report.context,
    };
    Ok(Some(parts.verifier(&name)?.verify(request).await?))
}
