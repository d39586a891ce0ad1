//! `SHOW PLAN CACHE`: one row per entry, most recently used first.

use crate::cache::PlanCache;
use crate::entry::EntryKind;
use ctx_types::{Micros, Plan, Sensitivity};
use serde::Serialize;
use std::sync::Arc;

/// Longest goal text shown, in characters.
const GOAL_CHARACTERS_MAX: usize = 80;

/// One entry, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheRow {
    /// Digest of the key.
    pub key: String,
    /// Literal or template.
    pub kind: EntryKind,
    /// Tenant.
    pub tenant: String,
    /// The goal in one line, shortened; withheld from `confidential` up.
    pub goal: String,
    /// Plan id.
    pub plan: String,
    /// Shape.
    pub gist: String,
    /// Times it was used.
    pub hits: u64,
    /// Planning time saved so far.
    pub saved: Micros,
    /// Age in seconds.
    pub age_seconds: u64,
    /// Whether it outlived its time.
    pub expired: bool,
    /// Bytes it takes.
    pub bytes: usize,
    /// Objects it depends on.
    pub dependencies: usize,
}

impl PlanCache {
    /// The plan with this id or this beginning of one (longer than its kind), if there is exactly one; as it was made, where it
    /// serves as a template too.
    pub fn plan(&self, id: &str) -> Option<Arc<Plan>> {
        let named = id.len() > "plan_".len() && id.starts_with("plan_");
        let found = self.by_recency().map(|slot| &slot.entry).filter(|entry| named && entry.plan.id.0.starts_with(id));
        let found: Vec<_> = found.collect();
        let first = found.iter().find(|entry| entry.kind == EntryKind::Literal).or(found.first())?;
        found.iter().all(|other| other.plan.id == first.plan.id).then(|| first.plan.clone())
    }

    /// Entries, most recently used first. `now`: seconds since the Unix epoch.
    pub fn rows(&self, now: u64) -> Vec<CacheRow> {
        self.by_recency()
            .rev()
            .map(|slot| {
                let plan = &slot.entry.plan;
                CacheRow {
                    key: slot.key.digest(),
                    kind: slot.entry.kind,
                    tenant: plan.goal.principal.tenant.clone(),
                    goal: shown(&plan.goal.text, slot.entry.sensitivity()),
                    plan: plan.id.0.clone(),
                    gist: plan.gist.0.clone(),
                    hits: slot.hits,
                    saved: Micros(slot.entry.planning.0.saturating_mul(slot.hits)),
                    age_seconds: now.saturating_sub(slot.entry.planned_at),
                    expired: self.age_if_expired(slot.entry.planned_at, now).is_some(),
                    bytes: slot.bytes,
                    dependencies: plan.stamps.len(),
                }
            })
            .collect()
    }
}

/// A goal in one line, shortened; withheld from `confidential` up.
pub(crate) fn shown(text: &str, sensitivity: Sensitivity) -> String {
    if sensitivity >= Sensitivity::Confidential {
        return format!("({sensitivity})");
    }
    let mut line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(GOAL_CHARACTERS_MAX).collect();
    if text.chars().nth(GOAL_CHARACTERS_MAX).is_some() {
        line.push('…');
    }
    line
}
