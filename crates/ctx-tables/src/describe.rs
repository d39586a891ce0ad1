//! A query in words, for refusals and EXPLAIN.

use crate::query::{Ask, Comparison, End, Filter, Function, Query, Test, period};
use crate::reading::{Form, month_name};
use crate::schema::{Column, ColumnId, Table};

/// Texts listed of one filter.
const TEXTS_MAX: usize = 3;

/// `average of "list_price" where "maker" is "Ayr"`.
pub fn describe(table: &Table, query: &Query) -> String {
    let name = |column: &ColumnId| format!("`{}`", table.columns[*column].name);
    let ask = match &query.ask {
        Ask::Cells { column } => name(column),
        Ask::Count => "number of rows".to_owned(),
        Ask::CountDistinct { column } => format!("number of different {}", name(column)),
        Ask::Aggregate { function, column } => format!("{} of {}", function_name(*function), name(column)),
        Ask::Spread { column } => format!("greatest minus least {}", name(column)),
        Ask::Extreme { column, by, end, limit } if column == by => format!("{} {}", ends(*end, *limit), name(column)),
        Ask::Extreme { column, by, end, limit } => format!("{} with the {} {}", name(column), ends(*end, *limit), name(by)),
        Ask::Place { column, end: End::Least, limit } => format!("{} of the first {limit} rows", name(column)),
        Ask::Place { column, end: End::Greatest, limit } => format!("{} of the last {limit} rows", name(column)),
        Ask::Neighbour { column, offset } => format!("{} of the row {}", name(column), if *offset > 0 { "after" } else { "before" }),
        Ask::Group { column, of: None, end, limit } => {
            let word = if *end == End::Greatest { "most" } else { "fewest" };
            match limit {
                2.. => format!("the {limit} {} with the {word} rows", name(column)),
                _ => format!("{} with the {word} rows", name(column)),
            }
        }
        Ask::Group { column, of: Some((function, of)), end, limit } => {
            format!("{} with the {} {} of {}", name(column), ends(*end, *limit), function_name(*function), name(of))
        }
        Ask::GroupAll { column, of: None } => format!("number of rows by {}", name(column)),
        Ask::GroupAll { column, of: Some((function, of)) } => format!("{} of {} by {}", function_name(*function), name(of), name(column)),
        Ask::Difference { column, other } => {
            let what = column.as_ref().map_or("number of rows".to_owned(), name);
            format!("difference of {what} to that where {}", conditions(table, other))
        }
        Ask::Better { column, first, second, by, end } => {
            let what = by.as_ref().map_or("rows".to_owned(), name);
            let side = |texts: &Vec<String>| texts.first().cloned().unwrap_or_default();
            let time = by.is_some_and(|by| table.columns[by].is_time());
            let more = match (time, end) {
                (true, End::Greatest) => "the later",
                (true, End::Least) => "the earlier",
                (false, End::Greatest) => "more",
                (false, End::Least) => "less",
            };
            format!("which {} has {more} {what}, {:?} or {:?}", name(column), side(first), side(second))
        }
        Ask::Same { column, shared } => format!("{} of other rows with the same {}", name(column), name(shared)),
    };
    match query.filters.is_empty() {
        true => format!("{ask} in `{}`", table.name),
        false => format!("{ask} in `{}` where {}", table.name, conditions(table, &query.filters)),
    }
}

fn function_name(function: Function) -> &'static str {
    match function {
        Function::Sum => "total",
        Function::Avg => "average",
        Function::Min => "least",
        Function::Max => "greatest",
    }
}

fn ends(end: End, limit: u32) -> String {
    let word = if end == End::Greatest { "greatest" } else { "least" };
    if limit > 1 { format!("{limit} {word}") } else { word.to_owned() }
}

fn conditions(table: &Table, filters: &[Filter]) -> String {
    let all: Vec<String> = filters.iter().map(|filter| condition(table, filter)).collect();
    all.join(" and ")
}

/// `` `city` is "Leeds" ``.
pub fn condition(table: &Table, filter: &Filter) -> String {
    let column = &table.columns[filter.column];
    format!("`{}` {}", column.name, predicate(column, &filter.test))
}

/// What a test says of a column, behind its name; dates as dates.
pub fn predicate(column: &Column, test: &Test) -> String {
    let dated = column.form() == Some(Form::Date);
    match test {
        Test::In(texts) => format!("is {}", listed(texts)),
        Test::NotIn(texts) => format!("is not {}", listed(texts)),
        Test::Compare(sign, digits) if dated => match sign {
            Comparison::Equal => format!("is {}", date(digits)),
            Comparison::Less => format!("is before {}", date(digits)),
            Comparison::AtMost => format!("is {} or earlier", date(digits)),
            Comparison::Greater => format!("is after {}", date(digits)),
            Comparison::AtLeast => format!("is {} or later", date(digits)),
        },
        Test::Compare(Comparison::Equal, digits) => format!("is {digits}"),
        Test::Compare(sign, digits) => format!("{} {digits}", sign.sql()),
        Test::Between(least, most) if dated => match period(least, most) {
            Some((year, 0)) => format!("is in {year}"),
            Some((year, month)) => format!("is in {year}-{month:02}"),
            None => format!("is from {} to {}", date(least), date(most)),
        },
        Test::Between(least, most) => format!("is from {least} to {most}"),
        Test::Month(month) => format!("is in {}", month_name(*month)),
        Test::MonthDay(day) => format!("is on {} {}", day % 100, month_name(day / 100)),
        Test::Any(tests) => tests.iter().map(|test| predicate(column, test)).collect::<Vec<_>>().join(" or "),
    }
}

/// A date's key as the year, month or day that it stands for: the first or last key of a period is that period.
fn date(digits: &str) -> String {
    let Ok(key) = digits.parse::<u32>() else { return digits.to_owned() };
    match (key / 10_000, key / 100 % 100, key % 100) {
        (year, 0, 0) | (year, 99, 99) => year.to_string(),
        (year, month, 0 | 99) => format!("{year}-{month:02}"),
        (year, month, day) => format!("{year}-{month:02}-{day:02}"),
    }
}

fn listed(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().take(TEXTS_MAX).map(|text| format!("{text:?}")).collect();
    let more = texts.len().saturating_sub(TEXTS_MAX);
    let joined = shown.join(" or ");
    if more > 0 { format!("{joined} or {more} more") } else { joined }
}
