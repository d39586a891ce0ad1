//! Entries as bytes, for a warm start. Versioned; a damaged or foreign part is dropped and reported, never trusted.
//!
//! ```text
//! "ctxrt-plan-cache" · format version u32 · { length u32 · checksum u64 · payload }*
//! payload: hits u64 · key length u32 · key fields · entry as JSON
//! ```
//!
//! Numbers are little-endian; the checksum is the first 64 bits of SHA-256 over the payload; entries go from the least to
//! the most recently used, so that order survives. Stamps are compared at the first look-up, as always.

use crate::cache::{PlanCache, Settings};
use crate::entry::CachedPlan;
use crate::key::{KEY_SCHEMA_VERSION, PlanKey, hash_of};
use ctx_types::Sensitivity;
use ctx_types::plan::PLAN_SCHEMA_VERSION;

const MAGIC: &[u8] = b"ctxrt-plan-cache";
/// Version of the layout above.
pub const FORMAT_VERSION: u32 = 1;

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
        for slot in self.by_recency().filter(|slot| slot.entry.sensitivity() < Sensitivity::Confidential) {
            let payload = payload(slot.hits, slot.key.fields(), &slot.entry);
            let length = u32::try_from(payload.len()).expect("an entry is bounded by a share of the cache's bytes");
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(&checksum(&payload).to_le_bytes());
            out.extend_from_slice(&payload);
        }
        out
    }

    /// Takes in what another cache wrote by [`PlanCache::to_bytes`]. Entries that stand here already stay; nothing is pushed out.
    /// Stamps are compared at the first look-up: a plan over other sources or prices than these is a miss that says so.
    pub fn import(&mut self, bytes: &[u8], now: u64, planner_version: &str) -> LoadReport {
        let mut report = LoadReport::default();
        let mut entries = Vec::new();
        if let Err(why) = read_all(bytes, &mut entries, &mut report) {
            report.dropped(&why);
        }
        for (key, entry, hits) in entries {
            if entry.plan.planner_version != planner_version {
                report.dropped(&PersistError::OtherPlanner { found: entry.plan.planner_version.clone() });
            } else if self.age_if_expired(entry.planned_at, now).is_some() {
                report.expired += 1;
            } else if self.holds(&key) {
                report.known += 1;
            } else if self.restore(key, entry, hits) {
                report.loaded += 1;
            } else {
                report.dropped(&PersistError::NoRoom);
            }
        }
        report
    }

    /// A cache with what `bytes` hold and `now` allows. Never fails: what cannot be used is dropped and reported.
    pub fn from_bytes(bytes: &[u8], settings: Settings, now: u64) -> (PlanCache, LoadReport) {
        let mut cache = PlanCache::new(settings);
        let mut report = LoadReport::default();
        let mut entries = Vec::new();
        if let Err(why) = read_all(bytes, &mut entries, &mut report) {
            report.dropped(&why);
        }
        // Newest first, so that the bound drops the oldest; then back into order of use.
        let mut kept = Vec::new();
        let mut room = PlanCache::new(settings);
        for (key, entry, hits) in entries.into_iter().rev() {
            if cache.age_if_expired(entry.planned_at, now).is_some() {
                report.expired += 1;
            } else if room.restore(key.clone(), entry.clone(), hits) {
                kept.push((key, entry, hits));
            } else {
                report.dropped(&PersistError::NoRoom);
            }
        }
        for (key, entry, hits) in kept.into_iter().rev() {
            report.loaded += usize::from(cache.restore(key, entry, hits));
        }
        (cache, report)
    }
}

type Loaded = (PlanKey, CachedPlan, u64);

fn read_all(bytes: &[u8], entries: &mut Vec<Loaded>, report: &mut LoadReport) -> Result<(), PersistError> {
    let mut rest = bytes.strip_prefix(MAGIC).ok_or(PersistError::Foreign)?;
    let found = take_u32(&mut rest).ok_or(PersistError::Torn)?;
    if found != FORMAT_VERSION {
        return Err(PersistError::OtherVersion { found });
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

fn payload(hits: u64, fields: &[u8], entry: &CachedPlan) -> Vec<u8> {
    let length = u32::try_from(fields.len()).expect("a key is bounded by the entry that holds it");
    let mut out = Vec::with_capacity(fields.len() + 4096);
    out.extend_from_slice(&hits.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(fields);
    serde_json::to_writer(&mut out, entry).expect("a plan has string keys only and a vector takes every byte");
    out
}

fn read_entry(mut payload: &[u8]) -> Option<Loaded> {
    let hits = u64::from_le_bytes(take(&mut payload, 8)?.try_into().ok()?);
    let length = take_u32(&mut payload)? as usize;
    let fields = take(&mut payload, length)?;
    let entry: CachedPlan = serde_json::from_slice(payload).ok()?;
    let same_versions = fields.starts_with(&KEY_SCHEMA_VERSION.to_le_bytes()) && entry.plan.schema_version == PLAN_SCHEMA_VERSION;
    same_versions.then(|| (PlanKey::from_fields(fields.to_vec()), entry, hits))
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
