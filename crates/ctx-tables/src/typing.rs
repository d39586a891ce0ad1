//! The type of a column from all of its cells: a type is given only if every cell can be written back as it stood.
//!
//! Leading zeros, signs, grouped digits, units and dates in any form but ISO 8601 make a column text; it stays text, says
//! which cell decided, and may have a [`crate::reading`] beside it for sorting and adding. Tokens for "nothing" are nulls
//! only where the other cells are of another type than text, and are counted by token.

use crate::reading::{Form, Read, read};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum ColumnType {
    /// Cells as they stand.
    Text,
    /// Whole numbers of at most 38 digits, as plain digits.
    Integer,
    /// Decimal numbers of at most 38 digits.
    Decimal {
        /// Digits behind the point.
        scale: u8,
    },
    /// `true` and `false`.
    Boolean,
    /// `YYYY-MM-DD`.
    Date,
    /// `YYYY-MM-DD hh:mm[:ss[.ffffff]]`, `T` for the blank, without a zone.
    Timestamp,
    /// Binary floating point; only from files that are typed already.
    Double,
}

impl ColumnType {
    /// The name in DuckDB's SQL.
    pub fn sql(self) -> String {
        match self {
            ColumnType::Text => "VARCHAR".to_owned(),
            ColumnType::Integer => "HUGEINT".to_owned(),
            ColumnType::Decimal { scale } => format!("DECIMAL(38,{scale})"),
            ColumnType::Boolean => "BOOLEAN".to_owned(),
            ColumnType::Date => "DATE".to_owned(),
            ColumnType::Timestamp => "TIMESTAMP".to_owned(),
            ColumnType::Double => "DOUBLE".to_owned(),
        }
    }
    /// Whether it can be added up.
    pub fn is_number(self) -> bool {
        matches!(self, ColumnType::Integer | ColumnType::Decimal { .. } | ColumnType::Double)
    }
}

/// Tokens that mean "no value" in a column that is not text; lower case, sorted.
const NULL_TOKENS: &[&str] = &["", "#n/a", "-", "\\n", "n/a", "na", "nan", "none", "null", "–", "—"];
/// Share of a text column's filled cells that must read in one form, in percent; what does not is counted.
const READ_PERCENT_MIN: u64 = 70;

/// Whether a cell stands for "no value" where its column is not text.
pub fn is_null_token(cell: &str) -> bool {
    let cell = cell.trim();
    cell.len() <= 4 && NULL_TOKENS.binary_search(&cell.to_lowercase().as_str()).is_ok()
}

/// The form of one cell, exactly as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Literal {
    Integer,
    Decimal,
    Boolean,
    Date,
    Timestamp,
    Other,
}

impl Literal {
    fn name(self) -> &'static str {
        match self {
            Literal::Integer => "whole numbers",
            Literal::Decimal => "decimal numbers",
            Literal::Boolean => "true or false",
            Literal::Date => "dates",
            Literal::Timestamp => "times",
            Literal::Other => "text",
        }
    }
}

#[derive(Clone, Debug)]
struct Seen {
    cells: u64,
    first_line: u64,
    first_cell: String,
}

/// What is known of a column after some of its cells; feed it all of them.
#[derive(Clone, Debug, Default)]
pub struct ColumnSketch {
    literals: BTreeMap<Literal, Seen>,
    nulls: BTreeMap<String, u64>,
    forms: BTreeMap<Form, u64>,
    filled: u64,
    digits_max: usize,
    scale_max: usize,
    read_digits_max: usize,
    read_scale_max: usize,
}

/// A column's type with what was noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The type.
    pub ty: ColumnType,
    /// A reading beside text: form, digits behind the point, cells that did not read.
    pub reading: Option<(Form, u8, u64)>,
    /// What a person should know: what made it text, tokens counted as null, cells that do not read.
    pub notes: Vec<String>,
}

/// Cells longer than this are shortened in notes.
const NOTED_CHARS_MAX: usize = 40;

