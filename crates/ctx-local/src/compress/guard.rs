//! What is never dropped: numbers, identifiers and negations, with the words around them that give them a meaning.

use crate::words::negates;
use std::ops::Range;

/// Words kept before and after a guarded word.
const BEFORE: usize = 2;
const AFTER: usize = 2;

/// Ranges of a unit that stay when the unit does not; in order, not overlapping.
pub(super) fn fragments(text: &str, unit: Range<usize>) -> Vec<Range<usize>> {
    let words = words(text, unit);
    let mut out: Vec<Range<usize>> = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, w)| guarded(&text[(*w).clone()])) {
        let first = words[at.saturating_sub(BEFORE)].start;
        let last = words[(at + AFTER).min(words.len() - 1)].end;
        match out.last_mut() {
            Some(open) if first <= open.end + 1 => open.end = open.end.max(last),
            _ => out.push(first.min(word.start)..last),
        }
    }
    out
}

fn words(text: &str, unit: Range<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut open: Option<usize> = None;
    for (at, c) in text[unit.clone()].char_indices() {
        let at = unit.start + at;
        match (c.is_whitespace(), open) {
            (false, None) => open = Some(at),
            (true, Some(start)) => {
                out.push(start..at);
                open = None;
            }
            _ => {}
        }
    }
    if let Some(start) = open {
        out.push(start..unit.end);
    }
    out
}

/// Words that turn or limit a statement without being a negation on their own.
const LIMITS: [&str; 8] = ["unless", "except", "hardly", "rarely", "nobody", "nowhere", "only", "but"];

/// A digit, an identifier's form (`snake_case`, `dotted.name`, `camelCase`, `UPPER_CASE`, `path/to`, `a::b`), a negation or a limit.
pub(super) fn guarded(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    let inner = |sign: char| bare.char_indices().any(|(at, c)| c == sign && at > 0);
    let dotted = bare.split('.').filter(|p| p.chars().all(char::is_alphanumeric) && p.len() > 1).count() > 1;
    let camel = bare.chars().zip(bare.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let shout = bare.chars().count() > 2 && bare.chars().all(|c| c.is_uppercase() || c == '_');
    bare.chars().any(char::is_numeric)
        || inner('_')
        || inner('/')
        || bare.contains("::")
        || dotted
        || camel
        || shout
        || negates(word)
        || LIMITS.contains(&bare.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str) -> Vec<&str> {
        fragments(text, 0..text.len()).into_iter().map(|r| &text[r]).collect()
    }

    #[test]
    fn guarded_words_stay_with_their_neighbours() {
        assert_eq!(kept("It says that deploy 1423 broke on a quiet morning in May"), ["that deploy 1423 broke on"]);
        assert_eq!(kept("the pool was not reset by max_conn at all"), ["pool was not reset by max_conn at all"]);
        assert!(kept("plain words about nothing in particular").len() <= 1);
        assert!(kept("plain words about something in particular").is_empty());
    }

    #[test]
    fn forms_of_identifiers() {
        for word in
            ["E0502", "ctx_cost", "app.yaml", "readFile", "std::fs", "src/main.rs", "HTTP", "v1.2.3", "don't", "(42)", "Except", "unless,"]
        {
            assert!(guarded(word), "{word}");
        }
        for word in ["plain", "Word", "end.", "e.g.", "a"] {
            assert!(!guarded(word), "{word}");
        }
    }
}
