//! What is wrong with a script, where, and what to write instead.

use crate::span::{Position, Span, position};
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// An error with its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct SqlError {
    /// What is wrong.
    pub problem: Problem,
    /// Where.
    pub at: Span,
    /// What to do.
    pub hint: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A token that cannot stand here.
    #[error("expected {}, found {found}", listed(.expected))]
    Unexpected {
        /// What could.
        expected: Vec<String>,
        /// What stands here.
        found: String,
    },
    /// A character that begins no token.
    #[error("{0:?} means nothing here")]
    Character(char),
    /// A quote or comment that does not end.
    #[error("this {what} has no end")]
    Unterminated {
        /// `text`, `name` or `comment`.
        what: &'static str,
    },
    /// Digits that are no number.
    #[error("{0:?} is not a number")]
    Number(String),
    /// A key, option or value that does not exist.
    #[error("there is no {what} {name:?}")]
    Unknown {
        /// `limit`, `weight`, `option`, …
        what: &'static str,
        /// As written.
        name: String,
    },
    /// A value of the wrong type or outside its range.
    #[error("{key}: {cause}")]
    Value {
        /// Whose value.
        key: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Something that stands once stands twice.
    #[error("{0} stands twice")]
    Twice(String),
    /// A text that is a goal and is empty.
    #[error("the goal is empty")]
    EmptyGoal,
    /// No statement where one is needed.
    #[error("there is no statement")]
    Nothing,
    /// More than one statement where one is meant.
    #[error("one statement is expected, a second one begins here")]
    Several,
    /// A script that nobody wrote by hand.
    #[error("the script has {bytes} bytes; at most {max} are read")]
    TooLong {
        /// Its size.
        bytes: usize,
        /// Limit.
        max: usize,
    },
}

impl SqlError {
    /// An error without a hint.
    pub fn new(problem: Problem, at: Span) -> SqlError {
        SqlError { problem, at, hint: None }
    }

    /// The same with what to do.
    pub fn with_hint(mut self, hint: impl Into<String>) -> SqlError {
        self.hint = Some(hint.into());
        self
    }

    /// A name that is none of `known`; the hint names the nearest or lists them.
    pub fn unknown<'a>(what: &'static str, name: &str, at: Span, known: impl IntoIterator<Item = &'a str>) -> SqlError {
        let known: Vec<&str> = known.into_iter().collect();
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None if known.is_empty() => "there are none".to_owned(),
            None => format!("there are {}", known.join(", ")),
        };
        SqlError::new(Problem::Unknown { what, name: name.to_owned() }, at).with_hint(hint)
    }

    /// Line and column in the script that was parsed.
    pub fn position(&self, script: &str) -> Position {
        position(script, self.at.start)
    }

    /// The error with its line and a caret below the token, for `columns` columns. `file` is a name to show, if there is
    /// one. Control and bidirectional characters of the script are replaced.
    pub fn render(&self, file: Option<&str>, script: &str, columns: usize) -> String {
        let span = self.at.range(script);
        let line_start = script[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = script[span.start..].find('\n').map_or(script.len(), |at| span.start + at);
        // A line that no terminal holds is shown around the token.
        let from = Span::new(span.start.saturating_sub(AROUND_BYTES), 0).range(script).start.max(line_start);
        let until = Span::new(0, span.start + AROUND_BYTES).range(script).end.min(line_end);
        let line = script[from..until].trim_end_matches('\r');
        let start = (span.start - from).min(line.len());
        let end = span.end.clamp(from, until).saturating_sub(from).clamp(start, line.len());
        let position = self.position(script);
        let label = self.hint.clone().filter(|hint| hint.len() <= LABEL_BYTES_MAX);
        let caret = AnnotationKind::Primary.span(start..end).label(label);
        // The snippet would count its column from where it was cut.
        let cut = from > line_start;
        let path = file.filter(|_| !cut).map(str::to_owned);
        let snippet = Snippet::source(line).line_start(position.line).path(path).annotation(caret);
        let mut report = Level::ERROR.primary_title(self.problem.to_string()).element(snippet);
        if cut {
            let place =
                format!("{}line {}, column {}", file.map(|file| format!("{file}, ")).unwrap_or_default(), position.line, position.column);
            report = report.element(Level::NOTE.message(place));
        }
        if let Some(hint) = self.hint.as_ref().filter(|hint| hint.len() > LABEL_BYTES_MAX) {
            report = report.element(Level::HELP.message(hint.clone()));
        }
        Renderer::plain().term_width(columns.max(COLUMNS_MIN)).render(&[report])
    }
}

/// Longest hint that stands beside the caret; longer ones get a line of their own.
const LABEL_BYTES_MAX: usize = 60;
/// Bytes shown before and after the token of a long line.
const AROUND_BYTES: usize = 1_000;
/// Fewest columns that errors are laid out for.
const COLUMNS_MIN: usize = 40;

/// `a`, `a or b`, `a, b or c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => "nothing more".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// The known word that `word` probably means.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    // A pasted essay is no misspelt keyword, and distances of long texts are slow.
    if word.len() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&word, &known.to_lowercase()), known))
        .min()
        .filter(|(distance, _)| *distance <= limit)
        .map(|(_, known)| known)
}
