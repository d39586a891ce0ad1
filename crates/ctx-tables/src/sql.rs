//! A typed query as SQL text with bound values: one SELECT over one table, identifiers quoted, every value a parameter.

use crate::query::{Ask, Comparison, End, Filter, Function, Query, Test};
use crate::reading::Form;
use crate::schema::{ColumnId, LINE, ROW, Table};
use crate::typing::ColumnType;

/// A statement and its parameters, in the order of the places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    /// The text; places are `?`.
    pub text: String,
    /// Values as text; the statement casts them.
    pub parameters: Vec<String>,
}

impl Sql {
    /// The statement with its values in place, for a reader: what runs has them bound and cast, a reader sees a date as a
    /// date and a number as a number.
    pub fn inlined(&self) -> String {
        let mut values = self.parameters.iter();
        let mut text = String::with_capacity(self.text.len());
        let mut quoted = None;
        let mut rest = self.text.as_str();
        while let Some(c) = rest.chars().next() {
            if quoted.is_none() {
                let cast = rest.strip_prefix("CAST(? AS ").and_then(type_of);
                if c == '?' || cast.is_some() {
                    let value = values.next().map_or("?", String::as_str);
                    text.push_str(&literal(value, cast.map(|(ty, _)| ty)));
                    rest = cast.map_or(&rest[1..], |(_, behind)| behind);
                    continue;
                }
            }
            match (c, quoted) {
                ('"' | '\'', None) => quoted = Some(c),
                (c, Some(open)) if c == open => quoted = None,
                _ => {}
            }
            text.push(c);
            rest = &rest[c.len_utf8()..];
        }
        text
    }
}

/// The type up to the bracket that closes a cast, and what follows the bracket.
fn type_of(rest: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let end = rest.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '(') - i32::from(*c == ')');
        depth < 0
    })?;
    Some((&rest[..end.0], &rest[end.0 + 1..]))
}

/// A value as a reader writes it.
fn literal(value: &str, ty: Option<&str>) -> String {
    let quoted = format!("'{}'", value.replace('\'', "''"));
    let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
    match ty {
        None | Some("VARCHAR") => quoted,
        Some("DATE") => format!("DATE {quoted}"),
        Some(_) if is_number => value.to_owned(),
        Some(ty) => format!("CAST({quoted} AS {ty})"),
    }
}

/// The statement that computes a query's values, one per row in the first column.
pub fn statement(table: &Table, query: &Query) -> Sql {
    let mut sql = Writer { table, parameters: Vec::new() };
    let text = sql.ask(query);
    Sql { text, parameters: sql.parameters }
}

/// The statement that lists the rows behind a query: position, line and every column, at most `limit` of them.
pub fn rows_behind(table: &Table, query: &Query, limit: usize) -> Sql {
    let mut sql = Writer { table, parameters: Vec::new() };
    let columns: Vec<String> = table.columns.iter().map(|column| format!("CAST({} AS VARCHAR)", quote(&column.name))).collect();
    let select = format!("SELECT {}, {}, {}", quote(ROW), quote(LINE), columns.join(", "));
    let from = quote(&table.name);
    let order = format!("ORDER BY {}", quote(ROW));
    let text = match &query.ask {
        Ask::Extreme { by, end, limit: most, .. } => {
            let (key, extra) = (sql.key(*by), sql.present(*by));
            let condition = sql.conditions(&query.filters, &[extra]);
            format!(
                "{select} FROM {from}{condition} QUALIFY rank() OVER (ORDER BY {key} {}) <= {most} {order} LIMIT {limit}",
                direction(*end)
            )
        }
        Ask::Place { column, end, limit: most } => {
            let condition = sql.conditions(&query.filters, &[sql.filled(*column)]);
            let most = (*most as usize).min(limit);
            format!("{select} FROM {from}{condition} ORDER BY {} {} LIMIT {most}", quote(ROW), direction(*end))
        }
        Ask::Neighbour { column, offset } => {
            let inner = sql.conditions(&query.filters, &[]);
            let filled = sql.filled(*column);
            format!(
                "{select} FROM {from} WHERE {filled} AND {} IN (SELECT {} + {offset} FROM {from}{inner}) {order} LIMIT {limit}",
                quote(ROW),
                quote(ROW)
            )
        }
        Ask::Difference { other, .. } => {
            let (one, two) = (sql.condition(&query.filters), sql.condition(other));
            format!("{select} FROM {from} WHERE ({one}) OR ({two}) {order} LIMIT {limit}")
        }
        Ask::Better { column, first, second, .. } => {
            let condition = sql.conditions(&query.filters, &[]);
            let both = sql.inside(&sql.cell(*column), &first.iter().chain(second).cloned().collect::<Vec<_>>());
            let joint = if condition.is_empty() { " WHERE " } else { " AND " };
            format!("{select} FROM {from}{condition}{joint}{both} {order} LIMIT {limit}")
        }
        _ => {
            let condition = sql.conditions(&query.filters, &[]);
            format!("{select} FROM {from}{condition} {order} LIMIT {limit}")
        }
    };
    Sql { text, parameters: sql.parameters }
}

