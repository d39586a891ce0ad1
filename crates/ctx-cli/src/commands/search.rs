//! `ctxrt search`: what one access path finds, source by source, nothing fused and nothing hidden.

use crate::args::{Global, Leg, SearchArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{Out, width};
use crate::session::{Session, lines, until};
use ctx_contracts::RetrieveRequest;
use ctx_explain::escape;
use ctx_types::{AccessPath, Hit};
use serde_json::{Value, json};

pub(crate) async fn search(global: &Global, args: &SearchArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, &args.sources, out).await?;
    if session.sources().is_empty() {
        return Err(Failure::input("no source is configured").with_hint("name one: --source docs=./docs"));
    }
    if !args.no_index {
        session.freshen(&args.who, out, interrupt).await?;
    }
    let path = match args.path {
        Leg::Identifier => AccessPath::Identifier,
        Leg::Bm25 => AccessPath::Bm25,
        Leg::Dense => AccessPath::Dense,
        Leg::Whole => AccessPath::Whole,
    };
    let mut hits = Vec::new();
    let sources = session.sources_of(&args.who);
    if sources.is_empty() {
        return Err(Failure::blocked("readable_by: none of the sources may be read by who asks"));
    }
    for source in session.readable(&args.who, &sources, out).await? {
        let request = RetrieveRequest { source, path, query: args.query.clone(), k: args.k };
        hits.extend(until(interrupt, retrieve(&session, &request)).await??);
    }
    if out.json() {
        let hits: Vec<Value> = hits.iter().map(|hit| document(&session, hit)).collect();
        out.document(&json!({ "schema_version": 1, "path": path.as_str(), "hits": hits }))?;
    } else {
        out.text(&hits.iter().map(|hit| shown(&session, hit, width())).collect::<String>())?;
        if hits.is_empty() {
            out.note(&format!("nothing found by {}", path.as_str()));
        }
    }
    Ok(0)
}

/// The first retriever that serves the source answers, as in planning.
async fn retrieve(session: &Session, request: &RetrieveRequest) -> Result<Vec<Hit>, ctx_contracts::PluginError> {
    for retriever in &session.runtime.parts().retrievers {
        if retriever.describe().await?.contains_key(&request.source) {
            return Ok(retriever.retrieve(request).await?.value);
        }
    }
    Ok(Vec::new())
}

fn document(session: &Session, hit: &Hit) -> Value {
    let mut value = serde_json::to_value(hit).unwrap_or_default();
    value["open"] = json!(lines(&session.open_at(&hit.passage.locator), &hit.passage.locator));
    value
}

/// Rank, score and place, then the passage's first words.
fn shown(session: &Session, hit: &Hit, width: usize) -> String {
    let locator = &hit.passage.locator;
    let place = lines(&session.open_at(locator), locator);
    let exact = if hit.exact { " exact" } else { "" };
    let head = format!("{:>3}. {:.4}{exact}  {}", hit.rank, hit.score, escape::line(&place));
    let section = if locator.section.is_empty() { String::new() } else { format!("  {}", escape::line(&locator.section)) };
    let words: String = hit.passage.text.split_whitespace().take(60).collect::<Vec<_>>().join(" ");
    let words = escape::line(&words).into_owned();
    format!("{head}{section}\n     {}\n", escape::clip(&words, width.saturating_sub(5)))
}
