//! The cache itself: look up, insert, evict.
//!
//! Bounded in bytes, least recently used goes first, admission by [frequency](crate::admission). [`PlanCache::lookup`]
//! counts and refreshes; [`PlanCache::peek`] gives the same answer and leaves no trace, for EXPLAIN and simulation.

use crate::admission::Frequency;
use crate::cause::{Bypass, Lookup, MissCause};
use crate::counters::Counters;
use crate::entry::CachedPlan;
use crate::join::Base;
use crate::key::PlanKey;
use crate::stamps::{CurrentStamps, EntryStamps};
use crate::state::State;
use ctx_types::Ppm;
use ctx_types::plan::Stamp;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An entry may take this share of the bound at most; a larger plan is not worth what it displaces.
const ENTRY_SHARE_MAX: usize = 8;
/// Bytes of bookkeeping per entry beside key and plan: maps, slot, allocator. Estimated from the sizes of the types.
const ENTRY_OVERHEAD: usize = 512;
/// An entry stamped further in the future than this was written under a wrong clock and is treated as expired.
const CLOCK_SKEW_SECONDS_MAX: u64 = 300;

/// What the configuration decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether the cache is used at all.
    pub enabled: bool,
    /// Seconds that an entry may be used.
    pub ttl_seconds: u64,
    /// Most bytes of all entries (keys, plans as JSON, bookkeeping).
    pub bytes_max: usize,
    /// Share of semantic matches that may be wrong; zero: there are none.
    pub semantic_error: Ppm,
}

impl Default for Settings {
    /// On, one hour, 64 MiB: some two thousand plans with all their rejected alternatives.
    fn default() -> Settings {
        Settings { enabled: true, ttl_seconds: 3600, bytes_max: 64 << 20, semantic_error: Ppm(0) }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) key: PlanKey,
    pub(crate) entry: Arc<CachedPlan>,
    pub(crate) bytes: usize,
    pub(crate) hits: u64,
    /// Where a family knows this decision to be the best; empty for one goal's own.
    pub(crate) points: Points,
    stamps: EntryStamps,
    /// Digest of the last snapshot that the stamps agreed with.
    validated: Option<u128>,
    used: u64,
}

/// What became of an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// Taken in; this many others were pushed out.
    Admitted {
        /// Entries pushed out.
        evicted: usize,
    },
    /// Not taken in, and why.
    Refused(&'static str),
}

/// Points of a family at which a decision was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Points {
    /// Hash of the family's fields, with which the slot's key begins.
    pub(crate) family: u128,
    /// Length of the family's fields.
    pub(crate) length: usize,
    /// The points.
    pub(crate) at: Vec<Vec<Ppm>>,
}

/// Plans by key.
#[derive(Clone, Debug, Default)]
pub struct PlanCache {
    pub(crate) settings: Settings,
    pub(crate) slots: BTreeMap<u128, Slot>,
    /// Slots of each family.
    pub(crate) families: BTreeMap<u128, Vec<u128>>,
    /// Keys by last use, oldest first.
    recency: BTreeMap<u64, u128>,
    uses: u64,
    pub(crate) bytes: usize,
    pub(crate) frequency: Frequency,
    pub(crate) state: State,
    pub(crate) base: Base,
}

impl PlanCache {
    /// An empty cache.
    pub fn new(settings: Settings) -> PlanCache {
        PlanCache { settings, ..PlanCache::default() }
    }

    /// Looks up, counts, refreshes recency, and drops what it finds expired or out of date. `now`: seconds since the Unix epoch.
    pub fn lookup(&mut self, key: &PlanKey, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        let found = self.judge(key, current, now);
        if self.settings.enabled {
            self.frequency.count(key.hash());
        }
        match &found {
            Lookup::Hit(entry) | Lookup::Near { entry, .. } => {
                self.state.counters.hit(entry);
                self.touch(key.hash(), current.digest());
            }
            Lookup::Miss(cause) => {
                self.state.counters.miss(cause);
                self.drop_if_dead(key, cause);
            }
        }
        found
    }

    /// What [`PlanCache::lookup`] would answer, changing nothing.
    pub fn peek(&self, key: &PlanKey, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        self.judge(key, current, now)
    }

    /// Records a request that must not use the cache.
    pub fn bypass(&mut self, why: Bypass) -> Lookup {
        let cause = MissCause::Bypassed(why);
        self.state.counters.miss(&cause);
        Lookup::Miss(cause)
    }

    /// Takes a fresh plan in, if there is room for it or it has earned some. `current` are the versions of the snapshot
    /// that was planned with.
    pub fn insert(&mut self, key: PlanKey, entry: CachedPlan, current: &CurrentStamps<'_>) -> Inserted {
        self.insert_at(key, entry, Points::default(), current)
    }

