//! `ctxrt eval`: access paths and the planner's choice on a labelled collection. The collection gets a store of its own.

use crate::args::EvalArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;
use ctx_contracts::IndexEvent;
use ctx_eval::{EvalError, Options};

pub(crate) async fn eval(args: &EvalArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let options = Options { split: args.split.clone(), run_out: args.run_out.clone(), queries_max: args.queries, ..Options::default() };
    let progress = Progress::new(out);
    let index = |event: IndexEvent| progress.event(event);
    let queries = |done: usize, all: usize| progress.step("asking queries", done, all);
    let token = interrupt.token();
    let report = tokio::select! {
        biased;
        () = token.cancelled() => return Err(Failure::cancelled(interrupt.code())),
        report = ctx_eval::evaluate(&args.dir, &options, &index, &queries) => report.map_err(failure)?,
    };
    drop(progress);
    if out.json() {
        out.document(&report)?;
    } else {
        out.text(&report.table())?;
    }
    Ok(0)
}

/// A folder that is no collection is bad input; an engine that fails is not.
pub(super) fn failure(error: EvalError) -> Failure {
    let failure = match &error {
        EvalError::Engine { .. } => Failure::internal(error.to_string()),
        _ => Failure::input(error.to_string()),
    };
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}
