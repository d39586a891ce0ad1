//! `ctxrt run`: the answer with its sources.

use super::replay;
use crate::args::{Global, RunArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, status_name};
use crate::request;
use crate::session::{Session, lines};
use ctx_explain::escape;
use ctx_runtime::RunReport;
use ctx_types::{Infeasible, Operator, Outcome, Stage, Status, Strategy};
use serde_json::{Value, json};

/// Version of the JSON document.
const SCHEMA_VERSION: u32 = 1;

pub(crate) async fn run(global: &Global, args: &RunArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let request = &args.goal.request;
    let session = Session::open(global, &request.sources, out).await?;
    let goal = request::goal(args.goal.text(), request, session.named.clone(), session.runtime.config().costmodel.weights)?;
    if !request.no_index
        && let Err(failure) = session.freshen(&request.wishes.who, out, interrupt).await
        && !interrupt.token().is_cancelled()
    {
        return Err(failure);
    }
    // A run that was cancelled before it began leaves its trace too.
    let report = match &args.record {
        None => session.runtime.run_until(&goal, interrupt.token()).await.map(|report| (report, Ok(()))),
        Some(file) => {
            let recorded = session.runtime.run_recorded(&goal, interrupt.token()).await;
            recorded.map(|(report, bundle)| (report, replay::write(&bundle, file)))
        }
    };
    session.close(out).await;
    let (report, written) = report?;
    let code = show(&session, &report, out, interrupt)?;
    written.map(|()| code)
}

/// The answer with its sources; gives the exit code. The trace is written by now: a reader that goes away loses nothing.
pub(crate) fn show(session: &Session, report: &RunReport, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let code = match report.outcome.status {
        Status::Cancelled => interrupt.code(),
        status => status.exit_code(),
    };
    if out.json() {
        out.document(&document(session, report, code)?)?;
    } else {
        print(session, report, out)?;
    }
    Ok(code)
}

fn document(session: &Session, report: &RunReport, code: u8) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(&report.outcome).map_err(|e| Failure::internal(format!("writing the outcome: {e}")))?;
    value["schema_version"] = json!(SCHEMA_VERSION);
    value["exit_code"] = json!(code);
    if let Some(said) = session.unrefreshed() {
        match value["notes"].as_array_mut() {
            Some(notes) => notes.push(json!(said)),
            None => value["notes"] = json!([said]),
        }
    }
    for (citation, shown) in report.outcome.citations.iter().zip(value["citations"].as_array_mut().into_iter().flatten()) {
        shown["open"] = json!(lines(&session.open_at(&citation.locator), &citation.locator));
    }
    if let Some(infeasible) = &report.infeasible {
        value["infeasible"] = json!({
            "binding": infeasible.binding, "missed_by": infeasible.missed_by, "conflict": infeasible.conflict, "relaxations": infeasible.relaxations, "joint": infeasible.joint,
        });
    }
    if report.outcome.status != Status::Completed {
        value["error"] = json!({ "kind": status_name(report.outcome.status), "message": message(report), "exit_code": code });
    }
    Ok(value)
}

/// Why there is no answer, in one sentence.
fn message(report: &RunReport) -> String {
    if let Some(infeasible) = &report.infeasible {
        return infeasible.to_string();
    }
    let outcome = &report.outcome;
    if outcome.status == Status::Cancelled {
        return "stopped by a signal".to_owned();
    }
    let findings = outcome.verdict.as_ref().filter(|verdict| !verdict.passed).map(|verdict| verdict.findings.join("; "));
    match (outcome.notes.last(), findings) {
        (_, Some(findings)) if outcome.status == Status::VerificationFailed => {
            format!("the answer did not pass its check and is withheld: {findings}")
        }
        (Some(note), _) => note.clone(),
        (None, _) if outcome.status == Status::Abstained => {
            "insufficient evidence: the passages found do not answer the question".to_owned()
        }
        (None, _) => format!("the run ended as {}", status_name(outcome.status)),
    }
}

fn print(session: &Session, report: &RunReport, out: &Out) -> Result<(), Failure> {
    let outcome = &report.outcome;
    if outcome.status == Status::Completed {
        out.text(&answer(session, outcome))?;
    } else if let Some(infeasible) = &report.infeasible {
        relaxations(infeasible, out);
    } else {
        out.note(&format!("{}: {}", status_name(outcome.status), message(report)));
    }
    let said = message(report);
    // What a check found stands in the message already.
    let found: &[String] = match &outcome.verdict {
        Some(verdict) if outcome.status == Status::VerificationFailed => &verdict.findings,
        _ => &[],
    };
    let untold = |note: &&String| outcome.status == Status::Completed || (**note != said && !found.contains(note));
    for note in outcome.notes.iter().filter(untold) {
        out.note(&format!("note: {note}"));
    }
    out.note(&summary(report));
    Ok(())
}

/// The answer, a blank line, one line per citation.
fn answer(session: &Session, outcome: &Outcome) -> String {
    let mut text = format!("{}\n", outcome.answer.trim_end());
    if !outcome.citations.is_empty() {
        text.push_str("\nSources:\n");
    }
    for citation in &outcome.citations {
        let place = lines(&session.open_at(&citation.locator), &citation.locator);
        let section = escape::line(&citation.locator.section);
        let gap = if section.is_empty() { "" } else { "  " };
        text.push_str(&format!("[{}] {}{gap}{section}\n", citation.label, escape::line(&place)));
        if !citation.locator.also_at.is_empty() {
            text.push_str(&format!("    the same at {}\n", escape::line(&citation.locator.also_at.join(", "))));
        }
    }
    text
}

fn relaxations(infeasible: &Infeasible, out: &Out) {
    out.note(&format!("infeasible: {infeasible}"));
    if infeasible.conflict.len() > 1 {
        out.note(&format!("  conflict: {}", infeasible.conflict.join(" and ")));
    }
    for relaxation in &infeasible.relaxations {
        match &relaxation.suffices {
            Some(value) => out.note(&format!("  would suffice: {} = {value} (now {})", relaxation.constraint, relaxation.now)),
            None => out.note(&format!("  not alone: {} (now {})", relaxation.constraint, relaxation.now)),
        }
    }
    if !infeasible.joint.is_empty() {
        let all: Vec<String> =
            infeasible.joint.iter().map(|r| format!("{} = {}", r.constraint, r.suffices.as_deref().unwrap_or("?"))).collect();
        out.note(&format!("  together: {}", all.join(", ")));
    }
}

/// One line: how it was made, what it cost, where to look.
fn summary(report: &RunReport) -> String {
    let outcome = &report.outcome;
    let mut parts = Vec::new();
    if outcome.status == Status::Completed && is_extractive(report) {
        parts.push("sentences quoted, not composed; `ctxrt doctor` shows how to add a model".to_owned());
    }
    if let Some(plan) = &outcome.plan {
        parts.push(plan.to_string());
    }
    parts.push(format!("trace {}", outcome.trace));
    let least = ctx_explain::least(outcome.spend.cost_incomplete);
    parts.push(format!("{least}{}", outcome.spend.cost));
    parts.push(outcome.spend.elapsed.to_string());
    parts.join(" · ")
}

fn is_extractive(report: &RunReport) -> bool {
    report
        .planned
        .as_ref()
        .and_then(|planned| planned.plan.chosen(&Stage::Answer))
        .is_some_and(|chosen| matches!(chosen.alternative.operator, Operator::Answer { strategy: Strategy::Extractive, .. }))
}
