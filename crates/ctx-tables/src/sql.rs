//! A typed query as SQL text with bound values: one SELECT over one table, identifiers quoted, every value a parameter.

use crate::query::{Ask, End, Filter, Function, Query, Test, period};
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
    /// The statement with its values in place, for a reader: what runs has them bound.
    pub fn inlined(&self) -> String {
        let mut values = self.parameters.iter();
        let mut text = String::with_capacity(self.text.len());
        let mut quoted = None;
        for c in self.text.chars() {
            match (c, quoted) {
                ('?', None) => {
                    let value = values.next().map_or("?", String::as_str);
                    text.push_str(&format!("'{}'", value.replace('\'', "''")));
                    continue;
                }
                ('"' | '\'', None) => quoted = Some(c),
                (c, Some(open)) if c == open => quoted = None,
                _ => {}
            }
            text.push(c);
        }
        text
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

/// First day of a year or month, and the first day behind it.
fn days((year, month): (u64, u64)) -> [String; 2] {
    match month {
        0 => [format!("{year:04}-01-01"), format!("{:04}-01-01", year + 1)],
        12 => [format!("{year:04}-12-01"), format!("{:04}-01-01", year + 1)],
        month => [format!("{year:04}-{month:02}-01"), format!("{year:04}-{:02}-01", month + 1)],
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
            Test::Compare(sign, digits) => {
                self.parameters.push(digits.clone());
                format!("{number} {} {}", sign.sql(), place(digits))
            }
            Test::Between(least, most) if self.is_date(column) && period(least, most).is_some() => {
                let name = quote(&self.table.columns[column].name);
                self.parameters.extend(period(least, most).map(days).into_iter().flatten());
                format!("{name} >= CAST(? AS DATE) AND {name} < CAST(? AS DATE)")
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
