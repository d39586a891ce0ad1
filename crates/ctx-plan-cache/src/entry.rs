//! One cached decision. Immutable once made; what changes with use (recency, hits) is kept beside it.

use crate::key::PlanKey;
use crate::template::TemplateKey;
use ctx_types::{Goal, Micros, Plan, Sensitivity, Tokens};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// How an entry was matched to a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// Same canonical goal text.
    Literal,
    /// Same normalized intent and probe signature, other literals.
    Template,
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EntryKind::Literal => "literal",
            EntryKind::Template => "template",
        })
    }
}

/// A plan with what it took to make it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedPlan {
    /// How it may be matched.
    pub kind: EntryKind,
    /// The decision.
    #[serde(with = "shared")]
    pub plan: Arc<Plan>,
    /// The tightest label of the sources it reads.
    pub label: Sensitivity,
    /// Time that planning took: what a hit saves.
    pub planning: Micros,
    /// When it was planned, seconds since the Unix epoch.
    pub planned_at: u64,
    /// Tokens of the goal that it was planned for: its bounds hold for goals of no more.
    #[serde(default)]
    pub goal_tokens: Tokens,
    /// What the goal shares decisions with: its family, or itself alone.
    #[serde(default)]
    pub scope: Scope,
}

/// Goals that are watched and pinned together: a family, or one goal where it has none. A hash in hex.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope(String);

impl Scope {
    /// Of a family.
    pub fn of_family(key: &TemplateKey) -> Scope {
        Scope(key.family.digest())
    }

    /// Of one goal.
    pub fn of_goal(key: &PlanKey) -> Scope {
        Scope(key.digest())
    }

    /// The hash; none of an entry written before there were scopes.
    pub(crate) fn hash(&self) -> Option<u128> {
        u128::from_str_radix(&self.0, 16).ok()
    }
}

impl CachedPlan {
    /// The tightest of what was declared, what was detected in the goal's words, and what the sources are labelled.
    pub fn sensitivity(&self) -> Sensitivity {
        self.plan.intent.sensitivity.max(self.plan.limits.sensitivity.unwrap_or(Sensitivity::Public)).max(self.label)
    }

    /// Whether the plan was made for exactly these words and settings, byte for byte. Then it is used as it stands.
    pub fn made_for(&self, goal: &Goal) -> bool {
        self.plan.goal == *goal
    }

    /// The same decision for whoever asks for the same kind of thing, without what only its own EXPLAIN prints.
    pub fn as_template(&self) -> CachedPlan {
        let mut plan = Plan::clone(&self.plan);
        plan.rejected.clear();
        plan.best.clear();
        plan.frontier.clear();
        CachedPlan { kind: EntryKind::Template, plan: Arc::new(plan), ..self.clone() }
    }
}

/// A shared plan is written as the plan itself.
mod shared {
    use ctx_types::Plan;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::sync::Arc;

    pub(super) fn serialize<S: Serializer>(plan: &Arc<Plan>, serializer: S) -> Result<S::Ok, S::Error> {
        plan.as_ref().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Plan>, D::Error> {
        Plan::deserialize(deserializer).map(Arc::new)
    }
}
