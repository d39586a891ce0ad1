//! The hypothetical catalog: what exists, with what the request assumes instead. As HypoPG does for indexes.

use crate::PlanError;
use ctx_types::catalog::{AccessCapability, EmbeddingInventory, Locality, SourceState};
use ctx_types::what_if::{ModelWhatIf, SourceWhatIf};
use ctx_types::{AccessPath, Catalog, Certainty, Estimated, Micros, ModelEntry, SourceEntry, SourceKind, Tokens, WhatIf};
use std::collections::{BTreeMap, BTreeSet};

/// Provenance of everything that is assumed.
const ASSUMED: &str = "what-if";
/// Tokens of a passage where nobody says how many there are: the size that ingestion aims at.
const PASSAGE_TOKENS: u64 = 200;
/// Median and ninth decile of an access that nobody has measured: those of an index of some ten thousand passages.
const ACCESS_US: (u64, u64) = (800, 2_000);

/// The catalog as assumed.
pub fn hypothetical(catalog: &Catalog, what_if: &WhatIf) -> Result<Catalog, PlanError> {
    let mut out = catalog.clone();
    for (name, assumed) in &what_if.sources {
        let base = assumed.like.as_ref().map(|like| catalog.sources.get(like).cloned().ok_or_else(|| absent(name.as_str(), like.as_str())));
        let base = base.transpose()?.or_else(|| catalog.sources.get(name).cloned()).unwrap_or_else(folder);
        out.sources.insert(name.clone(), source(base, assumed));
    }
    for (name, assumed) in &what_if.models {
        let base = assumed.like.as_ref().map(|like| catalog.models.get(like).cloned().ok_or_else(|| absent(name.as_str(), like.as_str())));
        let base = base.transpose()?.or_else(|| catalog.models.get(name).cloned());
        let base = base.ok_or_else(|| PlanError::WhatIf {
            name: name.to_string(),
            cause: "it is not configured; say with `like` which model it resembles".to_owned(),
        })?;
        let entry = model(base, assumed);
        if !out.capabilities.strategies.contains(&ctx_types::Strategy::SingleShot) {
            out.capabilities.strategies.push(ctx_types::Strategy::SingleShot);
        }
        out.models.insert(name.clone(), entry);
    }
    for name in &what_if.drop {
        let before = out.sources.len() + out.models.len();
        out.sources.retain(|s, _| s.as_str() != name);
        out.models.retain(|m, _| m.as_str() != name);
        if before == out.sources.len() + out.models.len() {
            return Err(PlanError::WhatIf {
                name: name.clone(),
                cause: "no source and no model of this name is there to be dropped".to_owned(),
            });
        }
    }
    Ok(out)
}

fn absent(name: &str, like: &str) -> PlanError {
    PlanError::WhatIf { name: name.to_owned(), cause: format!("nothing is configured as `{like}`") }
}

/// What is assumed, in words, one line each.
pub(crate) fn words(what_if: &WhatIf) -> Vec<String> {
    let mut out = Vec::new();
    for (name, s) in &what_if.sources {
        let mut said = Vec::new();
        said.extend(s.like.as_ref().map(|v| format!("like {v}")));
        said.extend(s.passages.map(|v| format!("{v} passages")));
        said.extend(s.tokens.map(|v| format!("{v} tokens")));
        said.extend(s.sensitivity.map(|v| v.to_string()));
        said.extend(s.embeddings.map(|v| if v { "with vectors" } else { "without vectors" }.to_owned()));
        said.extend(s.paths.as_ref().map(|v| format!("read by {}", v.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))));
        out.push(format!("source `{name}` {}", said.join(", ")));
    }
    for (name, m) in &what_if.models {
        let mut said = Vec::new();
        said.extend(m.like.as_ref().map(|v| format!("like {v}")));
        said.extend(m.local.map(|v| if v { "local" } else { "remote" }.to_owned()));
        said.extend(m.accepts.map(|v| format!("accepts {v}")));
        said.extend(m.context_window.map(|v| format!("window {v}")));
        said.extend(m.max_output_tokens.map(|v| format!("at most {v} out")));
        said.extend(m.input_price.map(|v| format!("${} per million in", dollars(&v.to_string()))));
        said.extend(m.output_price.map(|v| format!("${} per million out", dollars(&v.to_string()))));
        out.push(format!("model `{name}` {}", said.join(", ")));
    }
    out.extend(what_if.drop.iter().map(|name| format!("without `{name}`")));
    out.into_iter().map(|line| format!("hypothetical: {line}")).collect()
}

