//! Scripts: `-c`, `-f`, `\i`, and the shell without a terminal. A script is read whole before its first statement runs, so
//! that a misspelt last line costs nothing; then it stops at the first statement that fails, unless told to go on.

use super::console::{Console, Script};
use super::meta::{self, Meta};
use crate::args::{Global, ScriptArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, Out, width};
use ctx_sql::setting::OutputKey;
use ctx_sql::statement::{Of, Show};
use ctx_sql::{Located, Output, Setting, SqlError, Statement, Statements, Typed, typed};
use ctx_types::SourceName;
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;

/// Deepest `\i` in a file of `\i`.
const INCLUDES_MAX: usize = 16;

/// One step of a script.
enum Step {
    Statement(Result<Located<Statement>, SqlError>),
    Meta(Result<Meta, Failure>),
}

/// `ctxrt -c … -f …`
pub(crate) async fn batch(global: &Global, args: &ScriptArgs, out: &Out, interrupt: &Interrupt) -> Result<u8, Failure> {
    if args.statements.is_empty() && args.files.is_empty() {
        return Err(Failure::input("nothing to do: name a command, or give statements with -c or -f").with_hint("ctxrt --help"));
    }
    let mut scripts: Vec<(String, String)> = args.statements.iter().map(|text| ("-c".to_owned(), text.clone())).collect();
    for file in &args.files {
        scripts.push((file.display().to_string(), read(file)?));
    }
    let mut console = Console::open(global, &args.session, out).await?;
    let mut run = Run::new(args.keep_going);
    run.scripts(&mut console, &scripts, out, interrupt).await
}

