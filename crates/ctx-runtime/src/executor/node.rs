//! One node at work: attempts, waits, timeouts, and the operator itself.

use super::lists::{self, Leg, Merged, SourceList};
use super::models::Ledgered;
use super::pack::{self, Limits};
use super::{Context, Value, refine};
use ctx_contracts::{Answer, ContextPassage, ErrorKind, Freshness, PluginError, ReasonRequest, RetrieveRequest, VerifyRequest};
use ctx_cost::{coefficients, quality};
use ctx_graph::{LegPath, Node, NodeEnd, NodeOp, Resource};
use ctx_optimizer::worth::{Length, Need};
use ctx_scheduler::Step;
use ctx_types::catalog::Locality;
use ctx_types::trace::NodeActual;
use ctx_types::{FuseMethod, Layout, Micros, ModelName, Operator, Ppm, Sensitivity, SourceName, Stage, Strategy, Tokens};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Output cap of strategies without a model, in tokens; they quote, so it is never reached.
const QUOTED_OUTPUT: Tokens = Tokens(1_024);

/// What a node works on.
#[derive(Clone)]
pub(crate) struct Inputs {
    /// The plan that runs.
    pub(crate) planned: Arc<ctx_planner::Planned>,
    pub(crate) values: Vec<Value>,
    /// Findings of the check that rejected the previous attempt.
    pub(crate) complaints: Vec<String>,
    /// The context, for nodes behind it.
    pub(crate) packed: Option<Arc<Packed>>,
    /// The latest answer and its strategy.
    pub(crate) answer: Option<(Strategy, Arc<Answer>)>,
}

/// The context of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packed {
    pub(crate) passages: Vec<ContextPassage>,
    pub(crate) evidence: ctx_types::Ppm,
    /// Passages that were found and do not fit, where none does.
    pub(crate) too_long: usize,
}

/// What one attempt gave.
pub(crate) struct Done {
    pub(crate) end: NodeEnd,
    pub(crate) value: Value,
    pub(crate) actual: NodeActual,
    pub(crate) notes: Vec<String>,
}

impl Done {
    pub(super) fn passed(value: Value, actual: NodeActual) -> Done {
        Done { end: NodeEnd::Passed, value, actual, notes: Vec::new() }
    }
}

/// How a node ended, over all attempts.
pub(crate) struct Finished {
    pub(crate) result: Result<Done, PluginError>,
    pub(crate) attempts: u32,
    pub(crate) started: Micros,
    pub(crate) ended: Micros,
    /// Calls that failed attempts made too.
    pub(crate) spent: NodeActual,
}

/// Runs a node to its end: attempts within its retry policy and the run's retry budget.
pub(crate) async fn run(context: Arc<Context>, node: Node, step: Step, inputs: Inputs) -> Finished {
    let started = context.elapsed();
    let models = Arc::new(Ledgered::new(context.clone(), node.op.kind()));
    let mut attempts = 0;
    let mut earlier: Option<PluginError> = None;
    let result = loop {
        attempts += 1;
        let result = attempt(&context, &node, &step, inputs.clone(), models.clone()).await;
        let Err(error) = result else { break result };
        if let Some(earlier) = earlier.take_if(|_| error.is_of_budget()) {
            break Err(unaffordable(earlier, &error));
        }
        let Some(wait) = wait_before_next(&context, &step, attempts, &error) else { break Err(error) };
        tokio::time::sleep(Duration::from_micros(wait.0)).await;
        earlier = Some(error);
    };
    let calls = models.calls();
    let called = calls.made > 0 || !calls.sent.is_empty();
    let spent = NodeActual {
        tokens: (called && calls.unreported == 0).then_some(calls.tokens),
        cost: (called && calls.uncosted == 0).then_some(calls.cost),
        sent: calls.sent.last().cloned(),
        model: calls.model,
        prompt: calls.prompt.filter(|_| calls.made == 1),
        call: calls.timing.filter(|_| calls.made == 1),
        ..NodeActual::default()
    };
    Finished { result, attempts, started, ended: context.elapsed(), spent }
}

