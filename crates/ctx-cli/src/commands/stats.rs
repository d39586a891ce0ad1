//! `ctxrt stats`: what past runs taught, like `pg_stats`.

use crate::args::{Global, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{Runtime, StatRow};
use serde_json::json;

pub(crate) async fn stats(global: &Global, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    let statistics = session.runtime.statistics();
    show(&statistics.rows(), &session.runtime, out)?;
    Ok(0)
}

/// These rows, and how the plan cache does.
pub(crate) fn show(rows: &[StatRow], runtime: &Runtime, out: &Out) -> Result<(), Failure> {
    let (entries, counters) = runtime.plan_cache();
    if out.json() {
        return out
            .document(&json!({ "schema_version": 1, "rows": rows, "plan_cache": { "entries": entries.len(), "counters": counters } }));
    }
    let shown: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.field.to_owned(),
                row.operator.clone().unwrap_or_else(|| format!("any {}", row.class)),
                row.bucket.unwrap_or("any").to_owned(),
                row.size.unwrap_or("any").to_owned(),
                row.n.to_string(),
                number(row.published_bias),
                number(row.q_error_p50),
                number(row.q_error_p95),
                interval(row.interval_low, row.interval_high),
                number(row.coverage),
            ]
        })
        .collect();
    let head = ["field", "operator", "bucket", "size", "n", "bias", "q-error 50", "q-error 95", "90 % interval", "coverage"];
    out.table(&head, &shown)?;
    if shown.is_empty() {
        out.note("no run was observed yet: estimates are priors");
    }
    out.note(&format!("plan cache: {} plans, {} hits, {} misses", entries.len(), counters.hits, counters.misses()));
    Ok(())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

fn interval(low: Option<f64>, high: Option<f64>) -> String {
    match (low, high) {
        (Some(low), Some(high)) => format!("{low:.2} to {high:.2}"),
        _ => "-".to_owned(),
    }
}
