//! One file per command. Each opens a session, does one thing and prints one result; the value is the exit code.

pub(crate) mod cache;
mod diff;
mod doctor;
mod eval;
pub(crate) mod explain;
mod feedback;
pub(crate) mod index;
mod learn;
mod replay;
pub(crate) mod run;
mod scripts;
mod search;
pub(crate) mod simulate;
pub(crate) mod sources;
mod sql;
pub(crate) mod stats;
pub(crate) mod trace;
mod tune;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Out;
use crate::statements;

/// Runs the command; gives the exit code.
pub(crate) async fn dispatch(cli: Cli, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    let global = &cli.global;
    let Some(command) = &cli.command else { return statements::batch(global, &cli.script, out, interrupt).await };
    if cli.script.is_given() {
        return Err(Failure::input("statements (-c, -f) and a command exclude each other")
            .with_hint("options of a command, such as --source, stand behind its name"));
    }
    match command {
        Command::Run(args) => run::run(global, args, out, interrupt).await,
        Command::Replay(args) => replay::replay(global, args, out, interrupt).await,
        Command::Explain(args) => explain::explain(global, args, out, interrupt).await,
        Command::Simulate(args) => simulate::simulate(global, args, out, interrupt).await,
        Command::Index(args) => index::index(global, args, out, interrupt).await,
        Command::Search(args) => search::search(global, args, out, interrupt).await,
        Command::Sql(args) => sql::sql(global, args, out, interrupt).await,
        Command::Sources(args) => sources::sources(global, args, out).await,
        Command::Analyze(args) => index::analyze(global, args, out, interrupt).await,
        Command::Stats(args) => stats::stats(global, args, out).await,
        Command::Cache(command) => cache::cache(global, command, out).await,
        Command::Trace(command) => trace::trace(global, command, out).await,
        Command::Feedback(args) => feedback::feedback(global, args, out).await,
        Command::Learn(command) => learn::learn(global, command, out, interrupt).await,
        Command::Eval(args) => eval::eval(args, out, interrupt).await,
        Command::Doctor(args) => doctor::doctor(global, args, out).await,
        Command::Shell(args) => statements::shell(global, args, out, interrupt).await,
        Command::Completions { shell } => scripts::completions(*shell, out),
        Command::Man => scripts::manual(out),
    }
}
