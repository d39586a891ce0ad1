//! YAML as a tree in which every value knows where it stands. Nothing here knows a key of the configuration.
//!
//! Hostile input is bounded before it is expanded (aliases, depth, nodes, scalar bytes), and no message quotes a value:
//! somebody's secret may stand where it should not.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;

/// Deepest nesting of a configuration file.
const DEPTH_MAX: usize = 16;
/// Most nodes after aliases are expanded.
const NODES_MAX: usize = 50_000;
/// Most aliases.
const ALIASES_MAX: usize = 100;
/// Most bytes of all scalars, and of the file.
const SCALAR_BYTES_MAX: usize = 1 << 20;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In a file.
    File {
        /// Its name as given.
        file: String,
        /// 1-based.
        line: u64,
        /// 1-based.
        column: u64,
    },
    /// In an environment variable.
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Origin::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// What YAML can hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Origin, Node)>),
}

impl Value {
    /// Its type in words; never the value itself.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) => "an integer",
            Value::Float(_) => "a decimal number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl Node {
    /// The same without places. Numbers beyond 64 bits lose digits.
    pub(crate) fn into_json(self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::from(value),
            Value::Integer(value) => match (u64::try_from(value), i64::try_from(value)) {
                (Ok(value), _) => Json::from(value),
                (_, Ok(value)) => Json::from(value),
                _ => Json::from(value as f64),
            },
            Value::Float(value) => Json::from(value),
            Value::Text(value) => Json::from(value),
            Value::List(items) => items.into_iter().map(Node::into_json).collect(),
            Value::Map(entries) => Json::Object(entries.into_iter().map(|(key, _, node)| (key, node.into_json())).collect()),
        }
    }
}

/// Why a file is not YAML.
#[derive(Debug)]
pub(crate) struct NotYaml {
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) cause: String,
}

/// Parses a whole file. An empty one is an empty map.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, NotYaml> {
    if text.len() > SCALAR_BYTES_MAX {
        return Err(NotYaml { line: 1, column: 1, cause: format!("the file is larger than {SCALAR_BYTES_MAX} bytes") });
    }
    let options = bounded();
    let empty = || Spanned::new(Raw::Map(Vec::new()), serde_saphyr::Location::UNKNOWN, serde_saphyr::Location::UNKNOWN);
    let parsed: Option<Spanned<Raw>> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        NotYaml { line, column, cause: without_place(&error.to_string()) }
    })?;
    Ok(placed(file, parsed.unwrap_or_else(empty)))
}

/// Limits on what a file may ask of the parser.
fn bounded() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_MAX,
            max_nodes: NODES_MAX,
            max_aliases: ALIASES_MAX,
            max_anchors: ALIASES_MAX,
            max_total_scalar_bytes: SCALAR_BYTES_MAX,
            max_documents: 1,
        },
        with_snippet: false,
    }
}

/// Parses a whole file into a type that refuses what it does not know. Errors are line, column and cause.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, (u64, u64, String)> {
    serde_saphyr::from_str_with_options(text, bounded()).map_err(|error| {
        let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
        (line, column, without_place(&error.to_string()))
    })
}

/// The parser's sentence without its own `at line …` ending, which the caller prints as `file:line:column`.
fn without_place(message: &str) -> String {
    let first = message.lines().next().unwrap_or("not readable as YAML");
    first.split(" at line ").next().unwrap_or(first).to_owned()
}

enum Raw {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

fn placed(file: &str, raw: Spanned<Raw>) -> Node {
    let at = |place: serde_saphyr::Location| Origin::File { file: file.to_owned(), line: place.line(), column: place.column() };
    let value = match raw.value {
        Raw::Null => Value::Null,
        Raw::Bool(value) => Value::Bool(value),
        Raw::Integer(value) => Value::Integer(value),
        Raw::Float(value) => Value::Float(value),
        Raw::Text(value) => Value::Text(value),
        Raw::List(items) => Value::List(items.into_iter().map(|item| placed(file, item)).collect()),
        Raw::Map(entries) => {
            Value::Map(entries.into_iter().map(|(key, value)| (key.value, at(key.referenced), placed(file, value))).collect())
        }
    };
    Node { value, origin: at(raw.referenced) }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }
    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }
    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(i128::from(value)))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Integer(i128::from(value)))
    }
    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Integer(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line_and_column() {
        let tree = parse("c.yaml", "a: 1\nb:\n  c: [x, {d: 1e6}]\n").expect("valid");
        let Value::Map(top) = &tree.value else { panic!("a map") };
        let Value::Map(inner) = &top[1].2.value else { panic!("a map") };
        let Value::List(items) = &inner[0].2.value else { panic!("a list") };
        assert_eq!(items[0].origin.to_string(), "c.yaml:3:7");
        let Value::Map(last) = &items[1].value else { panic!("a map") };
        assert_eq!(last[0].2.value, Value::Float(1e6));
        assert_eq!(last[0].1.to_string(), "c.yaml:3:11");
    }

    #[test]
    fn an_empty_file_is_an_empty_map_and_broken_yaml_says_where() {
        assert_eq!(parse("c.yaml", "").expect("empty").value, Value::Map(Vec::new()));
        assert_eq!(parse("c.yaml", "# only a comment\n").expect("comment").value, Value::Map(Vec::new()));
        let error = parse("c.yaml", "a: 1\nb: [1, 2\n").expect_err("unclosed");
        assert!(error.line >= 2, "{error:?}");
        assert!(parse("c.yaml", "a: 1\na: 2\n").is_err(), "a duplicate key was accepted");
    }

    #[test]
    fn a_bomb_of_aliases_is_refused_quickly() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let row = vec![format!("*a{}", level - 1); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{row}]\n"));
        }
        assert!(parse("bomb.yaml", &text).is_err());
        assert!(parse("deep.yaml", &format!("a: {}{}", "[".repeat(200), "]".repeat(200))).is_err());
    }
}
