//! Entries as bytes, for a warm start. Versioned; a damaged or foreign part is dropped and reported, never trusted.
//!
//! ```text
//! "ctxrt-plan-cache" · format version u32 · { length u32 · checksum u64 · payload }*
//! first payload: what the cache learned about itself, as JSON
//! others: hits u64 · key length u32 · key fields · family length u32 · points u32 · numbers each u32 · { number u32 }* · entry as JSON
//! ```
//!
//! Numbers are little-endian; the checksum is the first 64 bits of SHA-256 over the payload; entries go from the least to
//! the most recently used, so that order survives. Stamps are compared at the first look-up, as always.

use crate::cache::{PlanCache, Points, Settings, Slot};
use crate::entry::CachedPlan;
use crate::key::{KEY_SCHEMA_VERSION, PlanKey, hash_of};
use crate::state::State;
use ctx_types::plan::PLAN_SCHEMA_VERSION;
use ctx_types::{Ppm, Sensitivity};

const MAGIC: &[u8] = b"ctxrt-plan-cache";
/// Version of the layout above.
pub const FORMAT_VERSION: u32 = 2;

/// What was found in persisted bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Entries back in use.
    pub loaded: usize,
    /// Entries that stood there already.
    pub known: usize,
    /// Entries that outlived their time meanwhile.
    pub expired: usize,
    /// Entries dropped, with the reason of each kind, once.
    pub dropped: usize,
    /// Why they were dropped; empty when none was.
    pub reasons: Vec<String>,
}

impl LoadReport {
    pub(crate) fn other_planner(&mut self, found: &str) {
        self.dropped(&PersistError::OtherPlanner { found: found.to_owned() });
    }

    pub(crate) fn no_room(&mut self) {
        self.dropped(&PersistError::NoRoom);
    }

    fn dropped(&mut self, why: &PersistError) {
        self.dropped += 1;
        let why = why.to_string();
        if !self.reasons.contains(&why) {
            self.reasons.push(why);
        }
    }
}

/// Why persisted bytes, or a part of them, were not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PersistError {
    /// Not written by this code.
    #[error("reading the plan cache: not a plan cache; it starts empty")]
    Foreign,
    /// Written by another version.
    #[error("reading the plan cache: format version {found}, this program writes {FORMAT_VERSION}; it starts empty")]
    OtherVersion {
        /// The version found.
        found: u32,
    },
    /// The file ends within an entry.
    #[error("reading the plan cache: it ends within an entry (an interrupted write); the rest is dropped")]
    Torn,
    /// The checksum does not fit.
    #[error("reading the plan cache: the checksum of an entry does not fit; the entry is dropped")]
    Checksum,
    /// The entry's own formats are of another version, or it does not parse.
    #[error("reading the plan cache: an entry of another key or plan version; the entry is dropped")]
    OtherSchema,
    /// A plan of another planner: its key is never asked for.
    #[error("reading the plan cache: plans of planner {found}, this program plans as another; they are left out")]
    OtherPlanner {
        /// The planner that made them.
        found: String,
    },
    /// More than the bound holds.
    #[error("reading the plan cache: more entries than the byte bound holds; the oldest are dropped")]
    NoRoom,
}

impl PlanCache {
    /// Entries for [`PlanCache::from_bytes`]. Goals that are confidential or tighter stay in memory: their words are not written.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() + MAGIC.len() + 4);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        write_payload(&mut out, &serde_json::to_vec(&self.state).expect("a state has string keys only"));
        for slot in self.by_recency().filter(|slot| slot.entry.sensitivity() < Sensitivity::Confidential) {
            write_payload(&mut out, &payload(slot));
        }
        out
    }

    /// Takes in the plans that another cache wrote by [`PlanCache::to_bytes`]; what it learned about itself stays with it. Entries
    /// that stand here already stay; nothing is pushed out. Stamps are compared at the first look-up: a plan over other sources or
    /// prices than these is a miss that says so.
    pub fn import(&mut self, bytes: &[u8], now: u64, planner_version: &str) -> LoadReport {
        let mut report = LoadReport::default();
        let (_, entries) = read(bytes, &mut report);
        self.take_in(entries, now, planner_version, &mut report);
        report
    }

    /// A cache with what `bytes` hold and `now` allows. Never fails: what cannot be used is dropped and reported.
    pub fn from_bytes(bytes: &[u8], settings: Settings, now: u64) -> (PlanCache, LoadReport) {
        let mut cache = PlanCache::new(settings);
        let mut report = LoadReport::default();
        let (state, entries) = read(bytes, &mut report);
        cache.state = state;
        // Newest first, so that the bound drops the oldest; then back into order of use.
        let mut kept = Vec::new();
        let mut room = PlanCache::new(settings);
        for loaded in entries.into_iter().rev() {
            let Loaded { key, entry, hits, points } = loaded.clone();
            if cache.age_if_expired(entry.planned_at, now).is_some() {
                report.expired += 1;
            } else if room.restore(key, entry, hits, points) {
                kept.push(loaded);
            } else {
                report.no_room();
            }
        }
        for Loaded { key, entry, hits, points } in kept.into_iter().rev() {
            report.loaded += usize::from(cache.restore(key, entry, hits, points));
        }
        cache.stored();
        (cache, report)
    }
}