/// What failed is why the node failed; that it was not tried again is why it stays so.
fn unaffordable(earlier: PluginError, refusal: &PluginError) -> PluginError {
    PluginError { cause: format!("{}; it is not tried again: {}", earlier.cause, refusal.cause), ..earlier }
}

/// How long to wait before trying again; `None`: not again.
fn wait_before_next(context: &Context, step: &Step, attempts: u32, error: &PluginError) -> Option<Micros> {
    if !error.retryable() || attempts >= step.retry.max_attempts {
        return None;
    }
    let ours = step.retry.waits.get(usize::try_from(attempts - 1).ok()?).copied()?;
    let wait = error.retry_after.unwrap_or(ours);
    let fits = step.deadline.is_none_or(|deadline| context.elapsed() + wait < deadline);
    let granted = fits && context.retries.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1)).is_ok();
    granted.then_some(wait)
}

async fn attempt(context: &Arc<Context>, node: &Node, step: &Step, inputs: Inputs, models: Arc<Ledgered>) -> Result<Done, PluginError> {
    let work = perform(context, node, inputs, &models);
    let Some(limit) = step.attempt_timeout else { return work.await };
    match tokio::time::timeout(Duration::from_micros(limit.0), work).await {
        Ok(result) => result,
        Err(_) => {
            // Past its own deadline what follows could not end in time either: the run is out of time, not the plugin broken.
            let out_of_time = step.deadline.is_some_and(|deadline| context.elapsed() >= deadline) || context.time_left() == Some(Micros(0));
            let kind = if out_of_time { ErrorKind::BudgetTime } else { ErrorKind::Timeout };
            Err(PluginError::new(kind, format!("running {}", node.id), format!("no result within {limit}")))
        }
    }
}

async fn perform(context: &Arc<Context>, node: &Node, inputs: Inputs, models: &Arc<Ledgered>) -> Result<Done, PluginError> {
    match &node.op {
        NodeOp::Access { source, path, k, quota } => access(context, node, source, *path, *k, *quota).await,
        NodeOp::FuseLegs { method, exact, k, .. } => {
            let legs: Vec<Leg> = inputs.values.iter().filter_map(Value::leg).map(|leg| Leg::clone(leg)).collect();
            let list = lists::fuse_legs(method, exact.as_ref(), *k, &legs);
            Ok(fused(list.into_iter().collect(), FuseMethod::CalibratedScore))
        }
        NodeOp::Fuse { method } => Ok(fused(source_lists(&inputs.values), *method)),
        NodeOp::Pack { budget, layout, per_document_cap, final_k } => {
            let limits = Limits { budget: *budget, per_document: *per_document_cap, passages: *final_k };
            packed(context, &inputs, limits, *layout).await
        }
        NodeOp::Rerank { reranker } => refine::reranked(context, node, reranker, source_merged(&inputs)).await,
        NodeOp::Compress { compressor, keep } => refine::compressed(context, node, compressor, *keep, &inputs).await,
        NodeOp::Answer { strategy, model } => answer(context, *strategy, model.as_ref(), &inputs, models).await,
        NodeOp::Verify { verifier } => verify(context, verifier, &inputs).await,
        NodeOp::Stop { .. } | NodeOp::Branch | NodeOp::Merge | NodeOp::Loop { .. } => {
            Ok(Done::passed(Value::Nothing, NodeActual::default()))
        }
        other => Err(PluginError::new(
            ErrorKind::Internal,
            format!("running {}", node.id),
            format!("nothing in this build executes a {}", other.kind()),
        )),
    }
}

