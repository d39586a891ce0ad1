//! One decision for another goal: what a template of the plan cache is keyed by, and how it is bound.

use crate::PlanError;
use crate::write::{identify, seed_of};
use ctx_cost::evidence;
use ctx_types::{AccessPath, Catalog, Goal, Intent, Plan, Probe, SourceName};
use std::fmt::Write;

/// Bins of P(evidence): half a decile.
const BINS: u32 = 20;
/// Passages at which P(evidence) is looked at: few and many.
const READ: [f64; 2] = [5.0, 50.0];
/// Ranked paths that a source's signature tells.
const PATHS: [AccessPath; 3] = [AccessPath::Bm25, AccessPath::Dense, AccessPath::HybridLinear];

/// What each source says about a goal, in the bins within which plans do not differ: identifiers found (none, one, many), P(evidence) by
/// path and depth, columns and certainty of a reading over tables.
pub fn signature(catalog: &Catalog, sources: &[SourceName], probe: &Probe, intent: &Intent) -> Vec<String> {
    sources.iter().map(|name| of_source(catalog, name, probe, intent)).collect()
}

fn of_source(catalog: &Catalog, name: &SourceName, probe: &Probe, intent: &Intent) -> String {
    let mut text = String::with_capacity(64);
    let Some((said, entry)) = probe.sources.get(name).zip(catalog.sources.get(name)) else { return text };
    for found in &said.identifiers {
        text.push(match found.passages {
            0 => '0',
            1 => '1',
            _ => 'n',
        });
    }
    let features = evidence::before(Some(said), entry);
    for path in PATHS {
        for read in READ {
            let expected = evidence::expected(path, features.as_ref(), read, entry.passages, intent);
            // Writing to a text cannot fail.
            let _ = write!(text, " {}", expected.value.bin(BINS));
        }
    }
    if let Some(table) = &said.table {
        let refused = if table.refusal.is_some() { "refused" } else { "read" };
        let _ = write!(text, " {refused} {} {:?} {:?} {}", table.probability.bin(BINS), table.table, table.columns, table.values.len());
    }
    text
}

/// The decision of `template` for `goal`, with the id that planning `goal` to the same decision gives. Estimates are the
/// template's.
pub(crate) fn bind(template: &Plan, goal: &Goal, intent: Intent, configuration: &str) -> Result<Plan, PlanError> {
    let mut plan = template.clone();
    plan.goal = goal.clone();
    plan.intent = intent;
    plan.id = identify(&plan, configuration)?;
    plan.seed = goal.seed.unwrap_or_else(|| seed_of(&plan.id));
    Ok(plan)
}
