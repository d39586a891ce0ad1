//! Set-up lines of a `.plan` file. One thing a line; words are `key=value` or flags; a value with blanks stands in double
//! quotes.
//!
//! ```text
//! source orders tables passages=80             (a table of so many rows)
//! source docs passages=5000 tokens=1000000 no-statistics no-embeddings empty unavailable="…" sensitivity=… roles=a,b paths=bm25
//! model premium remote window=200000 accepts=internal price=3/15 cached=0.3 price=unknown unavailable="…"     (dollars per million)
//! without single_shot            removes a strategy, layout, fuse method or verifier
//! verifier support no-citations  · approval · refinements (a reranker, two compressors) · remote-reranker NAME
//! ```
//!
//! A request's `what_if` is the JSON of [`ctx_types::WhatIf`], quotes written as `'`.

use super::World;
use crate::catalogs;
use ctx_types::catalog::{Availability, SourceState};
use ctx_types::goal::Hint;
use ctx_types::probe::{IdentifierHits, ReadList, SourceProbe, TermFrequency};
use ctx_types::{
    Catalog, Constraints, Denial, Goal, HeldPrefix, Micros, ModelEntry, ModelName, NanoUsd, PicoUsd, Ppm, Settings, SourceEntry,
    SourceKind, SourceName, Tokens,
};
use serde::de::DeserializeOwned;
use std::fmt::Write;

type Printed = Result<String, String>;

/// Words of a line; a double-quoted run is part of one word.
fn words(line: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => out.push(String::new()),
            c => out.last_mut().expect("starts with one word").push(c),
        }
    }
    out.retain(|w| !w.is_empty());
    out
}

fn lines(input: &str) -> impl Iterator<Item = Vec<String>> {
    input.lines().map(words).filter(|w| !w.is_empty())
}

fn pair(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, ""))
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

/// A value by its name in JSON.
fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).map_err(|e| e.to_string())
}

pub(super) fn catalog(world: &mut World, input: &str) -> Printed {
    world.catalog = Catalog::default();
    // Strategies depend on whether models exist; all are offered, and rules prune what no model is there for.
    world.catalog.capabilities = catalogs::catalog(&[], &[("any", catalogs::local_model())]).capabilities;
    what_if(world, input)
}

pub(super) fn what_if(world: &mut World, input: &str) -> Printed {
    for line in lines(input) {
        let (what, rest) = (line[0].as_str(), &line[1..]);
        let name = rest.first().map(String::as_str).unwrap_or_default();
        match what {
            "source" => {
                let entry = source(&rest[1..])?;
                if entry.kind == SourceKind::Tables {
                    catalogs::computes(&mut world.catalog.capabilities);
                }
                world.catalog.sources.insert(SourceName::new(name).map_err(|e| e.to_string())?, entry);
            }
            "model" => {
                let entry = model(&rest[1..])?;
                world.catalog.models.insert(ModelName::new(name).map_err(|e| e.to_string())?, entry);
            }
            "drop" => {
                world.catalog.sources.retain(|s, _| s.as_str() != name);
                world.catalog.models.retain(|m, _| m.as_str() != name);
            }
            "no-statistics" => {
                world.catalog.sources.values_mut().for_each(|e| *e = catalogs::without_statistics(e.clone()));
                world.probe.sources.clear();
            }
            "without" => without(world, name),
            "verifier" => {
                let entry = world.catalog.capabilities.verifiers.iter_mut().find(|v| v.name == name).ok_or("no such verifier")?;
                entry.proves_citations = !rest.contains(&"no-citations".to_owned());
            }
            "refinements" => {
                let capabilities = &mut world.catalog.capabilities;
                (capabilities.rerankers, capabilities.compressors) = catalogs::refinements();
            }
            "remote-reranker" => {
                let mut entry = catalogs::refinements().0.remove(0);
                entry.name = name.to_owned();
                (entry.locality, entry.accepts) = (ctx_types::catalog::Locality::Remote, ctx_types::Sensitivity::Internal);
                (entry.price, entry.calls) = (None, 1);
                world.catalog.capabilities.rerankers.push(entry);
            }
            "approval" => world.catalog.capabilities.approval = true,
            other => return Err(format!("no catalog line `{other}`")),
        }
    }
    Ok(listing(&world.catalog))
}

