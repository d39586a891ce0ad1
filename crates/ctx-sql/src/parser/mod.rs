//! Tokens to statements by recursive descent, one function per production of the grammar in the crate's head.
//!
//! Every look at the next token notes what was looked for. When nothing fits, the notes are the message, the nearest of
//! them is the hint, and at the end of an unfinished script they are what completion offers. Nothing here recurses into
//! itself, so no input is too deep.

mod clauses;
mod statements;

use crate::error::{Problem, SqlError, nearest};
use crate::expected::Expected;
use crate::keyword::is_reserved;
use crate::lexer::tokens;
use crate::span::{Located, Span};
use crate::statement::Statement;
use crate::token::{Kind, Token};
use crate::value::{Literal, clipped};
use std::collections::BTreeSet;

/// Where the parser stands.
pub(crate) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    /// What was looked for at `at`.
    expected: BTreeSet<Expected>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str) -> Parser<'a> {
        Parser { text, tokens: tokens(text), at: 0, expected: BTreeSet::new() }
    }

    /// The next statement; `None` at the end of the script. After an error the next call starts behind the next `;`.
    pub(crate) fn next_statement(&mut self) -> Option<Result<Located<Statement>, SqlError>> {
        while self.peek().kind == Kind::Symbol(';') {
            self.advance();
        }
        if self.peek().kind == Kind::End {
            // Behind nothing or a `;` a statement may begin: completion wants to know.
            if self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).is_none_or(|before| before.kind == Kind::Symbol(';')) {
                self.expected.extend(crate::keyword::STATEMENTS.map(Expected::Keyword));
            }
            return None;
        }
        let start = self.peek().at;
        let parsed = self.statement().and_then(|statement| self.end_of_statement().map(|()| statement));
        match parsed {
            Ok(statement) => Some(Ok(Located::new(statement, start.to(self.before())))),
            Err(error) => {
                self.skip_statement();
                Some(Err(error))
            }
        }
    }

    /// What was looked for at the end of the script; empty if the parser never came so far.
    pub(crate) fn expected_at_end(&self) -> &BTreeSet<Expected> {
        static NOTHING: BTreeSet<Expected> = BTreeSet::new();
        if self.peek().kind == Kind::End { &self.expected } else { &NOTHING }
    }

    fn end_of_statement(&mut self) -> Result<(), SqlError> {
        self.expected.insert(Expected::End);
        if matches!(self.peek().kind, Kind::End | Kind::Symbol(';')) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn skip_statement(&mut self) {
        while !matches!(self.peek().kind, Kind::End | Kind::Symbol(';')) {
            self.advance();
        }
    }

    /// The next token; the last one is [`Kind::End`] and stays.
    fn peek(&self) -> &Token {
        static END: Token = Token { kind: Kind::End, at: Span { start: 0, end: 0 } };
        self.tokens.get(self.at).or_else(|| self.tokens.last()).unwrap_or(&END)
    }

    fn advance(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
            self.expected.clear();
        }
    }

    /// The place of the token before the next one.
    fn before(&self) -> Span {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or_else(Span::default, |token| token.at)
    }

    /// The next token's text, if it is a bare word.
    fn bare(&self) -> Option<&'a str> {
        let token = self.peek();
        (token.kind == Kind::Word).then(|| &self.text[token.at.range(self.text)])
    }

    /// Takes the keyword if it is next.
    fn keyword(&mut self, word: &'static str) -> bool {
        let found = self.sees(word);
        if found {
            self.advance();
        }
        found
    }

    /// Whether the keyword is next.
    fn sees(&mut self, word: &'static str) -> bool {
        self.expected.insert(Expected::Keyword(word));
        self.bare().is_some_and(|bare| bare.eq_ignore_ascii_case(word))
    }

    fn need_keyword(&mut self, word: &'static str) -> Result<(), SqlError> {
        if self.keyword(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn symbol(&mut self, symbol: char) -> bool {
        self.expected.insert(Expected::Symbol(symbol));
        let found = self.peek().kind == Kind::Symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn need_symbol(&mut self, symbol: char) -> Result<(), SqlError> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// `(item, item)`: at least one.
    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), SqlError>) -> Result<(), SqlError> {
        self.need_symbol('(')?;
        loop {
            item(self)?;
            if !self.symbol(',') {
                return self.need_symbol(')');
            }
        }
    }

    /// A text in quotes or dollars.
    fn text(&mut self, what: Expected) -> Result<Located<String>, SqlError> {
        self.expected.insert(what);
        let Kind::Text(value) = &self.peek().kind else { return Err(self.unexpected()) };
        let located = Located::new(value.clone(), self.peek().at);
        self.advance();
        Ok(located)
    }

    /// A name: a word that begins no clause, or anything in double or single quotes.
    fn name(&mut self, what: Expected) -> Result<Located<String>, SqlError> {
        match self.try_name(what) {
            Some(name) => Ok(name),
            None => Err(self.unexpected()),
        }
    }

    fn try_name(&mut self, what: Expected) -> Option<Located<String>> {
        self.expected.insert(what);
        let token = self.peek();
        let value = match &token.kind {
            Kind::Quoted(value) | Kind::Text(value) => value.clone(),
            Kind::Word => self.bare().filter(|word| !is_reserved(word))?.to_owned(),
            _ => return None,
        };
        let located = Located::new(value, token.at);
        self.advance();
        Some(located)
    }

    /// A number with its sign, a word or a text.
    fn literal(&mut self) -> Result<Located<Literal>, SqlError> {
        self.expected.insert(Expected::Value);
        let token = self.peek().clone();
        let literal = match token.kind {
            Kind::Text(value) | Kind::Quoted(value) => Literal::Text(value),
            Kind::Number => Literal::Number(self.text[token.at.range(self.text)].to_owned()),
            Kind::Word => Literal::Word(self.text[token.at.range(self.text)].to_owned()),
            Kind::Symbol(sign @ ('+' | '-')) => {
                let number =
                    self.tokens.get(self.at + 1).filter(|next| next.kind == Kind::Number && next.at.start == token.at.end).cloned();
                let Some(number) = number else { return Err(self.unexpected()) };
                self.advance();
                self.advance();
                let text = format!("{sign}{}", &self.text[number.at.range(self.text)]);
                return Ok(Located::new(Literal::Number(text), token.at.to(number.at)));
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(Located::new(literal, token.at))
    }

    /// The error about the next token.
    fn unexpected(&self) -> SqlError {
        let token = self.peek();
        if let Kind::Bad(problem, hint) = &token.kind {
            return SqlError { problem: problem.clone(), at: token.at, hint: hint.map(str::to_owned) };
        }
        let expected: Vec<String> = self.expected.iter().map(ToString::to_string).collect();
        let error = SqlError::new(Problem::Unexpected { expected, found: self.found(token) }, token.at);
        match self.hint(token) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    fn found(&self, token: &Token) -> String {
        let written = &self.text[token.at.range(self.text)];
        match &token.kind {
            Kind::End => "the end of the script".to_owned(),
            Kind::Symbol(';') => "the end of the statement".to_owned(),
            Kind::Text(value) => format!("the text '{}'", clipped(value)),
            Kind::Quoted(value) => format!("the name \"{}\"", clipped(value)),
            Kind::Number => format!("the number {}", clipped(written)),
            Kind::Word | Kind::Symbol(_) | Kind::Bad(..) => format!("`{}`", clipped(written)),
        }
    }

    fn hint(&self, token: &Token) -> Option<String> {
        let written = &self.text[token.at.range(self.text)];
        let prefix = self.tokens.get(self.at + 1).filter(|next| matches!(next.kind, Kind::Text(_)) && next.at.start == token.at.end);
        if prefix.is_some() && token.kind == Kind::Word {
            return Some("texts have no prefix: a backslash is a backslash".to_owned());
        }
        match &token.kind {
            Kind::Word => {
                let words = self.expected.iter().filter_map(|expected| match expected {
                    Expected::Keyword(word) => Some(*word),
                    _ => None,
                });
                let near = nearest(written, words).map(|near| format!("did you mean {near}?"));
                near.or_else(|| self.reserved_hint(written)).or_else(|| self.goal_hint())
            }
            Kind::Quoted(_) => self.goal_hint(),
            _ => None,
        }
    }

    fn reserved_hint(&self, word: &str) -> Option<String> {
        let wants_name = self.expected.iter().any(|e| matches!(e, Expected::Source | Expected::NewSource | Expected::Model));
        (wants_name && is_reserved(word))
            .then(|| format!("{word} begins a clause; a name that reads like it needs double quotes: \"{word}\""))
    }

    fn goal_hint(&self) -> Option<String> {
        self.expected
            .contains(&Expected::Goal)
            .then(|| "write the goal in single quotes, '' for a quote inside, or between $$ and $$".to_owned())
    }
}