/// At least two decimals, no trailing zeros beyond.
fn dollars(text: &str) -> String {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}.{:0<2}", decimals.trim_end_matches('0'))
}

fn folder() -> SourceEntry {
    SourceEntry {
        kind: SourceKind::Files,
        state: SourceState::Ready,
        documents: 0,
        passages: 0,
        bytes: 0,
        tokens: Tokens(0),
        passage_tokens: [40, 200, 380, 512],
        vocabulary: 0,
        languages: BTreeMap::new(),
        embedding: None,
        sensitivity: ctx_types::Sensitivity::Internal,
        sensitive_values: BTreeMap::new(),
        readable_by: BTreeSet::new(),
        fingerprint: ASSUMED.to_owned(),
        generation: 0,
        access: [AccessPath::Identifier, AccessPath::Bm25, AccessPath::Whole].map(capability).to_vec(),
        tables: Vec::new(),
    }
}

fn capability(path: AccessPath) -> AccessCapability {
    let of = |us: u64| Estimated::new(Micros(us), Micros(us / 2), Micros(us * 2), Certainty::Prior, ASSUMED);
    AccessCapability { path, latency_p50: of(ACCESS_US.0), latency_p90: of(ACCESS_US.1) }
}

fn source(mut entry: SourceEntry, assumed: &SourceWhatIf) -> SourceEntry {
    if let Some(passages) = assumed.passages {
        let each = entry.tokens.get().checked_div(entry.passages).unwrap_or(PASSAGE_TOKENS);
        entry.tokens = Tokens(passages.saturating_mul(each));
        (entry.passages, entry.documents) = (passages, passages / 4 + 1);
        entry.state = if passages == 0 { SourceState::Empty } else { SourceState::Ready };
        if let Some(inventory) = &mut entry.embedding {
            inventory.vectors = passages;
        }
    }
    entry.tokens = assumed.tokens.unwrap_or(entry.tokens);
    entry.sensitivity = assumed.sensitivity.unwrap_or(entry.sensitivity);
    match assumed.embeddings {
        Some(false) => entry.embedding = None,
        Some(true) => {
            let vectors = entry.passages;
            let assumed = || EmbeddingInventory {
                model: ASSUMED.to_owned(),
                dimension: 256,
                model_hash: ASSUMED.to_owned(),
                idf_version: ASSUMED.to_owned(),
                vectors,
            };
            entry.embedding.get_or_insert_with(assumed);
            for path in [AccessPath::Dense, AccessPath::HybridLinear, AccessPath::HybridRrf] {
                add(&mut entry, path);
            }
        }
        None => {}
    }
    if let Some(paths) = &assumed.paths {
        entry.access.retain(|a| paths.contains(&a.path));
        paths.iter().for_each(|path| add(&mut entry, *path));
    }
    entry
}

fn add(entry: &mut SourceEntry, path: AccessPath) {
    if !entry.access.iter().any(|a| a.path == path) {
        entry.access.push(capability(path));
    }
}

fn model(mut entry: ModelEntry, assumed: &ModelWhatIf) -> ModelEntry {
    if let Some(local) = assumed.local {
        entry.locality = if local { Locality::Local } else { Locality::Remote };
    }
    entry.accepts = assumed.accepts.unwrap_or(entry.accepts);
    entry.context_window = assumed.context_window.or(entry.context_window);
    entry.max_output = assumed.max_output_tokens.or(entry.max_output);
    for (price, slot) in [(assumed.input_price, &mut entry.prices.input), (assumed.output_price, &mut entry.prices.output)] {
        if let Some(price) = price {
            *slot = Some(price.0);
            entry.prices.provenance = ASSUMED.to_owned();
        }
    }
    // A tier that cannot be reached is assumed to answer: whether it is worth reaching is the question.
    entry.availability = ctx_types::catalog::Availability::Available;
    entry
}
