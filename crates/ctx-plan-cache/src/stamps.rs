//! What a decision looked at, with versions; and what those versions are now.
//!
//! The runtime builds one [`Stamps`] per catalog snapshot. An entry that agreed with a snapshot remembers the snapshot's
//! digest, so that the common case is one comparison; only a new snapshot is compared object by object.

use crate::key::hash_of;
use ctx_types::plan::Stamp;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Version of an object that was looked for and not there: a plan may depend on an absence (no statistics yet).
pub const ABSENT_VERSION: &str = "absent";

/// Objects whose name begins so belong to a goal, not to a catalog snapshot: `window yesterday`. They are asked for at
/// every lookup, because the same words resolve to another window later.
pub const PER_GOAL_PREFIX: &str = "window ";

/// What the name of a source's object begins with.
const SOURCE_PREFIX: &str = "source ";

/// Versions by object, sorted, with a digest of the whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Stamp>", into = "Vec<Stamp>")]
pub struct Stamps {
    sorted: Vec<Stamp>,
    digest: u128,
}

impl From<Vec<Stamp>> for Stamps {
    /// Sorts; of two stamps of one object the greater version stays (a plan never carries two).
    fn from(mut stamps: Vec<Stamp>) -> Stamps {
        stamps.sort_unstable_by(|a, b| (&a.object, &b.version).cmp(&(&b.object, &a.version)));
        stamps.dedup_by(|later, first| later.object == first.object);
        let digest = digest_of(&stamps);
        Stamps { sorted: stamps, digest }
    }
}

impl From<Stamps> for Vec<Stamp> {
    fn from(stamps: Stamps) -> Vec<Stamp> {
        stamps.sorted
    }
}

fn digest_of(sorted: &[Stamp]) -> u128 {
    let mut bytes = Vec::with_capacity(sorted.len() * 64);
    for text in sorted.iter().flat_map(|stamp| [&stamp.object, &stamp.version]) {
        bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    }
    hash_of(&bytes)
}

impl Stamps {
    /// The version of `object`, if it is there.
    pub fn version(&self, object: &str) -> Option<&str> {
        let at = self.sorted.binary_search_by(|stamp| stamp.object.as_str().cmp(object)).ok()?;
        Some(&self.sorted[at].version)
    }

    /// Digest of every object and version.
    pub fn digest(&self) -> u128 {
        self.digest
    }

    /// Stamps by object.
    pub fn iter(&self) -> impl Iterator<Item = &Stamp> {
        self.sorted.iter()
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether nothing is stamped.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }
}

/// How an object of this very goal resolves now, by its full name; `None`: it does not.
pub type PerGoal<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Versions now: those of the catalog snapshot, and how objects of this very goal resolve.
#[derive(Clone, Copy)]
pub struct CurrentStamps<'a> {
    snapshot: &'a Stamps,
    per_goal: Option<PerGoal<'a>>,
}

impl fmt::Debug for CurrentStamps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CurrentStamps").field("snapshot", self.snapshot).field("per_goal", &self.per_goal.is_some()).finish()
    }
}

impl<'a> CurrentStamps<'a> {
    /// Versions of a snapshot, for goals without relative time words.
    pub fn of(snapshot: &'a Stamps) -> CurrentStamps<'a> {
        CurrentStamps { snapshot, per_goal: None }
    }

    /// With a resolver for objects named [`PER_GOAL_PREFIX`]…; it gets the object's full name.
    pub fn with_per_goal(self, resolve: PerGoal<'a>) -> CurrentStamps<'a> {
        CurrentStamps { per_goal: Some(resolve), ..self }
    }

    /// Digest of the snapshot.
    pub fn digest(&self) -> u128 {
        self.snapshot.digest
    }

    fn resolve(&self, object: &str) -> Option<String> {
        self.per_goal.and_then(|resolve| resolve(object))
    }
}

/// The first object whose version is not what the plan saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Which.
    pub object: String,
    /// What the plan saw.
    pub planned: String,
    /// What it is now; `None`: gone.
    pub now: Option<String>,
}

/// An entry's stamps, split once so that lookups touch only what they must.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryStamps {
    catalog: Vec<Stamp>,
    per_goal: Vec<Stamp>,
}

impl EntryStamps {
    pub(crate) fn of(stamps: &[Stamp]) -> EntryStamps {
        let sorted = Vec::from(Stamps::from(stamps.to_vec()));
        let (per_goal, catalog) = sorted.into_iter().partition(|stamp| stamp.object.starts_with(PER_GOAL_PREFIX));
        EntryStamps { catalog, per_goal }
    }