fn without(world: &mut World, name: &str) {
    let capabilities = &mut world.catalog.capabilities;
    capabilities.strategies.retain(|s| s.as_str() != name);
    capabilities.layouts.retain(|l| l.as_str() != name);
    capabilities.fuse.retain(|f| f.as_str() != name);
    capabilities.verifiers.retain(|v| v.name != name);
    capabilities.rerankers.retain(|r| r.name != name);
    capabilities.compressors.retain(|c| c.name != name);
}

fn source(words: &[String]) -> Result<SourceEntry, String> {
    let passages = words.iter().find_map(|w| w.strip_prefix("passages=")).map_or(Ok(5_000), number)?;
    let holds_tables = words.iter().any(|word| word == "tables");
    let mut entry = if holds_tables { catalogs::tables(passages) } else { catalogs::files(passages) };
    for word in words {
        match pair(word) {
            ("passages", _) | ("tables", _) => {}
            ("tokens", n) => entry.tokens = Tokens(number(n)?),
            ("sensitivity", label) => entry.sensitivity = named(label)?,
            ("roles", roles) => entry.readable_by = roles.split(',').map(str::to_owned).collect(),
            ("paths", paths) => entry.access.retain(|a| paths.split(',').any(|p| p == a.path.as_str())),
            ("unavailable", reason) => entry.state = SourceState::Unavailable { reason: reason.to_owned() },
            ("empty", _) => {
                entry = catalogs::without_statistics(entry);
                entry.state = SourceState::Empty;
            }
            ("no-statistics", _) => entry = catalogs::without_statistics(entry),
            ("no-embeddings", _) => entry.embedding = None,
            (other, _) => return Err(format!("no source property `{other}`")),
        }
    }
    Ok(entry)
}

fn model(words: &[String]) -> Result<ModelEntry, String> {
    let mut entry = if words.first().is_some_and(|w| w == "remote") { catalogs::remote_model() } else { catalogs::local_model() };
    for word in words {
        match pair(word) {
            ("local" | "remote", _) => {}
            ("window", n) => entry.context_window = Some(Tokens(number(n)?)),
            ("accepts", label) => entry.accepts = named(label)?,
            ("unavailable", reason) => entry.availability = Availability::Unavailable { reason: reason.to_owned() },
            ("cached", "unknown") => entry.prices.cached_input = None,
            ("cached", dollars) => entry.prices.cached_input = Some(PicoUsd((number::<f64>(dollars)? * 1e6).round() as i64)),
            ("price", "unknown") => (entry.prices.input, entry.prices.output) = (None, None),
            ("price", dollars) => {
                // A dollar per million tokens is a million pico-dollars per token.
                let (input, output) = dollars.split_once('/').ok_or("price=IN/OUT, dollars per million tokens")?;
                let pico = |text: &str| number::<f64>(text).map(|d| Some(PicoUsd((d * 1e6).round() as i64)));
                (entry.prices.input, entry.prices.output) = (pico(input)?, pico(output)?);
            }
            (other, _) => return Err(format!("no model property `{other}`")),
        }
    }
    Ok(entry)
}

fn listing(catalog: &Catalog) -> String {
    let mut out = String::new();
    for (name, entry) in &catalog.sources {
        let state = match &entry.state {
            SourceState::Ready => "ready".to_owned(),
            SourceState::Empty => "empty".to_owned(),
            SourceState::NoStatistics => "no statistics".to_owned(),
            SourceState::Unavailable { reason } => format!("unavailable: {reason}"),
        };
        let _ = writeln!(
            out,
            "source {name}: {}, {}, {} passages, {} tokens, {state}",
            entry.kind, entry.sensitivity, entry.passages, entry.tokens
        );
    }
    for (name, entry) in &catalog.models {
        let price = |p: Option<PicoUsd>| p.map_or("unknown".to_owned(), |p| format!("${}", p.get() as f64 / 1e6));
        let _ = writeln!(
            out,
            "model {name}: {}, accepts {}, {} in and {} out per million tokens",
            if entry.locality == ctx_types::catalog::Locality::Local { "local" } else { "remote" },
            entry.accepts,
            price(entry.prices.input),
            price(entry.prices.output)
        );
    }
    out
}

