//! `ctxrt sources`: the catalog's view of each source.

use crate::args::{Global, SourceArgs};
use crate::failure::Failure;
use crate::output::{Out, width};
use crate::session::Session;
use crate::table::table;
use ctx_types::SourceEntry;
use ctx_types::catalog::SourceState;
use serde_json::json;

pub(crate) async fn sources(global: &Global, args: &SourceArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, args, out).await?;
    print(&session, out).await?;
    Ok(0)
}

/// The catalog's rows of the session's sources.
pub(crate) async fn print(session: &Session, out: &Out) -> Result<(), Failure> {
    let catalog = session.runtime.catalog().await?;
    let wanted = session.sources();
    let entries: Vec<_> = catalog.sources.iter().filter(|(name, _)| wanted.contains(name)).collect();
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
        return out.document(&json!({ "schema_version": 1, "store": session.store.display().to_string(), "sources": rows }));
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|(name, entry)| {
            let path = session.runtime.config().sources.get(*name).map(|source| source.path.display().to_string()).unwrap_or_default();
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
    out.text(&table(&["source", "kind", "state", "documents", "passages", "tokens", "label", "path"], &rows, width()))?;
    if rows.is_empty() {
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
