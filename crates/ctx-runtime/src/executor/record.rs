//! What a run leaves: its outcome, and a trace that is complete however it ended.

use super::walk::Progress;
use super::{Context, Ending};
use crate::prepare::Choice;
use crate::runtime::{Inner, RunReport};
use ctx_contracts::{Answer, ContextPassage};
use ctx_cost::statistics::trace::{TraceContext, from_trace};
use ctx_plan_cache::Run;
use ctx_planner::Planned;
use ctx_types::exploration::Exploration;
use ctx_types::id::sha256_hex;
use ctx_types::intent::{AnswerShape, EvidenceShape};
use ctx_types::outcome::Spend;
use ctx_types::trace::{NodeActual, NodeStatus, NodeTrace, PassageRef, TRACE_SCHEMA_VERSION};
use ctx_types::{AccessPath, Citation, ContentId, Goal, Micros, Operator, Outcome, Ppm, Probe, Sensitivity, Status, Trace};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// Assembles outcome and trace.
pub(super) fn report(
    context: &Context,
    progress: Option<Progress>,
    ending: Ending,
    id: String,
    purpose: String,
    started_at: String,
) -> RunReport {
    let prepared = &context.prepared;
    // A run that was re-planned ends with another plan than it began with.
    let planned = progress.as_ref().map(|progress| progress.planned.clone()).or_else(|| prepared.planned().cloned());
    let outcome = outcome(context, progress.as_ref(), ending, &id);
    let mut trace = Trace {
        schema_version: TRACE_SCHEMA_VERSION,
        id,
        started_at,
        tenant: prepared.goal.principal.tenant.clone(),
        purpose,
        goal: prepared.goal.text.clone(),
        plan: planned.as_ref().map_or_else(none, |planned| planned.plan.id.clone()),
        parent_plan: planned.as_ref().and_then(|planned| planned.plan.parent.clone()),
        graph: planned.as_ref().and_then(|planned| planned.graph.hash().ok()).unwrap_or_else(none),
        plan_cache: prepared.plan_cache.clone(),
        epoch: prepared.statistics.epoch(&prepared.goal.principal.tenant).to_owned(),
        generations: prepared.catalog.sources.iter().map(|(name, entry)| (name.to_string(), entry.generation)).collect(),
        propensity: prepared.exploration.as_ref().map_or(Ppm::ONE, Exploration::propensity),
        exploration: prepared.exploration.clone(),
        probe: progress.as_ref().and_then(|p| p.probe.as_ref()).or(context.probe.get()).unwrap_or(&prepared.probe).clone(),
        configuration: context.inner.digest.clone(),
        nodes: progress.as_ref().map(nodes).unwrap_or_default(),
        context: progress.as_ref().map(passages).unwrap_or_default(),
        calls: context.ledger.rows(),
        planning: prepared.planning,
        outcome: outcome.clone(),
    };
    if context.sensitivity >= Sensitivity::Confidential {
        redact(&mut trace);
    }
    let infeasible = match &prepared.choice {
        Choice::Infeasible(infeasible) => Some(infeasible.clone()),
        Choice::Planned(_) => None,
    };
    let passages: Vec<ContextPassage> = progress.and_then(|p| p.packed).map(|packed| packed.passages.clone()).unwrap_or_default();
    RunReport { outcome, trace, planned, infeasible, context: passages }
}

fn none() -> ContentId {
    ContentId("none".to_owned())
}

