//! The words of a goal, lower-cased, with their places; one token per ideograph or syllable where scripts set no blanks.
//!
//! Bounded: of a long goal only both ends are read, since what is asked stands before or behind what is pasted.

use std::ops::Range;

/// Longer goals are read at both ends, half of this each.
pub(crate) const READ_BYTES_MAX: usize = 16 * 1024;

/// A word, number or ideograph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// Lower case, straight apostrophes.
    pub(crate) lower: String,
    /// Its key in [`crate::filter`].
    pub(crate) key: u16,
    /// Where it stands, in bytes of the goal.
    pub(crate) range: Range<usize>,
    /// Whether it begins with a capital.
    pub(crate) capital: bool,
    /// Whether a clause ends right before it: start of text, `. ; : , ! ?`, a line break or a dash.
    pub(crate) opens_clause: bool,
}

/// The words of the parts that are read.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for part in read_ranges(text) {
        collect(text, part, &mut found);
    }
    found
}

/// The whole text, or its two ends.
pub(crate) fn read_ranges(text: &str) -> Vec<Range<usize>> {
    if text.len() <= READ_BYTES_MAX {
        return std::iter::once(0..text.len()).collect();
    }
    let head = boundary_at_most(text, READ_BYTES_MAX / 2);
    let tail = boundary_at_most(text, text.len() - READ_BYTES_MAX / 2);
    vec![0..head, tail..text.len()]
}

fn boundary_at_most(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn collect(text: &str, part: Range<usize>, found: &mut Vec<Word>) {
    let mut start: Option<usize> = None;
    let mut opens = true;
    let mut characters = text[part.clone()].char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        let at = part.start + offset;
        let next = characters.peek().map(|(_, next)| *next);
        if is_ideograph(character) {
            flush(text, &mut start, at, &mut opens, found);
            push(text, at..at + character.len_utf8(), &mut opens, found);
        } else if continues_word(character, start.is_some(), next) {
            start.get_or_insert(at);
        } else {
            flush(text, &mut start, at, &mut opens, found);
            opens |= ends_clause(character);
        }
    }
    flush(text, &mut start, part.end, &mut opens, found);
}

fn flush(text: &str, start: &mut Option<usize>, end: usize, opens: &mut bool, found: &mut Vec<Word>) {
    if let Some(begin) = start.take() {
        push(text, begin..end, opens, found);
    }
}

fn push(text: &str, range: Range<usize>, opens: &mut bool, found: &mut Vec<Word>) {
    let written = &text[range.clone()];
    let capital = written.chars().next().is_some_and(char::is_uppercase);
    let lower = if written.is_ascii() { written.to_ascii_lowercase() } else { written.to_lowercase().replace('’', "'") };
    found.push(Word { key: crate::filter::key(&lower), lower, range, capital, opens_clause: std::mem::take(opens) });
}

/// Letters, digits, marks, and an apostrophe or hyphen between two of them.
fn continues_word(character: char, inside: bool, next: Option<char>) -> bool {
    let joins = matches!(character, '\'' | '’' | '-' | '_');
    character.is_alphanumeric() || is_mark(character) && inside || joins && inside && next.is_some_and(char::is_alphanumeric)
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{3099}' | '\u{309a}')
}

/// Han, kana and hangul: scripts whose words no blank separates (hangul: whose particles join the word).
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

fn ends_clause(character: char) -> bool {
    matches!(character, '.' | ';' | ':' | ',' | '!' | '?' | '\n' | '—' | '–' | '。' | '、' | '，' | '！' | '？' | '；' | '¿' | '¡')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowers(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.lower).collect()
    }

    #[test]
    fn words_numbers_and_ideographs() {
        assert_eq!(lowers("Don’t drop well-known X_1, 42!"), ["don't", "drop", "well-known", "x_1", "42"]);
        assert_eq!(lowers("删除v2索引"), ["删", "除", "v2", "索", "引"]);
        assert!(words("please, Delete")[1].opens_clause);
    }

    #[test]
    fn a_long_goal_is_read_at_both_ends() {
        let text = format!("first {}last", "ß ".repeat(60_000));
        let all = words(&text);
        assert_eq!(all[0].lower, "first");
        assert_eq!(all[all.len() - 1].lower, "last");
        assert!(all.len() < READ_BYTES_MAX);
    }
}
