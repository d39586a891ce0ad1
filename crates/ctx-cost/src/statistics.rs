//! Statistics: an estimator that reports its own error (the counterpart of `pg_stats`).
//!
//! Every run compares estimates with what happened ([`from_trace`]); the comparisons are absorbed into an immutable
//! snapshot, which corrects the next estimates and puts an interval around them. Keys are shrunken to coarser keys, samples
//! are bottom-k so that snapshots of several processes merge in any order, and what planning sees is *published*: it stays
//! put until it has moved enough to matter, so that plans stay comparable and cached plans valid.
//!
//! What it is not: it knows no clock (`as_of` is an argument), learns no rule and decides nothing. Accuracy is learned from
//! feedback and gold labels only; our verifier's verdict is a statistic of its own.
//!
//! ```
//! use ctx_cost::statistics::{Field, Observation, StatKey, SizeClass, Statistics};
//! use ctx_types::{AccessPath, Bucket, Certainty, Estimated, Micros};
//!
//! let key = StatKey::access("default", Field::Latency, AccessPath::Bm25, Bucket::Conceptual, SizeClass::Medium);
//! let seen: Vec<Observation> = (0..40).map(|i| Observation::new(key.clone(), format!("run {i}"), 1000, 800, 1600 + i)).collect();
//! let statistics = Statistics::default().absorb(&seen, 2000);
//!
//! let prior = Estimated::new(Micros(800), Micros(400), Micros(2400), Certainty::Prior, "shipped");
//! let better = statistics.corrected(&key, prior);
//! assert!(better.value.0 > 1200 && better.certainty == Certainty::Measured { n: 40 });
//! ```
//!
//! Reading order: [`key`] → [`observation`] → [`sample`] → `interval` → [`published`] → this file → [`correct`] → [`trace`]
//! → [`row`] → [`persist`]. Sources of the formulas: `CITATIONS.md`.

pub mod correct;
mod interval;
pub mod key;
pub mod observation;
pub mod persist;
pub mod published;
pub mod row;
pub mod sample;
pub mod trace;
mod waiting;

pub use correct::Quantity;
pub use interval::{CONFORMAL_N_MIN, ENDS_N_MIN};
pub use key::{Field, OperatorClass, Scale, SizeClass, StatKey};
pub use observation::{Label, Observation};
pub use persist::{Origin, StatisticsError};
pub use published::{Published, SHRINKAGE_N0};
pub use row::StatRow;
pub use sample::{HALF_LIFE_SECONDS, SAMPLE_MAX};
pub use trace::{TraceContext, from_trace};
pub use waiting::Waiting;

use crate::neural::Estimators;
use ctx_types::id::sha256_hex;
use ctx_types::plan::Stamp;
use published::{Moments, shrunken};
use sample::{Item, Sample, Weighed, hash_of};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Keys kept per tenant; beyond, the finest keys with the fewest outcomes go first and their parents answer.
pub const KEYS_MAX: usize = 4096;
/// Outcomes that the writer gathers before it absorbs.
pub const ABSORB_OUTCOMES_MAX: usize = 100;
/// Seconds after which it absorbs what it has.
pub const ABSORB_SECONDS_MAX: u64 = 60;
/// Epoch of a tenant that nothing is known of.
const EPOCH_NONE: &str = "epoch_none";
/// Version of a key that nothing is published of.
pub const ABSENT_VERSION: &str = "absent";

/// One key's outcomes and what planning sees of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) sample: Sample,
    pub(crate) published: Published,
    /// Provenance of estimates that it corrects; written once because planning asks for it thousands of times.
    pub(crate) provenance: String,
    /// Whether some of its outcomes were imported.
    pub(crate) imported: bool,
}

impl Cell {
    pub(crate) fn new(key: &StatKey, sample: Sample, published: Published) -> Cell {
        Cell { sample, published, provenance: format!("{}{key}", correct::PROVENANCE), imported: false }
    }

    /// The same; what it corrects says that some of it was imported.
    pub(crate) fn with_import(self, key: &StatKey) -> Cell {
        Cell { provenance: format!("{}{key}, in part imported", correct::PROVENANCE), imported: true, ..self }
    }

    fn empty(key: &StatKey) -> Cell {
        Cell::new(key, Sample::default(), Published::default())
    }
}

/// An immutable snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    cells: BTreeMap<StatKey, Cell>,
    epochs: BTreeMap<String, String>,
    as_of: u64,
    origins: BTreeSet<Origin>,
    /// Who gives which estimate; nothing: statistics do.
    estimators: Option<Arc<Estimators>>,
}