    pub(crate) fn insert_at(&mut self, key: PlanKey, entry: CachedPlan, points: Points, current: &CurrentStamps<'_>) -> Inserted {
        let result = self.admit(key, entry, points, current);
        match result {
            Inserted::Admitted { evicted } => {
                self.state.counters.inserted += 1;
                self.state.counters.evicted += evicted as u64;
            }
            Inserted::Refused(_) => self.state.counters.refused += 1,
        }
        result
    }

    /// Removes every entry and says how many there were. Counters stay.
    pub fn clear(&mut self) -> usize {
        let removed = self.slots.len();
        self.slots.clear();
        self.families.clear();
        self.recency.clear();
        self.bytes = 0;
        removed
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes of all entries; never above [`Settings::bytes_max`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What the configuration decided.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.state.counters
    }

    /// Entries from the least to the most recently used.
    pub(crate) fn by_recency(&self) -> impl DoubleEndedIterator<Item = &Slot> {
        self.recency.values().filter_map(|hash| self.slots.get(hash))
    }

    /// Whether exactly this key has an entry.
    pub(crate) fn holds(&self, key: &PlanKey) -> bool {
        self.slots.get(&key.hash()).is_some_and(|slot| slot.key == *key)
    }

    /// Puts a persisted entry back, most recent last. Refuses what the bound does not hold, without evicting.
    pub(crate) fn restore(&mut self, key: PlanKey, entry: CachedPlan, hits: u64, points: Points) -> bool {
        let slot = Slot::new(key, entry, hits, points, None);
        if self.bytes + slot.bytes > self.settings.bytes_max || self.slots.contains_key(&slot.key.hash()) {
            return false;
        }
        self.put(slot);
        true
    }

    /// Whether an entry made at `planned_at` may not be used at `now`.
    pub(crate) fn age_if_expired(&self, planned_at: u64, now: u64) -> Option<u64> {
        let age = now.saturating_sub(planned_at);
        let from_the_future = planned_at.saturating_sub(now) > CLOCK_SKEW_SECONDS_MAX;
        (age >= self.settings.ttl_seconds || from_the_future).then_some(age)
    }

    fn judge(&self, key: &PlanKey, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        if !self.settings.enabled {
            return Lookup::Miss(MissCause::Disabled);
        }
        let Some(slot) = self.slots.get(&key.hash()).filter(|slot| slot.key == *key) else {
            return Lookup::Miss(MissCause::Absent);
        };
        self.judge_slot(slot, current, now)
    }

    pub(crate) fn judge_slot(&self, slot: &Slot, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        if let Some(age_seconds) = self.age_if_expired(slot.entry.planned_at, now) {
            return Lookup::Miss(MissCause::Expired { age_seconds, ttl_seconds: self.settings.ttl_seconds });
        }
        match slot.stamps.mismatch(current, slot.validated) {
            Some(mismatch) => Lookup::Miss(MissCause::Stale(mismatch)),
            None => Lookup::Hit(Arc::clone(&slot.entry)),
        }
    }

    pub(crate) fn touch(&mut self, hash: u128, snapshot: u128) {
        self.uses += 1;
        if let Some(slot) = self.slots.get_mut(&hash) {
            self.recency.remove(&slot.used);
            self.recency.insert(self.uses, hash);
            slot.used = self.uses;
            slot.hits += 1;
            slot.validated = Some(snapshot);
        }
    }

    fn drop_if_dead(&mut self, key: &PlanKey, cause: &MissCause) {
        match cause {
            MissCause::Expired { .. } | MissCause::Stale(_) => drop(self.remove(key.hash())),
            MissCause::Absent => self.state.counters.collisions += u64::from(self.slots.contains_key(&key.hash())),
            MissCause::Custom { .. }
            | MissCause::Worse
            | MissCause::Longer
            | MissCause::Unproven { .. }
            | MissCause::Disabled
            | MissCause::Bypassed(_) => {}
        }
    }

    fn admit(&mut self, key: PlanKey, entry: CachedPlan, points: Points, current: &CurrentStamps<'_>) -> Inserted {
        if !self.settings.enabled {
            return Inserted::Refused("plan cache disabled");
        }
        if Bypass::demanded_by(&entry.plan.goal).is_some() {
            return Inserted::Refused("the goal belongs to a conversation");
        }
        let slot = Slot::new(key, entry, 0, points, Some(current.digest()));
        if slot.stamps.mismatch(current, None).is_some() {
            return Inserted::Refused("what it was planned with has changed since");
        }
        if slot.bytes > self.settings.bytes_max / ENTRY_SHARE_MAX {
            return Inserted::Refused("too large");
        }
        self.remove(slot.key.hash());
        let Some(victims) = self.victims(&slot) else {
            return Inserted::Refused("asked for less often than what it would displace");
        };
        victims.iter().for_each(|hash| drop(self.remove(*hash)));
        self.put(slot);
        assert!(self.bytes <= self.settings.bytes_max, "the plan cache outgrew its bound");
        Inserted::Admitted { evicted: victims.len() }
    }

    /// Least recently used entries that must go for `newcomer`; `None` if one of them is asked for more often than it.
    fn victims(&self, newcomer: &Slot) -> Option<Vec<u128>> {
        let rank = self.frequency.of(newcomer.key.hash());
        let mut over = (self.bytes + newcomer.bytes).saturating_sub(self.settings.bytes_max);
        let mut victims = Vec::new();
        for slot in self.by_recency() {
            if over == 0 {
                break;
            }
            if self.frequency.of(slot.key.hash()) > rank {
                return None;
            }
            over = over.saturating_sub(slot.bytes);
            victims.push(slot.key.hash());
        }
        Some(victims)
    }

    fn put(&mut self, mut slot: Slot) {
        self.uses += 1;
        slot.used = self.uses;
        self.bytes += slot.bytes;
        self.recency.insert(slot.used, slot.key.hash());
        if slot.points.length > 0 {
            self.families.entry(slot.points.family).or_default().push(slot.key.hash());
        }
        self.slots.insert(slot.key.hash(), slot);
    }

    pub(crate) fn remove(&mut self, hash: u128) -> Option<Slot> {
        let slot = self.slots.remove(&hash)?;
        self.recency.remove(&slot.used);
        self.bytes -= slot.bytes;
        if let Some(of_family) = self.families.get_mut(&slot.points.family) {
            of_family.retain(|other| *other != hash);
            if of_family.is_empty() {
                self.families.remove(&slot.points.family);
            }
        }
        Some(slot)
    }
}

impl Slot {
    fn new(key: PlanKey, entry: CachedPlan, hits: u64, points: Points, validated: Option<u128>) -> Slot {
        let stamps = EntryStamps::of(&entry.plan.stamps);
        let bytes = ENTRY_OVERHEAD + key.fields().len() + json_bytes(&entry) + points.bytes();
        Slot { key, entry: Arc::new(entry), bytes, hits, points, stamps, validated, used: 0 }
    }
}

impl Slot {
    /// Whether what the decision depended on still stands.
    pub(crate) fn agrees(&self, current: &CurrentStamps<'_>) -> bool {
        self.stamps.mismatch(current, self.validated).is_none()
    }

