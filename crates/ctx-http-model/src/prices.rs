//! Prices: a map in the LiteLLM format, and a small built-in table. Unknown stays unknown.

use ctx_types::catalog::Prices;
use ctx_types::{PicoUsd, Tokens};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Why a price map was refused.
#[derive(Debug, thiserror::Error)]
#[error("reading a price map: {0}; expected the JSON object of the LiteLLM format, model name → prices")]
pub struct PriceMapError(String);

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Row {
    input_cost_per_token: Option<f64>,
    output_cost_per_token: Option<f64>,
    cache_read_input_token_cost: Option<f64>,
    cache_creation_input_token_cost: Option<f64>,
    max_input_tokens: Option<serde_json::Value>,
    max_output_tokens: Option<serde_json::Value>,
}

/// Prices and limits by model name.
#[derive(Clone, Debug, Default)]
pub struct PriceMap {
    rows: BTreeMap<String, Row>,
    provenance: String,
}

impl PriceMap {
    /// From JSON text. Rows that are not objects of prices are skipped.
    pub fn from_json(text: &str, provenance: &str) -> Result<PriceMap, PriceMapError> {
        let values: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).map_err(|e| PriceMapError(e.to_string()))?;
        let rows = values.into_iter().filter_map(|(name, value)| Some((name, serde_json::from_value(value).ok()?))).collect();
        Ok(PriceMap { rows, provenance: provenance.to_owned() })
    }

    /// Prices of a model; `None` when it is not listed.
    pub fn prices(&self, model: &str) -> Option<Prices> {
        let row = self.rows.get(model)?;
        let pico = |price: Option<f64>| price.filter(|p| p.is_finite() && *p >= 0.0).map(|p| PicoUsd((p * 1e12).round() as i64));
        Some(Prices {
            input: pico(row.input_cost_per_token),
            cached_input: pico(row.cache_read_input_token_cost),
            cache_write: pico(row.cache_creation_input_token_cost),
            output: pico(row.output_cost_per_token),
            provenance: self.provenance.clone(),
        })
    }

    /// Context window and output cap, where listed as numbers.
    pub fn limits(&self, model: &str) -> (Option<Tokens>, Option<Tokens>) {
        let number = |v: &Option<serde_json::Value>| v.as_ref().and_then(serde_json::Value::as_u64).map(Tokens);
        self.rows.get(model).map_or((None, None), |row| (number(&row.max_input_tokens), number(&row.max_output_tokens)))
    }
}

/// The built-in table: a few widely used models, so that a first plan has a price. Dollars per token as published by the
/// LiteLLM price map, release 1.110.2; a file given in the configuration replaces it.
const BUILT_IN: &str = r#"{
  "gpt-4o-mini": {"input_cost_per_token": 1.5e-7, "output_cost_per_token": 6e-7, "cache_read_input_token_cost": 7.5e-8, "max_input_tokens": 128000, "max_output_tokens": 16384},
  "gpt-4o": {"input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5, "cache_read_input_token_cost": 1.25e-6, "max_input_tokens": 128000, "max_output_tokens": 16384},
  "gpt-4.1": {"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "cache_read_input_token_cost": 5e-7, "max_input_tokens": 1047576, "max_output_tokens": 32768},
  "deepseek-chat": {"input_cost_per_token": 2.8e-7, "output_cost_per_token": 4.2e-7, "max_input_tokens": 131072, "max_output_tokens": 8192}
}"#;

/// The built-in table.
pub fn built_in() -> PriceMap {
    PriceMap::from_json(BUILT_IN, "built-in table").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_pico_dollars_and_unknown_stays_unknown() {
        let map = built_in();
        assert_eq!(map.prices("gpt-4o").and_then(|p| p.output), Some(PicoUsd(10_000_000)));
        assert_eq!(map.prices("gpt-4o").and_then(|p| p.cache_write), None);
        assert!(map.prices("no-such-model").is_none());
        assert!(PriceMap::from_json("[]", "x").is_err());
        assert_eq!(PriceMap::from_json(r#"{"m": {"max_input_tokens": "n/a"}}"#, "x").expect("object").limits("m"), (None, None));
    }
}
