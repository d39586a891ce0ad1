//! Every query that a goal could mean over one table, bounded. Which words become filters, which column is shown, which is
//! measured and which operation joins them are enumerated here; which of them is meant is decided by [`crate::rank`].

use crate::explained::is_verb;
use crate::joined;
use crate::pairs;
use crate::plain::{AVERAGED, SUMMED};
use crate::query::{Ask, Comparison, End, Filter, Function, Query, Test};
use crate::question::{Comparative, Form as Asks, Number, Pointer, Question, Span};
use crate::reading::Form;
use crate::schema::{ColumnId, Table};
use crate::values::{ValueIndex, ValueMatch};
use crate::words::{Word, words};

/// Sets of filters tried per goal.
const FILTER_SETS_MAX: usize = 14;
/// Columns tried as the shown one.
const SHOWN_MAX: usize = 12;
/// Columns tried as the measured one.
const MEASURED_MAX: usize = 6;
/// Queries per goal and table.
pub const CANDIDATES_MAX: usize = 700;
/// Options considered for filters.
pub(crate) const OPTIONS_MAX: usize = 16;
/// Texts of one filter.
const TEXTS_MAX: usize = 400;

/// Words for what any table holds, unless a column or a value is so called.
const ROW_WORDS: &[&str] = &["rows", "records", "entries"];

/// Words of the question that name a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Mention {
    /// The column.
    pub column: ColumnId,
    /// Where.
    pub span: Span,
    /// Share of the header's words that are named, remarks in brackets left out.
    pub cover: f64,
}

/// What made a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The words are a whole value.
    Whole,
    /// The words are part of values.
    Part,
    /// A comparison with a number.
    Number,
    /// A date or a comparison with one.
    Date,
}

/// A filter that some words could mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// Words.
    pub span: Span,
    /// The filter.
    pub filter: Filter,
    /// Where it comes from.
    pub origin: Origin,
    /// Rows that pass, if known from the index.
    pub rows: Option<u64>,
    /// Mention of the same column nearby that supports it.
    pub named: bool,
    /// Whether words before it exclude.
    pub negated: bool,
    /// Content words in the span.
    pub content: usize,
    /// Values it stands for.
    pub values: usize,
}

/// A query with how it came about.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The query.
    pub query: Query,
    /// Its filters' origins; those of a difference or comparison included.
    pub conditions: Vec<usize>,
    /// The words that name the shown column.
    pub shown: Option<Mention>,
    /// The words that name the measured column.
    pub measured: Option<Mention>,
    /// The superlative used.
    pub superlative: Option<usize>,
    /// The pointer used.
    pub pointer: Option<Span>,
}

/// A goal looked at together with a table.
#[derive(Debug)]
pub struct Grounded<'a> {
    /// The table.
    pub table: &'a Table,
    /// The goal.
    pub question: &'a Question,
    /// Its index.
    pub index: &'a ValueIndex,
    /// Words of each header.
    pub headers: Vec<Vec<Word>>,
    /// Column mentions, best first per column.
    pub mentions: Vec<Mention>,
    /// Possible filters.
    pub conditions: Vec<Condition>,
    /// Words for the table's rows: its own name, or "rows".
    pub table_named: Vec<usize>,
    /// Leaves out rows that sum up the others ("Total"), where there are any.
    pub no_summary: Option<Filter>,
}