    /// Whether of what the decision depended on nothing has moved but the content of sources.
    pub(crate) fn only_sources_moved(&self, current: &CurrentStamps<'_>) -> bool {
        self.stamps.only_sources_moved(current)
    }

    /// What the decision depended on, in its versions of now.
    pub(crate) fn renewed_stamps(&self, current: &CurrentStamps<'_>) -> Vec<Stamp> {
        self.stamps.renewed(current)
    }
}

impl Points {
    /// Bytes they take.
    fn bytes(&self) -> usize {
        self.at.iter().map(|point| bytes_of(point)).sum()
    }
}

/// Bytes that a point takes.
pub(crate) fn bytes_of(point: &[Ppm]) -> usize {
    size_of_val(point) + size_of::<Vec<Ppm>>()
}

/// Length of the entry as JSON.
fn json_bytes(entry: &CachedPlan) -> usize {
    serde_json::to_vec(entry).expect("a plan has string keys only").len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamps::Stamps;

    /// Two requests whose hashes collide: the fields decide.
    #[test]
    fn a_collision_of_hashes_is_a_miss() {
        let held = PlanKey::forged(7, b"one request".to_vec());
        let other = PlanKey::forged(7, b"another request".to_vec());
        assert_eq!(held.hash(), other.hash());
        assert_ne!(held, other);
        let mut cache = PlanCache::new(Settings::default());
        let entry = serde_json::from_str(include_str!("../tests/fixture/entry.json")).expect("the fixture is an entry");
        cache.put(Slot::new(held.clone(), entry, 0, Points::default(), None));
        let snapshot = Stamps::default();
        let current = CurrentStamps::of(&snapshot);
        assert!(cache.lookup(&held, &current, 0).hit().is_some());
        assert!(matches!(cache.lookup(&other, &current, 0), Lookup::Miss(MissCause::Absent)));
        assert_eq!(cache.counters().collisions, 1);
    }
}
