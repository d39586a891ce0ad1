//! The clauses of a goal, in any order, each once.

use super::Parser;
use super::statements::checked;
use crate::error::{Problem, SqlError};
use crate::expected::Expected;
use crate::limit::LimitKey;
use crate::span::Located;
use crate::statement::Ask;
use crate::value::Literal;
use crate::wish::WishKey;
use ctx_types::goal::Hint;
use ctx_types::{ContentId, ModelName};

/// Clauses in the order in which they are printed.
const CLAUSES: [&str; 4] = ["FROM", "WITH", "USING", "HINT"];

impl Parser<'_> {
    pub(super) fn clauses(&mut self, ask: &mut Ask) -> Result<(), SqlError> {
        let mut seen: Vec<&str> = Vec::new();
        loop {
            // A clause that was read is no longer expected, but a second one deserves its own words.
            if let Some(again) = seen.iter().find(|clause| self.bare().is_some_and(|word| word.eq_ignore_ascii_case(clause))) {
                return Err(SqlError::new(Problem::Twice((*again).to_owned()), self.peek().at).with_hint("put both into one clause"));
            }
            let Some(clause) = CLAUSES.into_iter().filter(|clause| !seen.contains(clause)).find(|clause| self.keyword(clause)) else {
                return Ok(());
            };
            seen.push(clause);
            match clause {
                "FROM" => ask.sources = self.sources()?,
                "WITH" => self.list(|parser| parser.limit(ask))?,
                "USING" => self.list(|parser| parser.wish(ask))?,
                _ => self.list(|parser| parser.hint_item(ask))?,
            }
        }
    }

    /// The word at hand as a key; what it is called in messages and the keys that exist.
    fn key<T>(&mut self, what: &'static str, named: impl Fn(&str) -> Option<T>, known: &[&'static str]) -> Result<T, SqlError> {
        let at = self.peek().at;
        let Some(word) = self.bare() else { return Err(self.unexpected()) };
        let Some(key) = named(word) else { return Err(SqlError::unknown(what, word, at, known.iter().copied())) };
        self.advance();
        Ok(key)
    }

    fn limit(&mut self, ask: &mut Ask) -> Result<(), SqlError> {
        self.expected.insert(Expected::Limit);
        let at = self.peek().at;
        let names = LimitKey::ALL.map(LimitKey::name);
        if let Some(word) = self.bare()
            && LimitKey::named(word).is_none()
            && WishKey::named(word).is_some()
        {
            return Err(SqlError::unknown("limit", word, at, names).with_hint(format!("{word} belongs into USING (…)")));
        }
        let key = self.key("limit", LimitKey::named, &names)?;
        let literal = if self.symbol('=') {
            self.literal()?
        } else if key.is_flag() {
            Located::new(Literal::Word("true".to_owned()), at)
        } else {
            return Err(self.unexpected());
        };
        let limit = key.read(&literal.value).map_err(|cause| value_error(key.name(), cause, &literal))?;
        if ask.limits.iter().any(|other| other.key() == key) {
            return Err(SqlError::new(Problem::Twice(key.name().to_owned()), at));
        }
        ask.limits.push(limit);
        Ok(())
    }

    fn wish(&mut self, ask: &mut Ask) -> Result<(), SqlError> {
        self.expected.insert(Expected::Wish);
        let at = self.peek().at;
        let names: Vec<&'static str> = WishKey::all().map(WishKey::name).collect();
        if let Some(word) = self.bare()
            && WishKey::named(word).is_none()
            && LimitKey::named(word).is_some()
        {
            return Err(SqlError::unknown("weight", word, at, names).with_hint(format!("{word} belongs into WITH (…)")));
        }
        let key = self.key("weight", WishKey::named, &names)?;
        self.need_symbol('=')?;
        let literal = self.literal()?;
        let wish = key.read(&literal.value).map_err(|cause| value_error(key.name(), cause, &literal))?;
        if ask.wishes.iter().any(|other| other.key() == key) {
            return Err(SqlError::new(Problem::Twice(key.name().to_owned()), at));
        }
        ask.wishes.push(wish);
        Ok(())
    }

    fn hint_item(&mut self, ask: &mut Ask) -> Result<(), SqlError> {
        let at = self.peek().at;
        let hint = if self.keyword("FORCE") {
            Hint::Force(self.operator()?)
        } else if self.keyword("FORBID") {
            Hint::Forbid(self.operator()?)
        } else if self.keyword("MODEL") {
            Hint::Model(checked(self.name(Expected::Model)?, ModelName::new)?.value)
        } else if self.keyword("GIST") {
            Hint::Gist(ContentId(self.name(Expected::Id)?.value))
        } else {
            return Err(self.unexpected());
        };
        let at = at.to(self.before());
        if ask.hints.iter().any(|other| other.value == hint) {
            return Err(SqlError::new(Problem::Twice("this hint".to_owned()), at));
        }
        ask.hints.push(Located::new(hint, at));
        Ok(())
    }

    /// An operator's name. Which there are depends on what is planned, so the planner checks it.
    fn operator(&mut self) -> Result<String, SqlError> {
        let name = self.name(Expected::Operator)?;
        if name.value.is_empty() {
            let problem = Problem::Unexpected { expected: vec![Expected::Operator.to_string()], found: "an empty name".to_owned() };
            return Err(SqlError::new(problem, name.at));
        }
        Ok(name.value)
    }
}

fn value_error(key: &str, cause: String, literal: &Located<Literal>) -> SqlError {
    SqlError::new(Problem::Value { key: key.to_owned(), cause }, literal.at)
}
