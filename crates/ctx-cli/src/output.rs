//! Where words go: data to stdout, everything else to stderr, both escaped, neither ever a panic.

use crate::failure::Failure;
use crate::table;
use ctx_explain::escape;
use ctx_types::Status;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Columns where nobody says how many there are.
const WIDTH_DEFAULT: usize = 100;
/// Fewest columns that tables are laid out for.
const WIDTH_MIN: usize = 20;

/// The two streams and the chosen format.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out {
    json: bool,
    expanded: bool,
}

/// Where data goes. One for the process, as its stdout is.
static DATA: Mutex<Data> = Mutex::new(Data::Stdout);

/// Stdout, or what stands in for it.
enum Data {
    Stdout,
    /// `\o FILE`
    File(File),
    /// Documents of a script that are to be one document.
    Collected(Vec<Value>),
}

fn data() -> MutexGuard<'static, Data> {
    DATA.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Data goes into this file from now on; `None`: to stdout again.
pub(crate) fn redirect(file: Option<File>) {
    *data() = file.map_or(Data::Stdout, Data::File);
}

/// Documents are kept from now on instead of written.
pub(crate) fn collect() {
    *data() = Data::Collected(Vec::new());
}

/// The documents kept since [`collect`] or the last call.
pub(crate) fn collected() -> Vec<Value> {
    match &mut *data() {
        Data::Collected(values) => std::mem::take(values),
        Data::Stdout | Data::File(_) => Vec::new(),
    }
}

impl Out {
    pub(crate) fn new(json: bool) -> Out {
        Out { json, expanded: false }
    }

    /// The same with tables of one line per value.
    pub(crate) fn expanded(self, expanded: bool) -> Out {
        Out { expanded, ..self }
    }

    /// Whether stdout carries one JSON document.
    pub(crate) fn json(&self) -> bool {
        self.json
    }

    /// One JSON document. Control and bidirectional characters in it are written as `\u…`.
    pub(crate) fn document(&self, value: &impl Serialize) -> Result<(), Failure> {
        if let Data::Collected(values) = &mut *data() {
            values.push(serde_json::to_value(value).map_err(|e| Failure::internal(format!("writing JSON: {e}")))?);
            return Ok(());
        }
        let text = serde_json::to_string_pretty(value).map_err(|e| Failure::internal(format!("writing JSON: {e}")))?;
        raw(&format!("{}\n", escape_json(&text)))
    }

    /// Text that is already laid out. Hostile characters are escaped; line ends stay.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        raw(&escape::block(text))
    }

    /// Rows under a head, or a line per value where that was asked for.
    pub(crate) fn table(&self, head: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        self.text(&if self.expanded { table::records(head, rows) } else { table::table(head, rows, width()) })
    }

    /// Lines on stderr that are laid out already.
    pub(crate) fn notes(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", escape::block(text.trim_end()));
    }

    /// A line on stderr. A stderr that nobody reads stops nothing.
    pub(crate) fn note(&self, text: &str) {
        let _ = writeln!(io::stderr().lock(), "{}", escape::line(text));
    }
}

/// Bytes to stdout. Shell completions and manual pages come this way; they hold nothing foreign.
pub(crate) fn raw(text: &str) -> Result<(), Failure> {
    match &mut *data() {
        Data::Stdout => {}
        Data::File(file) => {
            return file.write_all(text.as_bytes()).map_err(|error| Failure::internal(format!("writing to the file of \\o: {error}")));
        }
        Data::Collected(values) => {
            values.push(Value::String(text.to_owned()));
            return Ok(());
        }
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::closed_pipe()),
        Err(error) => Err(Failure::internal(format!("writing to stdout: {error}"))),
    }
}

/// JSON text has foreign characters inside its strings only, and serde has escaped those below the blank: what is left is
/// everything beyond ASCII that a terminal would act on.
fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c < '\u{7f}' {
            out.push(c);
            continue;
        }
        let mut buffer = [0; 4];
        match escape::line(c.encode_utf8(&mut buffer)) {
            Cow::Borrowed(same) => out.push_str(same),
            Cow::Owned(_) => {
                // Every escaped character stands in the basic plane, so four digits hold it.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
        }
    }
    out
}

/// Columns to lay out for: `COLUMNS` if it is a number above zero, else the terminal's, else 100.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<usize>().ok()).filter(|columns| *columns > 0);
    let to_stdout = matches!(*data(), Data::Stdout);
    let seen = || {
        if to_stdout && io::stdout().is_terminal() { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None }
    };
    told.or_else(seen).unwrap_or(WIDTH_DEFAULT).max(WIDTH_MIN)
}

/// A status as JSON and traces write it.
pub(crate) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Completed => "completed",
        Status::Failed => "failed",
        Status::ProviderFailed => "provider_failed",
        Status::StoreUnavailable => "store_unavailable",
        Status::Infeasible => "infeasible",
        Status::Abstained => "abstained",
        Status::VerificationFailed => "verification_failed",
        Status::BudgetUsd => "budget_usd",
        Status::BudgetTokens => "budget_tokens",
        Status::BudgetTime => "budget_time",
        Status::BudgetCalls => "budget_calls",
        Status::BudgetTools => "budget_tools",
        Status::MaxSteps => "max_steps",
        Status::Paused => "paused",
        Status::Refused => "refused",
        Status::Blocked => "blocked",
        Status::Cancelled => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_what_a_terminal_would_act_on_and_stays_the_same_value() {
        let name = "\u{202e}gnp.md \u{9b}31m 長い é \u{1b}[2J";
        let text = escape_json(&serde_json::to_string(name).expect("text"));
        assert!(text.is_ascii() || !text.contains(['\u{202e}', '\u{9b}', '\u{1b}']), "{text}");
        assert!(text.contains("長い é") && text.contains("\\u202e"), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).expect("still JSON"), name);
    }

    #[test]
    fn status_names_are_those_of_the_persisted_form() {
        for status in [Status::Completed, Status::BudgetUsd, Status::VerificationFailed, Status::StoreUnavailable, Status::MaxSteps] {
            assert_eq!(serde_json::to_value(status).expect("plain"), status_name(status));
        }
    }
}