/// A name in double quotes, quotes inside doubled.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn direction(end: End) -> &'static str {
    match end {
        End::Least => "ASC",
        End::Greatest => "DESC",
    }
}

/// What a key of days stands for: a day, or the point between two days where a month or a year begins.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Days {
    Day(String),
    Before(String),
}

impl Days {
    fn of(digits: &str) -> Option<Days> {
        let key: u32 = digits.parse().ok()?;
        let (year, month, day) = (key / 10_000, key / 100 % 100, key % 100);
        if !(1..=9_998).contains(&year) {
            return None;
        }
        let first = |year: u32, month: u32| Days::Before(format!("{year:04}-{month:02}-01"));
        match (month, day) {
            (0, 0) => Some(first(year, 1)),
            (99, 99) | (12, 99) => Some(first(year + 1, 1)),
            (1..=12, 0) => Some(first(year, month)),
            (1..=11, 99) => Some(first(year, month + 1)),
            (1..=12, day) if (1..=days_in(year, month)).contains(&day) => Some(Days::Day(format!("{year:04}-{month:02}-{day:02}"))),
            _ => None,
        }
    }

    /// No day equals a point between two.
    fn serves(&self, sign: Comparison) -> bool {
        sign != Comparison::Equal || matches!(self, Days::Day(_))
    }

    /// The comparison with a date that says the same.
    fn bound(self, sign: Comparison) -> (Comparison, String) {
        match (self, sign) {
            (Days::Day(day), sign) => (sign, day),
            (Days::Before(day), Comparison::Less | Comparison::AtMost) => (Comparison::Less, day),
            (Days::Before(day), _) => (Comparison::AtLeast, day),
        }
    }
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

struct Writer<'a> {
    table: &'a Table,
    parameters: Vec<String>,
}