/// The text of a script; `-` is stdin.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    let failed = |error: std::io::Error| Failure::input(format!("reading statements from {}: {error}", file.display()));
    if file.as_os_str() != "-" {
        return std::fs::read_to_string(file).map_err(failed);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// How far scripts came.
pub(super) struct Run {
    keep_going: bool,
    /// Exit code of the first failure.
    code: u8,
    quit: bool,
    depth: usize,
    /// With `--json` and more than one statement: their documents.
    documents: Option<Vec<Value>>,
}

impl Run {
    /// Whether `\q` was said.
    pub(super) fn left(&self) -> bool {
        self.quit
    }

    pub(super) fn new(keep_going: bool) -> Run {
        Run { keep_going, code: 0, quit: false, depth: 0, documents: None }
    }

    /// Executes scripts; with `--json` what they print is one document: that of the statement if there is one, else a list.
    pub(super) async fn scripts(
        &mut self,
        console: &mut Console,
        scripts: &[(String, String)],
        out: &Out,
        interrupt: &Interrupt,
    ) -> Result<u8, Failure> {
        let read: Vec<(Script<'_>, Vec<Step>)> = scripts.iter().map(|(name, text)| (Script { name, text }, steps(text))).collect();
        if !self.keep_going {
            for (script, steps) in &read {
                check(*script, steps)?;
            }
        }
        if out.json() && read.iter().map(|(_, steps)| steps.len()).sum::<usize>() != 1 {
            self.documents = Some(Vec::new());
            output::collect();
        }
        let mut stopped = Ok(());
        for (script, steps) in read {
            stopped = self.steps(console, script, steps, interrupt).await;
            if stopped.is_err() || self.quit {
                break;
            }
        }
        let Some(statements) = self.documents.take() else { return stopped.map(|()| self.code) };
        output::redirect(None);
        let mut document = json!({ "schema_version": 1, "statements": statements, "exit_code": self.code });
        if let Err(failure) = stopped {
            self.code = failure.code();
            document["error"] = failure.value();
            document["exit_code"] = json!(self.code);
        }
        out.document(&document)?;
        Ok(self.code)
    }

    async fn steps(&mut self, console: &mut Console, script: Script<'_>, steps: Vec<Step>, interrupt: &Interrupt) -> Result<(), Failure> {
        for step in steps {
            let (shown, done) = match step {
                Step::Statement(Ok(statement)) => {
                    let text = script.text[statement.at.range(script.text)].to_owned();
                    (text, console.execute(&statement.value, script, interrupt).await)
                }
                Step::Statement(Err(error)) => (String::new(), Err(Failure::statement(&error, script.name, script.text, width()))),
                Step::Meta(Ok(meta)) => (String::new(), Box::pin(self.meta(console, &meta, interrupt)).await.map(|()| 0)),
                Step::Meta(Err(failure)) => (String::new(), Err(failure)),
            };
            self.note(&shown, done, console, interrupt)?;
            if self.quit {
                break;
            }
        }
        Ok(())
    }

    /// Keeps what a step gave; an error where it ends the script.
    fn note(&mut self, text: &str, done: Result<u8, Failure>, console: &Console, interrupt: &Interrupt) -> Result<(), Failure> {
        let stops = !self.keep_going || interrupt.token().is_cancelled();
        if let Some(documents) = &mut self.documents {
            let code = done.as_ref().map_or_else(Failure::code, |code| *code);
            let mut results = output::collected();
            let result = if results.len() == 1 { results.remove(0) } else { json!(results) };
            if !text.is_empty() || code != 0 {
                let mut entry = json!({ "statement": text, "exit_code": code, "result": result });
                if let Err(failure) = &done {
                    entry["error"] = failure.value();
                }
                documents.push(entry);
            }
        }
        match done {
            Ok(0) => Ok(()),
            Ok(code) => {
                self.code = if self.code == 0 { code } else { self.code };
                self.quit |= stops;
                Ok(())
            }
            // A reader that went away ends everything.
            Err(failure) if stops || failure.code() == 0 => Err(failure),
            Err(failure) => {
                if self.documents.is_none() {
                    failure.report(&console.out());
                }
                self.code = if self.code == 0 { failure.code() } else { self.code };
                Ok(())
            }
        }
    }

    /// Executes a command with a backslash.
    pub(super) async fn meta(&mut self, console: &mut Console, meta: &Meta, interrupt: &Interrupt) -> Result<(), Failure> {
        let out = console.out();
        let mut toggle = |key: OutputKey, name: &str, told: Option<bool>, make: fn(bool) -> Output| {
            let on = told.unwrap_or(!console.shows(key));
            console.settings_mut().set(Setting::Output(make(on)));
            out.note(&format!("{name} is {}", if on { "on" } else { "off" }));
        };
        match meta {
            Meta::Timing(told) => toggle(OutputKey::Timing, "timing", *told, Output::Timing),
            Meta::Expanded(told) => toggle(OutputKey::Expanded, "expanded", *told, Output::Expanded),
            Meta::Json(told) => toggle(OutputKey::Json, "json", *told, Output::Json),
            Meta::Help => out.text(&meta::help())?,
            Meta::Syntax(wanted) => out.text(&meta::syntax(wanted.as_deref())?)?,
            Meta::Quit => self.quit = true,
            Meta::Models => self.shown(console, Show::Models, interrupt).await?,
            Meta::Sources(None) => self.shown(console, Show::Sources, interrupt).await?,
            Meta::Sources(Some(name)) => {
                let name = SourceName::new(name.as_str()).map_err(|e| Failure::input(e.to_string()))?;
                self.shown(console, Show::Statistics(Some(Of::Source(name.into()))), interrupt).await?;
            }
            Meta::Output(_) if self.documents.is_some() => {
                return Err(Failure::input("\\o and --json exclude each other: the results are one document"));
            }
            Meta::Output(None) => output::redirect(None),
            Meta::Output(Some(file)) => {
                let opened = std::fs::File::create(file).map_err(|e| Failure::input(format!("\\o {file}: {e}")))?;
                output::redirect(Some(opened));
            }
            Meta::Include(file) => self.include(console, file, interrupt).await?,
        }
        Ok(())
    }

    async fn shown(&self, console: &mut Console, show: Show, interrupt: &Interrupt) -> Result<(), Failure> {
        let statement = Statement::Show(show);
        let text = statement.to_string();
        console.execute(&statement, Script { name: "command", text: &text }, interrupt).await.map(|_| ())
    }

    async fn include(&mut self, console: &mut Console, file: &str, interrupt: &Interrupt) -> Result<(), Failure> {
        if self.depth >= INCLUDES_MAX {
            return Err(Failure::input(format!("\\i {file}: files include each other more than {INCLUDES_MAX} deep")));
        }
        let text = read(Path::new(file))?;
        let script = Script { name: file, text: &text };
        let steps = steps(&text);
        if !self.keep_going {
            check(script, &steps)?;
        }
        self.depth += 1;
        let done = self.steps(console, script, steps, interrupt).await;
        self.depth -= 1;
        done
    }
}

/// The first thing in a script that cannot be read.
fn check(script: Script<'_>, steps: &[Step]) -> Result<(), Failure> {
    for step in steps {
        match step {
            Step::Statement(Err(error)) => return Err(Failure::statement(error, script.name, script.text, width())),
            // Read again: the failure in hand is borrowed.
            Step::Meta(Err(failure)) => return Err(Failure::input(failure.message().to_owned())),
            Step::Statement(Ok(_)) | Step::Meta(Ok(_)) => {}
        }
    }
    Ok(())
}

/// A script's statements and commands in order. A command stands on a line of its own, outside a statement.
fn steps(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut chunk, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let outside = || matches!(typed(&text[chunk..at]), Typed::Nothing | Typed::Whole);
        if line.trim_start().starts_with('\\') && outside() {
            statements(text, chunk, at, &mut steps);
            steps.push(Step::Meta(meta::read(line)));
            chunk = at + line.len();
        }
        at += line.len();
    }
    statements(text, chunk, text.len(), &mut steps);
    steps
}

/// Statements of `text[start..end]`, with places in all of `text`.
fn statements(text: &str, start: usize, end: usize, steps: &mut Vec<Step>) {
    // Blanks stand for what was read before, so that places stay true.
    let chunk = " ".repeat(start) + &text[start..end];
    steps.extend(Statements::new(&chunk).map(Step::Statement));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_between_statements_and_places_stay_true() {
        let text = "\\timing on\nSHOW ALL; -- first\n\\x\nANSWER 'a\n\\q is text' FROM docs;\nSHOW ALLL;";
        let found = steps(text);
        let metas = found.iter().filter(|step| matches!(step, Step::Meta(Ok(_)))).count();
        assert_eq!((found.len(), metas), (5, 2));
        let Some(Step::Statement(Err(error))) = found.last() else { panic!("the last one is misspelt") };
        assert_eq!((error.position(text).line, &text[error.at.range(text)]), (6, "ALLL"));
        let Step::Statement(Ok(answer)) = &found[3] else { panic!("an answer") };
        assert!(text[answer.at.range(text)].starts_with("ANSWER 'a\n\\q is text'"));
    }
}