async fn access(context: &Context, node: &Node, source: &SourceName, path: LegPath, k: u32, quota: Tokens) -> Result<Done, PluginError> {
    let retriever = context.inner.parts.retriever(&context.prepared.readers, source)?;
    let request = RetrieveRequest { source: source.clone(), path: path.access_path(), query: context.prepared.goal.text.clone(), k };
    let found = retriever.retrieve(&request).await?;
    let (ceiling, coverage) = (context.ceiling(source), context.coverage(source));
    let leg = Leg { node: node.id.clone(), source: source.clone(), path, quota, hits: found.value, ceiling, coverage };
    let actual = NodeActual {
        hits: u32::try_from(leg.hits.len()).ok(),
        tokens: Some(leg.hits.iter().map(|hit| Tokens(u64::from(hit.passage.tokens))).sum()),
        evidence: Some(lists::lone(&leg).evidence(leg.hits.len())),
        chunks: found.metrics.chunks,
        bytes: found.metrics.bytes,
        cache_hits: found.metrics.cache_hits,
        ..NodeActual::default()
    };
    Ok(Done::passed(Value::Leg(Arc::new(leg)), actual))
}

/// The lists that values hold.
pub(super) fn source_lists<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<SourceList> {
    values
        .into_iter()
        .flat_map(|value| match value {
            Value::Leg(leg) => vec![lists::lone(leg)],
            Value::Lists(merged) => merged.lists.clone(),
            _ => Vec::new(),
        })
        .collect()
}

fn fused(lists: Vec<SourceList>, method: FuseMethod) -> Done {
    let evidence = match lists.as_slice() {
        [only] => Some(only.evidence(only.items.len())),
        _ => None,
    };
    // One list keeps its order: sorting it by relevance would undo the fusion of its legs.
    let merged = match lists.len() {
        1 => Merged { order: (0..lists[0].items.len()).map(|item| (0, item)).collect(), lists, ..Merged::default() },
        _ => lists::merge(lists, method),
    };
    let tokens = merged.order.iter().map(|(list, item)| Tokens(u64::from(merged.lists[*list].items[*item].passage.tokens))).sum();
    let actual = NodeActual { hits: u32::try_from(merged.order.len()).ok(), tokens: Some(tokens), evidence, ..NodeActual::default() };
    Done::passed(Value::Lists(Arc::new(merged)), actual)
}

/// The one list over all sources; a single leg is one too.
fn source_merged(inputs: &Inputs) -> Arc<Merged> {
    match inputs.values.iter().find_map(Value::lists) {
        Some(merged) => merged.clone(),
        None => match fused(source_lists(&inputs.values), FuseMethod::CalibratedScore).value {
            Value::Lists(merged) => merged,
            _ => Arc::default(),
        },
    }
}

/// Packs, re-checks what was chosen against the disk, and packs again without what no longer stands.
async fn packed(context: &Context, inputs: &Inputs, limits: Limits, layout: Layout) -> Result<Done, PluginError> {
    let merged = source_merged(inputs);
    let mut found = pack::candidates(&merged);
    let quotas: Vec<Tokens> = merged.lists.iter().map(|list| list.quota).collect();
    let (need, length) = (Need::of(&inputs.planned.plan.intent), length(context, inputs));
    let (mut stale, mut current) = (BTreeSet::new(), BTreeSet::new());
    let (fitting, chosen) = loop {
        let fitting = pack::fitting(&found, &stale, &quotas, limits);
        let chosen = pack::paying(&found, &fitting, &merged, need, length);
        let before = stale.len();
        for &at in chosen.iter().filter(|at| !current.contains(*at)).collect::<Vec<_>>() {
            let passage = &found.all[at].ranked.passage;
            let why = match context.inner.parts.store.recheck(&passage.locator, &passage.fingerprint).await? {
                Freshness::Current => {
                    current.insert(at);
                    continue;
                }
                Freshness::Changed => "changed on disk since it was indexed",
                Freshness::Gone => "gone from disk",
            };
            found.dropped.push(format!("{}:{}: {why}", passage.locator.source, passage.locator.path));
            stale.insert(at);
        }
        if stale.len() == before {
            break (fitting, chosen);
        }
    };
    let evidence = pack::evidence(&merged, &found, &fitting, &chosen, need);
    if chosen.len() < fitting.len() {
        found.dropped.push(format!("{} that fit: each adds less to P(evidence) than its length costs", fitting.len() - chosen.len()));
    }
    let too_long = if fitting.is_empty() { found.all.len() - stale.len() } else { 0 };
    let passages = pack::arrange(chosen.iter().map(|&at| found.all[at].ranked.clone()).collect(), layout);
    let notes = stale_notes(stale.len());
    let actual = NodeActual {
        hits: u32::try_from(passages.len()).ok(),
        tokens: Some(passages.iter().map(|p| Tokens(u64::from(p.passage.tokens))).sum()),
        evidence: Some(evidence),
        dropped: found.dropped,
        ..NodeActual::default()
    };
    Ok(Done { notes, ..Done::passed(Value::Context(Arc::new(Packed { passages, evidence, too_long })), actual) })
}

