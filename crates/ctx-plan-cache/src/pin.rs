//! Decisions that are held: a scope's goals are planned to one shape, whatever else the estimates would choose.
//!
//! A pin is a shape, not a stored plan: the goal is planned anew within it, under today's limits and policy. Where no plan of the
//! shape is possible, the goal is planned freely, and the plan cache's line in EXPLAIN says so.

use ctx_types::ContentId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Pins that are kept; a further one is refused.
pub const PINS_MAX: usize = 4_096;

/// Who holds a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PinnedBy {
    /// Whoever may write the cache.
    Person,
    /// The regression guard, and what it saw.
    Guard(String),
}

impl fmt::Display for PinnedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinnedBy::Person => f.write_str("a person"),
            PinnedBy::Guard(why) => write!(f, "the regression guard ({why})"),
        }
    }
}

/// A held shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The shape.
    pub gist: ContentId,
    /// Who holds it.
    pub by: PinnedBy,
    /// Since when, seconds since the Unix epoch.
    pub since: u64,
    /// Whose goals.
    pub tenant: String,
    /// A goal of the scope, shortened; withheld from `confidential` up.
    pub goal: String,
}

/// Pins by scope.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pins {
    #[serde(with = "crate::hashed")]
    by_scope: BTreeMap<u128, Pin>,
}

impl Pins {
    pub(crate) fn get(&self, scope: u128) -> Option<&Pin> {
        self.by_scope.get(&scope)
    }

    /// `false`: there are too many.
    pub(crate) fn set(&mut self, scope: u128, pin: Pin) -> bool {
        if self.by_scope.len() >= PINS_MAX && !self.by_scope.contains_key(&scope) {
            return false;
        }
        self.by_scope.insert(scope, pin);
        true
    }

    pub(crate) fn remove(&mut self, scope: u128) -> Option<Pin> {
        self.by_scope.remove(&scope)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u128, &Pin)> {
        self.by_scope.iter().map(|(scope, pin)| (*scope, pin))
    }
}