    /// The first disagreement with `current`. `validated` is the digest of a snapshot they agreed with before.
    pub(crate) fn mismatch(&self, current: &CurrentStamps<'_>, validated: Option<u128>) -> Option<Mismatch> {
        let catalog = if validated == Some(current.digest()) { None } else { self.catalog_mismatch(current.snapshot) };
        catalog.or_else(|| self.per_goal.iter().find_map(|stamp| differs(stamp, current.resolve(&stamp.object).as_deref())))
    }

    /// Whether nothing has moved but the content of sources.
    pub(crate) fn only_sources_moved(&self, current: &CurrentStamps<'_>) -> bool {
        let moved = |stamp: &&Stamp| differs(stamp, current.snapshot.version(&stamp.object)).is_some();
        self.per_goal.is_empty() && self.catalog.iter().filter(moved).all(|stamp| stamp.object.starts_with(SOURCE_PREFIX))
    }

    /// The catalog's objects in their versions of now.
    pub(crate) fn renewed(&self, current: &CurrentStamps<'_>) -> Vec<Stamp> {
        let version = |object: &str| current.snapshot.version(object).unwrap_or(ABSENT_VERSION).to_owned();
        self.catalog.iter().map(|stamp| Stamp { object: stamp.object.clone(), version: version(&stamp.object) }).collect()
    }

    /// Both lists are sorted: one merge pass.
    fn catalog_mismatch(&self, snapshot: &Stamps) -> Option<Mismatch> {
        let mut rest = snapshot.sorted.as_slice();
        self.catalog.iter().find_map(|stamp| {
            let skip = rest.iter().take_while(|now| now.object < stamp.object).count();
            rest = &rest[skip..];
            let now = rest.first().filter(|now| now.object == stamp.object).map(|now| now.version.as_str());
            differs(stamp, now)
        })
    }
}

fn differs(stamp: &Stamp, now: Option<&str>) -> Option<Mismatch> {
    (stamp.version != now.unwrap_or(ABSENT_VERSION)).then(|| Mismatch {
        object: stamp.object.clone(),
        planned: stamp.version.clone(),
        now: now.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(pairs: &[(&str, &str)]) -> Vec<Stamp> {
        pairs.iter().map(|(object, version)| Stamp { object: (*object).to_owned(), version: (*version).to_owned() }).collect()
    }

    #[test]
    fn the_changed_object_is_named_and_others_do_not_matter() {
        let entry = EntryStamps::of(&stamps(&[("source b", "1"), ("model m", "7"), ("statistics x", ABSENT_VERSION)]));
        let same = Stamps::from(stamps(&[("model m", "7"), ("source a", "9"), ("source b", "1")]));
        assert_eq!(entry.mismatch(&CurrentStamps::of(&same), None), None);
        let edited = Stamps::from(stamps(&[("model m", "7"), ("source b", "2")]));
        let found = entry.mismatch(&CurrentStamps::of(&edited), Some(same.digest())).expect("b was edited");
        assert_eq!((found.object.as_str(), found.now.as_deref()), ("source b", Some("2")));
        let appeared = Stamps::from(stamps(&[("model m", "7"), ("source b", "1"), ("statistics x", "1-ab")]));
        assert_eq!(entry.mismatch(&CurrentStamps::of(&appeared), None).expect("x appeared").object, "statistics x");
        let gone = Stamps::from(stamps(&[("model m", "7")]));
        assert_eq!(entry.mismatch(&CurrentStamps::of(&gone), None).expect("b is gone").now, None);
    }

    #[test]
    fn a_time_window_is_asked_for_even_under_the_same_snapshot() {
        let entry = EntryStamps::of(&stamps(&[("source a", "1"), ("window yesterday", "2026-01-01")]));
        let snapshot = Stamps::from(stamps(&[("source a", "1")]));
        let today = |object: &str| (object == "window yesterday").then(|| "2026-01-02".to_owned());
        let current = CurrentStamps::of(&snapshot).with_per_goal(&today);
        assert_eq!(entry.mismatch(&current, Some(snapshot.digest())).expect("the day changed").object, "window yesterday");
    }

    #[test]
    fn digests_depend_on_content_not_on_order() {
        let a = Stamps::from(stamps(&[("x", "1"), ("y", "2")]));
        let b = Stamps::from(stamps(&[("y", "2"), ("x", "1")]));
        assert_eq!(a.digest(), b.digest());
        assert_ne!(a.digest(), Stamps::from(stamps(&[("x", "12"), ("y", "")])).digest());
        assert_eq!((a.version("y"), a.version("z")), (Some("2"), None));
    }
}
