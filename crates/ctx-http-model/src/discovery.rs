//! What a tier can do: configured, discovered, or prior; cached for a minute.

use crate::client::OpenAiCompatible;
use crate::prices::Listed;
use ctx_types::catalog::{Availability, Locality, Prices, TokenizerFamily};
use ctx_types::{Certainty, Estimated, Micros, ModelEntry, Sensitivity, Tokens};
use serde_json::Value;
use std::time::Duration;

/// Longest wait for an endpoint to describe itself.
const DISCOVERY_MAX: Duration = Duration::from_millis(250);
/// Output tokens of an answer before any was seen. Prior: short cited answers.
const OUTPUT_PRIOR: (u64, u64, u64) = (180, 30, 512);

/// What an endpoint said about itself.
#[derive(Clone, Debug)]
pub(crate) struct Discovered {
    availability: Availability,
    window: Option<Tokens>,
}

/// Asks `/models`: whether it answers, whether it lists the model, and its context window where it says so.
pub(crate) async fn discover(client: &OpenAiCompatible) -> Discovered {
    let settings = &client.settings;
    if let Some(variable) = &settings.missing_key {
        return unavailable(format!("the environment variable {variable} is not set"));
    }
    let mut request = client.http.get(settings.url("models")).timeout(DISCOVERY_MAX);
    if let Some(key) = &settings.api_key {
        request = request.bearer_auth(key.expose());
    }
    let response = match request.send().await {
        Ok(response) => response,
        Err(e) if e.is_timeout() => return unavailable(format!("no answer within {} ms", DISCOVERY_MAX.as_millis())),
        Err(_) => return unavailable("the endpoint cannot be reached".to_owned()),
    };
    match response.status().as_u16() {
        401 | 403 => unavailable("the endpoint refuses the key".to_owned()),
        // An endpoint without a model list can still answer.
        200..=299 => Discovered {
            availability: Availability::Available,
            window: response.json::<Value>().await.ok().and_then(|v| window(&v, &settings.model)),
        },
        500..=599 => unavailable(format!("the endpoint answers {}", response.status().as_u16())),
        _ => Discovered { availability: Availability::Available, window: None },
    }
}

fn unavailable(reason: String) -> Discovered {
    Discovered { availability: Availability::Unavailable { reason }, window: None }
}

/// `max_model_len` (vLLM), `context_length` (several), `meta.n_ctx` (llama.cpp; its training length is not what is served).
fn window(list: &Value, model: &str) -> Option<Tokens> {
    let rows = list["data"].as_array()?;
    let row = rows.iter().find(|r| r["id"] == model).or_else(|| rows.first().filter(|_| rows.len() == 1))?;
    [&row["max_model_len"], &row["context_length"], &row["meta"]["n_ctx"]].into_iter().find_map(Value::as_u64).map(Tokens)
}

/// The catalog entry.
pub(crate) fn entry(client: &OpenAiCompatible, found: &Discovered) -> ModelEntry {
    let settings = &client.settings;
    let locality = settings.locality();
    let listed = settings.listed();
    let (listed_window, listed_output) = listed.as_ref().map_or((None, None), |listed| (listed.context_window, listed.max_output));
    let (value, low, high) = OUTPUT_PRIOR;
    let cap = settings.max_output.or(listed_output);
    ModelEntry {
        model: settings.model.clone(),
        provider: "openai_compatible".to_owned(),
        locality,
        accepts: settings.accepts.unwrap_or(if locality == Locality::Local { Sensitivity::Restricted } else { Sensitivity::Internal }),
        context_window: settings.context_window.or(found.window).or(listed_window),
        max_output: cap,
        prices: prices(client, locality, listed),
        first_token: latency_prior(locality, (400_000, 2_500_000), (700_000, 2_500_000)),
        per_token: latency_prior(locality, (25_000, 120_000), (15_000, 50_000)),
        output_tokens: Estimated::new(
            Tokens(value),
            Tokens(low),
            cap.unwrap_or(Tokens(high)).min(Tokens(high)),
            Certainty::Prior,
            "short cited answers",
        ),
        tokenizer: tokenizer(settings.tokenizer.as_deref(), &settings.model),
        availability: found.availability.clone(),
        good_for: settings.good_for.clone(),
    }
}

fn prices(client: &OpenAiCompatible, locality: Locality, listed: Option<Listed>) -> Prices {
    let settings = &client.settings;
    if let Some(prices) = &settings.prices {
        return prices.clone();
    }
    if locality == Locality::Local {
        return Prices::free("configured: local");
    }
    listed.map_or_else(|| Prices { provenance: "unknown".to_owned(), ..Prices::default() }, |listed| listed.prices)
}

/// Medians and ninth deciles before anything was measured, wide on purpose; corrected by statistics from the first run on.
fn latency_prior(locality: Locality, local: (u64, u64), remote: (u64, u64)) -> Estimated<Micros> {
    let (p50, p90) = if locality == Locality::Local { local } else { remote };
    Estimated::new(Micros(p50), Micros(p50 / 10), Micros(p90), Certainty::Prior, "before any call was measured")
}

fn tokenizer(configured: Option<&str>, model: &str) -> TokenizerFamily {
    match configured {
        Some("o200k") => TokenizerFamily::O200k,
        Some("cl100k") => TokenizerFamily::Cl100k,
        _ if ["gpt-4o", "gpt-4.1", "gpt-5", "o1", "o3", "o4"].iter().any(|p| model.starts_with(p)) => TokenizerFamily::O200k,
        _ if ["gpt-4", "gpt-3.5"].iter().any(|p| model.starts_with(p)) => TokenizerFamily::Cl100k,
        _ => TokenizerFamily::Other { multiplier_milli: Estimated::new(1_100, 850, 1_350, Certainty::Prior, "unknown tokenizer × o200k") },
    }
}

/// Nothing is known.
pub(crate) fn unknown() -> Discovered {
    unavailable("it was never asked".to_owned())
}