impl<'a> Grounded<'a> {
    /// Matches a goal with a table's columns and values.
    pub fn new(table: &'a Table, index: &'a ValueIndex, question: &'a Question) -> Grounded<'a> {
        let headers: Vec<Vec<Word>> = table.columns.iter().map(|column| header_words(&column.name)).collect();
        let mentions = mentions(&headers, question);
        let name = words(&table.name);
        let known = |word: &Word| index.knows(&word.stem) || headers.iter().flatten().any(|header| header.stem == word.stem);
        let row = |word: &Word| ROW_WORDS.contains(&word.text.as_str()) && !known(word);
        let named = |word: &Word| !word.stop && name.iter().any(|n| n.stem == word.stem) || row(word);
        let table_named = question.words.iter().enumerate().filter(|(_, word)| named(word)).map(|(at, _)| at).collect();
        let no_summary = no_summary(table, index);
        let mut grounded = Grounded { table, question, index, headers, mentions, conditions: Vec::new(), table_named, no_summary };
        grounded.conditions = grounded.find_conditions();
        grounded
    }

    fn find_conditions(&self) -> Vec<Condition> {
        let mut found: Vec<Condition> = self.index.matches(&self.question.words).iter().map(|m| self.value_condition(m)).collect();
        for comparative in &self.question.comparatives {
            self.comparative_conditions(comparative, &mut found);
        }
        for date in &self.question.dates {
            let compared = self.question.comparatives.iter().any(|c| c.span.overlaps(date.span) && c.date.is_some());
            if !compared {
                for column in self.columns_of(Form::Date) {
                    self.push_number(column, date.span, date.test(), Origin::Date, &mut found);
                }
            }
        }
        joined::spread_exclusions(self, &mut found);
        found.extend(joined::unions(self, &found));
        found.sort_by_key(|c| (std::cmp::Reverse(strength(c)), c.span, c.filter.clone()));
        found.truncate(OPTIONS_MAX * 2);
        found
    }

    fn columns_of(&self, form: Form) -> impl Iterator<Item = ColumnId> + '_ {
        (0..self.table.columns.len()).filter(move |column| self.table.columns[*column].form() == Some(form))
    }

    fn value_condition(&self, matched: &ValueMatch) -> Condition {
        let span = Span { start: matched.start, end: matched.end };
        let texts: Vec<String> =
            matched.values.iter().take(TEXTS_MAX).filter_map(|v| self.index.value(matched.column, *v)).map(|v| v.text.clone()).collect();
        let negated = self.question.exclusions.iter().any(|e| e.end <= span.start && span.start - e.end <= 2);
        let test = if negated { Test::NotIn(texts) } else { Test::In(texts) };
        Condition {
            span,
            filter: Filter { column: matched.column, test },
            origin: if matched.whole { Origin::Whole } else { Origin::Part },
            rows: Some(if negated { self.table.rows.saturating_sub(matched.rows) } else { matched.rows }),
            named: self.named_near(matched.column, span),
            negated,
            content: self.content(span),
            values: matched.values.len(),
        }
    }

    fn content(&self, span: Span) -> usize {
        self.question.words[span.start..span.end].iter().filter(|word| !word.stop).count()
    }

    fn named_near(&self, column: ColumnId, span: Span) -> bool {
        let near = |m: &Mention| m.column == column && !m.span.overlaps(span) && m.span.distance(span) <= 3;
        self.mentions.iter().any(|mention| near(mention) && self.names_a_condition(mention))
    }

    /// Whether the words that name a column are the table's own name: "orders" names no `ordered_on`.
    pub fn is_tables_own(&self, mention: &Mention) -> bool {
        let own = |at: usize| self.table_named.contains(&at);
        let mut words = mention.span.start..mention.span.end;
        words.clone().any(own) && words.all(|at| own(at) || self.question.words[at].stop)
    }

    /// Whether the words that name a column may name it for a condition near by: not the table's own name, but "ordered" is a
    /// word of `ordered_on` before it is one of `orders`.
    pub(crate) fn names_a_condition(&self, mention: &Mention) -> bool {
        let header = &self.headers[mention.column];
        let words = &self.question.words[mention.span.start..mention.span.end];
        let verb = words.iter().any(|said| is_verb(&said.text) && header.iter().any(|word| word.text == said.text));
        verb || !self.is_tables_own(mention)
    }

    /// "Most orders" measures no `ordered_on` or `order_id`: neither is named by the table's own name.
    fn may_measure(&self, mention: &Mention) -> bool {
        let column = mention.column;
        !((self.table.columns[column].is_time() || joined::is_naming(self, column)) && self.is_tables_own(mention))
    }

    fn comparative_conditions(&self, comparative: &Comparative, found: &mut Vec<Condition>) {
        for column in 0..self.table.columns.len() {
            let described = &self.table.columns[column];
            match described.form() {
                Some(Form::Number) => {
                    let test =
                        comparative.number.clone().or_else(|| whole_years(comparative.date.as_ref()).filter(|_| described.is_year()));
                    let fits = !comparative.temporal
                        || described.is_year()
                        || !joined::is_naming(self, column) && self.named_near(column, comparative.span);
                    if let Some(test) = test.filter(|_| fits) {
                        self.push_number(column, comparative.span, test, Origin::Number, found);
                    }
                }
                Some(Form::Date) => {
                    if let Some(test) = &comparative.date {
                        self.push_number(column, comparative.span, test.clone(), Origin::Date, found);
                    }
                }
                Some(Form::Duration) | None => {}
            }
        }
    }

