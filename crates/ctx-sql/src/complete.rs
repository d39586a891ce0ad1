//! Completion: what could stand at the cursor, from the parser's own notes. There is no second grammar.

use crate::expected::Expected;
use crate::limit::LimitKey;
use crate::parser::Parser;
use crate::print::name;
use crate::setting::SettingKey;
use crate::source::PROPERTIES;
use crate::statement::{FORMATS, SWITCHES};
use crate::wish::WishKey;

/// Names that exist where statements are executed.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Sources.
    pub sources: Vec<String>,
    /// Models.
    pub models: Vec<String>,
    /// Operators, as EXPLAIN prints them.
    pub operators: Vec<String>,
    /// Traces.
    pub traces: Vec<String>,
}

/// What could replace the word at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// First byte of what is replaced, up to the cursor.
    pub start: usize,
    /// What could stand there, sorted. Keywords in the case of what was typed.
    pub words: Vec<String>,
}

/// What could stand at byte `cursor` of `text`. Empty inside quotes and comments, and behind an error.
pub fn complete(text: &str, cursor: usize, names: &Names) -> Completion {
    let before = &text[crate::Span::new(0, cursor).range(text)];
    let word_start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let typed = &before[word_start..];
    let mut parser = Parser::new(&before[..word_start]);
    while parser.next_statement().is_some() {}
    let lower = !typed.is_empty() && !typed.chars().any(char::is_uppercase);
    let wanted = typed.trim_start_matches('"').to_lowercase();
    let mut words: Vec<String> = parser
        .expected_at_end()
        .iter()
        .flat_map(|expected| offered(*expected, names, lower))
        .filter(|word| word.trim_start_matches('"').to_lowercase().starts_with(&wanted))
        .collect();
    words.sort();
    words.dedup();
    Completion { start: word_start, words }
}

fn offered(expected: Expected, names: &Names, lower: bool) -> Vec<String> {
    let owned = |names: Vec<&'static str>| names.into_iter().map(str::to_owned).collect::<Vec<String>>();
    let keyword = |word: &str| if lower { word.to_lowercase() } else { word.to_owned() };
    let quoted = |names: &[String]| names.iter().map(|each| name(each)).collect::<Vec<String>>();
    match expected {
        Expected::Keyword(word) => vec![keyword(word)],
        Expected::Source => quoted(&names.sources),
        Expected::Model => quoted(&names.models),
        Expected::Operator => quoted(&names.operators),
        Expected::Id => quoted(&names.traces),
        Expected::Limit => owned(LimitKey::ALL.iter().map(|key| key.name()).collect()),
        Expected::Wish => owned(WishKey::all().map(WishKey::name).collect()),
        Expected::Setting => owned(SettingKey::all().map(SettingKey::name).collect()),
        Expected::Property => owned(PROPERTIES.iter().map(|(name, _)| *name).collect()),
        Expected::Option => SWITCHES.iter().map(|(name, _)| keyword(name)).chain([keyword("FORMAT")]).collect(),
        Expected::Format => owned(FORMATS.iter().map(|(name, _)| *name).collect()),
        Expected::Symbol(_) | Expected::NewSource | Expected::Goal | Expected::Path | Expected::Value | Expected::End => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let names = Names { sources: vec!["docs".into(), "with".into()], models: vec!["local".into()], ..Names::default() };
        complete(text, text.len(), &names).words
    }

    #[test]
    fn what_is_offered_is_what_the_grammar_allows_here() {
        assert_eq!(words("sh"), ["show"]);
        assert_eq!(words("SHOW ALL; S"), ["SET", "SHOW", "SIMULATE"]);
        assert_eq!(words("ANSWER 'x' "), ["FROM", "HINT", "USING", "WITH"]);
        assert_eq!(words("ANSWER 'x' FROM "), ["\"with\"", "docs"]);
        assert_eq!(words("ANSWER 'x' FROM docs W"), ["WITH"]);
        assert_eq!(words("ANSWER 'x' WITH (max_c"), ["max_calls", "max_context_tokens", "max_cost_usd"]);
        assert_eq!(words("explain (format "), ["dot", "html", "json", "mermaid", "pg", "text", "yaml"]);
        assert_eq!(words("show statistics for "), ["MODEL", "SOURCE"]);
        assert_eq!(words("SHOW STATISTICS FOR model "), ["local"]);
        assert_eq!(words("SET tim"), ["timing"]);
    }

    #[test]
    fn nothing_is_offered_inside_quotes_and_behind_errors() {
        assert_eq!(words("ANSWER 'sh"), Vec::<String>::new());
        assert_eq!(words("ANSWER docs FR"), Vec::<String>::new());
        let text = "SHOW SOURCES";
        assert_eq!(complete(text, 2, &Names::default()), Completion { start: 0, words: vec!["SHOW".into()] });
    }
}
