//! `ctxrt cache`: the plan cache.

use crate::args::{CacheCommand, Global, SourceArgs};
use crate::failure::{BAD_INPUT, Failure};
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{CacheRow, Counters, LoadReport, Pin, ResultCounters};
use ctx_types::Micros;
use serde_json::json;

/// How far the proof is that answers to other words may be given.
fn compared((all, wrong, needed): (u32, u32, Option<u32>)) -> String {
    let needed = needed.map_or_else(String::new, |more| format!(" (about {more} more that say the same before any is given)"));
    format!("{all} compared, of which {wrong} said something else{needed}")
}

pub(crate) async fn cache(global: &Global, command: &CacheCommand, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    match command {
        CacheCommand::List => {
            let (rows, counters) = session.runtime.plan_cache();
            list(&rows, &counters, &session.runtime.pinned_plans(), out)?;
            let (stored, answers) = session.runtime.result_cache();
            if !out.json() && session.runtime.config().runtime.result_cache.enabled {
                let ResultCounters { hits, misses, saved_cost, saved_time, semantic_hits, semantic_checks } = answers;
                let other_words = match (semantic_hits, semantic_checks) {
                    (0, 0) => String::new(),
                    (hits, _) => format!("; for other words {hits} given, {}", compared(session.runtime.compared_answers())),
                };
                let told = format!("{stored} answers stored; {hits} given again, {misses} not{other_words}");
                out.note(&format!("{told}; {saved_cost} and {saved_time} saved"));
            }
        }
        CacheCommand::Pin { plan } => {
            let plan = session.runtime.pin_plan(plan).map_err(|error| Failure::input(error.to_string()))?;
            session.runtime.flush().await?;
            if out.json() {
                out.document(&json!({ "schema_version": 1, "plan": plan.id, "gist": plan.gist }))?;
            } else {
                out.note(&format!("goals like this one are planned as {} from here on", plan.gist));
            }
        }
        CacheCommand::Unpin { scope } => {
            let unknown = || {
                Failure::input(format!(
                    "unpinning {scope}: nothing, or more than one thing, is held under this name; `ctxrt cache list` shows what is"
                ))
            };
            let pin = session.runtime.unpin_plan(scope).ok_or_else(unknown)?;
            session.runtime.flush().await?;
            if out.json() {
                out.document(&json!({ "schema_version": 1, "unpinned": pin }))?;
            } else {
                out.note(&format!("{} was held by {}; its goals are planned freely from here on", pin.gist, pin.by));
            }
        }
        CacheCommand::Export { file } => {
            let bytes = session.runtime.export_plan_cache();
            let failed = |error: String| Failure::input(format!("exporting the plan cache: {error}"));
            ctx_embedded::replace_file(file, &bytes).map_err(|error| failed(error.to_string()))?;
            if out.json() {
                out.document(&json!({ "schema_version": 1, "file": file.display().to_string(), "bytes": bytes.len() }))?;
            } else {
                out.note(&format!("{} bytes written to {}", bytes.len(), file.display()));
            }
        }
        CacheCommand::Import { file } => {
            let bytes = std::fs::read(file).map_err(|e| Failure::input(format!("reading the plans {}: {e}", file.display())))?;
            let report = session.runtime.import_plan_cache(&bytes);
            session.runtime.flush().await?;
            imported(&report, out)?;
            return Ok(if report.loaded + report.known + report.expired == 0 && report.dropped > 0 { BAD_INPUT } else { 0 });
        }
        CacheCommand::Clear => {
            let forgotten = session.runtime.clear_plan_cache();
            let answers = session.runtime.clear_result_cache().await?;
            session.runtime.flush().await?;
            if out.json() {
                out.document(&json!({ "schema_version": 1, "forgotten": forgotten, "answers_forgotten": answers }))?;
            } else {
                out.text(&format!("{forgotten} plans and {answers} answers forgotten\n"))?;
            }
        }
    }
    Ok(0)
}

fn imported(report: &LoadReport, out: &Out) -> Result<(), Failure> {
    if out.json() {
        let LoadReport { loaded, known, expired, dropped, reasons } = report;
        return out.document(
            &json!({ "schema_version": 1, "loaded": loaded, "known": known, "expired": expired, "dropped": dropped, "reasons": reasons }),
        );
    }
    let LoadReport { loaded, known, expired, dropped, .. } = report;
    out.text(&format!("{loaded} plans taken in, {known} known already, {expired} outlived their time, {dropped} left out\n"))?;
    report.reasons.iter().for_each(|reason| out.note(&format!("note: {reason}")));
    Ok(())
}

/// Misses by cause, where there were any.
fn causes(counters: &Counters) -> String {
    let changed = counters.stale.iter().map(|(object, count)| (format!("{object} changed"), *count));
    let new = counters.absent.saturating_sub(counters.template_hits);
    let known = [("new words".to_owned(), new), ("expired".to_owned(), counters.expired)];
    let all: Vec<String> = known.into_iter().chain(changed).filter(|(_, count)| *count > 0).map(|(why, n)| format!("{n} {why}")).collect();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// These plans.
pub(crate) fn list(rows: &[CacheRow], counters: &Counters, pins: &[(String, Pin)], out: &Out) -> Result<(), Failure> {
    if out.json() {
        let pins: Vec<_> = pins.iter().map(|(scope, pin)| json!({ "scope": scope, "pin": pin })).collect();
        return out.document(&json!({ "schema_version": 1, "entries": rows, "counters": counters, "pins": pins }));
    }
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let age = if row.expired { "expired".to_owned() } else { Micros(row.age_seconds.saturating_mul(1_000_000)).to_string() };
            vec![row.hits.to_string(), age, row.kind.to_string(), row.plan.chars().take(17).collect(), row.goal.clone()]
        })
        .collect();
    out.table(&["hits", "age", "words", "plan", "goal"], &shown)?;
    if !pins.is_empty() {
        let held: Vec<Vec<String>> = pins
            .iter()
            .map(|(scope, pin)| {
                vec![scope.chars().take(12).collect(), pin.gist.0.chars().take(17).collect(), pin.by.to_string(), pin.goal.clone()]
            })
            .collect();
        out.table(&["scope", "held to", "by", "goal"], &held)?;
    }
    out.note(&format!(
        "{} hits of the same words, {} of the same kind ({} of them semantic, {} checked), {} misses{}; {} of planning saved; {} evicted, {} taken back",
        counters.hits,
        counters.template_hits,
        counters.semantic_hits,
        counters.semantic_checks,
        counters.misses(),
        causes(counters),
        counters.saved,
        counters.evicted,
        counters.reverted,
    ));
    Ok(())
}
