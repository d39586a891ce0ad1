//! A configuration as rows: what `EXPLAIN (SETTINGS)` shows, and the digest that plan-cache keys hold.

use super::{Config, LearningConfig};
use ctx_types::id::sha256_hex;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SettingRow {
    /// Dotted path.
    pub key: String,
    /// Its value.
    pub value: String,
    /// The default; `None` where there is none.
    pub default: Option<String>,
}

impl Config {
    /// Settings that differ from the default, by key. No secret can be among them: the configuration holds none.
    pub fn settings(&self) -> Vec<SettingRow> {
        let defaults = flat(&Config::default());
        flat(self)
            .into_iter()
            .filter(|(key, value)| defaults.get(key) != Some(value))
            .map(|(key, value)| SettingRow { default: defaults.get(&key).cloned(), key, value })
            .collect()
    }

    /// Hash of everything that decides what the best plan is, without paths and the store's place. What is tried beside it is no
    /// part of that.
    pub fn digest(&self) -> String {
        let rows = flat(&Config { learning: LearningConfig::default(), ..self.clone() });
        let text: String = rows.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        sha256_hex(text.as_bytes())[..32].to_owned()
    }
}

fn flat(config: &Config) -> BTreeMap<String, String> {
    rows("", config)
}

/// A value as dotted paths with their leaves.
pub(crate) fn rows(prefix: &str, value: &impl Serialize) -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    // Serialising a value of strings, integers and maps cannot fail.
    let tree = serde_json::to_value(value).unwrap_or(Value::Null);
    flatten(prefix, &tree, &mut rows);
    rows
}

fn flatten(path: &str, value: &Value, rows: &mut BTreeMap<String, String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| flatten(&below(key), value, rows)),
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(at, item)| flatten(&format!("{path}[{at}]"), item, rows));
        }
        Value::Null => {}
        Value::String(text) => {
            rows.insert(path.to_owned(), text.clone());
        }
        other => {
            rows.insert(path.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::SourceConfig;
    use super::*;
    use ctx_types::{NanoUsd, SourceName};

    #[test]
    fn only_what_differs_from_the_default_is_shown_and_the_digest_follows_it() {
        let mut config = Config::default();
        assert_eq!(config.settings(), Vec::new());
        let plain = config.digest();
        config.budgets.max_cost = Some(NanoUsd(1));
        let rows = config.settings();
        assert_eq!((rows.len(), rows[0].key.as_str(), rows[0].value.as_str()), (1, "budgets.max_cost", "1"));
        assert_ne!(config.digest(), plain);
    }

    #[test]
    fn places_are_not_part_of_the_digest() {
        let mut a = Config::default();
        let mut b = Config::default();
        a.sources.insert(SourceName::new("docs").expect("name"), SourceConfig::at("/one"));
        b.sources.insert(SourceName::new("docs").expect("name"), SourceConfig::at("/two"));
        b.store = Some("/elsewhere".into());
        assert_eq!(a.digest(), b.digest());
    }
}
