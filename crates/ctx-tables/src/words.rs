//! Words of questions, headers and cells in one form, so that they can be compared: lower case, no diacritics, digits
//! without grouping, English stems. A match is equality of stems in sequence; nothing here is fuzzy.

use frostem::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words that carry no content of their own, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "both", "but", "by", "can", "chart", "could",
    "did", "do", "does", "each", "ever", "every", "for", "from", "get", "give", "given", "had", "has", "have", "having", "he", "her",
    "here", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "list", "listed", "many", "me", "most", "much", "my", "name",
    "named", "of", "on", "one", "or", "our", "please", "s", "same", "shall", "she", "should", "show", "so", "some", "such", "table",
    "tell", "than", "that", "the", "their", "them", "there", "these", "they", "this", "those", "to", "total", "up", "us", "was", "we",
    "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// Forms that a stemmer does not bring together, sorted by the first.
const IRREGULAR: &[(&str, &str)] = &[
    ("began", "begin"),
    ("broke", "break"),
    ("built", "build"),
    ("came", "come"),
    ("children", "child"),
    ("countries", "country"),
    ("died", "die"),
    ("drove", "drive"),
    ("feet", "foot"),
    ("gave", "give"),
    ("held", "hold"),
    ("led", "lead"),
    ("loser", "lose"),
    ("loss", "lose"),
    ("losses", "lose"),
    ("lost", "lose"),
    ("made", "make"),
    ("men", "man"),
    ("people", "person"),
    ("ran", "run"),
    ("sang", "sing"),
    ("sold", "sell"),
    ("took", "take"),
    ("winner", "win"),
    ("winners", "win"),
    ("won", "win"),
    ("wrote", "write"),
];

/// A word with its stem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Lower case, no diacritics, no grouping of digits.
    pub text: String,
    /// Stem; equals the text of numbers.
    pub stem: String,
    /// Whether it carries no content of its own.
    pub stop: bool,
}

impl Word {
    /// Whether it begins with a digit.
    pub fn is_number(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_digit())
    }
}

/// Words of a text, in order.
pub fn words(text: &str) -> Vec<Word> {
    let stemmer = Stemmer::new(Algorithm::English);
    let shouts = !text.chars().any(char::is_lowercase);
    let word = |(text, capitals): (String, bool)| {
        let code = capitals && !shouts && CODES.contains(&text.as_str());
        Word { stem: stem(&stemmer, &text), stop: !code && STOP_WORDS.binary_search(&text.as_str()).is_ok(), text }
    };
    split(text).into_iter().map(word).collect()
}

/// Words without content that are names in capitals: the department IT, a country's code.
const CODES: &[&str] = &["he", "it", "me", "my", "us", "we"];

/// Stems of a text joined by one blank: two texts with equal keys are the same name.
pub fn key(text: &str) -> String {
    let mut joined = String::new();
    for word in words(text) {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(&word.stem);
    }
    joined
}

fn stem(stemmer: &Stemmer, word: &str) -> String {
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return word.to_owned();
    }
    if let Ok(at) = IRREGULAR.binary_search_by_key(&word, |(form, _)| form) {
        return IRREGULAR[at].1.to_owned();
    }
    stemmer.stem(word).into_owned()
}

/// Runs of letters and digits. A decimal point and grouping commas stay inside a number (grouping is dropped), the `s` of
/// a possessive is dropped, and lower-case letters followed by upper-case ones are two words (`listPrice`). With each, whether it is in capitals.
fn split(text: &str) -> Vec<(String, bool)> {
    let chars: Vec<char> = text.nfd().filter(|c| !is_combining_mark(*c)).collect();
    let mut found = Vec::new();
    let mut word = Split::default();
    for (at, &c) in chars.iter().enumerate() {
        let previous = at.checked_sub(1).map(|i| chars[i]);
        let next = chars.get(at + 1).copied();
        let between_digits = previous.is_some_and(|p| p.is_ascii_digit()) && next.is_some_and(|n| n.is_ascii_digit());
        if c.is_alphanumeric() {
            if c.is_uppercase() && previous.is_some_and(|p| p.is_lowercase()) {
                flush(&mut word, &mut found);
            }
            word.capitals = c.is_uppercase() && (word.text.is_empty() || word.capitals);
            word.text.extend(c.to_lowercase());
        } else if matches!(c, '.' | ':') && between_digits {
            word.text.push(c);
        } else if c == ',' && between_digits && is_group(&chars[at + 1..]) {
        } else if is_apostrophe(c) && next.is_some_and(|n| n == 's' || n == 'S') && !chars.get(at + 2).is_some_and(|n| n.is_alphanumeric())
        {
            flush(&mut word, &mut found);
            word.text.push('\u{0}');
        } else {
            flush(&mut word, &mut found);
        }
    }
    flush(&mut word, &mut found);
    found
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '`')
}

fn is_group(rest: &[char]) -> bool {
    rest.len() >= 3 && rest[..3].iter().all(char::is_ascii_digit) && !rest.get(3).is_some_and(char::is_ascii_digit)
}

/// A word that is being read.
#[derive(Default)]
struct Split {
    text: String,
    /// Whether it is written in capitals.
    capitals: bool,
}

/// A word that began with the mark of a possessive is dropped.
fn flush(word: &mut Split, found: &mut Vec<(String, bool)>) {
    let Split { text, capitals } = std::mem::take(word);
    if !text.is_empty() && !text.starts_with('\u{0}') {
        found.push((text, capitals));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(STOP_WORDS.is_sorted());
        assert!(IRREGULAR.is_sorted_by_key(|(form, _)| form));
    }

    #[test]
    fn names_in_any_spelling_have_one_key() {
        for name in ["list_price", "List Prices", "listPrice", "LIST-PRICE"] {
            assert_eq!(key(name).to_lowercase(), "list price", "{name}");
        }
        assert_eq!(key("Angela Carter's title"), key("angela carter title"));
        assert_eq!(key("1,234.50 €"), "1234.50");
        assert_eq!(key("1,62"), "1 62");
        assert_eq!(key("Sébastien"), key("sebastien"));
    }
}
