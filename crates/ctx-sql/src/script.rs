//! Scripts: several statements, each ended by `;`.

use crate::error::{Problem, SqlError};
use crate::lexer::tokens;
use crate::parser::Parser;
use crate::span::Located;
use crate::statement::Statement;
use crate::token::Kind;

/// The one statement of `text`; a `;` may follow.
pub fn parse(text: &str) -> Result<Statement, SqlError> {
    let mut statements = Statements::new(text);
    let first = match statements.next() {
        Some(first) => first?.value,
        None => return Err(SqlError::new(Problem::Nothing, crate::Span::new(text.len(), text.len()))),
    };
    match statements.next() {
        None => Ok(first),
        Some(Ok(second)) => Err(SqlError::new(Problem::Several, second.at)),
        Some(Err(error)) => Err(error),
    }
}

/// All statements of `text`, or the first error.
pub fn parse_script(text: &str) -> Result<Vec<Located<Statement>>, SqlError> {
    Statements::new(text).collect()
}

/// Statements one after the other. An error ends its statement, not the script: the next one starts behind the next `;`.
pub struct Statements<'a> {
    parser: Parser<'a>,
}

impl<'a> Statements<'a> {
    /// The statements of `text`.
    pub fn new(text: &'a str) -> Statements<'a> {
        Statements { parser: Parser::new(text) }
    }
}

impl Iterator for Statements<'_> {
    type Item = Result<Located<Statement>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.parser.next_statement()
    }
}

/// Whether what was typed so far is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Typed {
    /// Nothing but blanks and comments.
    Nothing,
    /// It ends with `;`.
    Whole,
    /// A statement without its `;`.
    Statement,
    /// Inside a quote or comment: `text`, `name`, `comment`.
    Inside(&'static str),
}

/// Whether a prompt should go on asking.
pub fn typed(text: &str) -> Typed {
    let tokens = tokens(text);
    let mut before_end = tokens.iter().rev().filter(|token| token.kind != Kind::End);
    match before_end.next().map(|token| &token.kind) {
        None => Typed::Nothing,
        Some(Kind::Symbol(';')) => Typed::Whole,
        Some(Kind::Bad(Problem::Unterminated { what }, _)) => Typed::Inside(what),
        Some(_) => Typed::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_ends_its_statement_and_not_the_script() {
        let script = "SHOW SOURCES; SHOW; /* ; */ ANALYZE docs -- ;\n; DROP; SHOW ALL";
        let found: Vec<bool> = Statements::new(script).map(|statement| statement.is_ok()).collect();
        assert_eq!(found, [true, false, true, false, true]);
        assert!(parse_script(script).is_err());
        assert_eq!(parse_script(";;").expect("nothing to do").len(), 0);
    }

    #[test]
    fn a_statement_knows_its_own_text() {
        let script = "  SHOW SOURCES ;\n ANALYZE docs;";
        let texts: Vec<&str> = parse_script(script).expect("valid").iter().map(|statement| &script[statement.at.range(script)]).collect();
        assert_eq!(texts, ["SHOW SOURCES", "ANALYZE docs"]);
    }

    #[test]
    fn one_statement_is_one_statement() {
        assert!(parse("SHOW ALL;").is_ok());
        assert_eq!(parse(" -- nothing").expect_err("nothing").problem, Problem::Nothing);
        assert_eq!(parse("SHOW ALL; SHOW ALL").expect_err("two").problem, Problem::Several);
    }

    #[test]
    fn a_prompt_knows_whether_to_go_on() {
        assert_eq!(typed(" -- x"), Typed::Nothing);
        assert_eq!(typed("SHOW ALL; -- done"), Typed::Whole);
        assert_eq!(typed("SHOW ALL"), Typed::Statement);
        assert_eq!(typed("ANSWER 'it''s"), Typed::Inside("text"));
        assert_eq!(typed("ANSWER $$a;"), Typed::Inside("text"));
        assert_eq!(typed("/* ;"), Typed::Inside("comment"));
    }
}
