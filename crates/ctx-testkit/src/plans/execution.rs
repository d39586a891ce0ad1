//! What follows the plan, printed: graph, schedule, quote, explanation. Explanations never hold a time of the clock.

use super::World;
use crate::traces;
use ctx_explain::{Decision, ExplainInput, Format, Options, TextOptions, explain as explanation, redact, render};
use ctx_graph::ExecutionGraph;
use ctx_planner::{PlanError, Planned};
use ctx_scheduler::Schedule;
use ctx_simulate::Interval;
use ctx_types::Probe;
use std::collections::BTreeSet;
use std::fmt::{Display, Write};

pub(super) fn graph(graph: &ExecutionGraph) -> String {
    let mut out = String::new();
    for node in &graph.nodes {
        let policy = serde_json::to_value(node.on_error).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
        let _ =
            writeln!(out, "{:<28} {}  [{}; attempts {}; on error {policy}]", node.id.as_str(), node.op, node.resource, node.max_attempts);
    }
    for edge in &graph.edges {
        let _ = writeln!(out, "{} ─{}▶ {}", edge.from, edge.kind, edge.to);
    }
    out
}

pub(super) fn schedule(schedule: &Schedule) -> String {
    let mut out = String::new();
    for wave in schedule.waves() {
        for step in wave {
            let backup = if step.primary { "" } else { "  (only when something fails)" };
            let deadline = step.deadline.map(|d| format!(" deadline {d}")).unwrap_or_default();
            let _ = writeln!(
                out,
                "wave {} {:<28} start {} priority {} attempts {}{deadline}{backup}",
                step.wave,
                step.node.as_str(),
                step.expected_start,
                step.priority,
                step.retry.max_attempts
            );
        }
    }
    let limits: Vec<String> = schedule.concurrency.iter().map(|l| format!("{} {}", l.resource, l.at_once_max)).collect();
    let _ = writeln!(out, "at once: {}; retries of the run {}", limits.join(", "), schedule.retries_max);
    let _ = writeln!(out, "critical path {}..{}", schedule.critical_path_p50, schedule.critical_path_p90);
    out
}

fn interval<T: Display>(i: &Interval<T>) -> String {
    format!("{} [{}, {}] {}", i.mid, i.low, i.high, i.certainty)
}

pub(super) fn simulate(planned: &Planned) -> String {
    // A fixed seed: the plan id moves with every catalog number, and the draws would move with it.
    let quote = match ctx_simulate::simulate(&planned.plan, &planned.graph, 7) {
        Ok(quote) => quote,
        Err(error) => return format!("error: {error}\n"),
    };
    let mut out = String::new();
    let more = if quote.cost_incomplete {
        format!("≥ {} + {} tokens at unknown price", quote.cost.mid, quote.unknown_price_tokens)
    } else {
        interval(&quote.cost)
    };
    let _ = writeln!(out, "cost       {more}");
    let _ = writeln!(out, "latency    {}", interval(&quote.latency));
    let _ = writeln!(out, "tokens     {}", interval(&quote.tokens));
    let _ = writeln!(out, "confidence {}", interval(&quote.confidence));
    let _ = writeln!(
        out,
        "ends       abstained {}, verification failed {}, failed {}",
        quote.p_abstain, quote.p_verification_failed, quote.p_failed
    );
    for used in &quote.expected_models {
        let _ = writeln!(out, "model      {} {}.{:03} calls", used.model, used.calls_milli / 1_000, used.calls_milli % 1_000);
    }
    for read in &quote.expected_retrieval {
        let _ = writeln!(out, "reads      {} by {} k={} in {} of runs", read.source, read.path, read.k, read.p_used);
    }
    let _ = writeln!(out, "based on   {} samples, {} draws", quote.based_on_samples, quote.draws);
    out
}

/// The explanation of a plan or of why there is none.
pub(super) fn explain(world: &World, args: &BTreeSet<&str>, width: Option<u64>) -> Result<String, String> {
    let has = |flag: &str| args.contains(flag);
    let options = Options {
        analyze: has("analyze"),
        verbose: has("verbose"),
        costs: !has("no-costs"),
        timing: !has("analyze"),
        buffers: has("buffers"),
        summary: !has("no-summary"),
        memory: has("memory"),
        generic_plan: has("generic"),
        settings: false,
    };
    let asked = World { probe: if has("generic") { Probe::default() } else { world.probe.clone() }, ..world.clone() };
    let result = asked.plan();
    let trace = result.as_ref().ok().filter(|_| has("analyze")).map(traces::completed);
    let decision = match &result {
        Ok(planned) => Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        Err(PlanError::Infeasible(infeasible)) => Decision::Infeasible { goal: &world.goal, infeasible },
        Err(error) => return Err(error.to_string()),
    };
    let input = ExplainInput {
        decision,
        trace: trace.as_ref(),
        plan_cache: Some("bypassed: a golden plans anew"),
        planning: None,
        settings: &[],
        probe: None,
        options,
    };
    let mut value = explanation(&input);
    if has("redact") {
        value = redact(value);
    }
    let format = Format::ALL.into_iter().find(|format| has(format.as_str())).unwrap_or(Format::Text);
    let columns = width.map_or(TextOptions::default().width, |w| w as usize);
    Ok(render(&value, format, &TextOptions { width: columns }))
}
