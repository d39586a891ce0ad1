//! Prices and limits: a map in the LiteLLM format, and a small built-in table. Unknown stays unknown.
//!
//! The format is one JSON object, model name → fields. Read are the prices per token (`input_cost_per_token`,
//! `output_cost_per_token`, `cache_read_input_token_cost`, `cache_creation_input_token_cost`,
//! `output_cost_per_reasoning_token`), each also for long prompts (`…_above_200k_tokens`), and `max_input_tokens`,
//! `max_output_tokens`. Other fields are left alone: prices of batches, pictures and searches are no price of a call made here.

use crate::decimal::pico_dollars;
use ctx_types::catalog::{PriceTier, Prices};
use ctx_types::{PicoUsd, Tokens};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

/// Largest price map.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Why a price map was refused.
#[derive(Debug, thiserror::Error)]
#[error("reading price map {file}: {cause}; expected the JSON object of the LiteLLM format, model name → prices")]
pub struct PriceMapError {
    file: String,
    cause: String,
}

/// One model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Row {
    prices: Prices,
    window: Option<Tokens>,
    output: Option<Tokens>,
    inexact: u32,
}

/// Prices and limits by model name.
#[derive(Clone, Debug, Default)]
pub struct PriceMap {
    rows: BTreeMap<String, Row>,
    provenance: String,
}

/// A model found in a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Name in the map.
    pub name: String,
    /// Prices; a class that is not listed is unknown.
    pub prices: Prices,
    /// Context window.
    pub context_window: Option<Tokens>,
    /// Output cap.
    pub max_output: Option<Tokens>,
    /// Prices whose written amount is no whole number of pico-dollars: they are the nearest.
    pub inexact: u32,
}

impl PriceMap {
    /// Reads a file; its name becomes the provenance of every price.
    pub fn load(path: &Path) -> Result<PriceMap, PriceMapError> {
        let file = path.display().to_string();
        let refused = |cause: String| PriceMapError { file: file.clone(), cause };
        let size = std::fs::metadata(path).map_err(|e| refused(e.to_string()))?.len();
        if size > FILE_BYTES_MAX {
            return Err(refused(format!("it has {size} bytes, more than {FILE_BYTES_MAX}")));
        }
        let text = std::fs::read_to_string(path).map_err(|e| refused(e.to_string()))?;
        let name = path.file_name().map_or_else(|| file.clone(), |name| name.to_string_lossy().into_owned());
        PriceMap::from_json(&text, &name).map_err(|error| refused(error.cause))
    }

    /// From JSON text. Entries that are no objects are skipped.
    pub fn from_json(text: &str, provenance: &str) -> Result<PriceMap, PriceMapError> {
        let refused = |e: serde_json::Error| PriceMapError { file: provenance.to_owned(), cause: e.to_string() };
        let entries: BTreeMap<String, Value> = serde_json::from_str(text).map_err(refused)?;
        let row = |(name, value): (String, Value)| Some((name, row(value.as_object()?, provenance)));
        Ok(PriceMap { rows: entries.into_iter().filter_map(row).collect(), provenance: provenance.to_owned() })
    }

    /// Models listed.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no model is listed.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Where the prices are from.
    pub fn provenance(&self) -> &str {
        &self.provenance
    }

    /// A model by its name in the map.
    pub fn get(&self, name: &str) -> Option<Listed> {
        let row = self.rows.get(name)?;
        Some(Listed {
            name: name.to_owned(),
            prices: row.prices.clone(),
            context_window: row.window,
            max_output: row.output,
            inexact: row.inexact,
        })
    }

    /// A model by the provider's name for it, as served at an address: the same model has different prices at different
    /// providers, so `provider/model` is looked for first, with the provider out of the host's name.
    pub fn served(&self, base_url: &str, model: &str) -> Option<Listed> {
        let provider = provider(base_url);
        let named = provider.iter().flat_map(|label| [format!("{label}/{model}"), format!("{label}_ai/{model}")]);
        named.chain([model.to_owned()]).find_map(|name| self.get(&name))
    }
}

/// `https://api.groq.com/v1` is served by `groq`.
fn provider(base_url: &str) -> Option<&str> {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next()?;
    let mut labels = host.rsplit('.');
    let (_top, label) = (labels.next()?, labels.next()?);
    (!label.is_empty() && label.bytes().any(|byte| byte.is_ascii_alphabetic())).then_some(label)
}

fn row(fields: &Map<String, Value>, provenance: &str) -> Row {
    let mut row = Row { prices: Prices { provenance: provenance.to_owned(), ..Prices::default() }, ..Row::default() };
    let mut tiers: BTreeMap<u64, PriceTier> = BTreeMap::new();
    for (name, value) in fields {
        let Value::Number(number) = value else { continue };
        let Some(written) = pico_dollars(&number.to_string()) else { continue };
        let slot = match name.split_once("_above_") {
            None => base(&mut row.prices, name),
            Some((class, threshold)) => threshold.strip_suffix("k_tokens").and_then(|k| k.parse::<u64>().ok()).and_then(|k| {
                let above = k * 1_000;
                is_class(class)
                    .then(|| tiers.entry(above).or_insert_with(|| PriceTier { above: Tokens(above), ..PriceTier::default() }))?;
                tier(tiers.get_mut(&above)?, class)
            }),
        };
        if let Some(slot) = slot {
            *slot = Some(written.price);
            row.inexact += u32::from(!written.exact);
        }
    }
    row.prices.tiers = tiers.into_values().collect();
    let number = |name: &str| fields.get(name).and_then(Value::as_u64).map(Tokens);
    row.window = number("max_input_tokens").or_else(|| number("max_tokens"));
    row.output = number("max_output_tokens");
    row
}

