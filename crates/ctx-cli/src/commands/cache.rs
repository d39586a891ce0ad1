//! `ctxrt cache`: the plan cache.

use crate::args::{CacheCommand, Global, SourceArgs};
use crate::failure::{BAD_INPUT, Failure};
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{CacheRow, Counters, LoadReport};
use ctx_types::Micros;
use serde_json::json;

pub(crate) async fn cache(global: &Global, command: &CacheCommand, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    match command {
        CacheCommand::List => {
            let (rows, counters) = session.runtime.plan_cache();
            list(&rows, &counters, out)?;
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
            session.runtime.flush().await?;
            if out.json() {
                out.document(&json!({ "schema_version": 1, "forgotten": forgotten }))?;
            } else {
                out.text(&format!("{forgotten} plans forgotten\n"))?;
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

/// These plans.
pub(crate) fn list(rows: &[CacheRow], counters: &Counters, out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(&json!({ "schema_version": 1, "entries": rows, "counters": counters }));
    }
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let age = if row.expired { "expired".to_owned() } else { Micros(row.age_seconds.saturating_mul(1_000_000)).to_string() };
            vec![row.hits.to_string(), age, row.plan.chars().take(17).collect(), row.goal.clone()]
        })
        .collect();
    out.table(&["hits", "age", "plan", "goal"], &shown)?;
    out.note(&format!(
        "{} hits, {} by template, {} misses, {} evicted",
        counters.hits,
        counters.template_hits,
        counters.misses(),
        counters.evicted
    ));
    Ok(())
}
