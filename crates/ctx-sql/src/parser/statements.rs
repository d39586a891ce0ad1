//! One function per statement.

use super::Parser;
use crate::error::{Problem, SqlError};
use crate::expected::Expected;
use crate::keyword::STATEMENTS;
use crate::setting::SettingKey;
use crate::source::{PROPERTIES, Property};
use crate::span::Located;
use crate::statement::{Ask, CreateSource, Explain, ExplainOption, FORMATS, Of, SWITCHES, Show, Statement, Subject};
use crate::value::{boolean, choice};
use ctx_types::{ModelName, NameError, SourceName};

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Result<Statement, SqlError> {
        let Some(word) = STATEMENTS.into_iter().find(|word| self.keyword(word)) else {
            return Err(self.unexpected());
        };
        match word {
            "ANSWER" => Ok(Statement::Answer(self.ask()?)),
            "EXPLAIN" => Ok(Statement::Explain(self.explain()?)),
            "SIMULATE" => {
                self.need_keyword("ANSWER")?;
                Ok(Statement::Simulate(self.ask()?))
            }
            "ANALYZE" => Ok(Statement::Analyze(self.optional_sources()?)),
            "SHOW" => Ok(Statement::Show(self.show()?)),
            "SET" => self.set(),
            "RESET" => self.reset(),
            "CREATE" => Ok(Statement::CreateSource(self.create_source()?)),
            "DROP" => self.drop_source(),
            "REFRESH" => Ok(Statement::Refresh(self.optional_sources()?)),
            _ => {
                let sources = self.optional_sources()?;
                Ok(Statement::Index { sources, purge: self.keyword("PURGE") })
            }
        }
    }

    fn explain(&mut self) -> Result<Explain, SqlError> {
        let mut options: Vec<Located<ExplainOption>> = Vec::new();
        if self.sees_list() {
            self.list(|parser| parser.explain_option(&mut options))?;
        } else {
            // The short form, in PostgreSQL's order.
            for (word, option) in [("ANALYZE", ExplainOption::Analyze(true)), ("VERBOSE", ExplainOption::Verbose(true))] {
                if self.keyword(word) {
                    options.push(Located::new(option, self.before()));
                }
            }
        }
        if self.keyword("DIFF") {
            let a = self.name(Expected::Id)?;
            return Ok(Explain { options, subject: Subject::Diff(a, self.name(Expected::Id)?) });
        }
        self.need_keyword("ANSWER")?;
        Ok(Explain { options, subject: Subject::Answer(self.ask()?) })
    }

    fn sees_list(&mut self) -> bool {
        self.expected.insert(Expected::Symbol('('));
        self.peek().kind == crate::token::Kind::Symbol('(')
    }

    fn explain_option(&mut self, options: &mut Vec<Located<ExplainOption>>) -> Result<(), SqlError> {
        self.expected.insert(Expected::Option);
        let at = self.peek().at;
        let Some(word) = self.bare() else { return Err(self.unexpected()) };
        let option = if word.eq_ignore_ascii_case("FORMAT") {
            self.advance();
            self.symbol('=');
            self.expected.insert(Expected::Format);
            let literal = self.literal()?;
            let known = FORMATS.iter().map(|(name, _)| *name);
            let written = literal.value.word().unwrap_or_default().to_owned();
            let format = choice(&literal.value, &FORMATS).map_err(|_| SqlError::unknown("format", &written, literal.at, known))?;
            ExplainOption::Format(format)
        } else {
            let found = SWITCHES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            let Some((name, switch)) = found else {
                let known = SWITCHES.iter().map(|(name, _)| *name).chain(["FORMAT"]);
                return Err(SqlError::unknown("option of EXPLAIN", word, at, known));
            };
            self.advance();
            switch(self.switch_value(name)?)
        };
        if options.iter().any(|other| other.value.name() == option.name()) {
            return Err(SqlError::new(Problem::Twice(option.name().to_owned()), at));
        }
        options.push(Located::new(option, at));
        Ok(())
    }

    /// Nothing, or a boolean, with or without `=`.
    fn switch_value(&mut self, name: &str) -> Result<bool, SqlError> {
        let equals = self.symbol('=');
        self.expected.insert(Expected::Symbol(','));
        self.expected.insert(Expected::Symbol(')'));
        if !equals && matches!(self.peek().kind, crate::token::Kind::Symbol(',' | ')')) {
            return Ok(true);
        }
        let literal = self.literal()?;
        boolean(&literal.value).map_err(|cause| SqlError::new(Problem::Value { key: name.to_owned(), cause }, literal.at))
    }

    fn show(&mut self) -> Result<Show, SqlError> {
        if self.keyword("SOURCES") {
            return Ok(Show::Sources);
        }
        if self.keyword("MODELS") {
            return Ok(Show::Models);
        }
        if self.keyword("PLAN") {
            self.need_keyword("CACHE")?;
            return Ok(Show::PlanCache);
        }
        if self.keyword("STATISTICS") {
            return self.statistics();
        }
        if self.keyword("TRACES") {
            return Ok(Show::Traces);
        }
        if self.keyword("TRACE") {
            return Ok(Show::Trace(self.name(Expected::Id)?));
        }
        if self.keyword("SETTINGS") {
            return Ok(Show::Settings);
        }
        if self.keyword("ALL") {
            return Ok(Show::All);
        }
        self.setting_key().map(Show::Setting)
    }

    fn statistics(&mut self) -> Result<Show, SqlError> {
        if !self.keyword("FOR") {
            return Ok(Show::Statistics(None));
        }
        if self.keyword("MODEL") {
            let name = self.name(Expected::Model)?;
            return Ok(Show::Statistics(Some(Of::Model(checked(name, ModelName::new)?))));
        }
        self.need_keyword("SOURCE")?;
        Ok(Show::Statistics(Some(Of::Source(self.source()?))))
    }

    fn setting_key(&mut self) -> Result<SettingKey, SqlError> {
        self.expected.insert(Expected::Setting);
        let at = self.peek().at;
        let Some(word) = self.bare() else { return Err(self.unexpected()) };
        let Some(key) = SettingKey::named(word) else {
            let others = self.expected.iter().filter_map(|expected| match expected {
                Expected::Keyword(word) => Some(*word),
                _ => None,
            });
            let known: Vec<&str> = others.chain(SettingKey::all().map(SettingKey::name)).collect();
            return Err(SqlError::unknown("setting", word, at, known));
        };
        self.advance();
        Ok(key)
    }

    fn set(&mut self) -> Result<Statement, SqlError> {
        let key = self.setting_key()?;
        if !self.keyword("TO") {
            self.need_symbol('=')?;
        }
        let literal = self.literal()?;
        let value = key.read(&literal.value);
        value.map(Statement::Set).map_err(|cause| SqlError::new(Problem::Value { key: key.name().to_owned(), cause }, literal.at))
    }

    fn reset(&mut self) -> Result<Statement, SqlError> {
        if self.keyword("ALL") {
            return Ok(Statement::Reset(None));
        }
        self.setting_key().map(|key| Statement::Reset(Some(key)))
    }

    fn create_source(&mut self) -> Result<CreateSource, SqlError> {
        self.need_keyword("SOURCE")?;
        let if_not_exists = self.keyword("IF");
        if if_not_exists {
            self.need_keyword("NOT")?;
            self.need_keyword("EXISTS")?;
        }
        let name = checked(self.name(Expected::NewSource)?, SourceName::new)?;
        self.need_keyword("FROM")?;
        let path = self.text(Expected::Path)?;
        let mut properties: Vec<Property> = Vec::new();
        if self.keyword("WITH") {
            self.list(|parser| parser.property(&mut properties))?;
        }
        Ok(CreateSource { name, path, properties, if_not_exists })
    }

    fn property(&mut self, properties: &mut Vec<Property>) -> Result<(), SqlError> {
        self.expected.insert(Expected::Property);
        let at = self.peek().at;
        let Some(word) = self.bare() else { return Err(self.unexpected()) };
        let found = PROPERTIES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let Some((name, key)) = found else {
            return Err(SqlError::unknown("property of a source", word, at, PROPERTIES.iter().map(|(name, _)| *name)));
        };
        self.advance();
        self.need_symbol('=')?;
        let literal = self.literal()?;
        let property = key.read(&literal.value);
        let property = property.map_err(|cause| SqlError::new(Problem::Value { key: (*name).to_owned(), cause }, literal.at))?;
        if properties.iter().any(|other| other.key() == *key) {
            return Err(SqlError::new(Problem::Twice((*name).to_owned()), at));
        }
        properties.push(property);
        Ok(())
    }

    fn drop_source(&mut self) -> Result<Statement, SqlError> {
        self.need_keyword("SOURCE")?;
        let if_exists = self.keyword("IF");
        if if_exists {
            self.need_keyword("EXISTS")?;
        }
        Ok(Statement::DropSource { names: self.sources()?, if_exists })
    }

    fn optional_sources(&mut self) -> Result<Vec<Located<SourceName>>, SqlError> {
        let Some(first) = self.try_name(Expected::Source) else { return Ok(Vec::new()) };
        self.more_sources(first)
    }

    /// `name, name`: at least one.
    pub(super) fn sources(&mut self) -> Result<Vec<Located<SourceName>>, SqlError> {
        let first = self.name(Expected::Source)?;
        self.more_sources(first)
    }

    fn more_sources(&mut self, first: Located<String>) -> Result<Vec<Located<SourceName>>, SqlError> {
        let mut sources = vec![checked(first, SourceName::new)?];
        while self.symbol(',') {
            let source = self.source()?;
            if sources.contains(&source) {
                return Err(SqlError::new(Problem::Twice(format!("source {}", source.value)), source.at));
            }
            sources.push(source);
        }
        Ok(sources)
    }

    fn source(&mut self) -> Result<Located<SourceName>, SqlError> {
        checked(self.name(Expected::Source)?, SourceName::new)
    }

    /// `ANSWER` is read; what follows.
    pub(super) fn ask(&mut self) -> Result<Ask, SqlError> {
        let goal = self.text(Expected::Goal)?;
        if goal.value.trim().is_empty() {
            return Err(SqlError::new(Problem::EmptyGoal, goal.at).with_hint("say what you want to know"));
        }
        let mut ask = Ask { goal_at: Located::new((), goal.at), ..Ask::new(goal.value) };
        self.clauses(&mut ask)?;
        Ok(ask)
    }
}

/// The name as the rest of the program knows it.
pub(super) fn checked<T>(name: Located<String>, new: impl Fn(String) -> Result<T, NameError>) -> Result<Located<T>, SqlError> {
    let what = name.value.clone();
    let cause = |error: NameError| Problem::Value { key: format!("{:?}", crate::value::clipped(&what)), cause: error.problem.to_owned() };
    let value = new(name.value).map_err(|error| {
        SqlError::new(cause(error), name.at).with_hint("names hold letters, digits, '.', '_' and '-', at most 128 bytes")
    })?;
    Ok(Located::new(value, name.at))
}
