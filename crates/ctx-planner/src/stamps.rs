//! What a plan depends on, with versions: losers too, because a better loser would have won.

use ctx_cost::statistics::Statistics;
use ctx_types::plan::Stamp;
use ctx_types::{Catalog, Denial, Settings, SourceName, content_id};
use serde::Serialize;

fn version(kind: &'static str, value: &impl Serialize) -> String {
    // Catalog values hold integers and strings only, so hashing cannot fail; an unhashable value never equals another.
    content_id(kind, value).map_or_else(|e| e.to_string(), |id| id.0)
}

/// Stamps of everything that planning over `sources` considers. The plan cache compares them at look-up.
pub fn stamps(
    catalog: &Catalog,
    sources: &[SourceName],
    statistics: &Statistics,
    tenant: &str,
    denials: &[Denial],
    settings: &Settings,
) -> Vec<Stamp> {
    let mut out: Vec<Stamp> = Vec::with_capacity(sources.len() + catalog.models.len() + 4);
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
    out.push(Stamp { object: "statistics".into(), version: statistics.epoch(tenant).to_owned() });
    out.sort();
    out
}
