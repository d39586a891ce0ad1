//! `ctxrt explain`: the plan, why it won, why the others lost.

use crate::args::{ExplainArgs, Format, Global};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, status_name, width};
use crate::request;
use crate::session::Session;
use ctx_explain::{Decision, ExplainInput, Explanation, Options, TextOptions};
use ctx_runtime::{Choice, ExplainInputs, ExplainOptions};
use ctx_sql::ExplainOption;
use ctx_types::{Status, Trace};
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
    let shown = Shown {
        options: Options {
            verbose: args.verbose,
            costs: !args.no_costs,
            timing: !args.no_timing,
            buffers: args.buffers,
            summary: !args.no_summary,
        },
        analyze: args.analyze,
        settings: args.settings,
        redact: args.redact,
    };
    print(&inputs?, shown, out)
}

/// What a reader asked to see.
#[derive(Clone, Copy, Default)]
struct Shown {
    options: Options,
    analyze: bool,
    settings: bool,
    redact: bool,
}

/// Options of a statement; an error names one that this build does not have. Asked before anything is run.
pub(crate) fn check(options: &[ExplainOption]) -> Result<(), Failure> {
    asked(options).map(|_| ())
}

/// Shows an explanation with the options of a statement; gives the exit code.
pub(crate) fn show(inputs: &ExplainInputs, options: &[ExplainOption], out: &Out) -> Result<u8, Failure> {
    let (shown, json) = asked(options)?;
    print(inputs, shown, &Out::new(out.json() || json))
}

fn asked(options: &[ExplainOption]) -> Result<(Shown, bool), Failure> {
    let mut shown = Shown::default();
    let mut json = false;
    for option in options {
        match *option {
            ExplainOption::Analyze(on) => shown.analyze = on,
            ExplainOption::Verbose(on) => shown.options.verbose = on,
            ExplainOption::Costs(on) => shown.options.costs = on,
            ExplainOption::Timing(on) => shown.options.timing = on,
            ExplainOption::Buffers(on) => shown.options.buffers = on,
            ExplainOption::Summary(on) => shown.options.summary = on,
            ExplainOption::Settings(on) => shown.settings = on,
            ExplainOption::Redact(on) => shown.redact = on,
            ExplainOption::Format(ctx_sql::Format::Text) => json = false,
            ExplainOption::Format(ctx_sql::Format::Json) => json = true,
            other => return Err(Failure::input(format!("EXPLAIN ({other}) is not in this build"))),
        }
    }
    Ok((shown, json))
}

/// Shows how two runs differ.
pub(crate) fn compare(_: &Trace, _: &Trace, _: &[ExplainOption], _: &Out) -> Result<u8, Failure> {
    Err(Failure::input("EXPLAIN DIFF is not in this build"))
}

fn print(inputs: &ExplainInputs, shown: Shown, out: &Out) -> Result<u8, Failure> {
    let explanation = explanation(inputs, shown);
    let status = status(inputs);
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

fn explanation(inputs: &ExplainInputs, shown: Shown) -> Explanation {
    let prepared = &inputs.prepared;
    // What ran, where the rest of a run was planned anew.
    let ran = inputs.report.as_ref().and_then(|report| report.planned.as_ref());
    let decision = match &prepared.choice {
        Choice::Planned(planned) => {
            let planned = ran.unwrap_or(planned);
            Decision::Planned { plan: &planned.plan, graph: &planned.graph }
        }
        Choice::Infeasible(infeasible) => Decision::Infeasible { goal: &prepared.goal, infeasible },
    };
    let settings: Vec<(String, String)> =
        if shown.settings { inputs.settings.iter().map(|row| (row.key.clone(), row.value.clone())).collect() } else { Vec::new() };
    let mut explanation = ctx_explain::explain(&ExplainInput {
        decision,
        trace: inputs.report.as_ref().map(|report| &report.trace),
        plan_cache: Some(&prepared.plan_cache),
        // Time read from a clock differs from one call to the next: it stands beside actuals only.
        planning: shown.analyze.then_some(prepared.planning),
        settings: &settings,
        options: shown.options,
    });
    explanation.notes.extend(prepared.notes.iter().cloned());
    if shown.redact { ctx_explain::redact(explanation) } else { explanation }
}

/// The run's status, else whether there is a plan.
fn status(inputs: &ExplainInputs) -> Status {
    match (&inputs.report, &inputs.prepared.choice) {
        (Some(report), _) => report.outcome.status,
        (None, Choice::Infeasible(_)) => Status::Infeasible,
        (None, Choice::Planned(_)) => Status::Completed,
    }
}