/// What a longer context costs the planned answerer. One that was measured not to lose by length is held to the prior of
/// models: another may take its place, and what is sent should not depend on which.
fn length(context: &Context, inputs: &Inputs) -> Length {
    let plan = &inputs.planned.plan;
    let answer = plan.chosen(&Stage::Answer).map(|chosen| &chosen.alternative.operator);
    let (strategy, model) = match answer {
        Some(Operator::Answer { strategy, model }) => (*strategy, model.as_ref()),
        _ => (Strategy::Extractive, None),
    };
    let entry = model.and_then(|name| context.prepared.catalog.models.get(name));
    let quality = quality::answerer(strategy, entry, layout_of(&inputs.planned), &plan.intent);
    let prior = Ppm(coefficients::quality().dilution);
    let weights = &plan.goal.weights;
    let price = entry.and_then(|entry| entry.prices.input).map_or(0.0, |price| price.get() as f64 / 1e3);
    let worth = weights.acc as f64 * quality.right_with.value.share() * weights.cost_scale.get() as f64;
    Length { dilution: quality.dilution.max(prior).share(), per_token: if worth > 0.0 { price * weights.cost as f64 / worth } else { 0.0 } }
}

fn stale_notes(stale: usize) -> Vec<String> {
    match stale {
        0 => Vec::new(),
        count => vec![format!("{count} passages no longer stand on disk and were left out; index again to see what took their place")],
    }
}

async fn answer(
    context: &Arc<Context>,
    strategy: Strategy,
    model: Option<&ModelName>,
    inputs: &Inputs,
    models: &Arc<Ledgered>,
) -> Result<Done, PluginError> {
    let packed = inputs.packed.clone().unwrap_or_default();
    let (passages, notes) = permitted(context, model, &packed.passages).await;
    if passages.is_empty() {
        let why = match packed.passages.is_empty() {
            true if packed.too_long > 0 => format!("none of the {} passages found fits into the context's budget", packed.too_long),
            true => nothing_found(&inputs.planned.plan),
            false => "no passage may be shown to the planned model".to_owned(),
        };
        let withheld = Answer { abstained: Some(why), ..Answer::default() };
        return Ok(Done {
            end: NodeEnd::Rejected,
            notes,
            ..Done::passed(Value::Answer(strategy, Arc::new(withheld)), NodeActual::default())
        });
    }
    let request = ReasonRequest {
        goal: &context.prepared.goal,
        intent: &inputs.planned.plan.intent,
        context: &passages,
        layout: layout_of(&inputs.planned),
        model,
        max_output: max_output(context, model),
        evidence: packed.evidence,
        complaints: &inputs.complaints,
        models: models.as_ref(),
    };
    let given = context.inner.parts.reasoner(strategy)?.reason(request).await?;
    let end = if given.abstained.is_some() || given.text.trim().is_empty() { NodeEnd::Rejected } else { NodeEnd::Passed };
    Ok(Done { end, notes, ..Done::passed(Value::Answer(strategy, Arc::new(given)), NodeActual::default()) })
}

