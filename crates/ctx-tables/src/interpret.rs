//! The meaning of a query over rows in memory: the reference that SQL is tested against, and what fitting runs on.

use crate::query::{Ask, Comparison, End, Filter, Function, Query, Test};
use crate::reading::Form;
use crate::schema::{ColumnId, Table};
use std::collections::BTreeMap;

/// The rows of a table in memory.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Cells by row and column; `None` is null.
    pub cells: Vec<Vec<Option<String>>>,
    /// Keys by row and column.
    pub keys: Vec<Vec<Option<f64>>>,
}

/// Values of a query; empty if no row passes.
pub fn interpret(table: &Table, rows: &Rows, query: &Query) -> Vec<String> {
    let passing = Passing { table, rows };
    let at = passing.filter(&query.filters);
    match &query.ask {
        Ask::Cells { column } => passing.cells(&at, *column),
        Ask::Count => vec![at.len().to_string()],
        Ask::CountDistinct { column } => {
            let mut cells = passing.cells(&at, *column);
            cells.sort();
            cells.dedup();
            vec![cells.len().to_string()]
        }
        Ask::Aggregate { function, column } => passing.aggregate(&at, *function, *column).map(number).into_iter().collect(),
        Ask::Spread { column } => {
            let part = |function| passing.aggregate(&at, function, *column).map(|n| passing.years(*column, n));
            part(Function::Max).zip(part(Function::Min)).map(|(most, least)| number(most - least)).into_iter().collect()
        }
        Ask::Extreme { column, by, end, limit } => {
            let keyed = at.iter().filter_map(|row| Some((rows.keys[*row][*by]?, *row))).collect();
            passing.cells(&at_end(keyed, *end, *limit as usize), *column)
        }
        Ask::Place { column, end, limit } => {
            let filled: Vec<usize> = at.into_iter().filter(|row| rows.cells[*row][*column].is_some()).collect();
            let skip = if *end == End::Greatest { filled.len().saturating_sub(*limit as usize) } else { 0 };
            passing.cells(&filled.into_iter().skip(skip).take(*limit as usize).collect::<Vec<_>>(), *column)
        }
        Ask::Neighbour { column, offset } => {
            let next = at.iter().filter_map(|row| row.checked_add_signed(*offset as isize)).filter(|row| *row < rows.cells.len());
            passing.cells(&next.collect::<Vec<_>>(), *column)
        }
        Ask::Group { column, of, end, limit } => {
            let groups = passing.groups(&at, *column);
            let measure = |rows: &Vec<usize>| match of {
                Some((function, of)) => passing.aggregate(rows, *function, *of),
                None => Some(rows.len() as f64),
            };
            let keyed: Vec<(f64, String)> = groups.iter().filter_map(|(value, rows)| Some((measure(rows)?, value.clone()))).collect();
            at_end(keyed, *end, *limit as usize)
        }
        Ask::GroupAll { .. } => interpret_rows(table, rows, query).into_iter().filter_map(|row| row.into_iter().next()).collect(),
        Ask::Difference { column, other } => passing.difference(&at, &passing.filter(other), *column).map(number).into_iter().collect(),
        Ask::Better { column, first, second, by, end } => passing.better(&at, *column, [first, second], *by, *end),
        Ask::Same { column, shared } => {
            let values = passing.cells(&at, *shared);
            let others = (0..rows.cells.len())
                .filter(|row| !at.contains(row) && rows.cells[*row][*shared].as_ref().is_some_and(|v| values.contains(v)));
            passing.cells(&others.collect::<Vec<_>>(), *column)
        }
    }
}

/// Rows of a query: its values, with the measure beside each where a query groups.
pub fn interpret_rows(table: &Table, rows: &Rows, query: &Query) -> Vec<Vec<String>> {
    let Ask::GroupAll { column, of } = &query.ask else {
        return interpret(table, rows, query).into_iter().map(|value| vec![value]).collect();
    };
    let passing = Passing { table, rows };
    let groups = passing.groups(&passing.filter(&query.filters), *column);
    let measure = |rows: &[usize]| match of {
        Some((function, of)) => passing.aggregate(rows, *function, *of).map_or(String::new(), number),
        None => rows.len().to_string(),
    };
    groups.iter().map(|(value, rows)| vec![value.clone(), measure(rows)]).collect()
}

struct Passing<'a> {
    table: &'a Table,
    rows: &'a Rows,
}

