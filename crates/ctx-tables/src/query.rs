//! A typed query over one table: what a goal means, before it is SQL. No text of the goal is in it but values, and values
//! are bound.

use crate::schema::ColumnId;
use serde::{Deserialize, Serialize};

/// One end of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Least, first.
    Least,
    /// Greatest, last.
    Greatest,
}

/// How numbers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// Total.
    Sum,
    /// Mean.
    Avg,
    /// Least.
    Min,
    /// Greatest.
    Max,
}

/// A comparison of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Less.
    Less,
    /// At most.
    AtMost,
    /// Greater.
    Greater,
    /// At least.
    AtLeast,
}

impl Comparison {
    /// The sign.
    pub fn sql(self) -> &'static str {
        match self {
            Comparison::Equal => "=",
            Comparison::Less => "<",
            Comparison::AtMost => "<=",
            Comparison::Greater => ">",
            Comparison::AtLeast => ">=",
        }
    }
}

/// What must hold of a row in one column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    /// The cell is one of these texts.
    In(Vec<String>),
    /// The cell is none of these texts.
    NotIn(Vec<String>),
    /// The key compares so with decimal digits; dates as year × 10,000 + month × 100 + day.
    Compare(Comparison, String),
    /// The key lies between two, both included.
    Between(String, String),
    /// The date is in this month of any year.
    Month(u32),
    /// The date is this day of any year: month × 100 + day.
    MonthDay(u32),
    /// One of these holds.
    Any(Vec<Test>),
}

/// A condition on a column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Filter {
    /// The column.
    pub column: ColumnId,
    /// What must hold.
    pub test: Test,
}

/// What is asked of the rows that pass the filters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The cells of a column, in the order of rows.
    Cells {
        /// Shown.
        column: ColumnId,
    },
    /// How many rows.
    Count,
    /// How many distinct values.
    CountDistinct {
        /// Of this column.
        column: ColumnId,
    },
    /// One number from the keys of a column.
    Aggregate {
        /// How.
        function: Function,
        /// Of this column.
        column: ColumnId,
    },
    /// The greatest key minus the least.
    Spread {
        /// Of this column.
        column: ColumnId,
    },
    /// Cells of the rows at one end of the order by a key; all rows that tie with the last.
    Extreme {
        /// Shown.
        column: ColumnId,
        /// Ordered by the key of this one.
        by: ColumnId,
        /// Which end.
        end: End,
        /// How many rows.
        limit: u32,
    },
    /// Cells at one end of the order of rows.
    Place {
        /// Shown.
        column: ColumnId,
        /// Which end.
        end: End,
        /// How many rows.
        limit: u32,
    },
    /// Cells of the rows next to those that pass, in the order of rows.
    Neighbour {
        /// Shown.
        column: ColumnId,
        /// Rows further down (positive) or up.
        offset: i32,
    },
    /// Values of a column at one end of the order by how many rows hold them, or by the aggregate of a key over those.
    Group {
        /// Shown and grouped by.
        column: ColumnId,
        /// Function and its column; rows are counted without.
        of: Option<(Function, ColumnId)>,
        /// Which end.
        end: End,
        /// How many values.
        limit: u32,
    },
    /// Values of a column with the number of rows that hold them, or the aggregate of a key over those.
    GroupAll {
        /// Grouped by.
        column: ColumnId,
        /// Function and its column; rows are counted without.
        of: Option<(Function, ColumnId)>,
    },
    /// The distance between a key in the rows that pass and in those that pass the other filters; rows are counted
    /// without a key.
    Difference {
        /// The key.
        column: Option<ColumnId>,
        /// Filters of the other side.
        other: Vec<Filter>,
    },
    /// Which of two values of a column has more: by the sum of a key, or by rows that hold it; both where neither has. Points
    /// in time of several rows have no sum, and a side without a key decides nothing.
    Better {
        /// The column of the two.
        column: ColumnId,
        /// The first, as the texts that stand for it.
        first: Vec<String>,
        /// The second.
        second: Vec<String>,
        /// The key; rows are counted without.
        by: Option<ColumnId>,
        /// Which end wins.
        end: End,
    },
    /// Cells of other rows that hold the same value in a column as the rows that pass.
    Same {
        /// Shown.
        column: ColumnId,
        /// Shared.
        shared: ColumnId,
    },
}

/// A query over one table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Query {
    /// Which rows; all hold.
    pub filters: Vec<Filter>,
    /// What of them.
    pub ask: Ask,
}

impl Ask {
    /// Short name of the operation, for features and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Ask::Cells { .. } => "cells",
            Ask::Count => "count",
            Ask::CountDistinct { .. } => "count_distinct",
            Ask::Aggregate { function: Function::Sum, .. } => "sum",
            Ask::Aggregate { function: Function::Avg, .. } => "avg",
            Ask::Aggregate { function: Function::Min, .. } => "min",
            Ask::Aggregate { function: Function::Max, .. } => "max",
            Ask::Spread { .. } => "spread",
            Ask::Extreme { .. } => "extreme",
            Ask::Place { .. } => "place",
            Ask::Neighbour { .. } => "neighbour",
            Ask::Group { of: None, .. } => "group_count",
            Ask::Group { of: Some((Function::Sum, _)), .. } => "group_sum",
            Ask::Group { of: Some(_), .. } => "group_aggregate",
            Ask::GroupAll { .. } => "group_all",
            Ask::Difference { column: None, .. } => "difference_count",
            Ask::Difference { column: Some(_), .. } => "difference",
            Ask::Better { by: None, .. } => "better_count",
            Ask::Better { by: Some(_), .. } => "better",
            Ask::Same { .. } => "same",
        }
    }

    /// The column whose cells are shown.
    pub fn shown(&self) -> Option<ColumnId> {
        match self {
            Ask::Cells { column }
            | Ask::CountDistinct { column }
            | Ask::Extreme { column, .. }
            | Ask::Place { column, .. }
            | Ask::Neighbour { column, .. }
            | Ask::Group { column, .. }
            | Ask::GroupAll { column, .. }
            | Ask::Better { column, .. }
            | Ask::Same { column, .. } => Some(*column),
            Ask::Count | Ask::Aggregate { .. } | Ask::Spread { .. } | Ask::Difference { .. } => None,
        }
    }

    /// The column whose key decides or is added up.
    pub fn measured(&self) -> Option<ColumnId> {
        match self {
            Ask::Aggregate { column, .. } | Ask::Spread { column } => Some(*column),
            Ask::Extreme { by, .. } => Some(*by),
            Ask::Group { of, .. } | Ask::GroupAll { of, .. } => of.map(|(_, column)| column),
            Ask::Difference { column, .. } => *column,
            Ask::Better { by, .. } => *by,
            Ask::Same { shared, .. } => Some(*shared),
            Ask::Cells { .. } | Ask::Count | Ask::CountDistinct { .. } | Ask::Place { .. } | Ask::Neighbour { .. } => None,
        }
    }
}

/// Keys of the first and last day that a year or a month may have, as that year and month; month 0 for a year.
pub fn period(least: &str, most: &str) -> Option<(u64, u64)> {
    let (first, last) = (least.parse::<u64>().ok()?, most.parse::<u64>().ok()?);
    let (year, month, day) = (first / 10_000, first / 100 % 100, first % 100);
    match last.checked_sub(first)? {
        9_999 if (month, day) == (0, 0) && (1..=9_998).contains(&year) => Some((year, 0)),
        99 if day == 0 && (1..=12).contains(&month) && (1..=9_998).contains(&year) => Some((year, month)),
        _ => None,
    }
}
