//! A hypothetical catalog: sources, indexes, models and prices that do not exist, as a value in the request. EXPLAIN plans
//! over it and says so; nothing of it can be run.

use crate::{AccessPath, ModelName, PicoUsd, Sensitivity, SourceName, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::BTreeMap;
use std::fmt;

/// What to assume. A name that exists is changed, one that does not is added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WhatIf {
    /// Sources.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<SourceName, SourceWhatIf>,
    /// Models.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<ModelName, ModelWhatIf>,
    /// Names of sources and models that are assumed to be absent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
}

impl WhatIf {
    /// Whether nothing is assumed.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty() && self.models.is_empty() && self.drop.is_empty()
    }
}

/// A hypothetical source. What is not said is as it is; for a new source as in `like`, or as in a folder of text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SourceWhatIf {
    /// A source to copy first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<SourceName>,
    /// Passages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passages: Option<u64>,
    /// Tokens of all passages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Tokens>,
    /// Label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// Whether it has vectors: a hypothetical index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embeddings: Option<bool>,
    /// Access paths that can be honoured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<AccessPath>>,
}

/// A hypothetical model. What is not said is as it is; a new model must be `like` another.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelWhatIf {
    /// A model to copy first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub like: Option<ModelName>,
    /// Whether it runs on this machine or beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<bool>,
    /// Highest sensitivity it may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepts: Option<Sensitivity>,
    /// Context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<Tokens>,
    /// Most output tokens of one call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<Tokens>,
    /// Price of input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_price: Option<PerMillion>,
    /// Price of output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_price: Option<PerMillion>,
}

/// Dollars per million tokens, as people write prices: `3`, `0.25` or `"0.25"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(with = "String")]
pub struct PerMillion(pub PicoUsd);

impl fmt::Display for PerMillion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pico = self.0.get();
        write!(f, "{}.{:06}", pico / 1_000_000, pico % 1_000_000)
    }
}

impl Serialize for PerMillion {
    /// A string: floats print differently by platform.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PerMillion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Price;
        impl de::Visitor<'_> for Price {
            type Value = PerMillion;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("dollars per million tokens, for example 0.25")
            }
            fn visit_f64<E: de::Error>(self, dollars: f64) -> Result<PerMillion, E> {
                // A dollar per million tokens is a million pico-dollars per token.
                let pico = dollars * 1e6;
                if (0.0..1e15).contains(&pico) {
                    Ok(PerMillion(PicoUsd(pico.round() as i64)))
                } else {
                    Err(E::custom("a price is not negative"))
                }
            }
            fn visit_u64<E: de::Error>(self, dollars: u64) -> Result<PerMillion, E> {
                self.visit_f64(dollars as f64)
            }
            fn visit_i64<E: de::Error>(self, dollars: i64) -> Result<PerMillion, E> {
                self.visit_f64(dollars as f64)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<PerMillion, E> {
                text.parse().map_err(E::custom).and_then(|dollars| self.visit_f64(dollars))
            }
        }
        deserializer.deserialize_any(Price)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_travel_as_strings_and_come_back() {
        let read: ModelWhatIf = serde_json::from_str(r#"{"input_price": 0.25, "output_price": "15"}"#).unwrap();
        assert_eq!((read.input_price, read.output_price), (Some(PerMillion(PicoUsd(250_000))), Some(PerMillion(PicoUsd(15_000_000)))));
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(text, r#"{"input_price":"0.250000","output_price":"15.000000"}"#);
        assert_eq!(serde_json::from_str::<ModelWhatIf>(&text).unwrap(), read);
        assert!(serde_json::from_str::<ModelWhatIf>(r#"{"input_price": -1}"#).is_err());
        assert!(serde_json::from_str::<WhatIf>(r#"{"modles": {}}"#).is_err(), "an unknown key would be an assumption that is ignored");
    }
}