    fn push_number(&self, column: ColumnId, span: Span, test: Test, origin: Origin, found: &mut Vec<Condition>) {
        found.push(Condition {
            span,
            filter: Filter { column, test },
            origin,
            rows: None,
            named: self.named_near(column, span),
            negated: false,
            content: self.content(span),
            values: 1,
        });
    }

    /// Sets of conditions that do not overlap, strongest first; the empty set is the last.
    fn filter_sets(&self) -> Vec<Vec<usize>> {
        let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
        for at in 0..self.conditions.len().min(OPTIONS_MAX) {
            let condition = &self.conditions[at];
            let mut extended = Vec::new();
            for set in &sets {
                let free = set.iter().all(|other| {
                    let other = &self.conditions[*other];
                    !other.span.overlaps(condition.span)
                        && (other.filter.column != condition.filter.column || !joined::excludes(&other.filter.test, &condition.filter.test))
                });
                if free && set.len() < 4 {
                    let mut larger = set.clone();
                    larger.push(at);
                    extended.push(larger);
                }
            }
            sets.extend(extended);
            sets.sort_by_key(|set| (std::cmp::Reverse(set.iter().map(|c| strength(&self.conditions[*c])).sum::<usize>()), set.clone()));
            sets.truncate(FILTER_SETS_MAX * 4);
        }
        sets.truncate(FILTER_SETS_MAX - 1);
        if !sets.iter().any(Vec::is_empty) {
            sets.push(Vec::new());
        }
        sets
    }

    /// The function that words outside the columns' names ask for: "total" in "total amount", unless a column is so called.
    pub(crate) fn aggregated(&self) -> Option<Function> {
        let names_a_column = |at: usize| self.mentions.iter().any(|m| m.span.start <= at && at < m.span.end);
        let asks = |words: &[&str]| {
            let mut all = self.question.words.iter().enumerate();
            all.any(|(at, word)| words.contains(&word.text.as_str()) && !names_a_column(at))
        };
        if asks(SUMMED) { Some(Function::Sum) } else { asks(AVERAGED).then_some(Function::Avg) }
    }

    fn mention_of(&self, column: ColumnId, used: &[Span]) -> Option<Mention> {
        self.mentions.iter().find(|m| m.column == column && !used.iter().any(|span| span.overlaps(m.span))).cloned()
    }

    /// Columns to show: named ones first, then by position.
    fn shown_columns(&self, used: &[Span], filtered: &[ColumnId]) -> Vec<(ColumnId, Option<Mention>)> {
        let mut columns: Vec<(ColumnId, Option<Mention>)> =
            (0..self.table.columns.len()).map(|column| (column, self.mention_of(column, used))).collect();
        columns.sort_by_key(|(column, mention)| (mention.is_none(), filtered.contains(column), *column));
        columns.truncate(SHOWN_MAX);
        columns
    }

    pub(crate) fn measured_columns(&self, used: &[Span]) -> Vec<(ColumnId, Option<Mention>)> {
        let mut columns: Vec<(ColumnId, Option<Mention>)> = (0..self.table.columns.len())
            .filter(|column| self.table.columns[*column].form().is_some())
            .map(|column| (column, self.mention_of(column, used).filter(|mention| self.may_measure(mention))))
            .collect();
        let hinted = |column: ColumnId| {
            self.question.superlatives.iter().any(|s| self.headers[column].iter().any(|w| s.measures.contains(&w.stem.as_str())))
        };
        columns.sort_by_key(|(column, mention)| (mention.is_none() && !hinted(*column), *column));
        columns.truncate(MEASURED_MAX);
        columns
    }

    /// The candidates, in a fixed order.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for (rank, set) in self.filter_sets().iter().enumerate() {
            Builder { on: self, set, rank, found: &mut found }.build();
            if found.len() > CANDIDATES_MAX {
                break;
            }
        }
        pairs::add(self, &mut found);
        found.truncate(CANDIDATES_MAX);
        found
    }
}

