//! The terms of a text, in order: the one place where pieces become terms.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::camel;
use super::pieces::{Piece, Pieces};
use super::script::{Role, Script, role};
use super::stems::Stems;
use crate::language::{Language, prefix_at_boundary};

/// Longer words are cut to this many bytes (hashes of 64 bytes in hex fit), in documents and queries alike.
pub const TERM_BYTES_MAX: usize = 128;

/// Turns text into terms. Keep one per thread: it remembers stems.
#[derive(Clone)]
pub struct Analyzer {
    stems: Stems,
}

impl Default for Analyzer {
    fn default() -> Analyzer {
        Analyzer::new()
    }
}

impl Analyzer {
    /// An analyzer that has seen nothing yet.
    pub fn new() -> Analyzer {
        Analyzer { stems: Stems::new() }
    }

    /// Calls `each` with every term of `text`, as an index of documents in `language` would hold it.
    pub fn terms(&mut self, text: &str, language: Language, mut each: impl FnMut(&str)) {
        let normal = normalize(text);
        let mut terms = Terms::of_document(&normal, language);
        let mut term = String::new();
        while terms.next(self, &mut term).is_some() {
            each(&term);
        }
    }
}

/// Compatibility forms, ligatures, full-width letters and decomposed accents to one spelling. ASCII is left alone.
pub(crate) fn normalize(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().collect())
}

/// Where a term stands: terms made from the same stretch of text under different languages have the same slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) slot: usize,
    /// One character of an unspaced script, alone in a query: it stands for every pair that begins with it.
    pub(crate) prefix: bool,
}

/// Who asks: the last character of an unspaced run is indexed alone, so that one character can be searched by prefix, but
/// in a query the pairs say all there is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Document,
    Query,
}

enum Pending<'a> {
    Nothing,
    Parts(Box<dyn Iterator<Item = &'a str> + 'a>),
    Pairs(&'a str),
}

/// A cursor over the terms of a normalized text.
pub(crate) struct Terms<'a> {
    pieces: Pieces<'a>,
    language: Language,
    side: Side,
    pending: Pending<'a>,
    slot: usize,
}

impl<'a> Terms<'a> {
    pub(crate) fn of_document(normal: &'a str, language: Language) -> Terms<'a> {
        Terms { pieces: Pieces::new(normal), language, side: Side::Document, pending: Pending::Nothing, slot: 0 }
    }

    pub(crate) fn of_query(normal: &'a str, language: Language) -> Terms<'a> {
        Terms { side: Side::Query, ..Terms::of_document(normal, language) }
    }

    /// Writes the next term into `term`.
    pub(crate) fn next(&mut self, analyzer: &mut Analyzer, term: &mut String) -> Option<Position> {
        loop {
            let (kept, prefix) = match &mut self.pending {
                Pending::Parts(parts) => match parts.next() {
                    Some(part) => (fold(analyzer, self.language, part, Script::Latin, term), false),
                    None => {
                        self.pending = Pending::Nothing;
                        continue;
                    }
                },
                Pending::Pairs(run) => match next_pair(run, term) {
                    Some(rest) => {
                        let last = rest.chars().nth(1).is_none() && self.side == Side::Query;
                        self.pending = if last { Pending::Nothing } else { Pending::Pairs(rest) };
                        (true, false)
                    }
                    None => {
                        self.pending = Pending::Nothing;
                        continue;
                    }
                },
                Pending::Nothing => self.take(analyzer, term)?,
            };
            self.slot += 1;
            if kept {
                return Some(Position { slot: self.slot, prefix });
            }
        }
    }

    /// The first term of the next piece; the piece's other terms become pending.
    fn take(&mut self, analyzer: &mut Analyzer, term: &mut String) -> Option<(bool, bool)> {
        let Piece { text, script } = self.pieces.next()?;
        if script == Script::Unspaced {
            let rest = next_pair(text, term).unwrap_or_default();
            let single = rest.is_empty();
            let finished = single || rest.chars().nth(1).is_none() && self.side == Side::Query;
            self.pending = if finished { Pending::Nothing } else { Pending::Pairs(rest) };
            return Some((true, single && self.side == Side::Query));
        }
        if text.len() > 5 && text.is_ascii() && text.as_bytes()[1..].iter().any(u8::is_ascii_uppercase) {
            self.pending = Pending::Parts(Box::new(camel::parts(text)));
        }
        Some((fold(analyzer, self.language, text, script, term), false))
    }
}

/// Writes the first pair of `run` (or its only character) and returns what follows its first character.
fn next_pair<'a>(run: &'a str, term: &mut String) -> Option<&'a str> {
    let spells = |character: &char| role(*character) != Role::Silent;
    let mut characters = run.chars();
    let first = characters.find(spells)?;
    let rest = characters.as_str().trim_start_matches(|character| !spells(&character));
    term.clear();
    term.push(first);
    term.extend(rest.chars().next());
    Some(rest)
}

