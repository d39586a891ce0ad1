//! What the prompt completes and when it goes on asking. Both come from the parser of the statements.

use super::meta::COMMANDS;
use ctx_sql::{Names, Typed, complete, typed};
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Result};

/// The prompt's helper, with the names that exist now.
#[derive(Default)]
pub(super) struct Prompt {
    pub(super) names: Names,
}

impl Completer for Prompt {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> Result<(usize, Vec<String>)> {
        Ok(candidates(line, pos, &self.names))
    }
}

fn candidates(line: &str, pos: usize, names: &Names) -> (usize, Vec<String>) {
    if !line.trim_start().starts_with('\\') {
        let found = complete(line, pos, names);
        return (found.start, found.words);
    }
    let start = line.find('\\').unwrap_or(0);
    let typed = line.get(start..pos).unwrap_or_default();
    if let Some(source) = typed.strip_prefix("\\d ") {
        let matching = names.sources.iter().filter(|name| name.starts_with(source)).cloned().collect();
        return (pos - source.len(), matching);
    }
    let commands = COMMANDS.iter().filter_map(|(name, _)| name.split(' ').next());
    (start, commands.filter(|name| name.starts_with(typed)).map(str::to_owned).collect())
}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> Result<ValidationResult> {
        Ok(if is_whole(context.input()) { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

/// Whether Enter ends the input: a command, nothing, or statements up to their last `;`.
fn is_whole(input: &str) -> bool {
    input.trim_start().starts_with('\\') || matches!(typed(input), Typed::Nothing | Typed::Whole)
}

impl Highlighter for Prompt {}

impl Hinter for Prompt {
    type Hint = String;
}

impl Helper for Prompt {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_commands_and_names_are_completed() {
        let names = Names { sources: vec!["docs".into(), "deploy-logs".into()], ..Names::default() };
        let at_end = |line: &str| candidates(line, line.len(), &names);
        assert_eq!(at_end("explain ans"), (8, vec!["answer".to_owned()]));
        assert_eq!(at_end("ANSWER 'x' FROM de"), (16, vec!["deploy-logs".to_owned()]));
        assert_eq!(at_end("\\t"), (0, vec!["\\timing".to_owned()]));
        assert_eq!(at_end("\\d do"), (3, vec!["docs".to_owned()]));
    }

    #[test]
    fn a_prompt_asks_on_until_the_semicolon() {
        for (input, whole) in
            [("", true), ("\\dm", true), ("SHOW ALL", false), ("SHOW ALL;", true), ("ANSWER 'a;", false), ("-- only", true)]
        {
            assert_eq!(is_whole(input), whole, "{input}");
        }
    }
}
