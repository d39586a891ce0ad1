//! Lower-cased words to terms: stop words, stems, and a bounded memory of both.
//!
//! Words repeat (Zipf), stemming costs ten times a lookup; hence the memory, which is what keeps indexing fast.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use frostem::Stemmer;
use unicode_normalization::UnicodeNormalization;

use crate::language::{LANGUAGES, Language};

/// Words remembered per language. Beyond it words are stemmed each time; results do not change.
const WORDS_MAX: usize = 1 << 16;

/// Longer words are rare and are not remembered, so that the memory is bounded in bytes too.
const WORD_BYTES_MAX: usize = 32;

/// Lucene's list of 33 English stop words, sorted.
const ENGLISH_STOP_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of", "on", "or", "such",
    "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
];

/// What a word becomes.
#[derive(Debug, Clone)]
enum Form {
    Stop,
    Unchanged,
    Stem(Box<str>),
}

/// Stems by language.
#[derive(Clone)]
pub(crate) struct Stems {
    known: Vec<HashMap<Box<str>, Form, BuildHasherDefault<Fnv>>>,
}

impl Stems {
    pub(crate) fn new() -> Stems {
        Stems { known: vec![HashMap::default(); LANGUAGES] }
    }

    /// Replaces the lower-cased word in `word` by its term. False if it is a stop word.
    pub(crate) fn apply(&mut self, language: Language, word: &mut String) -> bool {
        let known = &mut self.known[language.index()];
        if let Some(form) = known.get(word.as_str()) {
            return write(form, word);
        }
        let form = form_of(language, word);
        if known.len() < WORDS_MAX && word.len() <= WORD_BYTES_MAX {
            write(known.entry(word.as_str().into()).or_insert(form), word)
        } else {
            write(&form, word)
        }
    }
}

fn write(form: &Form, word: &mut String) -> bool {
    match form {
        Form::Stop => return false,
        Form::Unchanged => {}
        Form::Stem(stem) => {
            word.clear();
            word.push_str(stem);
        }
    }
    true
}

fn form_of(language: Language, word: &str) -> Form {
    if matches!(language, Language::English | Language::Undetermined) && is_english_stop_word(word) {
        return Form::Stop;
    }
    let stem = Stemmer::new(language.algorithm()).stem(word);
    let plain = if stem.is_ascii() { stem.into_owned() } else { without_marks(&stem) };
    if plain.is_empty() || plain == word { Form::Unchanged } else { Form::Stem(plain.into()) }
}

/// Letters without their accents, so that a query typed without them still finds the word. After stemming, because
/// stemmers read accents.
fn without_marks(stem: &str) -> String {
    stem.nfd().filter(|character| !matches!(*character as u32, 0x300..=0x36F)).nfc().collect()
}

fn is_english_stop_word(word: &str) -> bool {
    word.len() <= 5 && ENGLISH_STOP_WORDS.binary_search(&word).is_ok()
}

/// FNV-1a: short keys of our own making need speed, not resistance.
#[derive(Clone)]
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(language: Language, word: &str) -> Option<String> {
        let mut stems = Stems::new();
        let mut first = word.to_owned();
        let kept = stems.apply(language, &mut first);
        let mut again = word.to_owned();
        assert_eq!(stems.apply(language, &mut again), kept, "remembered otherwise than computed");
        assert_eq!(first, again);
        kept.then_some(first)
    }

    #[test]
    fn stop_words_are_sorted_and_leave_english_only() {
        assert!(ENGLISH_STOP_WORDS.is_sorted());
        assert_eq!(term(Language::English, "the"), None);
        assert_eq!(term(Language::Undetermined, "the"), None);
        assert!(term(Language::German, "in").is_some());
    }

    #[test]
    fn inflected_forms_meet() {
        let pairs = [
            (Language::English, "connections", "connection"),
            (Language::Russian, "документами", "документ"),
            (Language::German, "häuser", "haus"),
            (Language::French, "chevaux", "cheval"),
            (Language::Spanish, "canciones", "cancion"),
            (Language::Greek, "λόγος", "λόγοσ"),
        ];
        for (language, one, other) in pairs {
            assert_eq!(term(language, one), term(language, other), "{one} {other}");
        }
    }
}