/// `docs plan=40 infeas=3 id:CVE-2024-1234=2 centroid=0.31`; `orders p=0.87 reading="number of rows" refusal="…"`; `read docs path=bm25 k=50 evidence=0.10,0.15`: what a run has read;
/// `prompt-cache premium layout=context_first head=96 repeats=0.6 held=0.8`: what its provider may hold of earlier prompts
pub(super) fn probe(world: &mut World, input: &str) -> Printed {
    world.probe = catalogs::probe(&[]);
    for line in lines(input) {
        if line[0] == "read" {
            let of = |key: &str| line.iter().find_map(|w| w.strip_prefix(key)).ok_or_else(|| format!("`read` needs {key}"));
            let evidence = of("evidence=")?.split(',').map(|p| number(p).map(Ppm::from_share)).collect::<Result<_, _>>()?;
            let list = ReadList { path: named(of("path=")?)?, k: number(of("k=")?)?, evidence };
            world.probe.read.insert(SourceName::new(line[1].as_str()).map_err(|e| e.to_string())?, list);
            continue;
        }
        if line[0] == "prompt-cache" {
            prompt_cache(world, &line)?;
            continue;
        }
        let of = |key: &str| line.iter().find_map(|w| w.strip_prefix(key));
        if let Some(probability) = of("p=") {
            let said = catalogs::table_probe(of("reading=").unwrap_or_default(), Ppm::from_share(number(probability)?), of("refusal="));
            world.probe.sources.insert(SourceName::new(line[0].as_str()).map_err(|e| e.to_string())?, said);
            continue;
        }
        let mut said = SourceProbe::default();
        for word in &line[1..] {
            let (key, value) = word.rsplit_once('=').ok_or_else(|| format!("`{word}` is not term=passages"))?;
            match key.strip_prefix("id:") {
                Some(id) => said.identifiers.push(IdentifierHits { identifier: id.to_owned(), passages: number(value)? }),
                None if key == "centroid" => said.centroid_similarity = Some((number::<f64>(value)? * 1e4).round() as i32),
                None => said.terms.push(TermFrequency { term: key.to_owned(), passages: number(value)? }),
            }
        }
        said.lookups = (said.terms.len() + said.identifiers.len()) as u32;
        world.probe.sources.insert(SourceName::new(line[0].as_str()).map_err(|e| e.to_string())?, said);
    }
    Ok(String::new())
}

fn prompt_cache(world: &mut World, line: &[String]) -> Result<(), String> {
    let of = |key: &str| line.iter().find_map(|w| w.strip_prefix(key)).ok_or_else(|| format!("`prompt-cache` needs {key}"));
    let held = HeldPrefix {
        head: Tokens(number(of("head=")?)?),
        repeats: Ppm::from_share(number(of("repeats=")?)?),
        held: Ppm::from_share(number(of("held=")?)?),
    };
    let model = ModelName::new(line[1].as_str()).map_err(|e| e.to_string())?;
    world.probe.prompt_caches.entry(model).or_default().layouts.insert(named(of("layout=")?)?, held);
    Ok(())
}

/// The words; a request stays as it is.
pub(super) fn goal(world: &mut World, input: &str) -> Printed {
    world.goal = Goal { text: input.trim_end_matches('\n').to_owned(), ..world.goal.clone() };
    Ok(String::new())
}

