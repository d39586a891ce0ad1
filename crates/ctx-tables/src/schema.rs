//! Tables as the planner sees them: names, types, counts. What `pg_class` and `pg_statistic` say, without the rows.

use crate::reading::Form;
use crate::typing::ColumnType;
use serde::{Deserialize, Serialize};

/// Position of a column in its table.
pub type ColumnId = usize;

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its name: the file's, without ending.
    pub name: String,
    /// The file below the source's root, or all of them.
    pub files: Vec<String>,
    /// Rows.
    pub rows: u64,
    /// Columns in the order of the file.
    pub columns: Vec<Column>,
    /// What was noticed while reading: ragged rows, renamed columns.
    pub notes: Vec<String>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name, made distinct within the table.
    pub name: String,
    /// Type from all rows.
    pub ty: ColumnType,
    /// A reading beside text.
    pub reading: Option<Reading>,
    /// Distinct values that are not null.
    pub distinct: u64,
    /// Cells without a value.
    pub nulls: u64,
    /// Least and greatest value, in the order of the type or of the reading.
    pub range: Option<(String, String)>,
    /// Most frequent values with their counts; empty where all are distinct.
    pub top: Vec<(String, u64)>,
    /// What was noticed while typing it.
    pub notes: Vec<String>,
}

/// A reading of a text column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Its form.
    pub form: Form,
    /// Digits behind the point.
    pub scale: u8,
    /// Filled cells that do not read in this form.
    pub unread: u64,
}

impl Column {
    /// The form in which its values can be ordered as numbers, if any.
    pub fn form(&self) -> Option<Form> {
        match self.ty {
            ColumnType::Integer | ColumnType::Decimal { .. } | ColumnType::Double => Some(Form::Number),
            ColumnType::Date | ColumnType::Timestamp => Some(Form::Date),
            ColumnType::Text => self.reading.map(|reading| reading.form),
            ColumnType::Boolean => None,
        }
    }

    /// Whether its numbers look like years.
    pub fn is_year(&self) -> bool {
        let year = |text: &str| {
            text.split(['.', '-', '–', '/', ' ']).next().and_then(|t| t.parse::<u32>().ok()).is_some_and(|y| (1000..=2100).contains(&y))
        };
        // Numbers of orders may lie where years do.
        let numbers = |word: &str| ["id", "no", "nr", "number", "code", "key"].contains(&word.to_lowercase().as_str());
        let named = self.name.split(|c: char| !c.is_alphanumeric()).any(numbers);
        !named && self.form() == Some(Form::Number) && self.range.as_ref().is_some_and(|(least, most)| year(least) && year(most))
    }

    /// Whether its keys are points in time, which can be ordered and never added up.
    pub fn is_time(&self) -> bool {
        self.form() == Some(Form::Date) || self.is_year()
    }

    /// Whether every filled cell differs from the others.
    pub fn is_unique(&self, rows: u64) -> bool {
        self.distinct + self.nulls == rows && self.distinct > 0
    }

    /// Name of the hidden column that holds the reading.
    pub fn reading_name(&self) -> String {
        format!("{} (as number)", self.name)
    }
}

impl Table {
    /// Position of a column by name.
    pub fn column(&self, name: &str) -> Option<ColumnId> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// Name of the hidden column with the position of a row, from 0.
pub const ROW: &str = "row number";
/// Name of the hidden column with the line of a row in its file.
pub const LINE: &str = "line number";

/// Names of columns as they will stand in the table: empty ones get a number, repeated ones a suffix; the hidden names stay
/// free. Returns what was changed.
pub fn distinct_names(header: &[String]) -> (Vec<String>, Vec<String>) {
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    let mut notes = Vec::new();
    for (at, given) in header.iter().enumerate() {
        let clean = given.split_whitespace().collect::<Vec<_>>().join(" ");
        let base = if clean.is_empty() { format!("column {}", at + 1) } else { clean };
        let mut name = base.clone();
        let mut number = 2;
        let hidden = |name: &str| [ROW, LINE].contains(&name) || name.ends_with(" (as number)");
        while hidden(&name) || names.iter().any(|other| other.to_lowercase() == name.to_lowercase()) {
            name = format!("{base} {number}");
            number += 1;
        }
        if name != *given && (given.trim().is_empty() || number > 2) {
            notes.push(format!("column {} ({given:?}) is called {name:?}", at + 1));
        }
        names.push(name);
    }
    (names, notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_distinct_and_say_so() {
        let header = ["Rank", "", "rank", "Peak\nUS", "row number"].map(str::to_owned);
        let (names, notes) = distinct_names(&header);
        assert_eq!(names, ["Rank", "column 2", "rank 2", "Peak US", "row number 2"]);
        assert_eq!(notes.len(), 3);
    }
}
