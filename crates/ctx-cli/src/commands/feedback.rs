//! `ctxrt feedback`: how right the answer of a run was.

use super::trace::{TRACES_MAX, newest, one};
use crate::args::{FeedbackArgs, Global, SaidBy, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_runtime::FeedbackBy;
use ctx_types::{Ppm, Trace};

pub(crate) async fn feedback(global: &Global, args: &FeedbackArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, &SourceArgs::default(), out).await?;
    // Runs of other tenants do not exist for who asks.
    let tenant = args.who.principal().tenant;
    let mut traces = session.runtime.parts().store.traces(TRACES_MAX).await?;
    traces.retain(|trace| trace.tenant == tenant);
    let by = match args.by {
        SaidBy::User => FeedbackBy::User,
        SaidBy::Gold => FeedbackBy::Gold,
        SaidBy::Judge => FeedbackBy::Judge,
    };
    let said = session.runtime.feedback(named(&traces, &args.trace)?, score(args), by).await?;
    session.runtime.flush().await?;
    if out.json() {
        out.document(&said)?;
        return Ok(0);
    }
    let heard = format!("{}: {}", said.trace, said.score);
    match &said.reason {
        None => out.text(&format!("{heard}, counted; estimates follow when outcomes are absorbed (ctxrt stats shows what waits)\n"))?,
        Some(reason) => out.text(&format!("{heard}, kept and not counted: {reason}\n"))?,
    }
    Ok(0)
}

fn named<'a>(traces: &'a [Trace], id: &str) -> Result<&'a Trace, Failure> {
    if id == "last" { newest(traces) } else { one(traces, id) }
}

fn score(args: &FeedbackArgs) -> Ppm {
    match args.score {
        Some(score) => score,
        None if args.right => Ppm::ONE,
        None => Ppm(0),
    }
}
