//! `ctxrt shell`: a prompt. Ctrl-C stops the statement and keeps the shell; Ctrl-D leaves.

use super::batch::{Run, read};
use super::completion::Prompt;
use super::console::{Console, Script};
use super::meta;
use crate::args::{Global, SessionArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Out, width};
use crate::session::xdg;
use ctx_sql::Statements;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Entries of the history.
const HISTORY_MAX: usize = 10_000;
const PROMPT: &str = "ctxrt> ";

/// Asks for statements; without a terminal stdin is a script.
pub(crate) async fn shell(global: &Global, args: &SessionArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    if !std::io::stdin().is_terminal() {
        let script = [("stdin".to_owned(), read(Path::new("-"))?)];
        let mut console = Console::open(global, args, out).await?;
        return Run::new(false).scripts(&mut console, &script, out, interrupt).await;
    }
    let mut console = Console::open(global, args, out).await?;
    let mut prompt = Asking::open(out)?;
    out.note("Statements end with ; and may take several lines. \\? for help, \\q to leave.");
    let mut run = Run::new(true);
    loop {
        prompt.know(&console).await;
        match prompt.ask(interrupt) {
            Ok(text) => {
                if !interrupt.renew() || !said(&mut run, &mut console, &text, interrupt).await? || !interrupt.renew() {
                    break;
                }
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::internal(format!("reading from the terminal: {error}"))),
        }
        prompt.remember(out);
    }
    prompt.remember(out);
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

/// The line editor and its history.
struct Asking {
    editor: Editor<Prompt, FileHistory>,
    history: Option<PathBuf>,
}

impl Asking {
    fn open(out: &Out) -> Result<Asking, Failure> {
        let failed = |error: ReadlineError| Failure::internal(format!("opening the terminal: {error}"));
        let config = Config::builder()
            .auto_add_history(true)
            .completion_type(CompletionType::List)
            .max_history_size(HISTORY_MAX)
            .map_err(failed)?
            .build();
        let mut editor: Editor<Prompt, FileHistory> = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Prompt::default()));
        let history = xdg("XDG_STATE_HOME", ".local/state").map(|state| state.join("ctxrt").join("history"));
        if let Some(file) = history.as_deref().filter(|file| file.exists())
            && let Err(error) = editor.load_history(file)
        {
            out.note(&format!("note: the history starts empty: {}: {error}", file.display()));
        }
        Ok(Asking { editor, history })
    }

    /// Reads one input. Nothing else is to be done meanwhile: what runs in the background has threads of its own.
    fn ask(&mut self, interrupt: &Interrupt) -> rustyline::Result<String> {
        tokio::task::block_in_place(|| interrupt.while_asking(|| self.editor.readline(PROMPT)))
    }

    /// Names that completion offers from now on.
    async fn know(&mut self, console: &Console) {
        if let Some(helper) = self.editor.helper_mut() {
            helper.names = console.names().await;
        }
    }

    /// Writes the history after each input: a shell that is killed keeps it. Said once if it cannot be written.
    fn remember(&mut self, out: &Out) {
        let Some(file) = self.history.clone() else { return };
        let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        let written = folder.map_err(ReadlineError::from).and_then(|()| self.editor.append_history(&file));
        if let Err(error) = written {
            out.note(&format!("note: no history is kept: {}: {error}", file.display()));
            self.history = None;
        }
    }
}