impl Writer<'_> {
    fn ask(&mut self, query: &Query) -> String {
        let from = quote(&self.table.name);
        let row = quote(ROW);
        match &query.ask {
            Ask::Cells { column } => {
                let condition = self.conditions(&query.filters, &[self.filled(*column)]);
                format!("SELECT {} FROM {from}{condition} ORDER BY {row}", self.shown(*column))
            }
            Ask::Count => format!("SELECT count(*) FROM {from}{}", self.conditions(&query.filters, &[])),
            Ask::CountDistinct { column } => {
                let condition = self.conditions(&query.filters, &[]);
                format!("SELECT count(DISTINCT {}) FROM {from}{condition}", quote(&self.table.columns[*column].name))
            }
            Ask::Aggregate { function, column } => {
                let condition = self.conditions(&query.filters, &[]);
                format!("SELECT {}({}) FROM {from}{condition}", name(*function), self.key(*column))
            }
            Ask::Spread { column } => {
                let condition = self.conditions(&query.filters, &[]);
                let years = self.years(*column);
                format!("SELECT max({years}) - min({years}) FROM {from}{condition}")
            }
            Ask::Extreme { column, by, end, limit } => {
                let condition = self.conditions(&query.filters, &[self.present(*by), self.filled(*column)]);
                let key = self.key(*by);
                let order = direction(*end);
                format!(
                    "SELECT {} FROM {from}{condition} QUALIFY rank() OVER (ORDER BY {key} {order}) <= {limit} ORDER BY {key} {order}, {row}",
                    self.shown(*column)
                )
            }
            Ask::Place { column, end, limit } => {
                let condition = self.conditions(&query.filters, &[self.filled(*column)]);
                format!("SELECT {} FROM {from}{condition} ORDER BY {row} {} LIMIT {limit}", self.shown(*column), direction(*end))
            }
            Ask::Neighbour { column, offset } => {
                let inner = self.conditions(&query.filters, &[]);
                let filled = self.filled(*column);
                format!(
                    "SELECT {} FROM {from} WHERE {filled} AND {row} IN (SELECT {row} + {offset} FROM {from}{inner}) ORDER BY {row}",
                    self.shown(*column)
                )
            }
            Ask::Group { column, of, end, limit } => {
                let condition = self.conditions(&query.filters, &[self.filled(*column)]);
                let measure = of.map_or("count(*)".to_owned(), |(function, of)| format!("{}({})", name(function), self.key(of)));
                let (group, order) = (quote(&self.table.columns[*column].name), direction(*end));
                let having = if of.is_some() { format!(" HAVING {measure} IS NOT NULL") } else { String::new() };
                format!(
                    "SELECT {}, {measure} FROM {from}{condition} GROUP BY {group}{having} QUALIFY rank() OVER (ORDER BY {measure} {order}) <= {limit} ORDER BY {measure} {order}, {group}",
                    self.shown(*column)
                )
            }
            Ask::GroupAll { column, of } => {
                let condition = self.conditions(&query.filters, &[self.filled(*column)]);
                let measure = of.map_or("count(*)".to_owned(), |(function, of)| format!("{}({})", name(function), self.key(of)));
                let group = quote(&self.table.columns[*column].name);
                format!("SELECT {}, {measure} FROM {from}{condition} GROUP BY {group} ORDER BY {group}", self.shown(*column))
            }
            Ask::Difference { column, other } => {
                let measure = match column {
                    None => "count(*)".to_owned(),
                    Some(column) => self.side(*column, &self.years(*column)),
                };
                let one = self.conditions(&query.filters, &[]);
                let two = self.conditions(other, &[]);
                format!("SELECT abs((SELECT {measure} FROM {from}{one}) - (SELECT {measure} FROM {from}{two}))")
            }
            Ask::Better { column, first, second, by, end } => self.better(query, *column, [first, second], *by, *end),
            Ask::Same { column, shared } => {
                let name = quote(&self.table.columns[*shared].name);
                let inner = self.conditions(&query.filters, &[]);
                let outer = self.condition(&query.filters);
                let filled = self.filled(*column);
                format!(
                    "SELECT {} FROM {from} WHERE {filled} AND {name} IN (SELECT {name} FROM {from}{inner}) AND NOT coalesce({outer}, false) ORDER BY {row}",
                    self.shown(*column)
                )
            }
        }
    }

    /// One side of a comparison: points in time of several rows have neither a sum nor a difference.
    fn side(&self, column: ColumnId, key: &str) -> String {
        match self.table.columns[column].is_time() {
            true => format!("CASE WHEN count({key}) = 1 THEN max({key}) END"),
            false => format!("sum({key})"),
        }
    }

    /// Both sides as one row each; the winner's text, both on a tie.
    fn better(&mut self, query: &Query, column: ColumnId, sides: [&Vec<String>; 2], by: Option<ColumnId>, end: End) -> String {
        let from = quote(&self.table.name);
        let measure = by.map_or("count(*)".to_owned(), |by| self.side(by, &self.key(by)));
        let mut halves = Vec::new();
        for texts in sides {
            self.parameters.push(texts.first().cloned().unwrap_or_default());
            let condition = self.conditions(&query.filters, &[]);
            let inside = self.inside(&self.cell(column), texts);
            let joint = if condition.is_empty() { " WHERE " } else { " AND " };
            halves.push(format!("SELECT CAST(? AS VARCHAR) AS side, {measure} AS measure FROM {from}{condition}{joint}{inside}"));
        }
        format!(
            "SELECT side FROM ({}) QUALIFY rank() OVER (ORDER BY measure {}) = 1 AND count(measure) OVER () = 2",
            halves.join(" UNION ALL "),
            direction(end)
        )
    }

    fn shown(&self, column: ColumnId) -> String {
        let name = quote(&self.table.columns[column].name);
        if self.table.columns[column].ty == ColumnType::Text { name } else { format!("CAST({name} AS VARCHAR)") }
    }

    /// The cell as text, to be compared with values as they stand.
    fn cell(&self, column: ColumnId) -> String {
        self.shown(column)
    }

    /// What orders and adds up.
    fn key(&self, column: ColumnId) -> String {
        let column = &self.table.columns[column];
        if column.ty == ColumnType::Text { quote(&column.reading_name()) } else { quote(&column.name) }
    }

    /// The key as year × 10,000 + month × 100 + day, or the number.
    fn number(&self, column: ColumnId) -> String {
        let name = quote(&self.table.columns[column].name);
        match self.table.columns[column].ty {
            ColumnType::Date | ColumnType::Timestamp => format!("(year({name}) * 10000 + month({name}) * 100 + day({name}))"),
            _ => self.key(column),
        }
    }

    fn years(&self, column: ColumnId) -> String {
        match self.table.columns[column].form() {
            Some(Form::Date) => format!("({} // 10000)", self.number(column)),
            _ => self.key(column),
        }
    }

    fn filled(&self, column: ColumnId) -> String {
        format!("{} IS NOT NULL", quote(&self.table.columns[column].name))
    }

    fn present(&self, column: ColumnId) -> String {
        format!("{} IS NOT NULL", self.key(column))
    }

    fn conditions(&mut self, filters: &[Filter], extra: &[String]) -> String {
        let mut parts: Vec<String> = filters.iter().map(|filter| self.test(filter)).collect();
        parts.extend(extra.iter().cloned());
        if parts.is_empty() { String::new() } else { format!(" WHERE {}", parts.join(" AND ")) }
    }

    fn condition(&mut self, filters: &[Filter]) -> String {
        let parts: Vec<String> = filters.iter().map(|filter| self.test(filter)).collect();
        if parts.is_empty() { "true".to_owned() } else { parts.join(" AND ") }
    }

    fn inside(&mut self, cell: &str, texts: &[String]) -> String {
        self.parameters.extend(texts.iter().cloned());
        match texts.len() {
            1 => format!("{cell} = ?"),
            n => format!("{cell} IN ({})", vec!["?"; n].join(", ")),
        }
    }

    fn is_date(&self, column: ColumnId) -> bool {
        matches!(self.table.columns[column].ty, ColumnType::Date | ColumnType::Timestamp)
    }

    /// A comparison with a key of days as one of dates.
    fn by_day(&mut self, column: ColumnId, sign: Comparison, digits: &str) -> String {
        let described = &self.table.columns[column];
        let name = quote(&described.name);
        let Some(days) = Days::of(digits) else { return "false".to_owned() };
        let (sign, day) = days.bound(sign);
        self.parameters.push(day);
        match (described.ty, sign) {
            (ColumnType::Date, _) | (_, Comparison::Less | Comparison::AtLeast) => format!("{name} {} CAST(? AS DATE)", sign.sql()),
            _ => format!("CAST({name} AS DATE) {} CAST(? AS DATE)", sign.sql()),
        }
    }

    fn test(&mut self, filter: &Filter) -> String {
        self.passes(filter.column, &filter.test)
    }

    fn passes(&mut self, column: ColumnId, test: &Test) -> String {
        let cell = self.cell(column);
        let number = self.number(column);
        match test {
            Test::Any(tests) => {
                let parts: Vec<String> = tests.iter().map(|test| self.passes(column, test)).collect();
                format!("({})", parts.join(" OR "))
            }
            Test::In(texts) => self.inside(&cell, texts),
            Test::NotIn(texts) => {
                self.parameters.extend(texts.iter().cloned());
                format!("{cell} NOT IN ({})", vec!["?"; texts.len()].join(", "))
            }
            Test::Compare(sign, digits) if self.is_date(column) && Days::of(digits).is_some_and(|days| days.serves(*sign)) => {
                self.by_day(column, *sign, digits)
            }
            Test::Between(least, most) if self.is_date(column) && [least, most].iter().all(|digits| Days::of(digits).is_some()) => {
                let least = self.by_day(column, Comparison::AtLeast, least);
                format!("{least} AND {}", self.by_day(column, Comparison::AtMost, most))
            }
            Test::Compare(sign, digits) => {
                self.parameters.push(digits.clone());
                format!("{number} {} {}", sign.sql(), place(digits))
            }
            Test::Between(least, most) => {
                self.parameters.extend([least.clone(), most.clone()]);
                format!("{number} BETWEEN {} AND {}", place(least), place(most))
            }
            Test::Month(month) => {
                self.parameters.push(month.to_string());
                format!("({number} // 100) % 100 = CAST(? AS INTEGER)")
            }
            Test::MonthDay(day) => {
                self.parameters.push(day.to_string());
                format!("{number} % 10000 = CAST(? AS INTEGER)")
            }
        }
    }
}