fn outcome(context: &Context, progress: Option<&Progress>, ending: Ending, id: &str) -> Outcome {
    let completed = ending.status == Status::Completed;
    let answer =
        progress.and_then(|p| p.answer.clone()).filter(|_| completed).map(|(_, answer)| Answer::clone(&answer)).unwrap_or_default();
    let mut notes = context.prepared.notes.clone();
    notes.extend(progress.map(|p| p.notes.clone()).unwrap_or_default());
    notes.extend(ending.notes);
    if context.cut.load(Ordering::Relaxed) {
        notes.push("a model stopped at its limit of output tokens: the answer may be incomplete".to_owned());
    }
    notes.extend(context.doubts.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
    let citations = standing(answer.citations, progress, &mut notes);
    notes.extend(progress.and_then(coverage));
    let mut spend = context.ledger.spend(context.elapsed());
    let planned = progress.map(|progress| &progress.planned).or(context.prepared.planned());
    notes.extend(unpriced(&spend));
    spend.cost_incomplete |= planned.is_some_and(|p| p.plan.estimate.cost_incomplete && spend.calls > 0);
    let given = context.stored().filter(|_| completed && progress.is_none()).map(|stored| stored.outcome.clone());
    let again = given.map(|earlier| (earlier.answer, earlier.citations, earlier.verdict, earlier.evidence));
    let (answer, citations, verdict, evidence) = again.unwrap_or_else(|| {
        let evidence = progress.and_then(|p| p.packed.as_ref()).map(|packed| packed.evidence);
        (answer.text, citations, progress.and_then(|p| p.verdict.clone()), evidence)
    });
    Outcome {
        status: ending.status,
        answer,
        citations,
        verdict,
        evidence,
        spend,
        plan: planned.map(|planned| planned.plan.id.clone()),
        trace: id.to_owned(),
        notes,
    }
}

/// Unknown is not free.
fn unpriced(spend: &Spend) -> Option<String> {
    let models: Vec<String> = spend.unpriced_models.iter().map(|model| format!("`{model}`")).collect();
    let told = "the cost is a lower bound: no price is known of";
    (!models.is_empty()).then(|| format!("{told} {}; set price of the tier (0 is free) or costmodel.prices", models.join(", ")))
}

/// Citations that resolve to a passage of the context; others are named, never linked.
fn standing(citations: Vec<Citation>, progress: Option<&Progress>, notes: &mut Vec<String>) -> Vec<Citation> {
    let context = progress.and_then(|p| p.packed.clone()).unwrap_or_default();
    let resolves = |citation: &Citation| context.passages.iter().any(|p| p.label == citation.label && p.passage.id == citation.passage);
    let (standing, fallen): (Vec<Citation>, Vec<Citation>) = citations.into_iter().partition(resolves);
    if !fallen.is_empty() {
        let labels: Vec<String> = fallen.iter().map(|citation| format!("[{}]", citation.label)).collect();
        notes.push(format!("citations that resolve to nothing in the context: {}", labels.join(" ")));
    }
    standing
}

/// Goals over a whole corpus say how much of it was seen.
fn coverage(progress: &Progress) -> Option<String> {
    let intent = &progress.planned.plan.intent;
    let whole = intent.evidence_shape() == EvidenceShape::WholeCorpus || intent.answer_shape() == AnswerShape::Aggregate;
    // A query looks at every row.
    let queried = |op: &Operator| matches!(op, Operator::Access { path: AccessPath::Table, .. });
    if progress.planned.plan.accesses().any(|(_, op, _)| queried(op)) {
        return None;
    }
    let total: u64 = progress.planned.plan.sources.iter().filter(|source| source.used).map(|source| source.passages).sum();
    let seen = progress.packed.as_ref().map_or(0, |packed| packed.passages.len() as u64);
    (whole && seen < total).then(|| format!("seen {seen} of {total} chunks: counts and totals over the rest are not covered"))
}

/// What the answer was made from, without its text.
fn passages(progress: &Progress) -> Vec<PassageRef> {
    progress.packed.iter().flat_map(|packed| &packed.passages).map(|context| PassageRef::of(&context.passage)).collect()
}

/// Started nodes in start order, then the others.
fn nodes(progress: &Progress) -> Vec<NodeTrace> {
    let started = progress.order.iter().filter_map(|id| progress.records.get(id).cloned());
    let idle = progress.planned.graph.nodes.iter().filter(|node| !progress.records.contains_key(&node.id)).map(|node| NodeTrace {
        node: node.id.to_string(),
        operator: node.op.to_string(),
        status: NodeStatus::NotRun,
        start: Micros(0),
        end: Micros(0),
        attempts: 0,
        estimate: node.estimate.clone(),
        actual: NodeActual::default(),
        error: None,
    });
    started.chain(idle).collect()
}

fn hashed(text: &str) -> String {
    format!("sha256:{}", sha256_hex(text.as_bytes()))
}

/// From `confidential` up a trace keeps hashes of what was asked, found and said.
pub(super) fn redact(trace: &mut Trace) {
    trace.goal = hashed(&trace.goal);
    for probe in trace.probe.sources.values_mut() {
        probe.terms.iter_mut().for_each(|term| term.term = hashed(&term.term));
        probe.identifiers.iter_mut().for_each(|found| found.identifier = hashed(&found.identifier));
    }
    redact_queries(trace);
    let outcome = &mut trace.outcome;
    if !outcome.answer.is_empty() {
        outcome.answer = hashed(&outcome.answer);
    }
    for citation in &mut outcome.citations {
        citation.quote = citation.quote.as_deref().map(hashed);
    }
    if let Some(verdict) = &mut outcome.verdict {
        verdict.findings = verdict.findings.iter().map(|finding| hashed(finding)).collect();
    }
}

/// Queries over tables hold words of the goal: in the probe, as the place of a citation, in the note that refuses one.
fn redact_queries(trace: &mut Trace) {
    let outcome = &mut trace.outcome;
    for (source, table) in trace.probe.sources.iter_mut().filter_map(|(source, probe)| Some((source, probe.table.as_mut()?))) {
        for note in &mut outcome.notes {
            for text in [Some(&table.reading), table.refusal.as_ref()].into_iter().flatten().filter(|text| !text.is_empty()) {
                *note = note.replace(text.as_str(), &hashed(text));
            }
        }
        for citation in outcome.citations.iter_mut().filter(|citation| citation.locator.source == *source) {
            citation.locator.section = hashed(&citation.locator.section);
        }
        for text in [&mut table.reading, &mut table.sql].into_iter().chain(&mut table.refusal).chain(&mut table.values) {
            *text = hashed(text);
        }
    }
}

/// Hands the trace to every sink and what it shows to the statistics. A sink that fails is logged, never the run's failure.
pub(super) async fn deliver(context: &Context, report: &RunReport) {
    context.inner.record(&report.trace).await;
    // An answer that is given again shows nothing of the plan.
    if let Some(planned) = report.planned.as_ref().filter(|_| context.stored().is_none()) {
        let at = context.inner.now();
        let seen = TraceContext {
            bucket: planned.plan.intent.bucket,
            catalog: &context.prepared.catalog,
            statistics: &context.prepared.statistics,
            at,
        };
        let observations = from_trace(&report.trace, &seen);
        let probe = context.probe.get().unwrap_or(&context.prepared.probe);
        context.inner.shadow(&context.prepared, probe, &report.trace.id, &observations);
        context.inner.observe(observations).await;
        watch(context, planned, &report.outcome, at);
        context.inner.store_answer(&context.prepared, &report.outcome, context.cut.load(Ordering::Relaxed));
    }
}

/// Shows the run to the regression guard of its scope.
fn watch(context: &Context, planned: &Planned, outcome: &Outcome, now: u64) {
    let Some(scope) = &context.prepared.scope else { return };
    let passed = outcome.verdict.as_ref().is_none_or(|verdict| verdict.passed);
    let run = Run { success: outcome.status == Status::Completed && passed, cost: outcome.spend.cost, elapsed: outcome.spend.elapsed };
    if let Some(revert) = context.inner.cache().observe(scope, &planned.plan, context.prepared.sensitivity(), &run, now) {
        tracing::warn!(from = %revert.from, to = %revert.to, runs = revert.runs, "{}: the plan before it is held", revert.worse);
    }
}

impl Inner {
    async fn record(&self, trace: &Trace) {
        for sink in &self.parts.sinks {
            if let Err(error) = sink.record(trace).await {
                tracing::warn!(%error, run = %trace.id, "the trace was not kept");
            }
        }
    }

    /// A run that ended before there was a decision: its trace says why. The goal's label is not known, so its hash is kept.
    pub(crate) async fn unplanned(self: &Arc<Self>, goal: &Goal, ending: Ending, started: Micros) -> RunReport {
        let elapsed = self.parts.clock.monotonic() - started;
        let id = self.run_id("none");
        let outcome = Outcome {
            status: ending.status,
            answer: String::new(),
            citations: Vec::new(),
            verdict: None,
            evidence: None,
            spend: Spend { elapsed, ..Spend::default() },
            plan: None,
            trace: id.clone(),
            notes: ending.notes,
        };
        let trace = Trace {
            schema_version: TRACE_SCHEMA_VERSION,
            id,
            started_at: self.parts.clock.rfc3339(),
            tenant: goal.principal.tenant.clone(),
            purpose: "user".to_owned(),
            goal: hashed(&goal.text),
            plan: none(),
            parent_plan: None,
            graph: none(),
            plan_cache: "not reached".to_owned(),
            epoch: self.learning.snapshot().epoch(&goal.principal.tenant).to_owned(),
            generations: Vec::new(),
            propensity: Ppm::ONE,
            exploration: None,
            probe: Probe::default(),
            configuration: self.digest.clone(),
            nodes: Vec::new(),
            context: Vec::new(),
            calls: Vec::new(),
            planning: elapsed,
            outcome: outcome.clone(),
        };
        self.record(&trace).await;
        RunReport { outcome, trace, planned: None, infeasible: None, context: Vec::new() }
    }
}
