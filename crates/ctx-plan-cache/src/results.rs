//! Answers that were given before, apart from plans: the same request over the same content may be answered without doing it
//! again. Off unless it is switched on.
//!
//! The key is the literal key of the plan cache: who asks (tenant, roles), the canonical words, constraints, weights, hints, the
//! configuration. The stamps are those of the plan (sources, models, prices, policy) but for statistics, which move estimates and
//! not answers. Nothing is kept of goals from `confidential` up, of conversations, of words that mean another day tomorrow, of
//! answers that were cut off or did not pass; that is the runtime's to see to. A stored answer is a plan of its own: its score is
//! that of the plan that gave it, without the cost and the time that are not spent again.
//!
//! Within the user's δ an answer may also be given for [other words](crate::near) that ask the same. Every such proposal is run
//! beside and the answers [compared](mod@crate::agree) until its tenant's share of wrong ones at that distance is proven to be small
//! enough, by the [bound](crate::semantic) of the plan cache, which holds at every look; one request in sixteen is for ever. Only
//! answers of runs propose, never answers that were given again.

use crate::key::{PlanKey, hash_of};
use crate::near::NearKey;
use crate::semantic::Record;
use crate::stamps::{CurrentStamps, EntryStamps, Mismatch};
use crate::state::TENANTS_MAX;
use crate::template::Verdict;
use ctx_types::estimate::ScoreBreakdown;
use ctx_types::plan::Stamp;
use ctx_types::{ContentId, Micros, NanoUsd, Outcome, Plan, Ppm, Score};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the stored form.
const SCHEMA_VERSION: u32 = 1;
/// A single answer may take this share of the bound at most.
const ENTRY_SHARE_MAX: usize = 8;
/// Stamps of these objects move estimates, not answers.
const ESTIMATES: [&str; 2] = ["statistics ", "prompt cache "];

/// What the configuration decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultSettings {
    /// Whether answers are kept at all.
    pub enabled: bool,
    /// Seconds that an answer may be given again.
    pub ttl_seconds: u64,
    /// Most bytes of all answers.
    pub bytes_max: usize,
    /// Share of answers given for other words that may be wrong; zero: there are none.
    pub semantic_error: Ppm,
}

impl Default for ResultSettings {
    /// Off.
    fn default() -> ResultSettings {
        ResultSettings { enabled: false, ttl_seconds: 3600, bytes_max: 16 << 20, semantic_error: Ppm(0) }
    }
}

/// An answer with what it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredResult {
    /// What was answered, and what it cost then.
    pub outcome: Outcome,
    /// Shape of the plan that gave it.
    pub gist: ContentId,
    /// Score of that plan without cost and latency.
    pub score: Score,
    /// When it was given, seconds since the Unix epoch.
    pub stored_at: u64,
}

impl StoredResult {
    /// Of a run of this plan.
    pub fn of(outcome: &Outcome, plan: &Plan, now: u64) -> StoredResult {
        let ScoreBreakdown { cost, lat, total, .. } = plan.score;
        let score = Score(total.0.saturating_sub(cost.0).saturating_sub(lat.0));
        StoredResult { outcome: outcome.clone(), gist: plan.gist.clone(), score, stored_at: now }
    }

    /// What giving it again does not cost.
    pub fn saved(&self) -> (NanoUsd, Micros) {
        (self.outcome.spend.cost, self.outcome.spend.elapsed)
    }
}

/// What a look gave.
#[derive(Clone, Debug)]
pub enum FoundResult {
    /// It may be given again.
    Stored(Box<StoredResult>),
    /// It was not asked before, or not so.
    Absent,
    /// It outlived its time.
    Expired,
    /// What it rests on has changed.
    Stale(Mismatch),
}

/// A stored answer to other words that ask the same.
#[derive(Clone, Debug)]
pub struct ProposedResult {
    /// Under which it is stored.
    pub key: PlanKey,
    /// The answer.
    pub result: Box<StoredResult>,
    /// How differently the two are put.
    pub distance: Ppm,
    /// Upper bound of the share of wrong ones at this distance, of this tenant.
    pub false_at_most: Ppm,
    /// Compared at this distance, and wrong ones.
    pub judged: (u32, u32),
    /// Whether it may be given: the bound is within δ and this request is none of those that are run beside.
    pub proven: bool,
}