/// Order in which conditions are tried: more words, whole values, named columns.
fn strength(condition: &Condition) -> usize {
    let origin = match condition.origin {
        Origin::Whole => 6,
        Origin::Number | Origin::Date => 5,
        Origin::Part => 2,
    };
    condition.content * 4 + origin + usize::from(condition.named) * 3
}

/// A comparison of dates as one of years, where it falls on whole years.
fn whole_years(test: Option<&Test>) -> Option<Test> {
    let year = |digits: &str| digits.parse::<u32>().ok().map(|key| (key / 10_000).to_string());
    match test? {
        Test::Compare(sign, digits) => Some(Test::Compare(*sign, year(digits)?)),
        Test::Between(least, most) => Some(Test::Between(year(least)?, year(most)?)),
        _ => None,
    }
}

struct Builder<'a, 'b> {
    on: &'b Grounded<'a>,
    set: &'b [usize],
    rank: usize,
    found: &'b mut Vec<Candidate>,
}

impl Builder<'_, '_> {
    fn filters(&self) -> Vec<Filter> {
        let mut filters: Vec<Filter> = self.set.iter().map(|at| self.on.conditions[*at].filter.clone()).collect();
        filters.sort();
        filters
    }

    fn push(&mut self, ask: Ask, shown: Option<Mention>, measured: Option<Mention>, superlative: Option<usize>, pointer: Option<Span>) {
        let mut filters = self.filters();
        let over_many = !matches!(ask, Ask::Cells { .. } | Ask::Neighbour { .. } | Ask::Same { .. } | Ask::Place { .. });
        if let Some(filter) = self.on.no_summary.as_ref().filter(|f| over_many && !filters.iter().any(|other| other.column == f.column)) {
            filters.push(filter.clone());
            filters.sort();
        }
        let query = Query { filters, ask };
        self.found.push(Candidate { query, conditions: self.set.to_vec(), shown, measured, superlative, pointer });
    }

    fn build(&mut self) {
        let on = self.on;
        let question = on.question;
        let used: Vec<Span> = self.set.iter().map(|at| on.conditions[*at].span).collect();
        let filtered: Vec<ColumnId> = self.set.iter().map(|at| on.conditions[*at].filter.column).collect();
        let shown = on.shown_columns(&used, &filtered);
        let measured = on.measured_columns(&used);
        let counts = matches!(question.form, Asks::HowMany | Asks::HowMuch) || question.has(&["number", "total", "count", "times"]);
        if counts {
            self.push(Ask::Count, None, None, None, None);
            for (column, mention) in shown.iter().filter(|(_, mention)| mention.is_some()) {
                self.push(Ask::CountDistinct { column: *column }, mention.clone(), None, None, None);
            }
        }
        let sums = question.has(&["total", "sum", "combined", "altogether", "all", "overall", "together", "add", "much", "many", "number"]);
        let means = question.has(&["average", "mean"]);
        let spreads = question.has(&["difference", "between", "range", "span", "long", "many"]);
        for (column, mention) in &measured {
            let number = on.table.columns[*column].form() == Some(Form::Number) && !on.table.columns[*column].is_year();
            if number && sums {
                self.push(Ask::Aggregate { function: Function::Sum, column: *column }, None, mention.clone(), None, None);
            }
            if number && means {
                self.push(Ask::Aggregate { function: Function::Avg, column: *column }, None, mention.clone(), None, None);
            }
            if spreads {
                self.push(Ask::Spread { column: *column }, None, mention.clone(), None, None);
            }
        }
        if !self.set.is_empty() {
            for (column, mention) in &shown {
                self.push(Ask::Cells { column: *column }, mention.clone(), None, None, None);
            }
        }
        if question.has_phrase("per") || question.has(&["each", "by", "every"]) {
            self.grouped(&shown, &measured);
        }
        self.pointers(&shown, &measured);
        if self.rank < 6 || self.set.is_empty() {
            self.superlatives(&shown, &measured, &used);
            self.same(&shown);
        }
    }

