//! `ctxrt trace`: records of runs.

use crate::args::{Global, SourceArgs, TraceCommand};
use crate::failure::Failure;
use crate::output::{Out, status_name};
use crate::session::Session;
use ctx_contracts::{Freshness, Store};
use ctx_types::outcome::Spend;
use ctx_types::trace::{CallEnd, CallRow, NodeStatus, NodeTrace};
use ctx_types::{Receipt, Trace};
use serde::Serialize;
use serde_json::{Value, json};

/// Most traces read from the store.
pub(super) const TRACES_MAX: usize = 100_000;

pub(crate) async fn trace(global: &Global, command: &TraceCommand, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let store = &session.runtime.parts().store;
    match command {
        TraceCommand::List { limit } => list(&store.traces(*limit).await?, out)?,
        TraceCommand::Show { id, all: true } if id.is_none() => show_all(&store.traces(TRACES_MAX).await?, out)?,
        TraceCommand::Show { id: None, .. } => show_one(newest(&store.traces(1).await?)?, store.as_ref(), out).await?,
        TraceCommand::Show { id: Some(id), .. } => {
            let traces = store.traces(TRACES_MAX).await?;
            show_one(one(&traces, id)?, store.as_ref(), out).await?;
        }
    }
    Ok(0)
}

/// The first of these traces, which stand newest first.
pub(super) fn newest(traces: &[Trace]) -> Result<&Trace, Failure> {
    let none = || Failure::input("no run was recorded in this store").with_hint("run something first, or name the store with --store");
    traces.first().ok_or_else(none)
}

/// The trace with this id or this beginning of one.
pub(super) fn one<'a>(traces: &'a [Trace], id: &str) -> Result<&'a Trace, Failure> {
    let begins = |trace: &&Trace| trace.id.starts_with(id) || trace.id.strip_prefix("run_").is_some_and(|rest| rest.starts_with(id));
    let found: Vec<&Trace> = traces.iter().filter(begins).collect();
    match found.as_slice() {
        [trace] => Ok(trace),
        [] => Err(Failure::input(format!("no trace begins with {id:?}")).with_hint("`ctxrt trace list` shows those there are")),
        several => several
            .iter()
            .copied()
            .find(|trace| trace.id == id)
            .ok_or_else(|| Failure::input(format!("{} traces begin with {id:?}", several.len())).with_hint("write more of the id")),
    }
}

/// These traces, one line each.
pub(crate) fn list(traces: &[Trace], out: &Out) -> Result<(), Failure> {
    if out.json() {
        let rows: Vec<Value> = traces
            .iter()
            .map(|trace| {
                json!({
                    "id": trace.id, "started_at": trace.started_at, "status": trace.outcome.status, "plan": trace.plan, "goal": trace.goal,
                    "cost_nano_usd": trace.outcome.spend.cost, "cost_incomplete": trace.outcome.spend.cost_incomplete,
                    "elapsed_us": trace.outcome.spend.elapsed, "plan_cache": trace.plan_cache,
                })
            })
            .collect();
        return out.document(&json!({ "schema_version": 1, "traces": rows }));
    }
    let rows: Vec<Vec<String>> = traces
        .iter()
        .map(|trace| {
            vec![
                trace.id.chars().take(16).collect(),
                trace.started_at.clone(),
                status_name(trace.outcome.status).to_owned(),
                cost(&trace.outcome.spend),
                trace.outcome.spend.elapsed.to_string(),
                trace.goal.clone(),
            ]
        })
        .collect();
    out.table(&["trace", "started", "status", "cost", "time", "goal"], &rows)
}

/// One trace.
pub(crate) fn show(trace: &Trace, out: &Out) -> Result<(), Failure> {
    if out.json() { out.document(trace) } else { out.text(&text(trace)) }
}

/// A trace as JSON, with what its receipts stand for.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    trace: &'a Trace,
    /// One per receipt, in the order of nodes and receipts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    originals: Vec<Shortened<'a>>,
}

