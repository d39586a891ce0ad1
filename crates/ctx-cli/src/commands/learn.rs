//! `ctxrt learn`: what other policies would have earned, how near estimators came, and fitting them.

use super::trace::TRACES_MAX;
use crate::args::{EstimatorsArgs, EvaluateArgs, Global, LearnCommand, SourceArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{EstimatorRow, Evaluation, Fitted, Gain, Group, Policy, PolicyWorth};
use serde_json::json;

/// Runs of the policy itself that the log must be worth before an interval says much.
const EFFECTIVE_MIN: f64 = 30.0;

pub(crate) async fn learn(global: &Global, command: &LearnCommand, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    match command {
        LearnCommand::Evaluate(args) => evaluate(global, args, out).await,
        LearnCommand::Estimators(args) => estimators(global, args, out).await,
        LearnCommand::Tune(args) => super::tune::tune(global, args, out, interrupt).await,
    }
}

async fn estimators(global: &Global, args: &EstimatorsArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let tenant = args.who.principal().tenant;
    let fitted = session.runtime.fit_estimators(&tenant, args.seed).await?;
    let found = session.runtime.compare_estimators(&tenant, args.seed).await?;
    if out.json() {
        out.document(&json!({ "schema_version": 1, "fitted": fitted_document(&fitted), "comparison": found }))?;
        return Ok(0);
    }
    show_fitted(&fitted, out)?;
    if found.runs == 0 {
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = found.rows.iter().map(estimator_row).collect();
    let head = ["field", "operator", "n", "prior 50", "prior 95", "learned 50", "learned 95", "gain, 95 %", "nearer"];
    out.table(&head, &rows)?;
    out.note(&format!(
        "{} runs compared; the other estimator would have planned {} of them otherwise",
        found.runs, found.planned_otherwise
    ));
    Ok(0)
}

/// What was fitted, on runs that the fit had not seen: q-errors (median, 95th percentile) of the three estimators.
fn show_fitted(fitted: &Fitted, out: &Out) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = fitted.groups.iter().map(fitted_row).collect();
    out.table(&["field", "operator", "fit", "held out", "prior", "learned", "neural", "neural gain, 95 %", "auto uses"], &rows)?;
    match fitted.outcomes {
        0 => out.note("nothing to fit: run goals, then ctxrt analyze"),
        n => out.note(&format!(
            "fitted on {n} outcomes, seed {}; q-errors (median, 95 %) on held-out runs; set costmodel.estimator to auto to use them",
            fitted.seed
        )),
    }
    Ok(())
}

fn fitted_row(group: &Group) -> Vec<String> {
    let errors = |(median, most): (u64, u64)| format!("{:.2} {:.2}", median as f64 / 1e6, most as f64 / 1e6);
    let nats = |millionths: i64| millionths as f64 / 1e6;
    let gain = &group.neural_over_learned;
    vec![
        group.field.as_str().to_owned(),
        format!("any {}", group.class.as_str()),
        group.trained.to_string(),
        group.judged.to_string(),
        errors(group.prior),
        errors(group.learned),
        group.neural.map_or_else(|| "-".to_owned(), errors),
        group
            .neural
            .map_or_else(|| "-".to_owned(), |_| format!("{:+.2}: {:+.2} to {:+.2}", nats(gain.mean), nats(gain.low), nats(gain.high))),
        group.best.to_string(),
    ]
}

/// The same for machines, without the weights.
fn fitted_document(fitted: &Fitted) -> serde_json::Value {
    let gain = |gain: &Gain| json!({ "mean": gain.mean as f64 / 1e6, "low": gain.low as f64 / 1e6, "high": gain.high as f64 / 1e6 });
    let errors = |(median, most): (u64, u64)| json!({ "p50": median as f64 / 1e6, "p95": most as f64 / 1e6 });
    let groups = fitted.groups.iter().map(|group| {
        json!({
            "field": group.field.as_str(), "class": group.class.as_str(), "fit": group.trained, "held_out": group.judged,
            "q_error": { "prior": errors(group.prior), "learned": errors(group.learned), "neural": group.neural.map(errors) },
            "learned_over_prior": gain(&group.learned_over_prior),
            "neural_over_learned": gain(&group.neural_over_learned),
            "neural_over_prior": gain(&group.neural_over_prior),
            "auto_uses": group.best.to_string(),
        })
    });
    json!({
        "fingerprint": fitted.fingerprint, "seed": fitted.seed, "outcomes": fitted.outcomes, "groups": groups.collect::<Vec<_>>(),
    })
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