    fn grouped(&mut self, shown: &[(ColumnId, Option<Mention>)], measured: &[(ColumnId, Option<Mention>)]) {
        let question = self.on.question;
        for (column, mention) in shown.iter().filter(|(_, m)| m.is_some()) {
            let after_each = mention.as_ref().is_some_and(|m| {
                m.span.start > 0 && ["each", "by", "per", "every"].contains(&question.words[m.span.start - 1].text.as_str())
            });
            if !after_each {
                continue;
            }
            self.push(Ask::GroupAll { column: *column, of: None }, mention.clone(), None, None, None);
            for (of, named) in measured.iter().filter(|(of, m)| m.is_some() && of != column) {
                for (function, words) in [
                    (Function::Sum, &["total", "sum"][..]),
                    (Function::Avg, &["average", "mean"]),
                    (Function::Max, &["maximum", "highest", "largest", "max"]),
                    (Function::Min, &["minimum", "lowest", "smallest", "min"]),
                ] {
                    if question.has(words) {
                        self.push(Ask::GroupAll { column: *column, of: Some((function, *of)) }, mention.clone(), named.clone(), None, None);
                    }
                }
            }
        }
    }

    fn pointers(&mut self, shown: &[(ColumnId, Option<Mention>)], measured: &[(ColumnId, Option<Mention>)]) {
        let on = self.on;
        let used: Vec<Span> = self.set.iter().map(|at| on.conditions[*at].span).collect();
        for &(span, pointer) in &on.question.pointers {
            if used.iter().any(|u| u.overlaps(span)) {
                continue;
            }
            let end = match pointer {
                Pointer::First => End::Least,
                Pointer::Last => End::Greatest,
                Pointer::Next | Pointer::Previous => {
                    if !self.set.is_empty() {
                        let offset = if pointer == Pointer::Next { 1 } else { -1 };
                        for (column, mention) in shown {
                            self.push(Ask::Neighbour { column: *column, offset }, mention.clone(), None, None, Some(span));
                        }
                    }
                    continue;
                }
            };
            let limit = limit_after(on, span, None, &used);
            for (column, mention) in shown {
                self.push(Ask::Place { column: *column, end, limit }, mention.clone(), None, None, Some(span));
                for (by, named) in measured {
                    let described = &on.table.columns[*by];
                    if described.form() == Some(Form::Date) || described.is_year() {
                        self.push(Ask::Extreme { column: *column, by: *by, end, limit }, mention.clone(), named.clone(), None, Some(span));
                    }
                }
            }
        }
    }

    fn superlatives(&mut self, shown: &[(ColumnId, Option<Mention>)], measured: &[(ColumnId, Option<Mention>)], used: &[Span]) {
        let on = self.on;
        for (at, superlative) in on.question.superlatives.iter().enumerate() {
            if used.iter().any(|span| span.overlaps(superlative.span)) {
                continue;
            }
            let aggregated = on.aggregated();
            // "The city with the highest total amount" is about cities, not about the row with the highest amount.
            let groups = |column: ColumnId| aggregated.is_some() && !on.table.columns[column].is_unique(on.table.rows);
            for (by, named) in measured {
                for (column, mention) in shown.iter().filter(|(column, _)| !groups(*column)) {
                    let limit = limit_after(on, superlative.span, mention.as_ref(), used);
                    let mention = if column == by { None } else { mention.clone() };
                    let ask = Ask::Extreme { column: *column, by: *by, end: superlative.end, limit };
                    self.push(ask, mention, named.clone(), Some(at), None);
                }
            }
            for (column, mention) in shown {
                if on.table.columns[*column].is_unique(on.table.rows) {
                    continue;
                }
                let limit = limit_after(on, superlative.span, mention.as_ref(), used);
                // How many rows there are is not how long, old or good something is.
                if aggregated.is_none() && superlative.measures.is_empty() {
                    let ask = Ask::Group { column: *column, of: None, end: superlative.end, limit };
                    self.push(ask, mention.clone(), None, Some(at), None);
                }
                let function = aggregated.unwrap_or(Function::Sum);
                for (of, named) in measured.iter().filter(|(of, named)| of != column && named.is_some()) {
                    if on.table.columns[*of].form() == Some(Form::Number) {
                        let ask = Ask::Group { column: *column, of: Some((function, *of)), end: superlative.end, limit };
                        self.push(ask, mention.clone(), named.clone(), Some(at), None);
                    }
                }
            }
        }
    }

