//! `ctxrt replay`: a recorded run, planned and executed again.

use super::run;
use crate::args::{Global, ReplayArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::session::Session;
use ctx_explain::escape;
use ctx_runtime::replay::{Bundle, ReplayError};
use ctx_runtime::{Choice, RuntimeError};
use serde_json::json;
use std::path::Path;

/// Exit code of a replay that came out otherwise than it was recorded.
const DIFFERENT: u8 = 1;

pub(crate) async fn replay(global: &Global, args: &ReplayArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let bundle = read(&args.bundle)?;
    let session = Session::open(global, &args.sources, out).await?;
    if args.plan_only {
        let choice = session.runtime.replan(&bundle)?;
        let id = match &choice {
            Choice::Planned(planned) => planned.plan.id.to_string(),
            Choice::Infeasible(infeasible) => format!("infeasible: {infeasible}"),
        };
        if out.json() {
            out.document(&json!({ "schema_version": 1, "same_plan": true, "plan": id }))?;
        } else {
            out.text(&format!("{}: the same plan, byte for byte\n", escape::line(&id)))?;
        }
        return Ok(0);
    }
    let replayed = session.runtime.replay(&bundle).await?;
    let code = run::show(&session, &replayed.report, out, interrupt)?;
    if replayed.differences.is_empty() {
        out.note(&format!("replayed {}: the same plan, answer, citations and cost", bundle.trace.id));
        return Ok(code);
    }
    out.note(&format!("replayed {}: the same plan, and", bundle.trace.id));
    replayed.differences.iter().for_each(|line| out.note(&format!("  {}", escape::line(line))));
    Ok(DIFFERENT)
}

fn read(path: &Path) -> Result<Bundle, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::input(format!("reading the bundle {}: {e}", path.display())))?;
    let wrong = |error: ReplayError| Failure::from(RuntimeError::from(error));
    Bundle::from_json(&text).map_err(wrong)
}

/// Writes a bundle, whole or not at all.
pub(crate) fn write(bundle: &Bundle, path: &Path) -> Result<(), Failure> {
    let failed = |error: String| Failure::input(format!("recording the run: {error}; the run itself is done and its trace is kept"));
    ctx_embedded::replace_file(path, bundle.to_json().as_bytes()).map_err(|error| failed(error.to_string()))
}