impl ColumnSketch {
    /// Looks at one cell; `None` is a cell that is missing. `line` is where it stands, for notes.
    pub fn observe(&mut self, cell: Option<&str>, line: u64) {
        let Some(cell) = cell else {
            *self.nulls.entry(String::new()).or_default() += 1;
            return;
        };
        if is_null_token(cell) {
            *self.nulls.entry(cell.to_owned()).or_default() += 1;
            return;
        }
        self.filled += 1;
        let literal = literal(cell);
        let seen = self.literals.entry(literal).or_insert_with(|| Seen { cells: 0, first_line: line, first_cell: shorten(cell) });
        seen.cells += 1;
        if matches!(literal, Literal::Integer | Literal::Decimal) {
            let (whole, fraction) = cell.split_once('.').unwrap_or((cell, ""));
            self.digits_max = self.digits_max.max(whole.trim_start_matches('-').len());
            self.scale_max = self.scale_max.max(fraction.len());
        }
        if let Some(read) = read(cell) {
            *self.forms.entry(read.form).or_default() += 1;
            self.read_scale_max = self.read_scale_max.max(read.scale());
            self.read_digits_max = self.read_digits_max.max(read.digits.trim_start_matches('-').len());
        }
    }

    /// The narrowest type that writes every cell back as it stood.
    pub fn decide(&self) -> Decided {
        let kinds: Vec<Literal> = self.literals.keys().copied().collect();
        let fits = self.digits_max + self.scale_max <= 38;
        let ty = match kinds.as_slice() {
            [Literal::Integer] if fits => ColumnType::Integer,
            [Literal::Decimal] | [Literal::Integer, Literal::Decimal] if fits => ColumnType::Decimal { scale: self.scale_max as u8 },
            [Literal::Boolean] => ColumnType::Boolean,
            [Literal::Date] => ColumnType::Date,
            [Literal::Timestamp] => ColumnType::Timestamp,
            _ => ColumnType::Text,
        };
        let reading = if ty == ColumnType::Text { self.reading() } else { None };
        Decided { ty, reading, notes: self.notes(ty, reading) }
    }

    fn reading(&self) -> Option<(Form, u8, u64)> {
        let (form, cells) = self.forms.iter().max_by_key(|(form, cells)| (**cells, std::cmp::Reverse(**form)))?;
        let scale = self.read_scale_max.min(9) as u8;
        (*cells * 100 >= self.filled * READ_PERCENT_MIN).then_some((*form, scale, self.filled - cells))
    }

    fn notes(&self, ty: ColumnType, reading: Option<(Form, u8, u64)>) -> Vec<String> {
        let mut notes = Vec::new();
        let typed: u64 = self.literals.iter().filter(|(l, _)| **l != Literal::Other).map(|(_, s)| s.cells).sum();
        if ty == ColumnType::Text && typed > 0 && self.literals.len() > 1 {
            let parts: Vec<String> = self
                .literals
                .iter()
                .map(|(literal, seen)| {
                    format!("{} {} (first at line {}: {})", seen.cells, literal.name(), seen.first_line, seen.first_cell)
                })
                .collect();
            notes.push(format!("mixed, kept as text: {}", parts.join(", ")));
        } else if ty == ColumnType::Text && typed > 0 && self.digits_max > 0 {
            notes.push(format!("numbers of more than 38 digits ({}), kept as text", self.digits_max + self.scale_max));
        }
        let tokens: Vec<String> =
            self.nulls.iter().filter(|(token, _)| !token.is_empty()).map(|(token, n)| format!("{n} × {token}")).collect();
        if ty != ColumnType::Text && !tokens.is_empty() {
            notes.push(format!("taken as null: {}", tokens.join(", ")));
        }
        if let Some((form, _, unread)) = reading.filter(|(_, _, unread)| *unread > 0) {
            let form = match form {
                Form::Number => "number",
                Form::Duration => "duration",
                Form::Date => "date",
            };
            notes.push(format!("{unread} of {} filled cells have no reading as a {form} and are left out of sums and orders", self.filled));
        }
        notes
    }
}

