//! One file per command. Each opens a session, does one thing and prints one result; the value is the exit code.

mod cache;
mod doctor;
mod eval;
mod explain;
mod index;
mod run;
mod scripts;
mod search;
mod simulate;
mod sources;
mod stats;
mod trace;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;

/// Runs the command; gives the exit code.
pub(crate) async fn dispatch(cli: Cli, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let global = &cli.global;
    match &cli.command {
        Command::Run(args) => run::run(global, args, out, interrupt).await,
        Command::Explain(args) => explain::explain(global, args, out, interrupt).await,
        Command::Simulate(args) => simulate::simulate(global, args, out, interrupt).await,
        Command::Index(args) => index::index(global, args, out, interrupt).await,
        Command::Search(args) => search::search(global, args, out, interrupt).await,
        Command::Sources(args) => sources::sources(global, args, out).await,
        Command::Analyze(args) => index::analyze(global, args, out, interrupt).await,
        Command::Stats => stats::stats(global, out).await,
        Command::Cache(command) => cache::cache(global, command, out).await,
        Command::Trace(command) => trace::trace(global, command, out).await,
        Command::Eval(args) => eval::eval(args, out, interrupt).await,
        Command::Doctor(args) => doctor::doctor(global, args, out).await,
        Command::Completions { shell } => scripts::completions(*shell),
        Command::Man => scripts::manual(),
    }
}
