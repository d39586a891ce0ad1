//! Tokens: what the lexer makes of a script.

use crate::error::Problem;
use crate::span::Span;

/// One token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) at: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A bare word: keyword or name. Its text is the script's.
    Word,
    /// A name in double quotes, unescaped.
    Quoted(String),
    /// A number as written.
    Number,
    /// A text in single quotes or dollars, unescaped.
    Text(String),
    /// `( ) , = ; * + -`
    Symbol(char),
    /// What is no token, and why.
    Bad(Problem, Option<&'static str>),
    /// The end of the script.
    End,
}
