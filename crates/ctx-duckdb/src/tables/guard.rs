//! A person's own SQL: one SELECT over the tables of a source, or a refusal before anything runs.
//!
//! Decided on DuckDB's own syntax tree, never on words: `json_serialize_sql` parses without executing and knows SELECT
//! only. The tree is then walked: table functions, tables that are not of the source (a file name in FROM is one) and
//! functions with effects are refused. The engine's settings (read-only, no external access, locked) refuse the rest.

use crate::error::{DuckError, first_line};
use ctx_tables::{ColumnType, Table};
use duckdb::Connection;
use serde_json::Value;
use std::collections::BTreeSet;

/// Longest text.
const TEXT_BYTES_MAX: usize = 100_000;
/// Table functions that only make rows.
const TABLE_FUNCTIONS: &[&str] = &["generate_series", "range", "unnest"];
/// Functions that change something or tell about the machine; those that read files are table functions.
const FUNCTIONS: &[&str] = &[
    "currval",
    "current_setting",
    "get_current_timestamp",
    "getenv",
    "getvariable",
    "nextval",
    "pg_size_pretty",
    "setseed",
    "txid_current",
    "write_log",
    "json_execute_serialized_sql",
    "query",
    "query_table",
    "add_parquet_key",
    "checkpoint",
    "force_checkpoint",
    "random",
    "uuid",
];

/// Functions that make much of little within one row: neither the timer nor the memory limit reaches inside them.
const GROWING: &[&str] = &["repeat", "lpad", "rpad", "range", "generate_series", "list_resize", "array_resize"];
/// Most that one of them may make: its numbers must be written out, up to here.
const GROWTH_MAX: i64 = 1_000_000;

/// The one SELECT in a text, as DuckDB writes it back. `tables` are those that may be read.
pub fn check(connection: &Connection, text: &str, tables: &[Table]) -> Result<String, DuckError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(DuckError::refused(format!("the text is longer than {TEXT_BYTES_MAX} bytes")));
    }
    let refused = |error: duckdb::Error| DuckError::refused(first_line(error));
    let tree = serialized(connection, text).map_err(refused)?;
    let tree: Value =
        serde_json::from_str(&tree).map_err(|error| DuckError::refused(format!("its syntax tree cannot be read: {error}")))?;
    if tree["error"].as_bool() != Some(false) {
        return Err(DuckError::refused(in_our_words(tree["error_message"].as_str().unwrap_or_default())));
    }
    let statements = tree["statements"].as_array().map_or(0, Vec::len);
    if statements != 1 {
        return Err(DuckError::refused(format!("one SELECT is expected, {statements} statements were given")));
    }
    let mut names: BTreeSet<String> = tables.iter().map(|table| table.name.to_lowercase()).collect();
    names.extend(common_tables(&tree));
    walk(&tree, &names)?;
    let binding = |error: duckdb::Error| DuckError::refused(with_numbers(&first_line(error), &tree, tables));
    let text: String =
        connection.query_row("SELECT json_deserialize_sql(CAST(? AS JSON))", [tree.to_string()], |row| row.get(0)).map_err(refused)?;
    let text = text.trim().trim_end_matches(';').to_owned();
    connection.prepare(&text).map_err(binding)?;
    Ok(text)
}

/// What the parser says of a statement that is none: its words name the function that it is called by here.
fn in_our_words(said: &str) -> String {
    match said.contains("Only SELECT statements") || said.is_empty() {
        true => "only a SELECT is accepted: whatever changes, writes out or attaches something is not".to_owned(),
        false => first_line(said),
    }
}

/// DuckDB's words about a statement that fails, behind the columns with numbers where its own columns are text that reads so.
fn with_numbers(said: &str, tree: &Value, tables: &[Table]) -> String {
    let mut named: BTreeSet<String> = BTreeSet::new();
    visit(tree, &mut |value| {
        let column = value["column_names"].as_array().and_then(|names| names.last()).and_then(Value::as_str);
        named.extend(column.map(str::to_lowercase));
        Ok(())
    })
    .unwrap_or_default();
    let read = tables.iter().flat_map(|table| &table.columns).filter(|column| column.ty == ColumnType::Text && column.reading.is_some());
    let used = read.filter(|column| named.contains(&column.name.to_lowercase()));
    let beside: Vec<String> =
        used.map(|column| format!("{:?} is text, its cells as numbers are in \"{}\"", column.name, column.reading_name())).collect();
    if beside.is_empty() { said.to_owned() } else { format!("{} ({said})", beside.join("; ")) }
}

