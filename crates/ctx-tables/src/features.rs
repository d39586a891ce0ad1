//! Features of a candidate: what its words explain, what they leave over, how the operation fits the form of the question.
//! All are binary and known before anything runs; their names are the coefficients' names.

use crate::candidates::{Candidate, Condition, Grounded, Mention, Origin};
use crate::query::{Ask, Test};
use crate::question::{Form as Asks, Pointer, Span};
use crate::reading::Form;
use crate::schema::ColumnId;
use std::fmt;

/// Receives features by name.
pub trait Sink {
    /// One feature.
    fn add(&mut self, name: fmt::Arguments<'_>);
}

impl Sink for Vec<String> {
    fn add(&mut self, name: fmt::Arguments<'_>) {
        self.push(name.to_string());
    }
}

/// Words that signal something, by a short name; a phrase of one word each.
const CUES: &[(&str, &[&str])] = &[
    ("difference", &["difference", "apart"]),
    ("total", &["total", "combined", "altogether", "sum", "overall"]),
    ("average", &["average", "mean"]),
    ("consecutive", &["consecutive", "consecutively", "row", "streak", "straight"]),
    ("same", &["same", "equal"]),
    ("or", &["or"]),
    ("than", &["than", "then"]),
    ("each", &["each", "every", "per"]),
    ("both", &["both"]),
    ("only", &["only"]),
    ("between", &["between"]),
    ("times", &["times"]),
    ("different", &["different", "unique", "distinct"]),
    ("percent", &["percent", "percentage"]),
    ("alphabetical", &["alphabetical", "alphabetically"]),
    ("if", &["if", "would"]),
    ("why", &["why"]),
    ("listed", &["listed", "list", "chart", "table"]),
    ("other", &["other", "another", "else"]),
    ("ever", &["ever", "never", "always"]),
    ("more", &["more"]),
];

/// Words that an operation explains, besides those it matched.
pub(crate) fn explained_by(ask: &Ask) -> &'static [&'static str] {
    match ask {
        Ask::Count | Ask::CountDistinct { .. } => &["number", "times", "time", "count", "amount", "different", "there", "listed", "exist"],
        Ask::Aggregate { .. } => &["total", "sum", "number", "combined", "amount", "average", "mean", "overall", "maximum", "minimum"],
        Ask::Spread { .. } | Ask::Difference { .. } => &["difference", "more", "fewer", "less", "number", "amount", "range"],
        Ask::Same { .. } => &["same", "other", "also", "equal"],
        Ask::Better { .. } => &["or", "more", "number"],
        Ask::GroupAll { .. } => &["total", "number", "average", "mean", "count", "sum"],
        Ask::Group { .. } => &["number", "times", "amount", "appears", "often"],
        Ask::Cells { .. } | Ask::Extreme { .. } | Ask::Place { .. } | Ask::Neighbour { .. } => &["number", "listed", "amount"],
    }
}

/// What a candidate leaves unexplained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Content words that nothing explains, as positions.
    pub words: Vec<usize>,
    /// Whole values in the question that no filter uses.
    pub values: usize,
    /// Comparisons that no filter uses.
    pub comparatives: usize,
    /// Superlatives not used.
    pub superlatives: usize,
}

/// Finds what a candidate leaves unexplained.
pub fn leftovers(on: &Grounded<'_>, candidate: &Candidate) -> Leftovers {
    let spans = spans(on, candidate);
    let explained = explained_by(&candidate.query.ask);
    let covered = |at: usize| spans.iter().any(|span| span.start <= at && at < span.end);
    let words = on.question.words.iter().enumerate();
    let left =
        words.filter(|(at, word)| !word.stop && !covered(*at) && !on.table_named.contains(at) && !explained.contains(&word.text.as_str()));
    let free = |span: Span| !spans.iter().any(|other| other.overlaps(span));
    let unused = |c: &&Condition| c.origin == Origin::Whole && c.content > 0 && free(c.span);
    Leftovers {
        words: left.map(|(at, _)| at).collect(),
        values: on.conditions.iter().filter(unused).map(|c| c.span).collect::<std::collections::BTreeSet<_>>().len(),
        comparatives: on.question.comparatives.iter().filter(|c| free(c.span)).count(),
        superlatives: on.question.superlatives.iter().filter(|s| free(s.span)).count(),
    }
}

