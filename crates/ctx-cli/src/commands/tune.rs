//! `ctxrt learn tune`: settings that serve a labelled collection better. The collection gets a store of its own; of the configuration
//! its weights, limits and retrieval settings count.

use super::eval::failure;
use crate::args::{Global, TuneArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::progress::Progress;
use crate::session;
use ctx_contracts::IndexEvent;
use ctx_eval::{Tuned, TuningOptions};
use serde_json::json;
use std::path::Path;

pub(crate) async fn tune(global: &Global, args: &TuneArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    if !(args.token_price.is_finite() && args.token_price >= 0.0) {
        return Err(Failure::input(format!("--token-price {}: expected a number of dollars, zero or more", args.token_price)));
    }
    if let Some(path) = &args.out {
        writable(path)?;
    }
    let (config, _) = session::configuration(global, out)?;
    let options =
        TuningOptions { trials: args.trials, seed: args.seed, queries_max: args.queries, token_usd_per_million: args.token_price };
    let progress = Progress::new(out);
    let index = |event: IndexEvent| progress.event(event);
    let runs = |done: usize| progress.step("trying settings", done, done);
    let token = interrupt.token();
    let tuned = tokio::select! {
        biased;
        () = token.cancelled() => return Err(Failure::cancelled(interrupt.code())),
        tuned = ctx_eval::tune(&args.dir, &config, &options, &index, &runs) => tuned.map_err(failure)?,
    };
    drop(progress);
    let fragment = tuned.fragment();
    if out.json() {
        out.document(&json!({ "schema_version": 1, "tuning": tuned, "verdict": tuned.verdict(), "fragment": fragment }))?;
    } else {
        out.text(&tuned.table())?;
    }
    match (&args.out, fragment) {
        (Some(path), Some(text)) => write(path, &text, out),
        (Some(path), None) => {
            out.note(&format!("{} is not written: {}", path.display(), why_not(&tuned)));
            Ok(0)
        }
        (None, _) => Ok(0),
    }
}

/// Found before the search and not after it: a file that stands is nobody's to overwrite, a folder may take none.
fn writable(path: &Path) -> Result<(), Failure> {
    let made = std::fs::File::create_new(path).and_then(|_| std::fs::remove_file(path));
    made.map_err(|error| {
        Failure::input(format!("--out {}: {error}; name a file that does not exist yet, in a folder that can be written", path.display()))
    })
}

fn why_not(tuned: &Tuned) -> &'static str {
    if tuned.chosen.is_empty() { "there is nothing to change" } else { "the chosen settings may be worse" }
}

fn write(path: &Path, text: &str, out: &Out) -> Result<u8, Failure> {
    std::fs::write(path, text).map_err(|error| Failure::input(format!("writing the chosen settings to {}: {error}", path.display())))?;
    out.note(&format!("the chosen settings are in {}; copy them into your configuration", path.display()));
    Ok(0)
}