fn shorten(cell: &str) -> String {
    let mut short: String = cell.chars().take(NOTED_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cell.chars().count() > NOTED_CHARS_MAX {
        short.push('…');
    }
    short
}

fn literal(cell: &str) -> Literal {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_negative_zero = cell.starts_with('-') && digits.bytes().all(|b| b == b'0' || b == b'.');
    if is_digits(whole) && is_digits(fraction) && (whole == "0" || !whole.starts_with('0')) && !is_negative_zero {
        return if digits.contains('.') { Literal::Decimal } else { Literal::Integer };
    }
    if matches!(cell, "true" | "false") {
        return Literal::Boolean;
    }
    let (day, time) = match cell.get(..10) {
        Some(day) => (day, &cell[10..]),
        None => return Literal::Other,
    };
    match is_day(day) {
        true if time.is_empty() => Literal::Date,
        true if is_time(time) => Literal::Timestamp,
        _ => Literal::Other,
    }
}

/// A day that exists.
fn is_day(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shape = bytes.iter().enumerate().all(|(at, b)| if at == 4 || at == 7 { *b == b'-' } else { b.is_ascii_digit() });
    let part = |range: std::ops::Range<usize>| text.get(range).and_then(|p| p.parse::<u32>().ok()).unwrap_or(0);
    if !shape {
        return false;
    }
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day)
}

/// ` 10:00`, `T10:00:30.5`; a zone makes it text, because a time without its zone is another time.
fn is_time(text: &str) -> bool {
    let Some(rest) = text.strip_prefix([' ', 'T']) else { return false };
    let (clock, fraction) = rest.split_once('.').unwrap_or((rest, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let two = |p: &&str, most: u32| p.len() == 2 && p.bytes().all(|b| b.is_ascii_digit()) && p.parse::<u32>().is_ok_and(|n| n <= most);
    let seconds = parts.len() == 2 && !rest.contains('.') || parts.len() == 3 && two(&parts[2], 59);
    (2..=3).contains(&parts.len())
        && seconds
        && two(&parts[0], 23)
        && two(&parts[1], 59)
        && (1..=6).contains(&fraction.len())
        && fraction.bytes().all(|b| b.is_ascii_digit())
}

/// The reading of a cell in a column whose reading has this form.
pub fn read_as(cell: &str, form: Form) -> Option<Read> {
    read(cell).filter(|read| read.form == form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(cells: &[&str]) -> Decided {
        let mut sketch = ColumnSketch::default();
        for (at, cell) in cells.iter().enumerate() {
            sketch.observe(Some(cell), at as u64 + 2);
        }
        sketch.decide()
    }

    #[test]
    fn a_type_is_given_only_if_every_cell_can_be_written_back() {
        assert_eq!(decide(&["1", "-2", "170141183460469231731687303715884105727"]).ty, ColumnType::Text);
        assert_eq!(decide(&["1", "-2", "99999999999999999999999999999999999999"]).ty, ColumnType::Integer);
        assert_eq!(decide(&["1", "12.75"]).ty, ColumnType::Decimal { scale: 2 });
        assert_eq!(decide(&["1", "007"]).ty, ColumnType::Text);
        assert_eq!(decide(&["1", "-0"]).ty, ColumnType::Text);
        assert_eq!(decide(&["1", "1,000"]).ty, ColumnType::Text);
        assert_eq!(decide(&["1", "1e3"]).ty, ColumnType::Text);
        assert_eq!(decide(&["2024-02-29"]).ty, ColumnType::Date);
        assert_eq!(decide(&["2023-02-29"]).ty, ColumnType::Text);
        assert_eq!(decide(&["2024-01-02", "2024-01-02 10:00"]).ty, ColumnType::Text);
        assert_eq!(decide(&["2024-01-02 10:00", "2024-01-02T10:00:01.5"]).ty, ColumnType::Timestamp);
        assert_eq!(decide(&["2024-01-02T10:00:00Z"]).ty, ColumnType::Text);
        assert_eq!(decide(&["true", "false"]).ty, ColumnType::Boolean);
    }

    #[test]
    fn what_is_mixed_stays_text_and_says_so() {
        let found = decide(&["1", "2", "12.75", "007"]);
        assert_eq!(found.ty, ColumnType::Text);
        assert_eq!(found.reading, Some((Form::Number, 2, 0)));
        assert_eq!(
            found.notes,
            [
                "mixed, kept as text: 2 whole numbers (first at line 2: 1), 1 decimal numbers (first at line 4: 12.75), 1 text (first at line 5: 007)"
            ]
        );
    }

    #[test]
    fn null_tokens_are_counted_by_token() {
        let found = decide(&["1", "NULL", "N/A", "", "N/A"]);
        assert_eq!(found.ty, ColumnType::Integer);
        assert_eq!(found.notes, ["taken as null: 2 × N/A, 1 × NULL"]);
        assert_eq!(decide(&["a", "NULL"]).notes, Vec::<String>::new());
    }
}