/// Counts since the store was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultCounters {
    /// Answers given again.
    pub hits: u64,
    /// Requests that had to be worked on.
    pub misses: u64,
    /// Dollars that hits saved.
    pub saved_cost: NanoUsd,
    /// Time that hits saved.
    pub saved_time: Micros,
    /// Hits that were answers to other words.
    #[serde(default)]
    pub semantic_hits: u64,
    /// Answers to other words that were compared with one's own.
    #[serde(default)]
    pub semantic_checks: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    fields: Vec<u8>,
    stamps: Vec<Stamp>,
    result: StoredResult,
    /// What it shares with other words, and how it was put.
    #[serde(default)]
    near: Option<NearRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct NearRow {
    family: Vec<u8>,
    framing: Vec<String>,
}

#[derive(Clone, Debug)]
struct Slot {
    key: PlanKey,
    row: Row,
    stamps: EntryStamps,
    bytes: usize,
    used: u64,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    counters: ResultCounters,
    rows: Vec<Row>,
    #[serde(default)]
    judged: BTreeMap<String, Record>,
}

/// Stored answers by key, the longest unused goes first.
#[derive(Clone, Debug, Default)]
pub struct Results {
    settings: ResultSettings,
    slots: BTreeMap<u128, Slot>,
    /// Answers to requests that ask the same, by the hash of what they share.
    families: BTreeMap<u128, Vec<u128>>,
    /// Judged proposals by tenant.
    judged: BTreeMap<String, Record>,
    bytes: usize,
    uses: u64,
    counters: ResultCounters,
}

impl Results {
    /// None yet.
    pub fn new(settings: ResultSettings) -> Results {
        Results { settings, ..Results::default() }
    }

    /// What [`Results::to_bytes`] wrote, as far as it may still be given. What cannot be read counts as nothing.
    pub fn from_bytes(bytes: &[u8], settings: ResultSettings, now: u64) -> Results {
        let mut results = Results::new(settings);
        if let Ok(document) = serde_json::from_slice::<Document>(bytes)
            && document.schema_version == SCHEMA_VERSION
        {
            results.counters = document.counters;
            results.judged = document.judged;
            for row in document.rows.into_iter().filter(|row| !expired(&row.result, settings, now)) {
                results.put(PlanKey::from_fields(row.fields.clone()), row);
            }
        }
        results
    }

