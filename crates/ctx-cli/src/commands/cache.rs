//! `ctxrt cache`: the plan cache.

use crate::args::{CacheCommand, Global, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::{CacheRow, Counters};
use ctx_types::Micros;
use serde_json::json;

pub(crate) async fn cache(global: &Global, command: &CacheCommand, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    match command {
        CacheCommand::List => {
            let (rows, counters) = session.runtime.plan_cache();
            list(&rows, &counters, out)?;
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
    out.note(&format!("{} hits, {} misses, {} evicted", counters.hits, counters.misses(), counters.evicted));
    Ok(())
}
