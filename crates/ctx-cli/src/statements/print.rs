//! What a statement gave back, printed by the command that gives the same.

use crate::commands::{cache, explain, index, run, simulate, sources, stats, trace};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::session::{Reply, SettingLine};
use ctx_types::catalog::{Availability, Locality};
use ctx_types::{ModelEntry, ModelName, SourceEntry, SourceName};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Prints a reply; gives the exit code.
pub(super) fn reply(session: &Session, reply: &Reply, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    match reply {
        Reply::Answered(report) => return run::show(session, report, out, interrupt),
        Reply::Explained { inputs, options } => return explain::show(inputs, options, out),
        Reply::Compared { a, b, options } => return explain::compare(a, b, options, out),
        Reply::Quoted(quote) => simulate::show(quote, out)?,
        Reply::Indexed(reports) => return index::print(reports, out),
        Reply::Analyzed { reports, sources: entries } => {
            crate::session::warn(reports, out);
            sources::show(session, entries, 0, out)?;
            return Ok(index::exit_code(reports));
        }
        Reply::Sources(entries, hidden) => sources::show(session, entries, *hidden, out)?,
        Reply::SourceStatistics(name, entry) => source(name, entry, out)?,
        Reply::Models(entries) => models(entries, out)?,
        Reply::PlanCache(rows, counters, pins) => cache::list(rows, counters, pins, out)?,
        Reply::Statistics(rows, accounts) => stats::show(rows, accounts.as_deref(), &session.runtime, out)?,
        Reply::Traces(traces) => trace::list(traces, out)?,
        Reply::Trace(one) => trace::show(one, out)?,
        Reply::Settings(lines) => settings(lines, out)?,
        Reply::Set { setting, in_force } => {
            let name = setting.key().name();
            done(out, "SET", &json!({ "set": { name: setting.value() }, "in_force": in_force }))?;
            if let Some(value) = in_force {
                out.note(&format!("note: {name} stays {value}: a session tightens what is configured and never loosens it"));
            }
        }
        Reply::Reset(key) => done(out, "RESET", &json!({ "reset": key.map(|key| key.name()) }))?,
        Reply::Created(name, true) => {
            done(out, "CREATE SOURCE", &json!({ "created": name }))?;
            if !out.json() {
                out.note(&format!("source {name} lasts as long as this session; below sources: in ctxrt.yaml it stays"));
            }
        }
        Reply::Created(name, false) => {
            done(out, "CREATE SOURCE", &json!({ "created": Value::Null, "exists": name }))?;
            out.note(&format!("note: there is a source {name} already, it stays as it is"));
        }
        Reply::Dropped(names) => done(out, "DROP SOURCE", &json!({ "dropped": names }))?,
    }
    Ok(0)
}

/// Nothing to show but that it was done.
fn done(out: &Out, tag: &str, value: &Value) -> Result<(), Failure> {
    if !out.json() {
        out.note(tag);
        return Ok(());
    }
    let mut value = value.clone();
    value["schema_version"] = json!(1);
    out.document(&value)
}

fn settings(lines: &[SettingLine], out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(&json!({ "schema_version": 1, "settings": lines }));
    }
    let shown = |line: &SettingLine| {
        vec![line.name.clone(), line.value.clone().unwrap_or_else(|| "-".to_owned()), line.origin.to_owned(), line.about.clone()]
    };
    out.table(&["setting", "value", "from", "meaning"], &lines.iter().map(shown).collect::<Vec<_>>())?;
    if lines.is_empty() {
        out.note("every setting has its default");
    }
    Ok(())
}

fn models(entries: &BTreeMap<ModelName, ModelEntry>, out: &Out) -> Result<(), Failure> {
    if out.json() {
        let rows: Vec<Value> = entries.iter().map(|(name, entry)| with_name(name.as_str(), entry)).collect();
        return out.document(&json!({ "schema_version": 1, "models": rows }));
    }
    let unknown = || "?".to_owned();
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|(name, entry)| {
            let state = match &entry.availability {
                Availability::Available => "available".to_owned(),
                Availability::Unavailable { reason } => format!("unavailable: {reason}"),
            };
            vec![
                name.to_string(),
                entry.model.clone(),
                entry.provider.clone(),
                match entry.locality {
                    Locality::Local => "local".to_owned(),
                    Locality::Remote => "remote".to_owned(),
                },
                entry.context_window.map_or_else(unknown, |tokens| tokens.to_string()),
                entry.accepts.to_string(),
                entry.good_for.join(", "),
                state,
            ]
        })
        .collect();
    out.table(&["model", "served as", "provider", "where", "window", "accepts", "good for", "state"], &rows)?;
    if rows.is_empty() {
        out.note("no model is configured: answers are quoted; `ctxrt doctor` shows how to add one");
    }
    Ok(())
}

fn with_name(name: &str, entry: &impl serde::Serialize) -> Value {
    let mut value = serde_json::to_value(entry).unwrap_or_default();
    value["name"] = json!(name);
    value
}

/// What ANALYZE knows about a source: one line per statistic, as `pg_stats` has one per column.
fn source(name: &SourceName, entry: &SourceEntry, out: &Out) -> Result<(), Failure> {
    if out.json() {
        return out.document(&json!({ "schema_version": 1, "source": with_name(name.as_str(), entry) }));
    }
    let listed = |counts: &BTreeMap<String, u64>| counts.iter().map(|(what, n)| format!("{what} {n}")).collect::<Vec<_>>().join(", ");
    let [p10, p50, p90, most] = entry.passage_tokens;
    let mut rows = vec![
        ("documents", entry.documents.to_string()),
        ("passages", entry.passages.to_string()),
        ("bytes", entry.bytes.to_string()),
        ("tokens", entry.tokens.to_string()),
        ("tokens of a passage", format!("{p10} / {p50} / {p90} / {most} (p10, p50, p90, most)")),
        ("distinct terms", entry.vocabulary.to_string()),
        ("languages, by passages", listed(&entry.languages)),
        ("label", entry.sensitivity.to_string()),
        ("sensitive values found", listed(&entry.sensitive_values)),
        ("generation", entry.generation.to_string()),
    ];
    if let Some(vectors) = &entry.embedding {
        rows.push(("vectors", format!("{} of {} dimensions by {}", vectors.vectors, vectors.dimension, vectors.model)));
    }
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(|(what, value)| vec![what.to_owned(), value]).collect();
    for access in &entry.access {
        let (usual, slow) = (&access.latency_p50, &access.latency_p90);
        rows.push(vec![format!("time of {}", access.path), format!("{} (p90 {}) {}", usual.value, slow.value, usual.certainty)]);
    }
    out.table(&["statistic", "value"], &rows)
}