impl Statistics {
    /// A new snapshot that knows these outcomes too, decayed to `as_of` (seconds since the Unix epoch) and published where
    /// something moved. The order of observations does not matter; one seen before changes nothing. When to do so is the
    /// writer's business: [`Statistics::is_due`].
    pub fn absorb(&self, observations: &[Observation], as_of: u64) -> Statistics {
        self.gather(observations).published_at(as_of)
    }

    /// The same with these outcomes known and nothing published: what people look at before the next absorption.
    pub fn gather(&self, observations: &[Observation]) -> Statistics {
        let mut next = self.clone();
        for observation in observations {
            let (hash, item) = (hash_of(&observation.outcome), Item::of(observation));
            let mut key = observation.key.clone();
            loop {
                next.cells.entry(key.clone()).or_insert_with_key(Cell::empty).sample.add(hash, item);
                if !key.coarsen() {
                    break;
                }
            }
        }
        next.bound_keys();
        next
    }

    /// What two snapshots know together: commutative, associative, idempotent. Published values are the later ones of
    /// either; [`Statistics::publish`] brings them up to date.
    pub fn merge(&self, other: &Statistics) -> Statistics {
        let mut merged = self.clone();
        for (key, cell) in &other.cells {
            let own = merged.cells.entry(key.clone()).or_insert_with_key(Cell::empty);
            own.sample.union(&cell.sample);
            own.published = own.published.max(cell.published);
            if cell.imported && !own.imported {
                *own = own.clone().with_import(key);
            }
        }
        merged.origins.extend(other.origins.iter().cloned());
        merged.as_of = self.as_of.max(other.as_of);
        merged.epochs = merged.epochs_now();
        merged
    }

    /// What this snapshot and one from elsewhere know together, remembering where it came from. The same file twice changes
    /// nothing. [`Statistics::publish`] brings the published values up to date.
    pub fn with_imported(&self, other: &Statistics, name: &str) -> Statistics {
        let cells = other.cells.iter().map(|(key, cell)| (key.clone(), cell.clone().with_import(key))).collect();
        let outcomes = other.cells.values().map(|cell| cell.sample.distinct()).max().unwrap_or(0);
        let keys = u32::try_from(other.cells.len()).unwrap_or(u32::MAX);
        let origin = Origin { name: name.to_owned(), as_of: other.as_of, keys, outcomes };
        let marked = Statistics { cells, origins: other.origins.iter().cloned().chain([origin]).collect(), ..other.clone() };
        let mut merged = self.merge(&marked);
        merged.bound_keys();
        merged
    }

