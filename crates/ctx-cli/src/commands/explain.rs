//! `ctxrt explain`: the plan, why it won, why the others lost.

use crate::args::{ExplainArgs, Format, Global};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, status_name, width};
use crate::request;
use crate::session::Session;
use ctx_explain::{Decision, ExplainInput, Explanation, Options, TextOptions};
use ctx_runtime::{Choice, ExplainInputs, ExplainOptions};
use ctx_types::Status;
use serde_json::json;

pub(crate) async fn explain(global: &Global, args: &ExplainArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let out = &Out::new(out.json() || args.format == Format::Json);
    let session = Session::open(global, &args.goal.sources, out).await?;
    let goal = request::goal(&args.goal, session.named.clone(), session.runtime.config().costmodel.weights)?;
    if !args.goal.no_index {
        session.freshen(out, interrupt).await?;
    }
    let options = ExplainOptions { analyze: args.analyze, simulate: false };
    let token = interrupt.token();
    let inputs = tokio::select! {
        biased;
        () = token.cancelled() => None,
        inputs = session.runtime.explain(&goal, options) => Some(inputs),
    };
    // A peek leaves nothing behind; a run, and a cancelled run, leaves its trace.
    if args.analyze {
        session.close(out).await;
    }
    let Some(inputs) = inputs else { return Err(Failure::cancelled(interrupt.code())) };
    let inputs = inputs?;
    let explanation = explanation(&inputs, args);
    let status = status(&inputs);
    if out.json() {
        let mut value = ctx_explain::json(&explanation);
        if status != Status::Completed {
            let message = explanation
                .infeasible
                .as_ref()
                .map_or_else(|| format!("the run ended as {}", status_name(status)), |i| format!("{}; {}", i.binding, i.missed_by));
            value["error"] = json!({ "kind": status_name(status), "message": message, "exit_code": status.exit_code() });
        }
        out.document(&value)?;
    } else {
        out.text(&ctx_explain::text(&explanation, &TextOptions { width: width() }))?;
    }
    Ok(status.exit_code())
}

fn explanation(inputs: &ExplainInputs, args: &ExplainArgs) -> Explanation {
    let prepared = &inputs.prepared;
    let decision = match &prepared.choice {
        Choice::Planned(planned) => Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        Choice::Infeasible(infeasible) => Decision::Infeasible { goal: &prepared.goal, infeasible },
    };
    let settings: Vec<(String, String)> =
        if args.settings { inputs.settings.iter().map(|row| (row.key.clone(), row.value.clone())).collect() } else { Vec::new() };
    let mut explanation = ctx_explain::explain(&ExplainInput {
        decision,
        trace: inputs.report.as_ref().map(|report| &report.trace),
        plan_cache: Some(&prepared.plan_cache),
        // Time read from a clock differs from one call to the next: it stands beside actuals only.
        planning: args.analyze.then_some(prepared.planning),
        settings: &settings,
        options: Options {
            verbose: args.verbose,
            costs: !args.no_costs,
            timing: !args.no_timing,
            buffers: args.buffers,
            summary: !args.no_summary,
        },
    });
    explanation.notes.extend(prepared.notes.iter().cloned());
    if args.redact { ctx_explain::redact(explanation) } else { explanation }
}

/// The run's status, else whether there is a plan.
fn status(inputs: &ExplainInputs) -> Status {
    match (&inputs.report, &inputs.prepared.choice) {
        (Some(report), _) => report.outcome.status,
        (None, Choice::Infeasible(_)) => Status::Infeasible,
        (None, Choice::Planned(_)) => Status::Completed,
    }
}
