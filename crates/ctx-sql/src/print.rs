//! Statements back to text. What is printed parses to the same statement, and printing that gives the same text.

use crate::keyword::RESERVED;
use crate::lexer::is_bare_word;
use crate::span::Located;
use crate::statement::{Ask, CreateSource, Explain, ExplainOption, Of, Show, Statement, Subject};
use ctx_types::SourceName;
use ctx_types::goal::Hint;
use std::fmt::{self, Display, Formatter};

/// A text literal.
pub(crate) fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

/// A name, in double quotes where it would not read as one word.
pub(crate) fn name(value: &str) -> String {
    let reserved = RESERVED.iter().any(|word| word.eq_ignore_ascii_case(value));
    if is_bare_word(value) && !reserved { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

fn list<T: Display>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = T>) -> fmt::Result {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// ` WORD (a, b)`, or nothing if there is nothing.
fn clause<T: Display>(f: &mut Formatter<'_>, word: &str, items: &[T]) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    write!(f, " {word} (")?;
    list(f, items)?;
    f.write_str(")")
}

fn names(sources: &[Located<SourceName>]) -> impl Iterator<Item = String> {
    sources.iter().map(|source| name(source.value.as_str()))
}

/// `WORD a, b`
fn over(f: &mut Formatter<'_>, word: &str, sources: &[Located<SourceName>]) -> fmt::Result {
    f.write_str(word)?;
    if !sources.is_empty() {
        f.write_str(" ")?;
    }
    list(f, names(sources))
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Answer(ask) => write!(f, "{ask}"),
            Statement::Explain(explain) => write!(f, "{explain}"),
            Statement::Simulate(ask) => write!(f, "SIMULATE {ask}"),
            Statement::Analyze(sources) => over(f, "ANALYZE", sources),
            Statement::Show(show) => write!(f, "SHOW {show}"),
            Statement::Set(setting) => write!(f, "SET {setting}"),
            Statement::Reset(Some(key)) => write!(f, "RESET {}", key.name()),
            Statement::Reset(None) => f.write_str("RESET ALL"),
            Statement::CreateSource(create) => write!(f, "{create}"),
            Statement::DropSource { names: which, if_exists } => {
                f.write_str(if *if_exists { "DROP SOURCE IF EXISTS " } else { "DROP SOURCE " })?;
                list(f, names(which))
            }
            Statement::Refresh(sources) => over(f, "REFRESH", sources),
            Statement::Index { sources, purge } => {
                over(f, "INDEX", sources)?;
                f.write_str(if *purge { " PURGE" } else { "" })
            }
        }
    }
}

impl Display for Ask {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "ANSWER {}", text(&self.goal))?;
        if !self.sources.is_empty() {
            f.write_str(" FROM ")?;
            list(f, names(&self.sources))?;
        }
        clause(f, "WITH", &self.limits)?;
        clause(f, "USING", &self.wishes)?;
        let hints: Vec<String> = self.hints.iter().map(|hint| hint_text(&hint.value)).collect();
        clause(f, "HINT", &hints)
    }
}

fn hint_text(hint: &Hint) -> String {
    match hint {
        Hint::Force(operator) => format!("FORCE {}", name(operator)),
        Hint::Forbid(operator) => format!("FORBID {}", name(operator)),
        Hint::Model(model) => format!("MODEL {}", name(model.as_str())),
        Hint::Gist(gist) => format!("GIST {}", text(&gist.0)),
    }
}

impl Display for Explain {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("EXPLAIN")?;
        let options: Vec<String> = self.options.iter().map(|option| option.value.to_string()).collect();
        if !options.is_empty() {
            write!(f, " ({})", options.join(", "))?;
        }
        match &self.subject {
            Subject::Answer(ask) => write!(f, " {ask}"),
            Subject::Diff(a, b) => write!(f, " DIFF {} {}", text(&a.value), text(&b.value)),
        }
    }
}

impl Display for ExplainOption {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ExplainOption::Format(format) => write!(f, "FORMAT {}", format.name().to_uppercase()),
            other if other.is_on() => f.write_str(other.name()),
            other => write!(f, "{} FALSE", other.name()),
        }
    }
}

impl Display for Show {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Show::Sources => f.write_str("SOURCES"),
            Show::Models => f.write_str("MODELS"),
            Show::PlanCache => f.write_str("PLAN CACHE"),
            Show::Statistics(None) => f.write_str("STATISTICS"),
            Show::Statistics(Some(Of::Model(model))) => write!(f, "STATISTICS FOR MODEL {}", name(model.value.as_str())),
            Show::Statistics(Some(Of::Source(source))) => write!(f, "STATISTICS FOR SOURCE {}", name(source.value.as_str())),
            Show::Traces => f.write_str("TRACES"),
            Show::Trace(id) => write!(f, "TRACE {}", text(&id.value)),
            Show::Settings => f.write_str("SETTINGS"),
            Show::All => f.write_str("ALL"),
            Show::Setting(key) => f.write_str(key.name()),
        }
    }
}

impl Display for CreateSource {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let condition = if self.if_not_exists { "IF NOT EXISTS " } else { "" };
        write!(f, "CREATE SOURCE {condition}{} FROM {}", name(self.name.value.as_str()), text(&self.path.value))?;
        clause(f, "WITH", &self.properties)
    }
}
