//! A second reading of the very same words, where it gives another result: the row with the most against the group with the
//! most, the last row against the latest date. Neither is more what was said than the other, so where they differ, or the
//! rows are too many to compare them beforehand, the goal has to decide.

use crate::candidates::{Candidate, Grounded};
use crate::explained::says_its_rows;
use crate::interpret::{Rows, interpret};
use crate::joined::may_be_added;
use crate::pairs::MORE_OR_LESS;
use crate::plain::is_full;
use crate::query::{Ask, End, Filter, Function, Query, Test};
use crate::reading::Form;
use crate::schema::ColumnId;
use std::collections::BTreeSet;

/// Stems of names of numbers whose sum means nothing.
const NOT_ADDED: &[&str] = &[
    "age",
    "altitud",
    "averag",
    "avg",
    "densiti",
    "depth",
    "durat",
    "elev",
    "grade",
    "height",
    "index",
    "latitud",
    "level",
    "longitud",
    "margin",
    "mean",
    "percent",
    "percentag",
    "price",
    "rate",
    "ratio",
    "score",
    "share",
    "speed",
    "temperatur",
    "width",
];

/// The other reading, where it differs.
pub fn rival(on: &Grounded<'_>, candidate: &Candidate, rows: Option<&Rows>) -> Option<Query> {
    let query = &candidate.query;
    let with = |ask: Ask| Query { filters: query.filters.clone(), ask };
    match query.ask {
        Ask::Extreme { column, by, end, limit } if column != by && candidate.superlative.is_some() => {
            if on.table.columns[column].is_unique(on.table.rows) {
                return None;
            }
            let function = match (adds_up(on, by) && !about_rows(on, candidate), limit, end) {
                (true, ..) => Function::Sum,
                // Each value once, where a row each would name some of them twice.
                (false, 2.., End::Greatest) => Function::Max,
                (false, 2.., End::Least) => Function::Min,
                (false, ..) => return None,
            };
            let group = |function| differs(on, rows, query, with(Ask::Group { column, of: Some((function, by)), end, limit }));
            // Of two that are set side by side "the higher amount" may be the higher on average.
            let beside = query.filters.iter().any(|filter| filter.column == column) && !adds_by_its_word(on, candidate);
            group(function).or_else(|| if beside { group(Function::Avg) } else { None })
        }
        Ask::Group { column, of: Some((Function::Sum, by)), end, limit } if on.aggregated().is_none() => {
            differs(on, rows, query, with(Ask::Extreme { column, by, end, limit }))
        }
        Ask::Place { column, end, limit } => {
            let by = |by| differs(on, rows, query, with(Ask::Extreme { column, by, end, limit }));
            dated_by(on).into_iter().find_map(by)
        }
        Ask::Better { column, ref first, ref second, by: Some(by), end } if !adds_by_its_word(on, candidate) => {
            let single = |texts: &[String]| on.index.rows_of(column, texts).is_some_and(|rows| rows.len() == 1);
            if single(first) && single(second) {
                return None;
            }
            let mut texts = [first.as_slice(), second.as_slice()].concat();
            texts.sort();
            let filters = vec![Filter { column, test: Test::In(texts) }];
            let other = |ask| differs(on, rows, query, Query { filters: filters.clone(), ask });
            let average = Ask::Group { column, of: Some((Function::Avg, by)), end, limit: 1 };
            other(Ask::Extreme { column, by, end, limit: 1 }).or_else(|| other(average))
        }
        _ => None,
    }
}

/// The other query, unless both give the same values and none of them twice.
fn differs(on: &Grounded<'_>, rows: Option<&Rows>, query: &Query, other: Query) -> Option<Query> {
    let Some(rows) = rows else { return Some(other) };
    let (given, rival) = (interpret(on.table, rows, query), interpret(on.table, rows, &other));
    let limit = match query.ask {
        Ask::Extreme { limit, .. } | Ask::Group { limit, .. } => limit,
        _ => 1,
    };
    let set = |values: &[String]| values.iter().cloned().collect::<BTreeSet<_>>();
    let once = limit < 2 || set(&given).len() == given.len() && given.len() == rival.len();
    (set(&given) != set(&rival) || !once).then_some(other)
}

/// Whether the sum of a column's numbers over rows means something.
fn adds_up(on: &Grounded<'_>, column: ColumnId) -> bool {
    let described = &on.table.columns[column];
    let named = on.headers[column].iter().any(|word| NOT_ADDED.contains(&word.stem.as_str()));
    described.form() == Some(Form::Number) && may_be_added(on, column) && !named && !described.name.contains('%')
}

/// "The city with the highest-rated restaurant", "the largest order amount": the word for the rows stands beside the measure.
fn about_rows(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let Some(measured) = candidate.measured.as_ref().map(|mention| mention.span) else { return false };
    let beside = |at: &usize| *at == measured.end || *at + 1 == measured.start;
    !adds_by_its_word(on, candidate) && on.table_named.iter().any(beside)
}

/// "More", "most", "fewest" add up what "higher", "largest" compare.
fn adds_by_its_word(on: &Grounded<'_>, candidate: &Candidate) -> bool {
    let word = |at: usize| on.question.words[on.question.superlatives[at].span.start].text.as_str();
    candidate.superlative.is_some_and(|at| MORE_OR_LESS.contains(&word(at)))
}

/// Dates that "first" and "last" may be about: the one that the goal names in its own form ("ordered last" beside a column
/// `ordered_on`), any where rows are things of their own and not a list.
fn dated_by(on: &Grounded<'_>) -> Vec<ColumnId> {
    let listed = on.question.has(&["row", "rows", "list", "listed", "table", "chart"]);
    let said = |column: ColumnId| {
        let of_column = on.mentions.iter().filter(|m| m.column == column && is_full(on, m));
        of_column.flat_map(|m| m.span.start..m.span.end).any(|at| {
            let text = &on.question.words[at].text;
            on.headers[column].iter().any(|word| !word.stop && word.text == *text)
        })
    };
    let dated = |column: &ColumnId| on.table.columns[*column].form() == Some(Form::Date);
    let dates: Vec<ColumnId> = (0..on.table.columns.len()).filter(dated).collect();
    match dates.iter().find(|column| said(**column)) {
        Some(column) => vec![*column],
        None if says_its_rows(on.table) && !listed => dates,
        None => Vec::new(),
    }
}
