//! `ctxrt sources`: the catalog's view of each source.

use crate::args::{Global, SourcesArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_types::catalog::SourceState;
use ctx_types::{SourceEntry, SourceName};
use serde_json::json;
use std::collections::BTreeMap;

pub(crate) async fn sources(global: &Global, args: &SourcesArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &args.sources, out).await?;
    let mut catalog = session.runtime.catalog().await?;
    let roles = args.who.principal().roles;
    let wanted = session.sources();
    catalog.sources.retain(|name, _| wanted.contains(name));
    let all = catalog.sources.len();
    catalog.sources.retain(|_, entry| entry.readable_to(&roles));
    let hidden = all - catalog.sources.len();
    show(&session, &catalog.sources, hidden, out)?;
    Ok(0)
}

/// The catalog's rows of the session's sources.
pub(crate) async fn print(session: &Session, out: &Out) -> Result<(), Failure> {
    let mut catalog = session.runtime.catalog().await?;
    let wanted = session.sources();
    catalog.sources.retain(|name, _| wanted.contains(name));
    show(session, &catalog.sources, 0, out)
}

/// These rows, and how many are hidden.
pub(crate) fn show(session: &Session, entries: &BTreeMap<SourceName, SourceEntry>, hidden: usize, out: &Out) -> Result<(), Failure> {
    if out.json() {
        let rows: Vec<_> = entries
            .iter()
            .map(|(name, entry)| {
                let mut value = serde_json::to_value(entry).unwrap_or_default();
                value["name"] = json!(name);
                value["path"] = json!(session.runtime.config().sources.get(name).map(|source| source.path.display().to_string()));
                value
            })
            .collect();
        let store = session.store.display().to_string();
        return out.document(&json!({ "schema_version": 1, "store": store, "sources": rows, "hidden": hidden }));
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|(name, entry)| {
            let path = session.runtime.config().sources.get(name).map(|source| source.path.display().to_string()).unwrap_or_default();
            vec![
                name.to_string(),
                entry.kind.to_string(),
                state(entry),
                entry.documents.to_string(),
                entry.passages.to_string(),
                entry.tokens.to_string(),
                entry.sensitivity.to_string(),
                path,
            ]
        })
        .collect();
    out.table(&["source", "kind", "state", "documents", "passages", "tokens", "label", "path"], &rows)?;
    // A cell holds the first words of a reason only.
    for (name, entry) in entries {
        if let SourceState::Unavailable { reason } = &entry.state {
            out.note(&format!("note: {name} is unavailable: {reason}"));
        }
    }
    if hidden > 0 {
        out.note(&format!("{hidden} more not shown: who asks may not read them (--role NAME)"));
    } else if rows.is_empty() {
        out.note("no source is configured; name one: --source docs=./docs");
    }
    Ok(())
}

/// The state in a word or two.
pub(crate) fn state(entry: &SourceEntry) -> String {
    match &entry.state {
        SourceState::Ready => "ready".to_owned(),
        SourceState::Empty => "empty".to_owned(),
        SourceState::NoStatistics => "not indexed".to_owned(),
        SourceState::Unavailable { reason } => format!("unavailable: {reason}"),
    }
}
