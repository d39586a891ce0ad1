//! `ctxrt doctor`: what is configured, what can be reached, how to add a model.

use super::sources::state;
use crate::args::{Global, SourceArgs};
use crate::failure::Failure;
use crate::output::Out;
use crate::session::Session;
use ctx_explain::escape::line;
use ctx_types::catalog::{Availability, Locality};
use ctx_types::{Catalog, ModelEntry};
use serde_json::{Value, json};

/// What to write to get a model, with the one on this machine first.
const ADD_A_MODEL: &str = "\
To add a model, write this into ctxrt.yaml (any OpenAI-compatible endpoint):

  models:
    tiers:
      - {name: local, base_url: \"http://localhost:11434/v1\", model: qwen, local: true}
      - {name: hosted, base_url: \"https://api.example.com/v1\", model: NAME, api_key_env: EXAMPLE_API_KEY}

Keys come from the environment variable that api_key_env names, never from the file.
";

pub(crate) async fn doctor(global: &Global, args: &SourceArgs, out: &Out) -> Result<u8, Failure> {
    let session = Session::open(global, args, out).await?;
    let catalog = session.runtime.catalog().await?;
    let any = catalog.models.values().any(|model| model.availability == Availability::Available);
    let policy = policy(&session).await;
    if out.json() {
        out.document(&document(&session, &catalog, any, &policy))?;
    } else {
        out.text(&text(&session, &catalog, any, &policy))?;
    }
    Ok(0)
}

/// Which rules hold, and whether the detector of sensitive values answers.
async fn policy(session: &Session) -> String {
    let config = &session.runtime.config().policy;
    let policy = &session.runtime.parts().policy;
    let detector = match policy.scan("is anybody there?").await {
        Ok(_) => "answers".to_owned(),
        Err(error) => format!("is down, texts count as restricted: {error}"),
    };
    format!("rules {} ({}); detector {} {detector}", config.engine, policy.version(), config.pii)
}

fn document(session: &Session, catalog: &Catalog, any: bool, policy: &str) -> Value {
    let mut value = json!({
        "schema_version": 1,
        "version": env!("CARGO_PKG_VERSION"),
        "configuration": session.config_file.as_ref().map(|file| file.display().to_string()),
        "store": session.store.display().to_string(),
        "sources": catalog.sources,
        "models": catalog.models,
        "strategies": catalog.capabilities.strategies,
        "verifiers": catalog.capabilities.verifiers.iter().map(|verifier| verifier.name.clone()).collect::<Vec<_>>(),
        "policy": policy,
        "settings": session.runtime.config().settings(),
    });
    if !any {
        value["advice"] = json!(ADD_A_MODEL);
    }
    value
}

fn text(session: &Session, catalog: &Catalog, any: bool, policy: &str) -> String {
    let file = session.config_file.as_ref().map_or_else(|| "none; defaults hold".to_owned(), |file| file.display().to_string());
    let mut text = format!(
        "ctxrt {}\nConfiguration: {}\nStore: {}\n",
        env!("CARGO_PKG_VERSION"),
        line(&file),
        line(&session.store.display().to_string())
    );
    for (name, entry) in &catalog.sources {
        text.push_str(&format!(
            "Source {name}: {}, {} documents, {} passages, label {}\n",
            line(&state(entry)),
            entry.documents,
            entry.passages,
            entry.sensitivity
        ));
    }
    if catalog.sources.is_empty() {
        text.push_str("Sources: none; name one with --source docs=./docs or under sources: in ctxrt.yaml\n");
    }
    for (name, model) in &catalog.models {
        text.push_str(&format!("Model {name}: {}\n", line(&reach(model))));
    }
    text.push_str(&format!("Policy: {}\n", line(policy)));
    let names: Vec<&str> = catalog.capabilities.strategies.iter().map(|strategy| strategy.as_str()).collect();
    let checks: Vec<&str> = catalog.capabilities.verifiers.iter().map(|verifier| verifier.name.as_str()).collect();
    text.push_str(&format!("Answers: {}\nChecks: {}\n", names.join(", "), checks.join(", ")));
    for row in session.runtime.config().settings() {
        text.push_str(&format!("Setting: {} = {}\n", line(&row.key), line(&row.value)));
    }
    if !any {
        text.push_str("\nNo model can be called: answers are sentences quoted from the sources.\n");
        text.push_str(ADD_A_MODEL);
    }
    text
}

fn reach(model: &ModelEntry) -> String {
    let place = match model.locality {
        Locality::Local => "local",
        Locality::Remote => "remote",
    };
    let price = match (model.prices.input, model.prices.output) {
        (Some(input), Some(output)) => {
            let mut price = format!("${:.2}/${:.2} per million tokens in/out", dollars_per_million(input), dollars_per_million(output));
            for tier in &model.prices.tiers {
                let (input, output) = (tier.input.unwrap_or(input), tier.output.unwrap_or(output));
                let dollars = (dollars_per_million(input), dollars_per_million(output));
                price.push_str(&format!(", ${:.2}/${:.2} above {} tokens", dollars.0, dollars.1, tier.above));
            }
            price
        }
        _ => "price unknown: set price: {input: …, output: …} in dollars per million tokens".to_owned(),
    };
    let state = match &model.availability {
        Availability::Available => "available".to_owned(),
        Availability::Unavailable { reason } => format!("unavailable: {reason}"),
    };
    format!(
        "{state}; {} by {}, {place}, accepts up to {}, {price} ({})",
        model.model, model.provider, model.accepts, model.prices.provenance
    )
}

/// 1 pico-dollar per token is one millionth of a dollar per million tokens.
fn dollars_per_million(price: ctx_types::PicoUsd) -> f64 {
    price.get() as f64 / 1e6
}