const INPUT: &str = "input_cost_per_token";
const CACHED: &str = "cache_read_input_token_cost";
const WRITE: &str = "cache_creation_input_token_cost";
const OUTPUT: &str = "output_cost_per_token";
const REASONING: &str = "output_cost_per_reasoning_token";

fn is_class(name: &str) -> bool {
    [INPUT, CACHED, WRITE, OUTPUT].contains(&name)
}

fn base<'a>(prices: &'a mut Prices, name: &str) -> Option<&'a mut Option<PicoUsd>> {
    match name {
        INPUT => Some(&mut prices.input),
        CACHED => Some(&mut prices.cached_input),
        WRITE => Some(&mut prices.cache_write),
        OUTPUT => Some(&mut prices.output),
        REASONING => Some(&mut prices.reasoning),
        _ => None,
    }
}

fn tier<'a>(tier: &'a mut PriceTier, name: &str) -> Option<&'a mut Option<PicoUsd>> {
    match name {
        INPUT => Some(&mut tier.input),
        CACHED => Some(&mut tier.cached_input),
        WRITE => Some(&mut tier.cache_write),
        OUTPUT => Some(&mut tier.output),
        _ => None,
    }
}

/// Widely used models, so that a first plan has a price: an excerpt of the LiteLLM price map, release 1.110.2.
const BUILT_IN: &str = include_str!("../data/prices.json");

/// The built-in table.
pub fn built_in() -> &'static PriceMap {
    static TABLE: std::sync::LazyLock<PriceMap> =
        std::sync::LazyLock::new(|| PriceMap::from_json(BUILT_IN, "built-in table").unwrap_or_default());
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_table_has_prices_and_limits_and_unknown_stays_unknown() {
        let map = built_in();
        assert!(map.len() >= 30);
        let listed = map.get("gpt-4o").expect("listed");
        assert_eq!((listed.prices.output, listed.prices.cache_write), (Some(PicoUsd(10_000_000)), None));
        assert_eq!((listed.context_window, listed.max_output), (Some(Tokens(128_000)), Some(Tokens(16_384))));
        assert_eq!(map.get("no-such-model"), None);
        let all = map.rows.keys().map(|name| map.get(name).expect("listed"));
        assert!(all.clone().all(|listed| listed.prices.known() && listed.inexact == 0 && listed.prices.provenance == "built-in table"));
    }

    #[test]
    fn long_prompts_have_their_own_prices() {
        let text = r#"{"m": {"input_cost_per_token": 1.25e-06, "output_cost_per_token": 1e-05, "max_tokens": 9,
            "input_cost_per_token_above_200k_tokens": 2.5e-06, "output_cost_per_token_above_200k_tokens": 1.5e-05,
            "input_cost_per_token_above_200k_tokens_batches": 7, "cache_creation_input_token_cost_above_1hr": 3,
            "input_cost_per_audio_token_above_200k_tokens": 5, "input_cost_per_token_batches": 1}, "spec": "text"}"#;
        let listed = PriceMap::from_json(text, "x.json").expect("an object").get("m").expect("listed");
        let tier = PriceTier {
            above: Tokens(200_000),
            input: Some(PicoUsd(2_500_000)),
            output: Some(PicoUsd(15_000_000)),
            ..PriceTier::default()
        };
        assert_eq!(listed.prices.tiers, [tier]);
        assert_eq!((listed.prices.cache_write, listed.context_window), (None, Some(Tokens(9))));
        assert_eq!(listed.prices.fresh(Tokens(200_001), Tokens(0)).get(), 200_001 * 2_500_000);
    }

    #[test]
    fn a_model_is_looked_for_at_its_provider_first() {
        let text = r#"{"m": {"input_cost_per_token": 1e-06}, "groq/m": {"input_cost_per_token": 2e-06}, "together_ai/m": {"input_cost_per_token": 3e-06}}"#;
        let map = PriceMap::from_json(text, "x.json").expect("an object");
        let at = |url: &str| map.served(url, "m").map(|listed| listed.name);
        assert_eq!(at("https://api.groq.com/openai/v1").as_deref(), Some("groq/m"));
        assert_eq!(at("https://api.together.xyz/v1").as_deref(), Some("together_ai/m"));
        assert_eq!(at("http://10.0.0.1:8000/v1").as_deref(), Some("m"));
        assert_eq!(at("not a url").as_deref(), Some("m"));
        assert_eq!(map.served("https://api.groq.com", "n"), None);
    }

    #[test]
    fn what_is_no_map_is_refused_by_name() {
        assert!(PriceMap::from_json("[]", "x.json").expect_err("a list").to_string().contains("x.json"));
        let missing = PriceMap::load(Path::new("no/prices.json")).expect_err("missing").to_string();
        assert!(missing.contains("no/prices.json"), "{missing}");
        let odd =
            PriceMap::from_json(r#"{"m": {"max_input_tokens": "n/a", "input_cost_per_token": "free", "output_cost_per_token": -1}}"#, "x");
        let listed = odd.expect("an object").get("m").expect("listed");
        assert_eq!((listed.prices.input, listed.prices.output, listed.context_window), (None, None, None));
    }
}
