//! The `ctxrt` binary: flags, wiring, printing. No decision about a plan, an answer or a store is made here.
//!
//! Reading order: [`args`] (what can be typed) → [`sources`] and [`request`] (what it means) → [`session`] (a runtime over it)
//! → [`commands`] (one file each), [`statements`] (the same by statement) → [`output`], [`table`], [`failure`] (what comes
//! back). Manners, kept by every command: data on stdout and everything else on stderr; with `--json` exactly one document on
//! stdout, on failure too; a reader that goes away ends the program quietly; nothing from a file or a goal reaches the
//! terminal unescaped.

mod args;
mod commands;
mod failure;
mod interrupt;
mod numbers;
mod output;
mod progress;
mod request;
mod session;
mod sources;
mod statements;
mod table;

use args::Cli;
use clap::Parser;
use clap::error::ErrorKind;
use failure::Failure;
use interrupt::Interrupt;
use output::Out;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// Longest wait for work that goes on in the background after the answer is printed.
const SHUTDOWN_MAX: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    log_to_stderr();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let out = Out::new(cli.global.json);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return end(&out, Err(Failure::internal(format!("starting threads: {error}")))),
    };
    let interrupt = Interrupt::new();
    let result = runtime.block_on(async {
        interrupt.listen();
        commands::dispatch(cli, &out, &interrupt).await
    });
    runtime.shutdown_timeout(SHUTDOWN_MAX);
    end(&out, result)
}

/// Logs go to stderr and exist only where `RUST_LOG` asks for them.
fn log_to_stderr() {
    if std::env::var_os("RUST_LOG").is_none_or(|filter| filter.is_empty()) {
        return;
    }
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colour).init();
}

/// Help and version are data; anything else that clap says is bad input. `--json` holds although it could not be parsed.
fn refuse(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json");
    let out = Out::new(json);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = error.print();
            ExitCode::SUCCESS
        }
        _ if json => {
            let text = error.render().to_string();
            let message = text.trim().strip_prefix("error: ").unwrap_or(text.trim()).to_owned();
            end(&out, Err(Failure::input(message)))
        }
        _ => {
            let _ = error.print();
            ExitCode::from(failure::BAD_INPUT)
        }
    }
}

fn end(out: &Out, result: Result<u8, Failure>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.report(out);
            ExitCode::from(failure.code())
        }
    }
}
