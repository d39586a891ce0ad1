//! Exact counts of a loaded table: distinct values, nulls, ranges, most frequent values, and columns that join.

use ctx_tables::ColumnType;
use ctx_tables::schema::{Column, Table};
use ctx_tables::sql::quote;
use duckdb::Connection;
use serde::{Deserialize, Serialize};

/// Most frequent values kept per column.
const TOP_MAX: usize = 10;
/// Characters kept of a value in the catalog.
const VALUE_CHARS_MAX: usize = 120;
/// Pairs of columns compared for joining.
const PAIRS_MAX: usize = 400;
/// Share of one side's distinct values that must stand in the other, in percent.
const JOINS_PERCENT_MIN: u64 = 90;

/// Two columns whose values meet: those of the first stand in the second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joinable {
    /// Table and column that refer.
    pub from: (String, String),
    /// Table and column referred to; its values are distinct.
    pub to: (String, String),
    /// Share of distinct values of `from` that stand in `to`, in percent.
    pub percent: u64,
}

/// Counts the values of every column.
pub(crate) fn measure(connection: &Connection, table: &mut Table) -> duckdb::Result<()> {
    let from = quote(&table.name);
    for column in &mut table.columns {
        let name = quote(&column.name);
        let order = if column.ty == ColumnType::Text && column.reading.is_some() { quote(&column.reading_name()) } else { name.clone() };
        let text = format!(
            "SELECT count(DISTINCT {name})::UBIGINT, (count(*) - count({name}))::UBIGINT, CAST(arg_min({name}, {order}) AS VARCHAR), CAST(arg_max({name}, {order}) AS VARCHAR) FROM {from}"
        );
        let (distinct, nulls, least, most): (u64, u64, Option<String>, Option<String>) =
            connection.query_row(&text, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        column.distinct = distinct;
        column.nulls = nulls;
        column.range = least.zip(most).map(|(least, most)| (shorten(least), shorten(most)));
        column.top = if column.is_unique(table.rows) { Vec::new() } else { top(connection, &from, column)? };
    }
    Ok(())
}

fn top(connection: &Connection, from: &str, column: &Column) -> duckdb::Result<Vec<(String, u64)>> {
    let name = quote(&column.name);
    let text = format!(
        "SELECT CAST({name} AS VARCHAR), count(*)::UBIGINT AS n FROM {from} WHERE {name} IS NOT NULL GROUP BY {name} ORDER BY n DESC, 1 LIMIT {TOP_MAX}"
    );
    connection.prepare(&text)?.query_map([], |row| Ok((shorten(row.get(0)?), row.get(1)?)))?.collect()
}

fn shorten(text: String) -> String {
    if text.chars().count() <= VALUE_CHARS_MAX {
        return text;
    }
    text.chars().take(VALUE_CHARS_MAX).chain(std::iter::once('…')).collect()
}

/// Columns whose values stand in a column of distinct values of another table.
pub(crate) fn joinable(connection: &Connection, tables: &[Table]) -> duckdb::Result<Vec<Joinable>> {
    let mut found = Vec::new();
    let mut pairs = 0;
    for (from, to) in tables.iter().flat_map(|a| tables.iter().map(move |b| (a, b))).filter(|(a, b)| a.name != b.name) {
        for target in to.columns.iter().filter(|column| column.is_unique(to.rows) && column.distinct > 1) {
            for column in
                from.columns.iter().filter(|column| column.ty == target.ty && column.distinct > 1 && column.distinct <= target.distinct)
            {
                pairs += 1;
                if pairs > PAIRS_MAX {
                    return Ok(found);
                }
                let text = format!(
                    "SELECT count(*)::UBIGINT FROM (SELECT DISTINCT {c} AS v FROM {f}) WHERE v IN (SELECT {d} FROM {t})",
                    c = quote(&column.name),
                    f = quote(&from.name),
                    d = quote(&target.name),
                    t = quote(&to.name)
                );
                let met: u64 = connection.query_row(&text, [], |row| row.get(0))?;
                let percent = met * 100 / column.distinct;
                if percent >= JOINS_PERCENT_MIN {
                    let side = |table: &Table, column: &Column| (table.name.clone(), column.name.clone());
                    found.push(Joinable { from: side(from, column), to: side(to, target), percent });
                }
            }
        }
    }
    Ok(found)
}
