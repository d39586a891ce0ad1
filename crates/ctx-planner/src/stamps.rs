//! What a plan depends on, with versions: losers too, because a better loser would have won.

use crate::write::Context;
use ctx_cost::statistics::Statistics;
use ctx_types::plan::Stamp;
use ctx_types::{Catalog, Denial, ModelName, PromptCache, Settings, SourceName, Tokens, content_id};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the stamp of a list that was read for one goal begins with.
const READ: &str = "read ";

fn version(kind: &'static str, value: &impl Serialize) -> String {
    // Catalog values hold integers and strings only, so hashing cannot fail; an unhashable value never equals another.
    content_id(kind, value).map_or_else(|e| e.to_string(), |id| id.0)
}

/// Current versions of everything that planning may consider: what [`versions`] gave, and statistics of the tenant. The plan
/// cache compares a plan's stamps with these at look-up. What providers hold of earlier prompts is among them: it moves when
/// prompts begin to be sent and when they cease to be.
pub fn stamps(
    versions: &[Stamp],
    catalog: &Catalog,
    statistics: &Statistics,
    tenant: &str,
    prompt_caches: &BTreeMap<ModelName, PromptCache>,
) -> Vec<Stamp> {
    let mut out = versions.to_vec();
    out.extend(held(catalog, prompt_caches));
    out.extend(statistics.stamps(tenant));
    out.sort();
    out
}

/// What one plan depends on: the catalog's part, the statistics keys that its estimates and the losers' read, and the lists
/// that the run has read already.
pub(crate) fn of_plan(context: &Context<'_>) -> Vec<Stamp> {
    let inputs = context.inputs;
    let mut out = match context.known {
        Some(known) => known.stamps.iter().filter(|stamp| !stamp.object.starts_with(READ)).cloned().collect(),
        None => {
            let known = inputs.versions.map(<[Stamp]>::to_vec);
            let mut out = known.unwrap_or_else(|| versions(inputs.catalog, context.view.sources, inputs.denials, inputs.settings));
            let keys = ctx_cost::model::keys_read(context.cost, context.space.alternatives.iter());
            out.extend(keys.iter().flat_map(|key| inputs.statistics.stamps_for(key)));
            out.extend(held(inputs.catalog, &inputs.probe.prompt_caches));
            out
        }
    };
    for (name, list) in &inputs.probe.read {
        out.push(Stamp { object: format!("{READ}{name}"), version: version("read", list) });
    }
    out.sort();
    out.dedup();
    out
}

/// What providers may hold of earlier prompts, of the models where that has a price; that nothing is held is a version too.
fn held<'a>(catalog: &'a Catalog, prompt_caches: &'a BTreeMap<ModelName, PromptCache>) -> impl Iterator<Item = Stamp> + 'a {
    let priced = catalog.models.iter().filter(|(_, entry)| entry.prices.cached_saving(Tokens::ZERO).is_some());
    priced.map(|(name, _)| Stamp {
        object: format!("prompt cache {name}"),
        version: prompt_caches.get(name).map_or_else(|| "absent".to_owned(), |held| version("prefix", held)),
    })
}

/// Versions of the sources, of everything else in the catalog, of the policy with its denials, and of the shipped coefficients.
pub fn versions(catalog: &Catalog, sources: &[SourceName], denials: &[Denial], settings: &Settings) -> Vec<Stamp> {
    let mut out: Vec<Stamp> = Vec::with_capacity(sources.len() + catalog.models.len() + 64);
    for name in sources {
        let entry = catalog.sources.get(name);
        let version = entry.map_or_else(|| "absent".to_owned(), |e| format!("{}+{}", e.fingerprint, version("source", e)));
        out.push(Stamp { object: format!("source {name}"), version });
    }
    for (name, entry) in &catalog.models {
        out.push(Stamp { object: format!("model {name}"), version: version("model", entry) });
    }
    out.push(Stamp { object: "capabilities".into(), version: version("capabilities", &catalog.capabilities) });
    out.push(Stamp { object: "policy".into(), version: version("policy", &(&settings.policy_version, denials)) });
    out.push(Stamp { object: "coefficients".into(), version: ctx_cost::coefficients::digest().to_owned() });
    out
}
