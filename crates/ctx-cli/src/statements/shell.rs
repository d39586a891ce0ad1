//! `ctxrt shell`: a prompt. Ctrl-C stops the statement and keeps the shell; Ctrl-D leaves.

use super::batch::{Run, read};
use super::console::{Console, Script};
use super::meta;
use crate::args::{Global, SessionArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Out, width};
use ctx_sql::{Statements, Typed, typed};
use std::io::IsTerminal;
use std::path::Path;

const PROMPT: &str = "ctxrt> ";
const CONTINUED: &str = "  ...> ";

/// Asks for statements; without a terminal stdin is a script.
pub(crate) async fn shell(global: &Global, args: &SessionArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    if !std::io::stdin().is_terminal() {
        let script = [("stdin".to_owned(), read(Path::new("-"))?)];
        let mut console = Console::open(global, args, out).await?;
        return Run::new(false).scripts(&mut console, &script, out, interrupt).await;
    }
    let mut console = Console::open(global, args, out).await?;
    let mut prompt = Asking { lines: std::io::stdin().lines() };
    out.note("Statements end with ; and may take several lines. \\? for help, \\q to leave.");
    let mut run = Run::new(true);
    loop {
        let asked = tokio::task::block_in_place(|| interrupt.while_asking(|| prompt.ask()));
        let asked = asked.map_err(|error| Failure::internal(format!("reading from the terminal: {error}")))?;
        let Some(text) = asked.filter(|_| interrupt.renew()) else { break };
        if !said(&mut run, &mut console, &text, interrupt).await? || !interrupt.renew() {
            break;
        }
    }
    output::redirect(None);
    console.files.close(out).await;
    Ok(if interrupt.token().is_cancelled() { interrupt.code() } else { 0 })
}

/// Does what was typed. Failures are said and forgotten; false: leave.
async fn said(run: &mut Run, console: &mut Console, text: &str, interrupt: &Interrupt) -> Result<bool, Failure> {
    if text.trim_start().starts_with('\\') {
        let done = match meta::read(text) {
            Ok(command) => run.meta(console, &command, interrupt).await,
            Err(failure) => Err(failure),
        };
        told(done.map(|()| 0), console)?;
        return Ok(!run.left());
    }
    let script = Script { name: "input", text };
    for statement in Statements::new(text) {
        let done = match statement {
            Ok(statement) => console.execute(&statement.value, script, interrupt).await,
            Err(error) => Err(Failure::statement(&error, script.name, text, width())),
        };
        let failed = !matches!(done, Ok(0));
        told(done, console)?;
        if failed {
            break;
        }
    }
    Ok(true)
}

/// Says a failure; only a reader that went away ends the shell.
fn told(done: Result<u8, Failure>, console: &Console) -> Result<(), Failure> {
    match done {
        Err(failure) if failure.code() == 0 => Err(failure),
        Err(failure) => {
            failure.report(&console.out());
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}

/// What is asked, line by line until the statement is whole.
struct Asking {
    lines: std::io::Lines<std::io::StdinLock<'static>>,
}

impl Asking {
    /// One input; `None` at the end of them.
    fn ask(&mut self) -> std::io::Result<Option<String>> {
        let mut text = String::new();
        loop {
            eprint!("{}", if text.is_empty() { PROMPT } else { CONTINUED });
            let Some(line) = self.lines.next().transpose()? else { return Ok(None) };
            text.push_str(&line);
            text.push('\n');
            if text.trim_start().starts_with('\\') || matches!(typed(&text), Typed::Nothing | Typed::Whole) {
                return Ok(Some(text));
            }
        }
    }
}
