//! The analysis of [`crate::analyze`] as tantivy tokenizers.
//!
//! A tokenizer belongs to a field, not to a document, yet the stem depends on the document's language. So each text
//! carries its language as its first character, from a plane reserved for private use; the tokenizer takes it off.

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};

use crate::analyze::{Analyzer, Terms, normalize};
use crate::language::Language;

/// First of the private-use characters that name languages.
const LANGUAGE_TAGS: u32 = 0xF_0000;

/// Parts the normal forms of a document's identifiers; cannot occur in one.
const SEPARATOR: char = '\u{1F}';

/// The character that announces `language`.
pub(crate) fn language_tag(language: Language) -> char {
    char::from_u32(LANGUAGE_TAGS + language.index() as u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn take_tag(text: &str) -> (Language, &str) {
    let mut characters = text.chars();
    let tag = characters.next().map_or(0, u32::from);
    match tag.checked_sub(LANGUAGE_TAGS) {
        Some(index) => (Language::from_index(index as usize), characters.as_str()),
        None => (Language::Undetermined, text),
    }
}

/// The tokenizer of the text field, for an index of one's own. Untagged text is analyzed as [`Language::Undetermined`].
pub fn body_tokenizer() -> TextAnalyzer {
    TextAnalyzer::from(WordTokenizer::new())
}

/// Joins identifiers for [`IdentifierTokenizer`].
pub(crate) fn push_identifier(joined: &mut String, normal: &str) {
    if !joined.is_empty() {
        joined.push(SEPARATOR);
    }
    joined.push_str(normal);
}

/// Tagged text to terms.
#[derive(Clone)]
pub(crate) struct WordTokenizer {
    analyzer: Analyzer,
    normal: String,
}

impl WordTokenizer {
    pub(crate) fn new() -> WordTokenizer {
        WordTokenizer { analyzer: Analyzer::new(), normal: String::new() }
    }
}

impl Tokenizer for WordTokenizer {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        let (language, text) = take_tag(text);
        let normal = match normalize(text) {
            std::borrow::Cow::Borrowed(text) => text,
            std::borrow::Cow::Owned(normal) => {
                self.normal = normal;
                self.normal.as_str()
            }
        };
        WordStream { terms: Terms::of_document(normal, language), analyzer: &mut self.analyzer, token: Token::default() }
    }
}

/// Terms one by one. Offsets stay zero: no positions are indexed.
pub(crate) struct WordStream<'a> {
    terms: Terms<'a>,
    analyzer: &'a mut Analyzer,
    token: Token,
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(_) = self.terms.next(self.analyzer, &mut self.token.text) else {
            return false;
        };
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

/// Joined identifiers to terms, unchanged.
#[derive(Clone)]
pub(crate) struct IdentifierTokenizer;

impl IdentifierTokenizer {
    pub(crate) fn new() -> IdentifierTokenizer {
        IdentifierTokenizer
    }
}

impl Tokenizer for IdentifierTokenizer {
    type TokenStream<'a> = IdentifierStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> IdentifierStream<'a> {
        IdentifierStream { rest: text.split(SEPARATOR), token: Token::default() }
    }
}

/// Identifiers one by one.
pub(crate) struct IdentifierStream<'a> {
    rest: std::str::Split<'a, char>,
    token: Token,
}

impl TokenStream for IdentifierStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(normal) = self.rest.next() else {
            return false;
        };
        self.token.text.clear();
        self.token.text.push_str(normal);
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