/// What was shortened, and its original or why that is not shown.
#[derive(Serialize)]
struct Shortened<'a> {
    node: &'a str,
    #[serde(flatten)]
    receipt: &'a Receipt,
    #[serde(flatten)]
    original: Original,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Original {
    Original(String),
    NotShown(&'static str),
}

/// One trace, with the originals of what was shortened.
async fn show_one(trace: &Trace, store: &dyn Store, out: &Out) -> Result<(), Failure> {
    let mut originals = Vec::new();
    for (node, receipt) in trace.nodes.iter().flat_map(|node| node.actual.receipts.iter().map(move |receipt| (node, receipt))) {
        originals.push(Shortened { node: &node.node, receipt, original: original(receipt, store).await? });
    }
    if out.json() {
        return out.document(&Shown { trace, originals });
    }
    show(trace, out)?;
    for shortened in &originals {
        out.text(&receipt_text(shortened.receipt, &shortened.original))?;
    }
    Ok(())
}

/// What was left out, and the original as it stands, or why it is not shown.
fn receipt_text(receipt: &Receipt, original: &Original) -> String {
    use ctx_explain::escape::line;
    let original = match original {
        Original::Original(text) => line(text),
        Original::NotShown(why) => format!("not shown: {why}").into(),
    };
    let at = &receipt.locator;
    format!(
        "Shortened: {}:{}:{}-{} by {}: {}; {} of {} tokens sent\n  Original: {}\n",
        line(at.source.as_str()),
        line(&at.path),
        at.line_start,
        at.line_end,
        line(&receipt.by),
        line(&receipt.omitted),
        receipt.tokens_after,
        receipt.tokens_before,
        original
    )
}

/// The text that was shortened. What has changed since is not served.
async fn original(receipt: &Receipt, store: &dyn Store) -> Result<Original, Failure> {
    Ok(match store.recheck(&receipt.locator, &receipt.fingerprint).await? {
        Freshness::Changed => Original::NotShown("the file has changed since this run"),
        Freshness::Gone => Original::NotShown("the file is gone"),
        Freshness::Current => match store.passage(&receipt.locator.source, &receipt.passage).await? {
            Some(passage) if passage.fingerprint == receipt.fingerprint => Original::Original(passage.text),
            _ => Original::NotShown("the source was indexed again since this run and holds it no more"),
        },
    })
}

fn show_all(traces: &[Trace], out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(&json!({ "schema_version": 1, "traces": traces }));
    }
    for trace in traces {
        out.text(&format!("{}\n", text(trace)))?;
    }
    Ok(())
}

fn text(trace: &Trace) -> String {
    use ctx_explain::escape::line;
    let outcome = &trace.outcome;
    let mut text = format!("Trace: {}\nStarted: {}\nGoal: {}\n", trace.id, trace.started_at, line(&trace.goal));
    text.push_str(&format!("Status: {}; {}, {}\n", status_name(outcome.status), cost(&outcome.spend), outcome.spend.elapsed));
    text.push_str(&format!("Plan: {}\nPlan Cache: {}\nPlanning: {}\n", trace.plan, line(&trace.plan_cache), trace.planning));
    for node in &trace.nodes {
        text.push_str(&node_line(node));
    }
    for call in &trace.calls {
        text.push_str(&call_line(call));
    }
    for note in &outcome.notes {
        text.push_str(&format!("Note: {}\n", line(note)));
    }
    if !outcome.answer.is_empty() {
        text.push_str(&format!("Answer: {}\n", line(&outcome.answer)));
    }
    text
}

/// Dollars, marked where they are not all there.
fn cost(spend: &Spend) -> String {
    format!("{}{}", ctx_explain::least(spend.cost_incomplete), spend.cost)
}

/// `Call: answer by premium: failed; tokens unknown, cost unknown, charged $0.01`
fn call_line(call: &CallRow) -> String {
    use ctx_explain::escape::line;
    let end = match call.end {
        CallEnd::Answered => "answered",
        CallEnd::Refused => "refused before any work",
        CallEnd::Failed => "failed",
        CallEnd::Cancelled => "cancelled",
        CallEnd::NotSent => "not sent",
    };
    let tokens = call.usage.map_or_else(|| "tokens unknown".to_owned(), |usage| format!("{} tokens", usage.total()));
    let cost = match (call.cost, call.unpriced) {
        (Some(cost), _) => cost.to_string(),
        (None, true) => "price unknown".to_owned(),
        (None, false) => format!("cost unknown, charged {}", call.charged),
    };
    format!("Call: {} by {}: {end}; {tokens}, {cost}\n", line(&call.purpose), line(&call.model))
}

fn node_line(node: &NodeTrace) -> String {
    let status = match node.status {
        NodeStatus::Done => "",
        NodeStatus::Degraded => " degraded",
        NodeStatus::Failed => " failed",
        NodeStatus::NotRun => " not run",
        NodeStatus::Cancelled => " cancelled",
    };
    let time = if node.status == NodeStatus::NotRun { String::new() } else { format!("  {} to {}", node.start, node.end) };
    let hits = node.actual.hits.map(|n| format!("  {n} passages")).unwrap_or_default();
    let tokens = node.actual.tokens.map(|n| format!("  {n} tokens")).unwrap_or_default();
    let error = node.error.as_ref().map(|error| format!("\n    error: {}", ctx_explain::escape::line(error))).unwrap_or_default();
    format!(
        "  {}  {}{status}{time}{hits}{tokens}{error}\n",
        ctx_explain::escape::line(&node.node),
        ctx_explain::escape::line(&node.operator)
    )
}
