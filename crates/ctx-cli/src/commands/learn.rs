//! `ctxrt learn`: what other policies would have earned, and how near both estimators came.

use super::trace::TRACES_MAX;
use crate::args::{EstimatorsArgs, EvaluateArgs, Global, LearnCommand, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{EstimatorRow, Evaluation, Policy, PolicyWorth};
use serde_json::json;

/// Runs of the policy itself that the log must be worth before an interval says much.
const EFFECTIVE_MIN: f64 = 30.0;

pub(crate) async fn learn(global: &Global, command: &LearnCommand, out: &Out) -> Result<u8, Failure> {
    match command {
        LearnCommand::Evaluate(args) => evaluate(global, args, out).await,
        LearnCommand::Estimators(args) => estimators(global, args, out).await,
    }
}

async fn estimators(global: &Global, args: &EstimatorsArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let found = session.runtime.compare_estimators(&args.who.principal().tenant, args.seed).await?;
    if out.json() {
        out.document(&json!({ "schema_version": 1, "comparison": found }))?;
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = found.rows.iter().map(estimator_row).collect();
    let head = ["field", "operator", "n", "prior 50", "prior 95", "learned 50", "learned 95", "gain, 95 %", "nearer"];
    out.table(&head, &rows)?;
    out.note(&format!(
        "{} runs compared; the other estimator would have planned {} of them otherwise",
        found.runs, found.planned_otherwise
    ));
    if found.runs == 0 {
        out.note("nothing to compare: set learning.shadow and run goals");
    }
    Ok(0)
}

fn estimator_row(row: &EstimatorRow) -> Vec<String> {
    let two = |value: f64| format!("{value:.2}");
    vec![
        row.field.clone(),
        format!("any {}", row.class),
        row.n.to_string(),
        two(row.prior.0),
        two(row.prior.1),
        two(row.learned.0),
        two(row.learned.1),
        format!("{:+.2}: {:+.2} to {:+.2}", row.gain, row.interval.0, row.interval.1),
        row.nearer().unwrap_or("-").to_owned(),
    ]
}

async fn evaluate(global: &Global, args: &EvaluateArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let preferred = args.prefer.iter().cloned().map(Policy::Prefer);
    let policies: Vec<Policy> = [Policy::AsLogged, Policy::Best, Policy::Uniform].into_iter().chain(preferred).collect();
    let traces = session.runtime.parts().store.traces(TRACES_MAX).await?;
    let found = session.runtime.evaluate(&args.who.principal().tenant, &traces, &policies, args.seed).await?;
    if out.json() {
        out.document(&json!({ "schema_version": 1, "evaluation": found }))?;
        return Ok(0);
    }
    show(&found, out)?;
    Ok(0)
}

fn show(found: &Evaluation, out: &Out) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = found.policies.iter().map(row).collect();
    out.table(&["policy", "runs", "worth", "SNIPS", "95 %", "doubly robust", "95 %"], &rows)?;
    out.note(&format!(
        "{} runs in the log, {} could have been another plan, {} of these have feedback",
        found.runs, found.explored, found.labelled
    ));
    if found.labelled == 0 {
        out.note("nothing to evaluate: set learning.explore, run goals, and say how right their answers are with ctxrt feedback");
    } else if found.policies.iter().any(|p| p.evaluated.snips.effective < EFFECTIVE_MIN) {
        out.note("worth: so many runs of the policy itself would say as much; below 30 an interval means little");
    }
    Ok(())
}

fn row(worth: &PolicyWorth) -> Vec<String> {
    let e = &worth.evaluated;
    let interval = |(low, high): (f64, f64)| format!("{low:.3} to {high:.3}");
    vec![
        worth.policy.clone(),
        e.runs.to_string(),
        format!("{:.1}", e.snips.effective),
        format!("{:.3}", e.snips.value),
        interval(e.snips.interval),
        format!("{:.3}", e.doubly_robust.value),
        interval(e.doubly_robust.interval),
    ]
}
