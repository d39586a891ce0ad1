//! A query in words, for refusals and EXPLAIN.

use crate::query::{Ask, Comparison, End, Filter, Function, Query, Test, period};
use crate::schema::{ColumnId, Table};

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
        Ask::Group { column, of: None, end } => {
            format!("{} with the {} rows", name(column), if *end == End::Greatest { "most" } else { "fewest" })
        }
        Ask::Group { column, of: Some((function, of)), end } => {
            format!("{} with the {} {} of {}", name(column), ends(*end, 1), function_name(*function), name(of))
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
            format!(
                "which {} has {} {what}, {:?} or {:?}",
                name(column),
                if *end == End::Greatest { "more" } else { "less" },
                side(first),
                side(second)
            )
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

fn condition(table: &Table, filter: &Filter) -> String {
    let column = format!("`{}`", table.columns[filter.column].name);
    match &filter.test {
        Test::In(texts) => format!("{column} is {}", listed(texts)),
        Test::NotIn(texts) => format!("{column} is not {}", listed(texts)),
        Test::Compare(Comparison::Equal, digits) => format!("{column} is {digits}"),
        Test::Compare(sign, digits) => format!("{column} {} {digits}", sign.sql()),
        Test::Between(least, most) => match period(least, most) {
            Some((year, 0)) => format!("{column} is in {year}"),
            Some((year, month)) => format!("{column} is in {year}-{month:02}"),
            None => format!("{column} is from {least} to {most}"),
        },
        Test::Month(month) => format!("{column} is in month {month}"),
        Test::MonthDay(day) => format!("{column} is on day {} of month {}", day % 100, day / 100),
    }
}

fn listed(texts: &[String]) -> String {
    let shown: Vec<String> = texts.iter().take(TEXTS_MAX).map(|text| format!("{text:?}")).collect();
    let more = texts.len().saturating_sub(TEXTS_MAX);
    let joined = shown.join(" or ");
    if more > 0 { format!("{joined} or {more} more") } else { joined }
}