    fn same(&mut self, shown: &[(ColumnId, Option<Mention>)]) {
        if self.set.is_empty() || !self.on.question.has(&["same", "also", "other", "equal"]) {
            return;
        }
        for (shared, named) in shown.iter().filter(|(_, named)| named.is_some()) {
            for (column, mention) in shown.iter().filter(|(column, _)| column != shared) {
                self.push(Ask::Same { column: *column, shared: *shared }, mention.clone(), named.clone(), None, None);
            }
        }
    }
}

/// "top 5", "first three", "two largest", "which 3 orders": how many rows. A number that is a filter's is not a limit too.
pub(crate) fn limit_of<'q>(on: &Grounded<'q>, span: Span, shown: Option<&Mention>, used: &[Span]) -> Option<&'q Number> {
    let words = &on.question.words;
    let asks = ["which", "what", "the", "list", "show", "name", "me", "give"];
    let counted = |n: &Number| {
        let noun = n.span.end;
        let named = on.table_named.contains(&noun) || shown.is_some_and(|m| m.span.start == noun);
        named && noun < span.start && (n.span.start == 0 || asks.contains(&words[n.span.start - 1].text.as_str()))
    };
    let beside = |n: &Number| n.span.start == span.end || n.span.end == span.start;
    let free = |n: &Number| !used.iter().any(|used| used.overlaps(n.span));
    on.question.numbers.iter().find(|n| free(n) && (beside(n) || counted(n)) && n.value >= 2.0 && n.value <= 100.0)
}

fn limit_after(on: &Grounded<'_>, span: Span, shown: Option<&Mention>, used: &[Span]) -> u32 {
    limit_of(on, span, shown, used).map_or(1, |n| n.value as u32)
}

/// Names of rows that sum up the others.
const SUMMARIES: [&str; 6] = ["Total", "Totals", "TOTAL", "total", "Grand total", "Sum"];

fn no_summary(table: &Table, index: &ValueIndex) -> Option<Filter> {
    (0..table.columns.len()).filter(|column| table.columns[*column].form().is_none()).find_map(|column| {
        let held = |text: &&str| index.rows_of(column, &[(*text).to_owned()]).is_some_and(|rows| !rows.is_empty());
        let texts: Vec<String> = SUMMARIES.iter().copied().filter(held).map(str::to_owned).collect();
        (!texts.is_empty()).then_some(Filter { column, test: Test::NotIn(texts) })
    })
}

fn header_words(name: &str) -> Vec<Word> {
    let without: String = name.split('(').next().filter(|part| !part.trim().is_empty()).unwrap_or(name).to_owned();
    let found = words(&without);
    if found.is_empty() { words(name) } else { found }
}

/// Runs of words that name a column: stems in the header, in any order; the best run per column first.
fn mentions(headers: &[Vec<Word>], question: &Question) -> Vec<Mention> {
    let mut found: Vec<Mention> = Vec::new();
    for (column, header) in headers.iter().enumerate() {
        let in_header = |word: &Word| header.iter().any(|h| h.stem == word.stem);
        let mut at = 0;
        while at < question.words.len() {
            if !in_header(&question.words[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < question.words.len() && (in_header(&question.words[at]) || is_joint(question, at, &in_header)) {
                at += 1;
            }
            let span = Span { start, end: at };
            let run = &question.words[start..at];
            if run.iter().all(|word| word.stop) && header.iter().any(|word| !word.stop) {
                continue;
            }
            let named = header.iter().filter(|h| run.iter().any(|word| word.stem == h.stem)).count();
            found.push(Mention { column, span, cover: named as f64 / header.len() as f64 });
        }
    }
    found.sort_by(|a, b| {
        b.cover
            .total_cmp(&a.cover)
            .then((b.span.end - b.span.start).cmp(&(a.span.end - a.span.start)))
            .then(a.span.cmp(&b.span))
            .then(a.column.cmp(&b.column))
    });
    found
}

/// A stop word between two words of the same header.
fn is_joint(question: &Question, at: usize, in_header: &dyn Fn(&Word) -> bool) -> bool {
    question.words[at].stop && at > 0 && in_header(&question.words[at - 1]) && question.words.get(at + 1).is_some_and(in_header)
}

/// The test that a comparison makes of equality, for messages.
pub fn is_equality(test: &Test) -> bool {
    matches!(test, Test::In(_) | Test::Compare(Comparison::Equal, _))
}
