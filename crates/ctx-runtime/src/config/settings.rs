//! A configuration as rows: what `EXPLAIN (SETTINGS)` shows, by the names and in the units of the file, and the digest that
//! plan-cache keys hold.

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
        let matches = [("plan_cache", self.runtime.plan_cache.semantic_error), ("result_cache", self.runtime.result_cache.semantic_error)];
        let matches = matches.into_iter().filter(|(_, error)| error.0 > 0).map(|(cache, _)| SettingRow {
            key: format!("runtime.{cache}.match"),
            value: "semantic".to_owned(),
            default: Some("exact".to_owned()),
        });
        let mut rows = differing(flat(self), &flat(&Config::default()));
        rows.extend(matches);
        rows.sort();
        rows
    }

    /// Hash of everything that decides what the best plan is, without paths and the store's place. What is tried beside it is no
    /// part of that.
    pub fn digest(&self) -> String {
        let rows = flat(&Config { learning: LearningConfig::default(), ..self.clone() });
        let text: String = rows.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        sha256_hex(text.as_bytes())[..32].to_owned()
    }
}

/// Keys that the file writes otherwise than they are kept: how they end here, how there, and what one of its units is here.
const UNITS: [(&str, &str, f64); 16] = [
    (".max_cost", ".max_cost_usd", 1e9),
    (".max_latency", ".max_latency_seconds", 1e6),
    (".cost_scale", ".cost_scale_usd", 1e9),
    (".latency_scale", ".latency_scale_seconds", 1e6),
    (".price.input", ".price.input", 1e6),
    (".price.cached_input", ".price.cached_input", 1e6),
    (".price.cache_write", ".price.cache_write", 1e6),
    (".price.output", ".price.output", 1e6),
    (".semantic_error", ".semantic_error", 1e6),
    (".explore", ".explore", 1e6),
    (".within", ".within", 1e6),
    (".floor", ".floor", 1e6),
    (".min_accuracy", ".min_accuracy", 1e6),
    (".quantile", ".quantile", 1e6),
    (".rerank_gain_min", ".rerank_gain_min", 1e6),
    (".compress_keep_min", ".compress_keep_min", 1e6),
];
/// Weights are kept in millionths.
const WEIGHTS: &str = ".weights.";

/// The rows of `kept` that `plain` has otherwise or not at all, as the file writes them.
pub(crate) fn differing(kept: BTreeMap<String, String>, plain: &BTreeMap<String, String>) -> Vec<SettingRow> {
    let row = |(key, value): (String, String)| {
        let default = plain.get(&key).map(|value| as_written(&key, value).1);
        let (key, value) = as_written(&key, &value);
        SettingRow { key, value, default }
    };
    kept.into_iter().filter(|(key, value)| plain.get(key) != Some(value)).map(row).collect()
}

/// A row by the name and in the unit of the file.
fn as_written(key: &str, value: &str) -> (String, String) {
    let scaled = |unit: f64| value.parse::<f64>().map_or_else(|_| value.to_owned(), |kept| (kept / unit).to_string());
    match UNITS.iter().find(|(kept, ..)| key.ends_with(kept)) {
        Some((kept, written, unit)) => (format!("{}{written}", &key[..key.len() - kept.len()]), scaled(*unit)),
        None if key.contains(WEIGHTS) => (key.to_owned(), scaled(1e6)),
        None => (key.to_owned(), value.to_owned()),
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
        config.budgets.max_cost = Some(NanoUsd(250_000_000));
        let rows = config.settings();
        assert_eq!((rows.len(), rows[0].key.as_str(), rows[0].value.as_str()), (1, "budgets.max_cost_usd", "0.25"));
        assert_ne!(config.digest(), plain);
    }

    #[test]
    fn rows_have_the_names_and_units_of_the_file() {
        let mut config = Config::default();
        config.runtime.result_cache.semantic_error = ctx_types::Ppm(200_000);
        config.costmodel.weights.cost = 700_000;
        let rows: Vec<String> = config.settings().into_iter().map(|row| format!("{} = {}", row.key, row.value)).collect();
        assert_eq!(
            rows,
            ["costmodel.weights.cost = 0.7", "runtime.result_cache.match = semantic", "runtime.result_cache.semantic_error = 0.2"]
        );
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
