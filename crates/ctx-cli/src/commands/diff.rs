//! `ctxrt explain --diff A B`: two plans or runs against each other. Nothing is planned, run or indexed.

use super::trace::{TRACES_MAX, one};
use crate::args::{ExplainArgs, Global, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_explain::Explanation;
use ctx_explain::diff::{Side, diff as difference, text};
use ctx_types::{Plan, Trace};
use serde_json::Value;
use std::path::Path;

/// Largest file that is read as a plan or a run.
const FILE_BYTES_MAX: u64 = 256 << 20;

pub(crate) async fn diff(global: &Global, args: &ExplainArgs, out: &Out) -> Result<u8, Failure> {
    let first = args.goal.text();
    let Some(second) = args.other.as_deref() else {
        return Err(Failure::input("comparing: there is nothing to compare with").with_hint("write `ctxrt explain --diff A B`"));
    };
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let (a, b) = (side(&session, first).await?, side(&session, second).await?);
    let found = difference(&a, &b);
    if out.json() {
        out.document(&found)?
    } else {
        out.text(&text(&found))?
    }
    Ok(0)
}

/// Two runs against each other, each named by its id.
pub(super) fn compare(a: &Trace, b: &Trace, out: &Out) -> Result<u8, Failure> {
    let found = difference(&Side::of_trace(a.id.clone(), a), &Side::of_trace(b.id.clone(), b));
    if out.json() {
        out.document(&found)?
    } else {
        out.text(&text(&found))?
    }
    Ok(0)
}

/// A file where there is one of this name, else an id.
async fn side(session: &Session, name: &str) -> Result<Side, Failure> {
    let path = Path::new(name);
    if path.is_file() { from_file(session, name, path).await } else { from_id(session, name).await }
}

async fn from_file(session: &Session, name: &str, path: &Path) -> Result<Side, Failure> {
    let wrong = |cause: String| Failure::input(format!("reading {name} as a plan or a run: {cause}"));
    let size = path.metadata().map_err(|e| wrong(e.to_string()))?.len();
    if size > FILE_BYTES_MAX {
        return Err(wrong(format!("it has {size} bytes, more than {FILE_BYTES_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let has = |key: &str| value.get(key).is_some_and(|v| !v.is_null());
    if has("chosen") && has("stamps") {
        let plan: Plan = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
        return planned(session, name, plan);
    }
    if has("nodes") && has("outcome") {
        let trace: Trace = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
        return Ok(Side::of_trace(name, &trace));
    }
    if has("intent") && has("options") {
        let explanation: Explanation = serde_json::from_value(value).map_err(|e| wrong(e.to_string()))?;
        return Ok(Side::of_explanation(name, &explanation));
    }
    // What `run --json` writes names its trace.
    match value.get("trace").and_then(Value::as_str) {
        Some(id) => from_id(session, id).await,
        None => Err(wrong("it holds neither an explanation nor a plan, a trace or an outcome".to_owned())
            .with_hint("`ctxrt explain --json`, `ctxrt run --json` and `ctxrt trace show --json` write such files")),
    }
}

fn planned(session: &Session, name: &str, plan: Plan) -> Result<Side, Failure> {
    let planned = session.runtime.build_context(&plan)?;
    let explanation = ctx_explain::explain(&ctx_explain::ExplainInput {
        decision: ctx_explain::Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        trace: None,
        plan_cache: None,
        planning: None,
        settings: &[],
        probe: None,
        options: ctx_explain::Options::default(),
    });
    Ok(Side::of_explanation(name, &explanation))
}

/// A cached plan, else a run, by id or its beginning; of a plan that is no longer cached, its newest run.
async fn from_id(session: &Session, name: &str) -> Result<Side, Failure> {
    if let Some(plan) = session.runtime.cached_plan(name) {
        return planned(session, name, Plan::clone(&plan));
    }
    let traces = session.runtime.parts().store.traces(TRACES_MAX).await?;
    if let Some(trace) = traces.iter().find(|trace| name.starts_with("plan_") && trace.plan.0.starts_with(name)) {
        return Ok(Side::of_trace(name, trace));
    }
    let trace = one(&traces, name)
        .map_err(|e| e.with_hint("a side is a file, a plan id (`ctxrt cache list`) or a trace id (`ctxrt trace list`)"))?;
    Ok(Side::of_trace(name, trace))
}