    /// Where imported outcomes came from.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.origins.iter()
    }

    /// A snapshot whose published values are within tolerance of what the outcomes say at `as_of`.
    pub fn publish(&self, as_of: u64) -> Statistics {
        self.clone().published_at(as_of)
    }

    fn published_at(mut self, as_of: u64) -> Statistics {
        self.as_of = self.as_of.max(as_of);
        let weighed: Vec<Weighed> = self.cells.values().map(|cell| cell.sample.weighed(self.as_of)).collect();
        let moments: BTreeMap<StatKey, Moments> = self.cells.keys().cloned().zip(weighed.iter().map(Moments::of)).collect();
        for ((key, cell), weighed) in self.cells.iter_mut().zip(&weighed) {
            let chain: Vec<Moments> = key.chain().iter().filter_map(|key| moments.get(key).copied()).collect();
            let scale = key.field.scale();
            let fresh = Published::of(weighed, shrunken(&chain, scale), scale, self.as_of);
            cell.published = cell.published.renewed(fresh, scale);
        }
        self.epochs = self.epochs_now();
        self
    }

    /// What planning reads and nothing else: a few hundred bytes per key, quick to load. Merging it with the whole gives the
    /// whole; absorbing into it loses nothing and publishes nothing until the outcomes are there again.
    pub fn for_planning(&self) -> Statistics {
        let published = self.cells.iter().filter(|(_, cell)| cell.published.serial > 0);
        let cells = published.map(|(key, cell)| (key.clone(), Cell { sample: Sample::default(), ..cell.clone() }));
        Statistics {
            cells: cells.collect(),
            epochs: self.epochs.clone(),
            as_of: self.as_of,
            origins: self.origins.clone(),
            estimators: self.estimators.clone(),
        }
    }

    /// The same snapshot with these estimators: what planning asks from here on.
    pub fn with_estimators(mut self, estimators: Arc<Estimators>) -> Statistics {
        self.estimators = Some(estimators);
        self.epochs = self.epochs_now();
        self
    }

    pub(crate) fn estimators(&self) -> Option<&Estimators> {
        self.estimators.as_deref()
    }

    /// Epochs by tenant: of what is published, and of what was fitted.
    fn epochs_now(&self) -> BTreeMap<String, String> {
        let mut now = epochs(&self.cells);
        if let Some(estimators) = &self.estimators {
            let tenants: BTreeSet<String> = now.keys().cloned().chain(estimators.tenants().map(str::to_owned)).collect();
            for tenant in tenants {
                let version = estimators.stamp(&tenant).version;
                let epoch = now.entry(tenant).or_insert_with(|| EPOCH_NONE.to_owned());
                *epoch = format!("{epoch}+{version}");
            }
        }
        now
    }

    /// Epoch of a tenant's statistics: moves when a published value moves, not with every run.
    pub fn epoch(&self, tenant: &str) -> &str {
        self.epochs.get(tenant).map_or(EPOCH_NONE, String::as_str)
    }

    /// Time of the last publication, seconds since the Unix epoch.
    pub fn as_of(&self) -> u64 {
        self.as_of
    }

    /// Keys with outcomes.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Published values of exactly this key.
    pub fn published(&self, key: &StatKey) -> Option<&Published> {
        self.cells.get(key).map(|cell| &cell.published).filter(|published| published.serial > 0)
    }

    /// What a plan that read `key` depends on: the finest published key, that finer ones were absent, and the coarser ones
    /// down to the one whose interval it borrows.
    pub fn stamps_for(&self, key: &StatKey) -> Vec<Stamp> {
        let mut stamps: Vec<Stamp> = self.estimators.iter().map(|estimators| estimators.stamp(&key.tenant)).collect();
        for key in key.chain() {
            let published = self.published(&key);
            stamps.push(Stamp { object: key.object(), version: published.map_or_else(|| ABSENT_VERSION.to_owned(), version_of) });
            if published.is_some_and(|published| published.stands_alone() || key.field.scale() != Scale::Ratio) {
                break;
            }
        }
        stamps
    }

    /// Current version of every published key of a tenant: the runtime's part of a catalog snapshot's stamps.
    pub fn stamps(&self, tenant: &str) -> Vec<Stamp> {
        let published = self.cells.iter().filter(|(key, cell)| key.tenant == tenant && cell.published.serial > 0);
        let keys = published.map(|(key, cell)| Stamp { object: key.object(), version: version_of(&cell.published) });
        keys.chain(self.estimators.iter().map(|estimators| estimators.stamp(tenant))).collect()
    }

    /// The finest key at or above `key` whose published values are `wanted`; no key is copied where the first one is.
    pub(crate) fn nearest<'a>(&self, key: &'a StatKey, wanted: impl Fn(&Published) -> bool) -> Option<(Cow<'a, StatKey>, &Cell)> {
        let mut key = Cow::Borrowed(key);
        loop {
            if let Some(cell) = self.cells.get(&*key).filter(|cell| cell.published.serial > 0 && wanted(&cell.published)) {
                return Some((key, cell));
            }
            if !key.to_mut().coarsen() {
                return None;
            }
        }
    }

    pub(crate) fn cells(&self) -> &BTreeMap<StatKey, Cell> {
        &self.cells
    }

    pub(crate) fn restored(cells: BTreeMap<StatKey, Cell>, as_of: u64, origins: BTreeSet<Origin>) -> Statistics {
        let epochs = epochs(&cells);
        Statistics { cells, epochs, as_of, origins, estimators: None }
    }

    fn bound_keys(&mut self) {
        let mut by_tenant: BTreeMap<&str, Vec<&StatKey>> = BTreeMap::new();
        for key in self.cells.keys() {
            by_tenant.entry(&key.tenant).or_default().push(key);
        }
        let mut superfluous = Vec::new();
        for keys in by_tenant.values_mut().filter(|keys| keys.len() > KEYS_MAX) {
            keys.sort_by_key(|key| (key.depth(), std::cmp::Reverse(self.cells[*key].sample.distinct())));
            superfluous.extend(keys[KEYS_MAX..].iter().map(|key| (*key).clone()));
        }
        superfluous.iter().for_each(|key| drop(self.cells.remove(key)));
    }
}

/// Serial and content: equal serials of two processes do not make two versions one.
fn version_of(published: &Published) -> String {
    let content = format!("{published:?}");
    format!("{}-{}", published.serial, &sha256_hex(content.as_bytes())[..8])
}

fn epochs(cells: &BTreeMap<StatKey, Cell>) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    for (key, cell) in cells.iter().filter(|(_, cell)| cell.published.serial > 0) {
        texts.entry(&key.tenant).or_default().push_str(&format!("{}\n{}\n", key.object(), version_of(&cell.published)));
    }
    texts.into_iter().map(|(tenant, text)| (tenant.to_owned(), format!("epoch_{}", &sha256_hex(text.as_bytes())[..16]))).collect()
}