/// A bound number with as many digits behind the point as it has, so that nothing is rounded.
fn place(digits: &str) -> String {
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    if scale == 0 { "CAST(? AS HUGEINT)".to_owned() } else { format!("CAST(? AS DECIMAL(38,{scale}))") }
}

fn name(function: Function) -> &'static str {
    match function {
        Function::Sum => "sum",
        Function::Avg => "avg",
        Function::Min => "min",
        Function::Max => "max",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_dates_and_numbers_in_place() {
        let parameters = ["2024-01-01", "3", "640.10", "O'Neil ? \"", "x"].map(str::to_owned).to_vec();
        let text = "SELECT \"a?\" FROM t WHERE d < CAST(? AS DATE) AND n > CAST(? AS HUGEINT) AND m = CAST(? AS DECIMAL(38,2)) AND c = ? AND e = CAST(? AS HUGEINT)";
        let shown = Sql { text: text.to_owned(), parameters }.inlined();
        let expected =
            "SELECT \"a?\" FROM t WHERE d < DATE '2024-01-01' AND n > 3 AND m = 640.10 AND c = 'O''Neil ? \"' AND e = CAST('x' AS HUGEINT)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn keys_of_days_are_days_or_points_between_them() {
        let point = |day: &str| Some(Days::Before(day.to_owned()));
        assert_eq!(Days::of("20240000"), point("2024-01-01"));
        assert_eq!(Days::of("20249999"), point("2025-01-01"));
        assert_eq!(Days::of("20240699"), point("2024-07-01"));
        assert_eq!(Days::of("20241299"), point("2025-01-01"));
        assert_eq!(Days::of("20240229"), Some(Days::Day("2024-02-29".to_owned())));
        assert_eq!((Days::of("20230229"), Days::of("20240431"), Days::of("99999999")), (None, None, None));
    }
}
