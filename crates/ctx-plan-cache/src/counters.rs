//! What the cache did, by cause.

use crate::cause::{Bypass, MissCause};
use crate::entry::{CachedPlan, EntryKind};
use ctx_types::Micros;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most objects counted by name; later ones are counted under [`OTHER_OBJECTS`].
pub const STALE_OBJECTS_MAX: usize = 256;
/// Where changed objects beyond [`STALE_OBJECTS_MAX`] are counted.
pub const OTHER_OBJECTS: &str = "(others)";

/// Counts since the cache was made or its counters were reset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Look-ups that saved planning.
    pub hits: u64,
    /// Look-ups whose words were new and whose template saved planning.
    #[serde(default)]
    pub template_hits: u64,
    /// Of these, matches that are no templates but within the user's bound.
    #[serde(default)]
    pub semantic_hits: u64,
    /// Semantic matches that were planned anew to see whether they are right.
    #[serde(default)]
    pub semantic_checks: u64,
    /// Plans that the regression guard took back.
    #[serde(default)]
    pub reverted: u64,
    /// Planning time that hits saved.
    pub saved: Micros,
    /// Misses: no entry.
    pub absent: u64,
    /// Misses: entry outlived its time.
    pub expired: u64,
    /// Misses: something changed, by object.
    pub stale: BTreeMap<String, u64>,
    /// Look-ups while switched off.
    pub disabled: u64,
    /// Requests that went around the cache, by reason.
    pub bypassed: BTreeMap<String, u64>,
    /// Look-ups whose hash agreed and whose fields did not: counted as absent too. Expected never.
    pub collisions: u64,
    /// Entries taken in.
    pub inserted: u64,
    /// Entries pushed out by the byte bound.
    pub evicted: u64,
    /// Plans not taken in: too large, asked for too rarely, already out of date.
    pub refused: u64,
}

impl Counters {
    /// Look-ups that led to planning; bypassed requests and look-ups while disabled are none.
    pub fn misses(&self) -> u64 {
        (self.absent + self.expired + self.stale.values().sum::<u64>()).saturating_sub(self.template_hits)
    }

    /// Share of look-ups that hit, in thousandths; `None` before the first.
    pub fn hit_rate_milli(&self) -> Option<u64> {
        let hits = self.hits + self.template_hits;
        (hits * 1000).checked_div(hits + self.misses())
    }

    /// Both together.
    pub(crate) fn plus(&self, other: &Counters) -> Counters {
        self.with(other, u64::saturating_add)
    }

    /// What was counted since `before`.
    pub(crate) fn since(&self, before: &Counters) -> Counters {
        self.with(before, u64::saturating_sub)
    }

    /// Destructured without `..`: a new count does not compile until it is joined.
    fn with(&self, other: &Counters, join: impl Fn(u64, u64) -> u64) -> Counters {
        let Counters {
            hits,
            template_hits,
            semantic_hits,
            semantic_checks,
            reverted,
            saved,
            absent,
            expired,
            stale,
            disabled,
            bypassed,
            collisions,
            inserted,
            evicted,
            refused,
        } = other;
        let named = |mine: &BTreeMap<String, u64>, theirs: &BTreeMap<String, u64>| {
            let mut all = mine.clone();
            for (name, count) in theirs {
                let entry = all.entry(name.clone()).or_default();
                *entry = join(*entry, *count);
            }
            all.retain(|_, count| *count > 0);
            all
        };
        Counters {
            hits: join(self.hits, *hits),
            template_hits: join(self.template_hits, *template_hits),
            semantic_hits: join(self.semantic_hits, *semantic_hits),
            semantic_checks: join(self.semantic_checks, *semantic_checks),
            reverted: join(self.reverted, *reverted),
            saved: Micros(join(self.saved.0, saved.0)),
            absent: join(self.absent, *absent),
            expired: join(self.expired, *expired),
            stale: named(&self.stale, stale),
            disabled: join(self.disabled, *disabled),
            bypassed: named(&self.bypassed, bypassed),
            collisions: join(self.collisions, *collisions),
            inserted: join(self.inserted, *inserted),
            evicted: join(self.evicted, *evicted),
            refused: join(self.refused, *refused),
        }
    }

    pub(crate) fn hit(&mut self, entry: &CachedPlan) {
        match entry.kind {
            EntryKind::Literal => self.hits += 1,
            EntryKind::Template => self.template_hits += 1,
        }
        self.saved += entry.planning;
    }

    pub(crate) fn miss(&mut self, cause: &MissCause) {
        match cause {
            MissCause::Absent => self.absent += 1,
            MissCause::Expired { .. } => self.expired += 1,
            MissCause::Stale(mismatch) => self.changed(&mismatch.object),
            // Said of a template after the words were found to be new: counted there.
            MissCause::Custom { .. } | MissCause::Worse | MissCause::Longer | MissCause::Unproven { .. } => {}
            MissCause::Disabled => self.disabled += 1,
            MissCause::Bypassed(why) => self.went_around(*why),
        }
    }

    fn changed(&mut self, object: &str) {
        let known = self.stale.contains_key(object) || self.stale.len() < STALE_OBJECTS_MAX;
        *self.stale.entry(if known { object } else { OTHER_OBJECTS }.to_owned()).or_default() += 1;
    }

    fn went_around(&mut self, why: Bypass) {
        *self.bypassed.entry(why.as_str().to_owned()).or_default() += 1;
    }
}