pub(super) fn request(world: &mut World, input: &str) -> Printed {
    let mut limits = Constraints::default();
    let mut goal = Goal::new(world.goal.text.clone());
    for line in lines(input) {
        let value = line.get(1).map(String::as_str).unwrap_or_default();
        match line[0].as_str() {
            "max_cost_usd" => limits.max_cost = NanoUsd::from_usd(number(value)?),
            "max_latency_seconds" => limits.max_latency = Micros::from_seconds(number(value)?),
            "max_tokens" => limits.max_tokens = Some(Tokens(number(value)?)),
            "max_calls" => limits.max_calls = Some(number(value)?),
            "max_context_tokens" => limits.max_context_tokens = Some(Tokens(number(value)?)),
            "max_output_tokens" => limits.max_output_tokens = Some(Tokens(number(value)?)),
            "min_accuracy" => limits.min_accuracy = Some(Ppm::from_share(number(value)?)),
            "require_citations" => limits.require_citations = true,
            "require_verification" => limits.require_verification = Some(value != "false"),
            "require_approval" => limits.require_approval = true,
            "sensitivity" => limits.sensitivity = Some(named(value)?),
            "uncertain_latency" => limits.uncertain_latency = named(value)?,
            "objective" => goal.objective = named(value)?,
            "role" => _ = goal.principal.roles.insert(value.to_owned()),
            "force" => goal.hints.push(Hint::Force(value.to_owned())),
            "forbid" => goal.hints.push(Hint::Forbid(value.to_owned())),
            "pin" => goal.hints.push(Hint::Gist(ctx_types::ContentId(value.to_owned()))),
            "quantile" => limits.quantile = Some(Ppm::from_share(number(value)?)),
            "what_if" => goal.what_if = Some(Box::new(serde_json::from_str(&value.replace('\'', "\"")).map_err(|e| e.to_string())?)),
            "weight" => weight(&mut goal.weights, value)?,
            "model" => goal.hints.push(Hint::Model(ModelName::new(value).map_err(|e| e.to_string())?)),
            other => return Err(format!("no request line `{other}`")),
        }
    }
    goal.constraints = limits.clone();
    (world.goal, world.limits) = (goal, limits);
    Ok(String::new())
}

/// `acc=2`
fn weight(weights: &mut ctx_types::Weights, text: &str) -> Result<(), String> {
    let (name, value) = text.split_once('=').ok_or("weight NAME=NUMBER")?;
    let (_, slot) = super::WEIGHTS.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no weight `{name}`"))?;
    *slot(weights) = (number::<f64>(value)? * 1e6).round() as i64;
    Ok(())
}

pub(super) fn settings(world: &mut World, input: &str) -> Printed {
    let mut settings = Settings { verification_default: true, ..Settings::default() };
    for line in lines(input) {
        let value = line.get(1).map(String::as_str).unwrap_or_default();
        match line[0].as_str() {
            "verification_default" => settings.verification_default = value != "false",
            "high_risk_requires_human" => settings.high_risk_requires_human = true,
            "top_k" => settings.top_k = Some(number(value)?),
            "final_k" => settings.final_k = Some(number(value)?),
            "reranker" => settings.reranker = Some(value.to_owned()),
            "rerank_gain_min" => settings.rerank_gain_min = Some(Ppm::from_share(number(value)?)),
            "compress_keep_min" => settings.compress_keep_min = Some(Ppm::from_share(number(value)?)),
            "default_strategy" => settings.default_path = Some(named(value)?),
            other => return Err(format!("no settings line `{other}`")),
        }
    }
    world.settings = settings;
    Ok(String::new())
}

/// `source=payroll model=premium rule=… reason="…"`
pub(super) fn deny(world: &mut World, input: &str) -> Printed {
    world.denials.clear();
    for line in lines(input) {
        let of = |key: &str| line.iter().find_map(|w| w.strip_prefix(&format!("{key}="))).map(str::to_owned);
        world.denials.push(Denial {
            source: of("source").map(SourceName::new).transpose().map_err(|e| e.to_string())?,
            model: of("model").map(ModelName::new).transpose().map_err(|e| e.to_string())?,
            rule: of("rule").unwrap_or_default(),
            reason: of("reason").unwrap_or_default(),
        });
    }
    Ok(String::new())
}