/// Why there is nothing to answer from. Sources that were planned to be read held nothing; of the others the plan says why.
fn nothing_found(plan: &ctx_types::Plan) -> String {
    let unread: Vec<String> = plan.sources.iter().filter(|s| !s.used).map(|s| format!("`{}`: {}", s.source, s.reason)).collect();
    match plan.sources.iter().any(|s| s.used) || unread.is_empty() {
        true => "no passage was found".to_owned(),
        false => format!("nothing was read: {}", unread.join("; ")),
    }
}

/// Values found in retrieved text raise its label: what a remote model may not see is withheld from it. Fails closed.
async fn permitted(context: &Context, model: Option<&ModelName>, passages: &[ContextPassage]) -> (Vec<ContextPassage>, Vec<String>) {
    let entry = model.and_then(|name| context.prepared.catalog.models.get(name));
    let Some(entry) = entry.filter(|entry| entry.accepts < Sensitivity::Restricted || entry.locality == Locality::Remote) else {
        return (passages.to_vec(), Vec::new());
    };
    let mut kept = Vec::with_capacity(passages.len());
    for passage in passages {
        let label = match context.inner.parts.policy.scan(&passage.passage.text).await {
            Ok(spans) => spans.iter().map(|span| span.raises_to).max().unwrap_or(Sensitivity::Public),
            Err(_) => Sensitivity::Restricted,
        };
        if label <= entry.accepts {
            kept.push(passage.clone());
        }
    }
    let notes = match passages.len() - kept.len() {
        0 => Vec::new(),
        withheld => vec![format!("{withheld} passages hold values that the model may not see and were withheld from it")],
    };
    (kept, notes)
}

pub(super) fn layout_of(planned: &ctx_planner::Planned) -> Layout {
    let found = planned.graph.nodes.iter().find_map(|node| match node.op {
        NodeOp::Pack { layout, .. } => Some(layout),
        _ => None,
    });
    found.unwrap_or(Layout::ContextFirst)
}

/// The cap that the plan's bound was computed with.
fn max_output(context: &Context, model: Option<&ModelName>) -> Tokens {
    let Some(entry) = model.and_then(|name| context.prepared.catalog.models.get(name)) else { return QUOTED_OUTPUT };
    let caps = [context.prepared.limits.max_output_tokens, entry.max_output, Some(entry.output_tokens.high)];
    caps.into_iter().flatten().min().unwrap_or(QUOTED_OUTPUT)
}

async fn verify(context: &Context, verifier: &str, inputs: &Inputs) -> Result<Done, PluginError> {
    let (Some((strategy, answer)), Some(packed)) = (&inputs.answer, &inputs.packed) else {
        return Err(PluginError::new(ErrorKind::Internal, format!("verifying by {verifier}"), "there is no answer to verify"));
    };
    let verdict = context
        .inner
        .parts
        .verifier(verifier)?
        .verify(VerifyRequest {
            goal: &context.prepared.goal,
            intent: &inputs.planned.plan.intent,
            strategy: *strategy,
            answer: &answer.text,
            citations: &answer.citations,
            context: &packed.passages,
        })
        .await?;
    let end = if verdict.passed { NodeEnd::Passed } else { NodeEnd::Rejected };
    Ok(Done { end, ..Done::passed(Value::Verdict(verdict), NodeActual::default()) })
}

/// A break of a local read is the store's, of a model the provider's.
pub(crate) fn status_of(resource: &Resource, error: &PluginError) -> ctx_types::Status {
    match (resource, error.kind) {
        (Resource::Store | Resource::Cpu, ErrorKind::Unavailable | ErrorKind::Timeout) => ctx_types::Status::StoreUnavailable,
        _ => error.status(),
    }
}