/// The same of a statement that fails while it runs.
pub fn explain_failure(connection: &Connection, said: &str, text: &str, tables: &[Table]) -> String {
    match serialized(connection, text).ok().and_then(|tree| serde_json::from_str(&tree).ok()) {
        Some(tree) => with_numbers(said, &tree, tables),
        None => said.to_owned(),
    }
}

/// DuckDB's syntax tree of a text, as JSON.
fn serialized(connection: &Connection, text: &str) -> duckdb::Result<String> {
    connection.query_row("SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", [text], |row| row.get(0))
}

/// Names of common table expressions anywhere in the tree.
fn common_tables(tree: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    visit(tree, &mut |value| {
        if let Some(map) = value["cte_map"]["map"].as_array() {
            names.extend(map.iter().filter_map(|entry| entry["key"].as_str()).map(str::to_lowercase));
        }
        Ok(())
    })
    .unwrap_or_default();
    names
}

fn visit(value: &Value, look: &mut dyn FnMut(&Value) -> Result<(), DuckError>) -> Result<(), DuckError> {
    match value {
        Value::Object(members) => {
            look(value)?;
            members.values().try_for_each(|member| visit(member, look))
        }
        Value::Array(items) => items.iter().try_for_each(|item| visit(item, look)),
        _ => Ok(()),
    }
}

fn walk(tree: &Value, names: &BTreeSet<String>) -> Result<(), DuckError> {
    // In FROM rows come one after the other: the timer and the memory limit reach there.
    let mut in_from: Vec<*const Value> = Vec::new();
    visit(tree, &mut |value| {
        in_from.extend((value["type"].as_str() == Some("TABLE_FUNCTION")).then_some(&raw const value["function"]));
        Ok(())
    })?;
    visit(tree, &mut |value| {
        let lower = |member: &str| value[member].as_str().unwrap_or_default().to_lowercase();
        match value["type"].as_str() {
            Some("TABLE_FUNCTION") => {
                let name = value["function"]["function_name"].as_str().unwrap_or_default().to_lowercase();
                allowed(TABLE_FUNCTIONS.contains(&name.as_str()), "table function", &name)
            }
            Some("BASE_TABLE") => {
                let elsewhere = !lower("schema_name").is_empty() && lower("schema_name") != "main";
                allowed(!elsewhere && names.contains(&lower("table_name")), "table", &lower("table_name"))
            }
            Some("FUNCTION") => {
                let name = lower("function_name");
                allowed(
                    !FUNCTIONS.contains(&name.as_str()) && !name.starts_with("read_") && !name.starts_with("duckdb_"),
                    "function",
                    &name,
                )?;
                let grows = GROWING.contains(&name.as_str()) && !in_from.contains(&std::ptr::from_ref(value));
                if grows { bounded(value, &name) } else { Ok(()) }
            }
            Some("SHOW_REF") => allowed(false, "statement", "SHOW or DESCRIBE"),
            _ => Ok(()),
        }
    })
}

/// A growing function with numbers written out below the bound, and none within another.
fn bounded(call: &Value, name: &str) -> Result<(), DuckError> {
    let arguments = call["children"].as_array().map(Vec::as_slice).unwrap_or_default();
    let number = |argument: &Value| argument["value"]["value"].as_i64().is_some_and(|n| n.abs() <= GROWTH_MAX);
    // What is repeated or padded comes first; all else are counts, but for the text that pads.
    let counts: &[Value] = match name {
        "range" | "generate_series" => arguments,
        _ => arguments.get(1..2).unwrap_or_default(),
    };
    if !counts.iter().all(number) {
        let cause = format!("the counts in {name}(…) must be numbers written out, {GROWTH_MAX} at most: it makes its result in one piece");
        return Err(DuckError::refused(cause));
    }
    arguments.iter().try_for_each(|argument| {
        visit(argument, &mut |inner| {
            let nested = inner["type"].as_str() == Some("FUNCTION")
                && inner["function_name"].as_str().is_some_and(|inner| GROWING.contains(&inner.to_lowercase().as_str()));
            allowed(!nested, "within another function that makes much of little, function", name)
        })
    })
}

fn allowed(is_allowed: bool, what: &str, name: &str) -> Result<(), DuckError> {
    if is_allowed { Ok(()) } else { Err(DuckError::refused(format!("{what} {name:?} may not be used here"))) }
}
