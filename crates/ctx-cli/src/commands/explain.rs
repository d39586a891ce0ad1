//! `ctxrt explain`: the plan, why it won, why the others lost.

use super::diff;
use crate::args::{ExplainArgs, Format, Global, ShowArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Out, status_name, width};
use crate::request;
use crate::session::Session;
use ctx_explain::options::Requested;
use ctx_explain::{Decision, ExplainInput, Explanation, Options, TextOptions};
use ctx_runtime::{Choice, ExplainInputs, ExplainOptions};
use ctx_sql::ExplainOption;
use ctx_types::{Status, Trace};
use serde_json::json;

pub(crate) async fn explain(global: &Global, args: &ExplainArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let out = &Out::new(out.json() || args.format == Format::Json);
    if args.diff {
        return diff::diff(global, args, out).await;
    }
    let options = options(&args.show, args.format, out)?;
    let request = &args.goal.request;
    let session = Session::open(global, &request.sources, out).await?;
    let goal = request::goal(args.goal.text(), request, session.named.clone(), session.runtime.config().costmodel.weights)?;
    if !request.no_index {
        session.freshen(&request.wishes.who, out, interrupt).await?;
    }
    let asked = ExplainOptions { analyze: options.analyze, generic: options.generic_plan, simulate: false };
    let token = interrupt.token();
    let inputs = tokio::select! {
        biased;
        () = token.cancelled() => None,
        inputs = session.runtime.explain(&goal, asked) => Some(inputs),
    };
    // A peek leaves nothing behind; a run, and a cancelled run, leaves its trace.
    if options.analyze {
        session.close(out).await;
    }
    let Some(inputs) = inputs else { return Err(Failure::cancelled(interrupt.code())) };
    let inputs = inputs?;
    let mut explanation = explanation(&inputs, options);
    // A terminal was told already.
    explanation.notes.extend(session.unrefreshed().filter(|_| out.json()));
    let explanation = if args.redact { ctx_explain::redact(explanation) } else { explanation };
    let status = status(&inputs);
    print(&explanation, status, args.format, out)?;
    Ok(status.exit_code())
}

/// Options of a statement; what excludes each other is refused. Asked before anything is run.
pub(crate) fn check(options: &[ExplainOption]) -> Result<(), Failure> {
    stated(options).map(|_| ())
}

/// Shows an explanation with the options of a statement; gives the exit code.
pub(crate) fn show(inputs: &ExplainInputs, options: &[ExplainOption], out: &Out) -> Result<u8, Failure> {
    let (shown, format, redact) = stated(options)?;
    let explanation = explanation(inputs, shown);
    let explanation = if redact { ctx_explain::redact(explanation) } else { explanation };
    let status = status(inputs);
    print(&explanation, status, format, &Out::new(out.json() || format == Format::Json))?;
    Ok(status.exit_code())
}

/// Shows how two runs differ.
pub(crate) fn compare(a: &Trace, b: &Trace, options: &[ExplainOption], out: &Out) -> Result<u8, Failure> {
    let (_, format, _) = stated(options)?;
    diff::compare(a, b, &Out::new(out.json() || format == Format::Json))
}

fn stated(options: &[ExplainOption]) -> Result<(Options, Format, bool), Failure> {
    let (mut requested, mut format, mut redact) = (Requested::default(), Format::Text, false);
    for option in options {
        match *option {
            ExplainOption::Analyze(on) => requested.analyze = Some(on),
            ExplainOption::Verbose(on) => requested.verbose = Some(on),
            ExplainOption::Costs(on) => requested.costs = Some(on),
            ExplainOption::Timing(on) => requested.timing = Some(on),
            ExplainOption::Buffers(on) => requested.buffers = Some(on),
            ExplainOption::Settings(on) => requested.settings = Some(on),
            ExplainOption::Summary(on) => requested.summary = Some(on),
            ExplainOption::Memory(on) => requested.memory = Some(on),
            ExplainOption::GenericPlan(on) => requested.generic_plan = Some(on),
            ExplainOption::Redact(on) => redact = on,
            ExplainOption::Format(named) => format = of_statement(named),
        }
    }
    requested.verbose = requested.verbose.or((format == Format::Html).then_some(true));
    let resolved = requested.resolve().map_err(|error| Failure::input(error.to_string()))?;
    Ok((resolved, format, redact))
}

fn of_statement(format: ctx_sql::Format) -> Format {
    match format {
        ctx_sql::Format::Text => Format::Text,
        ctx_sql::Format::Json => Format::Json,
        ctx_sql::Format::Yaml => Format::Yaml,
        ctx_sql::Format::Mermaid => Format::Mermaid,
        ctx_sql::Format::Dot => Format::Dot,
        ctx_sql::Format::Html => Format::Html,
        ctx_sql::Format::Pg => Format::Pg,
    }
}

/// Options with their defaults. A page for a browser shows everything unless told otherwise.
fn options(args: &ShowArgs, format: Format, out: &Out) -> Result<Options, Failure> {
    let page = (format == Format::Html && !out.json()).then_some(true);
    let unless = |off: bool, told: Option<bool>| if off { Some(false) } else { told };
    let requested = Requested {
        analyze: args.analyze,
        verbose: args.verbose.or(page),
        costs: unless(args.no_costs, args.costs),
        timing: unless(args.no_timing, args.timing),
        buffers: args.buffers,
        settings: args.settings,
        summary: unless(args.no_summary, args.summary),
        memory: args.memory,
        generic_plan: args.generic_plan,
    };
    requested.resolve().map_err(|error| Failure::input(error.to_string()))
}

fn print(explanation: &Explanation, status: Status, format: Format, out: &Out) -> Result<(), Failure> {
    if out.json() {
        let mut value = ctx_explain::json(explanation);
        if status != Status::Completed {
            let message = explanation
                .infeasible
                .as_ref()
                .map_or_else(|| format!("the run ended as {}", status_name(status)), |i| format!("{}; {}", i.binding, i.missed_by));
            value["error"] = json!({ "kind": status_name(status), "message": message, "exit_code": status.exit_code() });
        }
        return out.document(&value);
    }
    let wide = TextOptions { width: width() };
    match format {
        Format::Text => out.text(&ctx_explain::text(explanation, &wide)),
        // The others have escaped by their own rules what a terminal would act on.
        other => output::raw(&ctx_explain::render(explanation, other.into(), &wide)),
    }
}

fn explanation(inputs: &ExplainInputs, options: Options) -> Explanation {
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
    let settings: Vec<(String, String)> = inputs.settings.iter().map(|row| (row.key.clone(), row.value.clone())).collect();
    let mut explanation = ctx_explain::explain(&ExplainInput {
        decision,
        trace: inputs.report.as_ref().map(|report| &report.trace),
        plan_cache: Some(&prepared.plan_cache),
        // Time read from a clock differs from one call to the next: it stands beside actuals only.
        planning: options.analyze.then_some(prepared.planning),
        settings: &settings,
        probe: Some(&prepared.probe),
        options,
    });
    explanation.notes.extend(prepared.notes.iter().cloned());
    explanation
}

/// The run's status, else whether there is a plan.
fn status(inputs: &ExplainInputs) -> Status {
    match (&inputs.report, &inputs.prepared.choice) {
        (Some(report), _) => report.outcome.status,
        (None, Choice::Infeasible(_)) => Status::Infeasible,
        (None, Choice::Planned(_)) => Status::Completed,
    }
}