impl Passing<'_> {
    fn filter(&self, filters: &[Filter]) -> Vec<usize> {
        (0..self.rows.cells.len()).filter(|row| filters.iter().all(|filter| self.holds(*row, filter))).collect()
    }

    fn holds(&self, row: usize, filter: &Filter) -> bool {
        self.passes(row, filter.column, &filter.test)
    }

    fn passes(&self, row: usize, column: ColumnId, test: &Test) -> bool {
        let cell = self.rows.cells[row][column].as_deref();
        let key = self.rows.keys[row][column];
        match test {
            Test::Any(tests) => tests.iter().any(|test| self.passes(row, column, test)),
            Test::In(texts) => cell.is_some_and(|cell| texts.iter().any(|text| text == cell)),
            Test::NotIn(texts) => cell.is_some_and(|cell| !texts.iter().any(|text| text == cell)),
            Test::Compare(sign, digits) => key.zip(digits.parse::<f64>().ok()).is_some_and(|(key, to)| compare(*sign, key, to)),
            Test::Between(least, most) => {
                let ends = least.parse::<f64>().ok().zip(most.parse::<f64>().ok());
                key.zip(ends).is_some_and(|(key, (least, most))| least <= key && key <= most)
            }
            Test::Month(month) => key.is_some_and(|key| (key as u32 / 100) % 100 == *month),
            Test::MonthDay(day) => key.is_some_and(|key| key as u32 % 10_000 == *day),
        }
    }

    fn cells(&self, rows: &[usize], column: ColumnId) -> Vec<String> {
        rows.iter().filter_map(|row| self.rows.cells[*row][column].clone()).collect()
    }

    fn keys(&self, rows: &[usize], column: ColumnId) -> Vec<f64> {
        rows.iter().filter_map(|row| self.rows.keys[*row][column]).collect()
    }

    fn aggregate(&self, rows: &[usize], function: Function, column: ColumnId) -> Option<f64> {
        let keys = self.keys(rows, column);
        if keys.is_empty() {
            return None;
        }
        Some(match function {
            Function::Sum => keys.iter().sum(),
            Function::Avg => keys.iter().sum::<f64>() / keys.len() as f64,
            Function::Min => keys.iter().copied().fold(f64::INFINITY, f64::min),
            Function::Max => keys.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }

    /// Distances between dates are counted in years.
    fn years(&self, column: ColumnId, key: f64) -> f64 {
        if self.table.columns[column].form() == Some(Form::Date) { (key / 10_000.0).floor() } else { key }
    }

    fn groups(&self, rows: &[usize], column: ColumnId) -> BTreeMap<String, Vec<usize>> {
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in rows {
            if let Some(cell) = &self.rows.cells[*row][column] {
                groups.entry(cell.clone()).or_default().push(*row);
            }
        }
        groups
    }

    fn difference(&self, one: &[usize], other: &[usize], column: Option<ColumnId>) -> Option<f64> {
        let Some(column) = column else { return Some((one.len() as f64 - other.len() as f64).abs()) };
        let side = |rows: &[usize]| self.side(rows, column).map(|key| self.years(column, key));
        Some((side(one)? - side(other)?).abs())
    }

    fn better(&self, at: &[usize], column: ColumnId, sides: [&Vec<String>; 2], by: Option<ColumnId>, end: End) -> Vec<String> {
        let measure = |texts: &Vec<String>| -> Option<f64> {
            let rows: Vec<usize> =
                at.iter().copied().filter(|row| self.rows.cells[*row][column].as_ref().is_some_and(|c| texts.contains(c))).collect();
            match by {
                Some(by) => self.side(&rows, by),
                None => Some(rows.len() as f64),
            }
        };
        let Some((one, two)) = measure(sides[0]).zip(measure(sides[1])) else { return Vec::new() };
        let first = if end == End::Greatest { one > two } else { one < two };
        match one == two {
            true => sides.iter().filter_map(|side| side.first().cloned()).collect(),
            false => sides[usize::from(!first)].first().cloned().into_iter().collect(),
        }
    }

    /// One side of a comparison: the sum of its keys, or the only point in time.
    fn side(&self, rows: &[usize], column: ColumnId) -> Option<f64> {
        let single = self.table.columns[column].is_time();
        self.aggregate(rows, Function::Sum, column).filter(|_| !single || self.keys(rows, column).len() == 1)
    }
}

fn compare(sign: Comparison, key: f64, to: f64) -> bool {
    match sign {
        Comparison::Equal => key == to,
        Comparison::Less => key < to,
        Comparison::AtMost => key <= to,
        Comparison::Greater => key > to,
        Comparison::AtLeast => key >= to,
    }
}

/// Those at one end with all that tie with the last of them, in their order.
fn at_end<T: Clone>(keyed: Vec<(f64, T)>, end: End, limit: usize) -> Vec<T> {
    let mut keys: Vec<f64> = keyed.iter().map(|(key, _)| *key).collect();
    keys.sort_by(f64::total_cmp);
    if end == End::Greatest {
        keys.reverse();
    }
    let Some(last) = keys.get(limit.max(1) - 1).or(keys.last()).copied() else { return Vec::new() };
    let within = |key: f64| if end == End::Greatest { key >= last } else { key <= last };
    keyed.into_iter().filter(|(key, _)| within(*key)).map(|(_, value)| value).collect()
}

/// A number as text: no exponent, at most nine digits behind the point, no trailing zeros.
pub fn number(value: f64) -> String {
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".to_owned() } else { text.to_owned() }
}