#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) key: PlanKey,
    pub(crate) entry: CachedPlan,
    pub(crate) hits: u64,
    pub(crate) points: Points,
}

/// What is usable of the bytes; what is not, is reported.
pub(crate) fn read(bytes: &[u8], report: &mut LoadReport) -> (State, Vec<Loaded>) {
    let (mut state, mut entries) = (State::default(), Vec::new());
    if let Err(why) = read_all(bytes, &mut state, &mut entries, report) {
        report.dropped(&why);
    }
    (state, entries)
}

fn read_all(bytes: &[u8], state: &mut State, entries: &mut Vec<Loaded>, report: &mut LoadReport) -> Result<(), PersistError> {
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(PersistError::Foreign)?;
    let found = take_u32(&mut rest).ok_or(PersistError::Torn)?;
    if found != FORMAT_VERSION {
        return Err(PersistError::OtherVersion { found });
    }
    match next_payload(&mut rest)?.and_then(|payload| serde_json::from_slice(payload).map_err(|_| PersistError::OtherSchema)) {
        Ok(read) => *state = read,
        Err(why) => report.dropped(&why),
    }
    while !rest.is_empty() {
        let payload = next_payload(&mut rest)?;
        match payload.and_then(|payload| read_entry(payload).ok_or(PersistError::OtherSchema)) {
            Ok(entry) => entries.push(entry),
            Err(why) => report.dropped(&why),
        }
    }
    Ok(())
}

/// The outer error ends reading; the inner one drops one entry.
fn next_payload<'a>(rest: &mut &'a [u8]) -> Result<Result<&'a [u8], PersistError>, PersistError> {
    let length = take_u32(rest).ok_or(PersistError::Torn)? as usize;
    let expected = take(rest, 8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes).ok_or(PersistError::Torn)?;
    let payload = take(rest, length).ok_or(PersistError::Torn)?;
    Ok(if checksum(payload) == expected { Ok(payload) } else { Err(PersistError::Checksum) })
}

fn write_payload(out: &mut Vec<u8>, payload: &[u8]) {
    let length = u32::try_from(payload.len()).expect("a payload is bounded by a share of the cache's bytes");
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&checksum(payload).to_le_bytes());
    out.extend_from_slice(payload);
}

fn payload(slot: &Slot) -> Vec<u8> {
    let count = |count: usize| u32::try_from(count).expect("a key is bounded by the entry that holds it").to_le_bytes();
    let fields = slot.key.fields();
    let mut out = Vec::with_capacity(fields.len() + 4096);
    out.extend_from_slice(&slot.hits.to_le_bytes());
    out.extend_from_slice(&count(fields.len()));
    out.extend_from_slice(fields);
    out.extend_from_slice(&count(slot.points.length));
    out.extend_from_slice(&count(slot.points.at.len()));
    out.extend_from_slice(&count(slot.points.at.first().map_or(0, Vec::len)));
    slot.points.at.iter().flatten().for_each(|number| out.extend_from_slice(&number.0.to_le_bytes()));
    serde_json::to_writer(&mut out, slot.entry.as_ref()).expect("a plan has string keys only and a vector takes every byte");
    out
}

fn read_entry(mut payload: &[u8]) -> Option<Loaded> {
    let hits = u64::from_le_bytes(take(&mut payload, 8)?.try_into().ok()?);
    let length = take_u32(&mut payload)? as usize;
    let fields = take(&mut payload, length)?;
    let points = read_points(fields, &mut payload)?;
    let entry: CachedPlan = serde_json::from_slice(payload).ok()?;
    let same_versions = fields.starts_with(&KEY_SCHEMA_VERSION.to_le_bytes()) && entry.plan.schema_version == PLAN_SCHEMA_VERSION;
    same_versions.then(|| Loaded { key: PlanKey::from_fields(fields.to_vec()), entry, hits, points })
}

/// The family's hash is computed anew, never trusted.
fn read_points(fields: &[u8], payload: &mut &[u8]) -> Option<Points> {
    let length = take_u32(payload)? as usize;
    let (count, numbers) = (take_u32(payload)? as usize, take_u32(payload)? as usize);
    let mut words = take(payload, count.checked_mul(numbers)?.checked_mul(4)?)?;
    let mut at = Vec::with_capacity(count);
    for _ in 0..count {
        at.push((0..numbers).map(|_| take_u32(&mut words).map(Ppm)).collect::<Option<Vec<_>>>()?);
    }
    let family = if length == 0 { 0 } else { hash_of(fields.get(..length)?) };
    Some(Points { family, length, at })
}

fn checksum(payload: &[u8]) -> u64 {
    (hash_of(payload) >> 64) as u64
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(count)?;
    *rest = tail;
    Some(head)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest, 4)?.try_into().ok().map(u32::from_le_bytes)
}
