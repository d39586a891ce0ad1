//! `ctxrt sql`: a person's own SQL over the tables of one source. Checked by the engine before it runs: one SELECT, no files,
//! no effects; bounded in rows, bytes and time.

use crate::args::{Global, SqlArgs, WhoArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, width};
use crate::session::Session;
use crate::table::table;
use ctx_types::SourceName;
use serde_json::json;

pub(crate) async fn sql(global: &Global, args: &SqlArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, &args.sources, out).await?;
    let source = only_tables(&session, &args.who)?;
    session.readable(&args.who, std::slice::from_ref(&source), out).await?;
    if !args.no_index {
        session.freshen(&args.who, out, interrupt).await?;
    }
    let (engine, name, text) = (session.engine.clone(), source.clone(), args.text.clone());
    let ran = tokio::task::spawn_blocking(move || engine.sql(&name, &text)).await;
    let computed = ran.map_err(|error| Failure::internal(format!("running the SQL: {error}")))?;
    let computed = computed.map_err(|error| {
        let failure = Failure::input(error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    if out.json() {
        out.document(&json!({
            "schema_version": 1, "source": source, "sql": computed.sql.text, "columns": computed.columns, "rows": computed.rows,
            "cut": computed.cut,
        }))?;
    } else {
        let head: Vec<&str> = computed.columns.iter().map(String::as_str).collect();
        let rows: Vec<Vec<String>> =
            computed.rows.iter().map(|row| row.iter().map(|cell| cell.clone().unwrap_or_else(|| "NULL".to_owned())).collect()).collect();
        out.text(&table(&head, &rows, width()))?;
    }
    if let Some(limit) = computed.cut {
        out.note(&format!("note: cut at the limit of {limit}"));
    }
    Ok(0)
}

/// The one source of tables among those named or configured.
fn only_tables(session: &Session, who: &WhoArgs) -> Result<SourceName, Failure> {
    let offers = |name: &SourceName| session.engine.offers_tables(name).unwrap_or(false);
    let found: Vec<SourceName> = session.sources_of(who).into_iter().filter(offers).collect();
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::input("no source of tables is named").with_hint("name one: --source deploys:table=./deploys.csv")),
        _ => Err(Failure::input("several sources of tables are named").with_hint("name one with --source")),
    }
}
