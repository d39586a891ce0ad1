//! How a lookup ended, in words that EXPLAIN and the trace print.

use crate::entry::CachedPlan;
use crate::stamps::Mismatch;
use crate::template::CUSTOM_PLANS_MIN;
use ctx_types::plan::Known;
use ctx_types::{Goal, Ppm};
use std::fmt;
use std::sync::Arc;

/// Judged proposals of one distance after which no more are judged: what is unproven by then is wrong too often.
const CHECKS_MAX: u32 = 8_192;

/// Result of a lookup.
#[derive(Clone, Debug)]
pub enum Lookup {
    /// Every exact field agrees and everything the plan considered still stands.
    Hit(Arc<CachedPlan>),
    /// The same, and numbers that planning reads differ by more than a template may: a semantic match, within the user's bound.
    /// What serves is the best plan made of parts of the known decisions near by, for the goal's own numbers.
    Near {
        /// The nearest decision.
        entry: Arc<CachedPlan>,
        /// What the decisions near by are made of.
        known: Known,
        /// Largest difference of any number that planning reads.
        distance: Ppm,
        /// Upper bound of the share of such matches that are wrong.
        false_at_most: Ppm,
    },
    /// Planning is needed, and why.
    Miss(MissCause),
}

impl Lookup {
    /// Why planning is needed, in words; of a hit, that it is one.
    pub fn cause(&self) -> String {
        match self {
            Lookup::Miss(cause) => cause.to_string(),
            hit => hit.to_string(),
        }
    }

    /// Whether the decision that was not used is to be judged beside the plan made anew: while that can still change what is
    /// used. What was found to be worse stays so.
    pub fn wants_verdict(&self) -> bool {
        match self {
            Lookup::Miss(MissCause::Custom { .. }) => true,
            Lookup::Miss(MissCause::Unproven { checked, .. }) => *checked < CHECKS_MAX,
            _ => false,
        }
    }

    /// The entry of a hit, the nearest one of a semantic match.
    pub fn hit(&self) -> Option<&Arc<CachedPlan>> {
        match self {
            Lookup::Hit(entry) | Lookup::Near { entry, .. } => Some(entry),
            Lookup::Miss(_) => None,
        }
    }
}

impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lookup::Hit(entry) => write!(f, "hit ({})", entry.kind),
            Lookup::Near { distance, false_at_most, .. } => {
                write!(f, "hit (semantic: inputs within {distance}, at most {false_at_most} of such matches are wrong)")
            }
            Lookup::Miss(MissCause::Bypassed(why)) => write!(f, "bypassed ({why})"),
            Lookup::Miss(cause) => write!(f, "miss ({cause})"),
        }
    }
}

/// Why there was no plan to reuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MissCause {
    /// No entry with these fields.
    Absent,
    /// The entry outlived its time.
    Expired {
        /// Seconds since it was planned.
        age_seconds: u64,
        /// Seconds it may live.
        ttl_seconds: u64,
    },
    /// Something the plan considered has changed.
    Stale(Mismatch),
    /// A template is kept, and this request is planned on its own: too few were, to know whether the template is as good.
    Custom {
        /// How many were planned on their own.
        made: u32,
    },
    /// A template is kept, and plans of their own were better by more than planning costs.
    Worse,
    /// A template is kept, for goals that are not as long.
    Longer,
    /// A semantic match is planned anew beside it: too few were, or this one is of the sample that always is.
    Unproven {
        /// How many were.
        checked: u32,
        /// How many of them were wrong.
        wrong: u32,
    },
    /// The cache is switched off.
    Disabled,
    /// This request must not use the cache.
    Bypassed(Bypass),
}

impl fmt::Display for MissCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissCause::Absent => f.write_str("not planned before"),
            MissCause::Expired { age_seconds, ttl_seconds } => write!(f, "expired: {age_seconds} s old, ttl {ttl_seconds} s"),
            MissCause::Stale(Mismatch { object, now: None, .. }) => write!(f, "{object} is gone"),
            MissCause::Stale(Mismatch { object, .. }) => write!(f, "{object} changed"),
            MissCause::Custom { made } => write!(f, "custom plan {} of {CUSTOM_PLANS_MIN}", made + 1),
            MissCause::Worse => f.write_str("custom plans are better"),
            MissCause::Longer => f.write_str("longer than what the template was planned for"),
            MissCause::Unproven { checked, wrong } => write!(f, "semantic match is checked, {wrong} of {checked} were wrong"),
            MissCause::Disabled => f.write_str("plan cache disabled"),
            MissCause::Bypassed(why) => write!(f, "bypassed: {why}"),
        }
    }
}

/// Why a request goes around the cache: neither read nor written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bypass {
    /// Its meaning depends on what was said before.
    Conversation,
    /// An explorer chooses the plan.
    Exploration,
    /// Hypothetical sources, prices or models.
    WhatIf,
    /// The caller asked for it.
    Request,
}

impl Bypass {
    /// What the goal itself demands.
    pub fn demanded_by(goal: &Goal) -> Option<Bypass> {
        let talk = goal.conversation.is_some().then_some(Bypass::Conversation);
        talk.or(goal.what_if.is_some().then_some(Bypass::WhatIf)).or(goal.no_cache.then_some(Bypass::Request))
    }

    /// The word in EXPLAIN.
    pub fn as_str(self) -> &'static str {
        match self {
            Bypass::Conversation => "conversation",
            Bypass::Exploration => "exploration",
            Bypass::WhatIf => "what-if",
            Bypass::Request => "request",
        }
    }
}

impl fmt::Display for Bypass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
