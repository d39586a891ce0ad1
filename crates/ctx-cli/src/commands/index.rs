//! `ctxrt index` and `ctxrt analyze`: bring sources up to date, say what was left out and why.

use crate::args::{Global, IndexArgs, SourceArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::{Progress, summary};
use crate::session::{Session, until, warn};
use ctx_contracts::{IndexEvent, IndexOptions, IndexReport};
use ctx_types::SourceName;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(crate) async fn index(global: &Global, args: &IndexArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, &args.sources, out).await?;
    let sources = named(&session)?;
    let progress = Progress::new(out);
    let show = |event: IndexEvent| progress.event(event);
    let options = IndexOptions { purge: args.purge, rebuild: args.rebuild, max_chunk_tokens: args.max_chunk_tokens };
    let reports = until(interrupt, session.runtime.parts().store.index(&sources, options, &show)).await??;
    drop(progress);
    if args.purge {
        // Stored answers to be given again repeat text too.
        session.runtime.clear_result_cache().await?;
    }
    print(&reports, out)
}

pub(crate) async fn analyze(global: &Global, args: &SourceArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let session = Session::open(global, args, out).await?;
    let sources = named(&session)?;
    let progress = Progress::new(out);
    let show = |event: IndexEvent| progress.event(event);
    let reports = until(interrupt, session.runtime.parts().store.index(&sources, IndexOptions::default(), &show)).await??;
    let failed: BTreeSet<&str> = reports.iter().filter(|r| r.failure.is_some()).map(|r| r.source.as_str()).collect();
    let sources: Vec<SourceName> = sources.into_iter().filter(|name| !failed.contains(name.as_str())).collect();
    let engine = Arc::clone(&session.engine);
    let none = sources.is_empty();
    let timed = tokio::task::spawn_blocking(move || if none { Ok(()) } else { engine.analyze(&sources, &|_| {}) }).await;
    timed.map_err(|e| Failure::internal(format!("timing the access paths: {e}")))?.map_err(|e| e.into_plugin("analyzing sources"))?;
    drop(progress);
    session.runtime.publish().await?;
    warn(&reports, out);
    super::sources::print(&session, out).await?;
    Ok(exit_code(&reports))
}

fn named(session: &Session) -> Result<Vec<SourceName>, Failure> {
    let sources = session.sources();
    if sources.is_empty() {
        return Err(Failure::input("no source is configured").with_hint("name one: --source docs=./docs"));
    }
    Ok(sources)
}

/// That of the first source that failed.
pub(crate) fn exit_code(reports: &[IndexReport]) -> u8 {
    let first = reports.iter().find_map(|report| report.failure.clone());
    first.map_or(0, |error| Failure::from(error).code())
}

/// What was indexed, and what was not; gives the exit code.
pub(crate) fn print(reports: &[IndexReport], out: &Out) -> Result<u8, Failure> {
    warn(reports, out);
    if out.json() {
        out.document(&json!({ "schema_version": 1, "sources": reports }))?;
        return Ok(exit_code(reports));
    }
    let mut text = String::new();
    for report in reports.iter().filter(|report| report.failure.is_none()) {
        text.push_str(&summary(report));
        text.push_str(&format!("; generation {}{}\n", report.generation, if report.merged { ", merged" } else { "" }));
        let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
        for skipped in &report.skipped {
            *reasons.entry(skipped.reason.as_str()).or_default() += 1;
        }
        let listed: u64 = reasons.values().sum();
        for (reason, n) in reasons {
            text.push_str(&format!("  skipped {n}: {reason}\n"));
        }
        if report.skipped_total > listed {
            text.push_str(&format!("  skipped {} more\n", report.skipped_total - listed));
        }
        if report.traces_blanked > 0 {
            text.push_str(&format!("  {} recorded runs no longer show text that is gone\n", report.traces_blanked));
        }
    }
    out.text(&text)?;
    Ok(exit_code(reports))
}