    /// Answers from the least to the most recently used.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut slots: Vec<&Slot> = self.slots.values().collect();
        slots.sort_by_key(|slot| slot.used);
        let rows = slots.into_iter().map(|slot| slot.row.clone()).collect();
        let document = Document { schema_version: SCHEMA_VERSION, counters: self.counters, rows, judged: self.judged.clone() };
        serde_json::to_vec(&document).expect("a result has string keys only")
    }

    /// Whether answers are kept.
    pub fn enabled(&self) -> bool {
        self.settings.enabled
    }

    /// What is stored for this request; changes nothing.
    pub fn look(&self, key: &PlanKey, current: &CurrentStamps<'_>, now: u64) -> FoundResult {
        let Some(slot) = self.slots.get(&key.hash()).filter(|slot| slot.key == *key) else { return FoundResult::Absent };
        if expired(&slot.row.result, self.settings, now) {
            return FoundResult::Expired;
        }
        match slot.stamps.mismatch(current, None) {
            Some(mismatch) => FoundResult::Stale(mismatch),
            None => FoundResult::Stored(Box::new(slot.row.result.clone())),
        }
    }

    /// Counts that the stored answer was given.
    pub fn given(&mut self, key: &PlanKey) {
        self.uses += 1;
        let Some(slot) = self.slots.get_mut(&key.hash()) else { return };
        slot.used = self.uses;
        let (cost, time) = slot.row.result.saved();
        self.counters.hits += 1;
        self.counters.saved_cost += cost;
        self.counters.saved_time += time;
    }

    /// The answer to the nearest other words that ask the same and still stand; changes nothing.
    pub fn propose(&self, near: &NearKey, own: &PlanKey, tenant: &str, current: &CurrentStamps<'_>, now: u64) -> Option<ProposedResult> {
        if !self.settings.enabled || self.settings.semantic_error.0 == 0 {
            return None;
        }
        let stands = |slot: &&Slot| !expired(&slot.row.result, self.settings, now) && slot.stamps.mismatch(current, None).is_none();
        let other = self.families.get(&near.family.hash())?.iter().filter(|hash| **hash != own.hash());
        let put = other.filter_map(|hash| {
            let slot = self.slots.get(hash).filter(stands)?;
            let row = slot.row.near.as_ref().filter(|row| row.family == near.family.fields())?;
            Some((near.distance(&row.framing), slot))
        });
        let (distance, slot) = put.min_by_key(|(distance, slot)| (*distance, slot.key.hash()))?;
        let record = self.judged.get(tenant).copied().unwrap_or_default();
        let false_at_most = record.bound(distance, false);
        Some(ProposedResult {
            key: slot.key.clone(),
            result: Box::new(slot.row.result.clone()),
            distance,
            false_at_most,
            judged: record.judged(distance, false),
            proven: false_at_most <= self.settings.semantic_error && !near.sampled,
        })
    }

    /// Counts that an answer to other words was given.
    pub fn given_for_other_words(&mut self, key: &PlanKey) {
        self.given(key);
        self.counters.semantic_hits += 1;
    }

    /// Keeps whether an answer to other words said what the request's own answer says. Distances beyond the furthest band prove
    /// nothing and are not counted.
    pub fn judge(&mut self, tenant: &str, distance: Ppm, same: bool) {
        if self.judged.contains_key(tenant) || self.judged.len() < TENANTS_MAX {
            self.counters.semantic_checks += 1;
            self.judged.entry(tenant.to_owned()).or_default().add(&Verdict { distance, chosen: false, loss: 0, wrong: !same });
        }
    }

    /// Answers to other words that were compared, over all tenants; those that said something else; and how many more that say the
    /// same the tenant nearest to being served needs.
    pub fn compared(&self) -> (u32, u32, Option<u32>) {
        let add = |(all, wrong): (u32, u32), (more, more_wrong): (u32, u32)| (all.saturating_add(more), wrong.saturating_add(more_wrong));
        let (all, wrong) = self.judged.values().map(Record::all).fold((0, 0), add);
        (all, wrong, self.judged.values().filter_map(|record| record.still_needed(self.settings.semantic_error)).min())
    }

    /// Counts that there was none to give.
    pub fn missed(&mut self) {
        self.counters.misses += 1;
    }

    /// Keeps an answer. `stamps`: what its plan considered; `near`: for which other words it may be proposed.
    pub fn insert(&mut self, key: PlanKey, near: Option<&NearKey>, stamps: &[Stamp], result: StoredResult) {
        if self.settings.enabled {
            let stamps = stamps.iter().filter(|stamp| !ESTIMATES.iter().any(|of| stamp.object.starts_with(of))).cloned().collect();
            let near = near.map(|near| NearRow { family: near.family.fields().to_vec(), framing: near.framing.clone() });
            let row = Row { fields: key.fields().to_vec(), stamps, result, near };
            self.put(key, row);
        }
    }

    /// Forgets every answer and says how many there were.
    pub fn clear(&mut self) -> usize {
        let forgotten = self.slots.len();
        self.slots.clear();
        self.families.clear();
        self.bytes = 0;
        forgotten
    }

    /// Answers.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What happened so far.
    pub fn counters(&self) -> ResultCounters {
        self.counters
    }

    fn put(&mut self, key: PlanKey, row: Row) {
        let bytes = serde_json::to_vec(&row).expect("a result has string keys only").len();
        if bytes > self.settings.bytes_max / ENTRY_SHARE_MAX {
            return;
        }
        self.uses += 1;
        let slot = Slot { stamps: EntryStamps::of(&row.stamps), key, row, bytes, used: self.uses };
        let hash = slot.key.hash();
        self.remove(hash);
        self.bytes += bytes;
        if let Some(near) = &slot.row.near {
            self.families.entry(hash_of(&near.family)).or_default().push(hash);
        }
        self.slots.insert(hash, slot);
        while self.bytes > self.settings.bytes_max
            && let Some(oldest) = self.slots.iter().min_by_key(|(_, slot)| slot.used).map(|(hash, _)| *hash)
        {
            self.remove(oldest);
        }
    }

    fn remove(&mut self, hash: u128) {
        let Some(slot) = self.slots.remove(&hash) else { return };
        self.bytes -= slot.bytes;
        let Some(family) = slot.row.near.map(|near| hash_of(&near.family)) else { return };
        if let Some(of_family) = self.families.get_mut(&family) {
            of_family.retain(|other| *other != hash);
            if of_family.is_empty() {
                self.families.remove(&family);
            }
        }
    }
}

fn expired(result: &StoredResult, settings: ResultSettings, now: u64) -> bool {
    now.saturating_sub(result.stored_at) >= settings.ttl_seconds || result.stored_at > now.saturating_add(300)
}