/// Words that a candidate uses.
pub(crate) fn spans(on: &Grounded<'_>, candidate: &Candidate) -> Vec<Span> {
    let mut spans: Vec<Span> = candidate.conditions.iter().map(|at| on.conditions[*at].span).collect();
    spans.extend(candidate.shown.iter().chain(&candidate.measured).map(|mention| mention.span));
    spans.extend(candidate.superlative.map(|at| on.question.superlatives[at].span));
    spans.extend(candidate.pointer);
    spans
}

fn few(count: usize) -> &'static str {
    match count {
        0 => "0",
        1 => "1",
        2 => "2",
        3 => "3",
        _ => "4+",
    }
}

fn near(distance: usize) -> &'static str {
    match distance {
        0 => "0",
        1 => "1",
        2 => "2",
        3..=4 => "3-4",
        _ => "5+",
    }
}

fn cover(mention: &Mention) -> &'static str {
    if mention.cover > 0.99 { "full" } else { "part" }
}

fn type_name(on: &Grounded<'_>, column: ColumnId) -> &'static str {
    let column = &on.table.columns[column];
    match column.form() {
        Some(Form::Number) if column.is_year() => "year",
        Some(Form::Number) => "number",
        Some(Form::Duration) => "duration",
        Some(Form::Date) => "date",
        None => "text",
    }
}

/// The features of a candidate.
pub fn features(on: &Grounded<'_>, candidate: &Candidate, sink: &mut impl Sink) {
    let op = candidate.query.ask.name();
    let form = on.question.form.name();
    sink.add(format_args!("op:{op}"));
    sink.add(format_args!("op:{op}|form:{form}"));
    cues(on, candidate, op, sink);
    filters(on, candidate, op, sink);
    left(on, candidate, op, sink);
    if let Some(column) = candidate.query.ask.shown() {
        shown(on, candidate, column, op, sink);
    }
    if let Some(column) = candidate.query.ask.measured() {
        measured(on, candidate, column, op, sink);
    }
    if let Ask::Extreme { limit: 2.., .. } | Ask::Place { limit: 2.., .. } = candidate.query.ask {
        sink.add(format_args!("limit|op:{op}"));
    }
}

fn cues(on: &Grounded<'_>, candidate: &Candidate, op: &str, sink: &mut impl Sink) {
    for (name, texts) in CUES {
        if on.question.has(texts) {
            sink.add(format_args!("cue:{name}|op:{op}"));
        }
    }
    if !on.question.superlatives.is_empty() {
        let used = if candidate.superlative.is_some() { "used" } else { "unused" };
        sink.add(format_args!("superlative:{used}|op:{op}"));
    }
    for (span, pointer) in &on.question.pointers {
        let used = if candidate.pointer == Some(*span) || candidate.conditions.iter().any(|c| on.conditions[*c].span.overlaps(*span)) {
            "used"
        } else {
            "unused"
        };
        let name = match pointer {
            Pointer::First => "first",
            Pointer::Last => "last",
            Pointer::Next => "next",
            Pointer::Previous => "previous",
        };
        sink.add(format_args!("pointer:{name}:{used}|op:{op}"));
        if used == "used" {
            let text = on.question.words[span.start].text.as_str();
            sink.add(format_args!("pointer:{text}|op:{op}"));
        }
    }
    if !on.question.exclusions.is_empty() {
        let used = candidate.conditions.iter().any(|at| on.conditions[*at].negated);
        sink.add(format_args!("exclusion:{used}|op:{op}"));
    }
}

fn filters(on: &Grounded<'_>, candidate: &Candidate, op: &str, sink: &mut impl Sink) {
    let count = few(candidate.conditions.len());
    sink.add(format_args!("filters:{count}|op:{op}"));
    for condition in candidate.conditions.iter().map(|at| &on.conditions[*at]) {
        let origin = match condition.origin {
            Origin::Whole => "whole",
            Origin::Part => "part",
            Origin::Number => "number",
            Origin::Date => "date",
        };
        let content = few(condition.content);
        sink.add(format_args!("filter:{origin}|content:{content}"));
        sink.add(format_args!("filter:{origin}|named:{}", condition.named));
        sink.add(format_args!("filter:{origin}|op:{op}"));
        if condition.origin == Origin::Part {
            sink.add(format_args!("filter:part|values:{}", few(condition.values)));
        }
        let kind = type_name(on, condition.filter.column);
        sink.add(format_args!("filter:{origin}|type:{kind}"));
        let rivals = on.conditions.iter().filter(|c| c.span.overlaps(condition.span) && c.filter.column != condition.filter.column).count();
        sink.add(format_args!("filter:{origin}|rivals:{}", few(rivals)));
        if condition.negated {
            sink.add(format_args!("filter:negated|op:{op}"));
        }
        if matches!(condition.filter.test, Test::Month(_) | Test::MonthDay(_)) {
            sink.add(format_args!("filter:month|op:{op}"));
        }
    }
    let rows = rows(on, candidate);
    sink.add(format_args!("rows:{rows}|op:{op}"));
}

/// Rows that pass, as far as the index knows.
fn rows(on: &Grounded<'_>, candidate: &Candidate) -> &'static str {
    if matches!(candidate.query.ask, Ask::Better { .. } | Ask::Difference { .. }) {
        return "?";
    }
    match known_rows(on, &candidate.conditions) {
        None => "?",
        Some(0) => "0",
        Some(1) => "1",
        Some(2..=3) => "2-3",
        Some(_) => "4+",
    }
}

/// Rows that pass all conditions, where the index knows them.
pub fn known_rows(on: &Grounded<'_>, conditions: &[usize]) -> Option<usize> {
    let mut passing: Option<Vec<u32>> = None;
    for condition in conditions.iter().map(|at| &on.conditions[*at]) {
        let Test::In(texts) = &condition.filter.test else { return None };
        let rows = on.index.rows_of(condition.filter.column, texts)?;
        passing = Some(match passing {
            None => rows,
            Some(before) => before.into_iter().filter(|row| rows.binary_search(row).is_ok()).collect(),
        });
    }
    passing.map(|rows| rows.len())
}

fn left(on: &Grounded<'_>, candidate: &Candidate, op: &str, sink: &mut impl Sink) {
    let left = leftovers(on, candidate);
    sink.add(format_args!("left:words:{}", few(left.words.len())));
    sink.add(format_args!("left:words:{}|op:{op}", few(left.words.len())));
    let values = few(left.values.min(2));
    sink.add(format_args!("left:values:{values}"));
    sink.add(format_args!("left:comparatives:{}|op:{op}", few(left.comparatives)));
    let spans = spans(on, candidate);
    for at in &left.words {
        let word = &on.question.words[*at];
        let known = if on.index.knows(&word.stem) {
            "value"
        } else if on.headers.iter().flatten().any(|h| h.stem == word.stem) {
            "header"
        } else {
            "none"
        };
        sink.add(format_args!("left:word:{known}|op:{op}"));
        let place = if *at <= on.question.form_at + 3 { "noun" } else { "later" };
        sink.add(format_args!("left:word:{known}:{place}"));
        if word.is_number() {
            sink.add(format_args!("left:word:number|op:{op}"));
        }
    }
    if matches!(candidate.query.ask, Ask::Count | Ask::CountDistinct { .. }) {
        counted(on, candidate, op, sink);
    }
    let unused = on.mentions.iter().filter(|m| m.cover > 0.99 && !spans.iter().any(|s| s.overlaps(m.span))).count();
    sink.add(format_args!("left:columns:{}|op:{op}", few(unused.min(2))));
    let numbers =
        on.question.numbers.iter().filter(|n| !spans.iter().any(|s| s.overlaps(n.span)) && !on.question.words[n.span.start].stop).count();
    sink.add(format_args!("left:numbers:{}|op:{op}", few(numbers.min(2))));
    let rivals =
        on.conditions.iter().filter(|c| c.origin == Origin::Part && c.content > 1 && !spans.iter().any(|s| s.overlaps(c.span))).count();
    sink.add(format_args!("left:parts:{}", few(rivals.min(2))));
}

/// What is counted: rows are, where the noun is nobody's or names a column of distinct values.
fn counted(on: &Grounded<'_>, candidate: &Candidate, op: &str, sink: &mut impl Sink) {
    let near = |m: &&Mention| m.span.start > on.question.form_at && m.span.start <= on.question.form_at + 5;
    let spans: Vec<Span> = candidate.conditions.iter().map(|at| on.conditions[*at].span).collect();
    let noun = on.mentions.iter().filter(near).find(|m| !spans.iter().any(|s| s.overlaps(m.span)));
    let kind = match noun {
        None => "none",
        Some(m) if on.table.columns[m.column].is_unique(on.table.rows) => "unique",
        Some(m) if on.table.columns[m.column].form().is_some() => "number",
        Some(_) => "repeated",
    };
    let filters = if candidate.conditions.is_empty() { "0" } else { "some" };
    sink.add(format_args!("counted:{kind}|op:{op}|filters:{filters}"));
}

/// Features that name words of one question: they teach the order of readings, not how sure to be.
pub fn is_lexical(name: &str) -> bool {
    name.starts_with("focus:") || name.starts_with("shown:") && !name.contains('|') || name.starts_with("measured:") && !name.contains('|')
}

fn shown(on: &Grounded<'_>, candidate: &Candidate, column: ColumnId, op: &str, sink: &mut impl Sink) {
    let form = on.question.form.name();
    let kind = type_name(on, column);
    sink.add(format_args!("shown:type:{kind}|form:{form}"));
    sink.add(format_args!("shown:type:{kind}|op:{op}"));
    let unique = on.table.columns[column].is_unique(on.table.rows);
    sink.add(format_args!("shown:unique:{unique}|op:{op}"));
    if candidate.query.filters.iter().any(|filter| filter.column == column) {
        sink.add(format_args!("shown:filtered|op:{op}"));
    }
    if candidate.query.ask.measured() == Some(column) {
        sink.add(format_args!("shown:measured|form:{form}"));
    }
    match &candidate.shown {
        Some(mention) => {
            let distance = near(mention.span.start.saturating_sub(on.question.form_at + 1));
            sink.add(format_args!("shown:{}|near:{distance}", cover(mention)));
            sink.add(format_args!("shown:{}|op:{op}", cover(mention)));
            sink.add(format_args!("shown:{}|form:{form}", cover(mention)));
        }
        None => {
            let first_text = (0..on.table.columns.len()).find(|c| on.table.columns[*c].form().is_none());
            let place = if first_text == Some(column) { "first text" } else { few(column) };
            sink.add(format_args!("shown:unnamed|place:{place}"));
            sink.add(format_args!("shown:unnamed|op:{op}|form:{form}"));
            let named = on.mentions.iter().any(|m| m.cover > 0.99 && m.span.start.saturating_sub(on.question.form_at) <= 2);
            sink.add(format_args!("shown:unnamed|other named:{named}"));
            let focus = focus(on);
            for stem in on.headers[column].iter().filter(|word| !word.stop).map(|word| word.stem.as_str()) {
                sink.add(format_args!("shown:{form}:{stem}"));
                if let Some(focus) = focus {
                    sink.add(format_args!("focus:{focus}:{stem}"));
                }
            }
        }
    }
}

/// The stem of the first content word behind the word that asks.
fn focus<'a>(on: &'a Grounded<'_>) -> Option<&'a str> {
    let asks = matches!(on.question.form, Asks::Which | Asks::What | Asks::HowAdjective | Asks::Name | Asks::When | Asks::HowMany);
    let words = &on.question.words;
    let skip = usize::from(asks);
    words.iter().skip(on.question.form_at + skip).find(|word| !word.stop).map(|word| word.stem.as_str())
}

fn measured(on: &Grounded<'_>, candidate: &Candidate, column: ColumnId, op: &str, sink: &mut impl Sink) {
    let kind = type_name(on, column);
    sink.add(format_args!("measured:type:{kind}|op:{op}"));
    let unread = on.table.columns[column].reading.is_some_and(|reading| reading.unread > 0);
    sink.add(format_args!("measured:unread:{unread}"));
    let superlative = candidate.superlative.map(|at| &on.question.superlatives[at]);
    match &candidate.measured {
        Some(mention) => {
            sink.add(format_args!("measured:{}|op:{op}", cover(mention)));
            if let Some(superlative) = superlative {
                let after = if mention.span.start >= superlative.span.end { "after" } else { "before" };
                sink.add(format_args!("measured:{}|{after}:{}", cover(mention), near(mention.span.distance(superlative.span))));
            }
        }
        None => {
            let rivals = (0..on.table.columns.len()).filter(|c| *c != column && on.table.columns[*c].form().is_some()).count();
            sink.add(format_args!("measured:unnamed|rivals:{}|op:{op}", few(rivals)));
            let named = on.mentions.iter().any(|m| m.cover > 0.99 && on.table.columns[m.column].form().is_some());
            sink.add(format_args!("measured:unnamed|other named:{named}|op:{op}"));
        }
    }
    if let Some(superlative) = superlative {
        let word = on.question.words[superlative.span.start].text.as_str();
        let hinted = on.headers[column].iter().any(|w| superlative.measures.contains(&w.stem.as_str()));
        sink.add(format_args!("measured:hinted:{hinted}|any:{}", !superlative.measures.is_empty()));
        for stem in on.headers[column].iter().filter(|w| !w.stop).map(|w| w.stem.as_str()) {
            sink.add(format_args!("measured:{word}:{stem}"));
            if let Some(next) = on.question.words.get(superlative.span.end).filter(|_| candidate.measured.is_none()) {
                sink.add(format_args!("measured:next:{}:{stem}", next.stem));
            }
        }
    }
}
