//! Every cell of the public price map, read as the program reads it.
//!
//! Data: `litellm_model_prices/model_prices.tsv`, or any price map in the LiteLLM format given as `prices=FILE`.

use crate::data::table;
use crate::figure::Figure;
use anyhow::{Context, bail};
use ctx_http_model::{PriceMap, pico_dollars};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Columns that hold prices per token.
const PRICES: [&str; 6] = [
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
    "input_cost_per_token_batches",
    "output_cost_per_token_batches",
];

/// The rows.
pub fn figures(data: &Path, file: Option<&str>) -> anyhow::Result<(Vec<Figure>, Value)> {
    let rows = table(&data.join("litellm_model_prices/model_prices.tsv"))?;
    let (mut cells, mut exact, mut nano, mut unread) = (0_u32, 0_u32, 0_u32, Vec::new());
    for row in &rows {
        for (name, cell) in PRICES.iter().filter_map(|name| Some((name, row.get(*name).filter(|cell| !cell.is_empty())?))) {
            cells += 1;
            match pico_dollars(cell) {
                Some(written) => {
                    exact += u32::from(written.exact);
                    nano += u32::from(written.exact && written.price.get() % 1_000 == 0);
                }
                None => unread.push(format!("{name} {cell}")),
            }
        }
    }
    if !unread.is_empty() {
        bail!("{} price cells were not read: {:?}", unread.len(), &unread[..unread.len().min(5)]);
    }
    let how = format!("{cells} price cells of {} models; whole pico-dollars per token, noise of binary fractions aside", rows.len());
    let mut figures = vec![
        Figure::new("price cells read exactly", f64::from(exact) / f64::from(cells), "", how).beside(format!(
            "{} cells exact in whole nano-dollars, {} in pico-dollars, {} rounded to the nearest",
            nano,
            exact,
            cells - exact
        )),
        round_trip(&rows)?,
    ];
    let mut details = json!({ "cells": cells, "exact": exact, "exact_in_nano": nano });
    if let Some(file) = file {
        let map = PriceMap::load(Path::new(file))?;
        figures.push(Figure::new("models of a whole price map file", map.len() as f64, "", "read without an error"));
        details["file_models"] = json!(map.len());
    }
    Ok((figures, details))
}

/// The excerpt written in the file format and read through the table that the planner uses.
fn round_trip(rows: &[BTreeMap<String, String>]) -> anyhow::Result<Figure> {
    let mut object = Map::new();
    for row in rows {
        let number =
            |name: &&str| Some(((*name).to_owned(), serde_json::from_str::<Value>(row.get(*name).filter(|c| !c.is_empty())?).ok()?));
        let fields: Map<String, Value> = PRICES.iter().chain(&["max_input_tokens", "max_output_tokens"]).filter_map(number).collect();
        object.insert(row["model"].clone(), Value::Object(fields));
    }
    let map = PriceMap::from_json(&serde_json::to_string(&object)?, "excerpt")?;
    let (mut same, mut compared) = (0_u32, 0_u32);
    for row in rows {
        let listed = map.get(&row["model"]).with_context(|| format!("{} is not in the table", row["model"]))?;
        let pairs = [
            (PRICES[0], listed.prices.input),
            (PRICES[1], listed.prices.output),
            (PRICES[2], listed.prices.cached_input),
            (PRICES[3], listed.prices.cache_write),
        ];
        for (name, price) in pairs {
            let written = row.get(name).filter(|cell| !cell.is_empty()).and_then(|cell| pico_dollars(cell));
            compared += 1;
            same += u32::from(written.map(|written| written.price) == price);
        }
    }
    let how = format!("{compared} cells of {} models through the table; an empty cell is unknown, never zero", rows.len());
    Ok(Figure::new("prices equal after the way through the file format", f64::from(same) / f64::from(compared), "", how).at_least(1.0))
}
