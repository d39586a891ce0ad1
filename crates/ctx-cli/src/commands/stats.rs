//! `ctxrt stats`: what past runs taught, like `pg_stats`.

use crate::args::{Global, SourceArgs, StatsArgs, StatsCommand};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_explain::escape;
use ctx_runtime::{AccountRow, Origin, Runtime, StatRow, Statistics};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// Largest file that is imported: 64 MiB; a full store of one tenant exports to a few.
const IMPORT_BYTES_MAX: u64 = 64 << 20;

pub(crate) async fn stats(global: &Global, args: &StatsArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    match &args.command {
        None => {
            let statistics = session.runtime.statistics().await?;
            let accounts = session.runtime.accounts().await?;
            show(&statistics.rows(), Some(accounts.as_slice()), &session.runtime, out)?;
            if !out.json() {
                statistics.origins().for_each(|origin| out.note(&imported(origin)));
            }
        }
        Some(StatsCommand::Export { file }) => export(&session.runtime, file, out).await?,
        Some(StatsCommand::Import { file }) => import(&session.runtime, file, out).await?,
    }
    Ok(0)
}

async fn export(runtime: &Runtime, file: &Path, out: &Out) -> Result<(), Failure> {
    let statistics = runtime.statistics().await?;
    let text = statistics.to_json() + "\n";
    if file.as_os_str() == "-" {
        return out.text(&text);
    }
    ctx_embedded::replace_file(file, text.as_bytes()).map_err(|error| Failure::input(format!("exporting statistics: {error}")))?;
    told(json!({ "schema_version": 1, "exported": statistics.len() }), &format!("{} keys written", statistics.len()), out)
}

async fn import(runtime: &Runtime, file: &Path, out: &Out) -> Result<(), Failure> {
    let reading = |cause: String| Failure::input(format!("importing statistics from {}: {cause}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| reading(error.to_string()))?.len();
    if size > IMPORT_BYTES_MAX {
        return Err(reading(format!("{size} bytes, at most {IMPORT_BYTES_MAX} are read")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| reading(error.to_string()))?;
    let imported =
        Statistics::from_json(&text).map_err(|error| reading(error.to_string()).with_hint("a file that `ctxrt stats export` wrote"))?;
    let (keys, name) = (imported.len(), file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()));
    if !runtime.import_statistics(imported, &name).await? {
        return Err(Failure::internal("importing statistics: another process writes to the store").with_hint("try again when it is done"));
    }
    told(json!({ "schema_version": 1, "imported": keys }), &format!("{keys} keys imported"), out)
}

fn told(document: serde_json::Value, words: &str, out: &Out) -> Result<(), Failure> {
    if out.json() { out.document(&document) } else { out.text(&format!("{words}\n")) }
}

fn imported(origin: &Origin) -> String {
    format!("imported from {}: {} keys, up to {} outcomes", escape::line(&origin.name), origin.keys, origin.outcomes)
}

/// These rows, what tenants have spent where that was asked for, and how the plan cache does.
pub(crate) fn show(rows: &[StatRow], accounts: Option<&[AccountRow]>, runtime: &Runtime, out: &Out) -> Result<(), Failure> {
    let (entries, counters) = runtime.plan_cache();
    if out.json() {
        let cache = json!({ "entries": entries.len(), "counters": counters });
        let mut document = json!({ "schema_version": 1, "rows": rows, "plan_cache": cache });
        if let Some(accounts) = accounts {
            document["ledger"] = json!(accounts);
            document["cost_incomplete"] = json!(accounts.iter().any(|row| row.cost_incomplete));
            let unpriced: BTreeSet<&String> = accounts.iter().flat_map(|row| &row.unpriced_models).collect();
            document["unpriced_models"] = json!(unpriced);
        }
        return out.document(&document);
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
                if row.drift { "yes" } else { "-" }.to_owned(),
            ]
        })
        .collect();
    let head = ["field", "operator", "bucket", "size", "n", "bias", "q-error 50", "q-error 95", "90 % interval", "coverage", "drift"];
    out.table(&head, &shown)?;
    if shown.is_empty() {
        out.note("no run was observed yet: estimates are priors");
    }
    accounts.unwrap_or_default().iter().for_each(|row| out.note(&account(row)));
    out.note(&format!("plan cache: {} plans, {} hits, {} misses", entries.len(), counters.hits, counters.misses()));
    Ok(())
}

/// `tenant acme: $0.10 of $2.00 this day, 1200 tokens, 3 calls`
fn account(row: &AccountRow) -> String {
    let of = |limit: Option<String>| limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    let (spent, per) = (&row.spent, row.per);
    let (dollars, tokens) = (of(row.max_cost.map(|cost| cost.to_string())), of(row.max_tokens.map(|tokens| tokens.to_string())));
    let failed = if spent.failed > 0 { format!(", {} failed", spent.failed) } else { String::new() };
    let uncertain = match (spent.assumed, spent.estimated) {
        (0, 0) => String::new(),
        (assumed, estimated) => format!("; {assumed} assumed, {estimated} estimated"),
    };
    let least = ctx_explain::least(row.cost_incomplete);
    let calls = |(model, calls): (&String, &u64)| format!("{} × {calls}", escape::line(model));
    let dark: Vec<String> = spent.unpriced.iter().map(calls).collect();
    let dark = if dark.is_empty() { String::new() } else { format!("; not in the sum, price unknown: {}", dark.join(", ")) };
    format!(
        "tenant {}: {least}{}{dollars} this {per}, {}{tokens} tokens, {} calls{failed}{uncertain}{dark}",
        escape::line(&row.tenant),
        spent.cost,
        spent.tokens,
        spent.calls
    )
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