/// Lower-cases and stems one word into `term`; false if it is a stop word.
fn fold(analyzer: &mut Analyzer, language: Language, word: &str, script: Script, term: &mut String) -> bool {
    term.clear();
    let word = prefix_at_boundary(word, TERM_BYTES_MAX);
    if word.is_ascii() {
        term.push_str(word);
        term.make_ascii_lowercase();
    } else {
        for character in word.chars().filter(|character| role(*character) != Role::Silent) {
            lower_into(character, term);
        }
    }
    match stemming_language(language, script) {
        Some(language) => analyzer.stems.apply(language, term),
        None => true,
    }
}

fn lower_into(character: char, term: &mut String) {
    match character {
        'ё' | 'Ё' => term.push('е'),
        'ς' => term.push('σ'),
        'İ' => term.push('i'),
        'ß' | 'ẞ' => term.push_str("ss"),
        _ => term.extend(character.to_lowercase()),
    }
}

/// A word in another script than its text is stemmed in that script's most common language: documentation in Russian
/// holds English words.
fn stemming_language(language: Language, script: Script) -> Option<Language> {
    match script {
        script if script == language.script() && language != Language::Other => Some(language),
        Script::Latin if language != Language::Other => Some(Language::Undetermined),
        Script::Cyrillic => Some(Language::Russian),
        Script::Greek => Some(Language::Greek),
        Script::Arabic => Some(Language::Arabic),
        Script::Latin | Script::Unspaced | Script::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, language: Language) -> Vec<String> {
        let mut found = Vec::new();
        Analyzer::new().terms(text, language, |term| found.push(term.to_owned()));
        found
    }

    fn query(text: &str) -> Vec<(String, bool)> {
        let normal = normalize(text);
        let mut cursor = Terms::of_query(&normal, Language::English);
        let (mut analyzer, mut term, mut found) = (Analyzer::new(), String::new(), Vec::new());
        while let Some(position) = cursor.next(&mut analyzer, &mut term) {
            found.push((term.clone(), position.prefix));
        }
        found
    }

    #[test]
    fn english_is_split_lowered_stopped_and_stemmed() {
        assert_eq!(terms("The Connections of a system, v3.14!", Language::English), ["connect", "system", "v3", "14"]);
        assert_eq!(terms("The ends", Language::Undetermined), ["end"]);
        assert_eq!(terms("The ends", Language::Other), ["the", "ends"]);
    }

    #[test]
    fn capitals_of_sharp_s_are_the_same_word() {
        for language in [Language::German, Language::Other] {
            assert_eq!(terms("Straße", language), terms("STRASSE", language));
            assert_eq!(terms("STRAẞE", language), terms("strasse", language));
        }
    }

    #[test]
    fn unspaced_scripts_become_pairs() {
        assert_eq!(terms("正式版本", Language::Undetermined), ["正式", "式版", "版本", "本"]);
        assert_eq!(query("正式版本"), [("正式".into(), false), ("式版".into(), false), ("版本".into(), false)]);
        assert_eq!(query("회의가"), [("회의".into(), false), ("의가".into(), false)]);
        assert_eq!(query("用"), [("用".into(), true)]);
        assert_eq!(query("会議"), [("会議".into(), false)]);
        assert_eq!(terms("用Postgres存储", Language::Undetermined), ["用", "postgr", "存储", "储"]);
    }

    #[test]
    fn names_are_found_whole_and_by_part() {
        assert_eq!(terms("HashMapEntry snake_case", Language::English), ["hashmapentri", "hash", "map", "entri", "snake", "case"]);
    }

    #[test]
    fn spellings_of_one_word_meet() {
        assert_eq!(terms("ＡＢＣ ﬁle", Language::English), ["abc", "file"]);
        assert_eq!(terms("cafe\u{301}", Language::French), terms("café", Language::French));
        assert_eq!(terms("ЁЛКА", Language::Russian), terms("елка", Language::Russian));
        assert_eq!(terms("ΛΟΓΟΣ", Language::Greek), terms("λογος", Language::Greek));
        assert_eq!(terms("דו\"ח", Language::Undetermined), ["דו", "ח"]);
    }

    #[test]
    fn endless_words_are_cut_alike_everywhere() {
        let long = "x".repeat(10_000);
        assert_eq!(terms(&long, Language::English)[0].len(), TERM_BYTES_MAX);
    }
}
