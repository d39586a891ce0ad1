//! Holding decisions: by a person, and by the regression guard.

use crate::cache::PlanCache;
use crate::entry::Scope;
use crate::guard::{Revert, Run};
use crate::listing::shown;
use crate::pin::{PINS_MAX, Pin, PinnedBy};
use ctx_types::{Plan, Sensitivity};
use std::sync::Arc;

/// Why a plan was not pinned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpinned {
    /// No such plan.
    #[error("pinning {id}: no plan of the cache has this id, or several begin so; `ctxrt cache list` shows them")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// Too many.
    #[error("pinning a plan: {PINS_MAX} are pinned, which is the most; unpin one first")]
    TooMany,
}

impl PlanCache {
    /// Holds the decision of a cached plan for every goal of its scope.
    pub fn pin(&mut self, id: &str, now: u64) -> Result<Arc<Plan>, Unpinned> {
        let unknown = || Unpinned::Unknown { id: id.to_owned() };
        let plan = self.plan(id).ok_or_else(unknown)?;
        let of_plan = self.by_recency().rev().find(|slot| slot.entry.plan.id == plan.id && slot.entry.scope.hash().is_some());
        let entry = of_plan.map(|slot| Arc::clone(&slot.entry)).ok_or_else(unknown)?;
        let pin = Pin {
            gist: plan.gist.clone(),
            by: PinnedBy::Person,
            since: now,
            tenant: plan.goal.principal.tenant.clone(),
            goal: shown(&plan.goal.text, entry.sensitivity()),
        };
        self.hold(&entry.scope, pin)?;
        Ok(plan)
    }

    /// Lets go of a scope by the beginning of its name or of its shape; says what was held. None: there is no such pin, or several.
    pub fn unpin(&mut self, name: &str) -> Option<Pin> {
        let named = |scope: u128, pin: &Pin| {
            let by_scope = name.len() >= 4 && format!("{scope:032x}").starts_with(name);
            by_scope || (name.len() > "gist_".len() && pin.gist.0.starts_with(name))
        };
        let found: Vec<u128> = self.state.pins.iter().filter(|(scope, pin)| named(*scope, pin)).map(|(scope, _)| scope).collect();
        let [scope] = found.as_slice() else { return None };
        self.forget(*scope);
        self.state.pins.remove(*scope)
    }

    /// The shape that a scope is held to.
    pub fn pinned(&self, scope: &Scope) -> Option<&Pin> {
        self.state.pins.get(scope.hash()?)
    }

    /// Pins with their scopes.
    pub fn pins(&self) -> impl Iterator<Item = (String, &Pin)> {
        self.state.pins.iter().map(|(scope, pin)| (format!("{scope:032x}"), pin))
    }

    /// Takes a run in. Where its plan does measurably worse than the one before, that one is held from here on.
    pub fn observe(&mut self, scope: &Scope, plan: &Plan, label: Sensitivity, run: &Run, now: u64) -> Option<Revert> {
        let hash = scope.hash()?;
        let revert = self.state.guard.observe(hash, &plan.gist, run)?;
        // What a person holds stays held.
        if self.state.pins.get(hash).is_some_and(|pin| pin.by == PinnedBy::Person) {
            return None;
        }
        let why = format!("{} after {} runs of {}", revert.worse, revert.runs, revert.from);
        let pin = Pin {
            gist: revert.to.clone(),
            by: PinnedBy::Guard(why),
            since: now,
            tenant: plan.goal.principal.tenant.clone(),
            goal: shown(&plan.goal.text, label),
        };
        self.hold(scope, pin).ok()?;
        self.state.counters.reverted += 1;
        Some(revert)
    }

    fn hold(&mut self, scope: &Scope, pin: Pin) -> Result<(), Unpinned> {
        let Some(hash) = scope.hash() else { return Ok(()) };
        if !self.state.pins.set(hash, pin) {
            return Err(Unpinned::TooMany);
        }
        self.forget(hash);
        Ok(())
    }

    /// Drops what was decided for a scope: the next goal of it is planned anew.
    pub(crate) fn forget(&mut self, scope: u128) {
        let of_scope: Vec<u128> =
            self.by_recency().filter(|slot| slot.entry.scope.hash() == Some(scope)).map(|slot| slot.key.hash()).collect();
        of_scope.into_iter().for_each(|hash| drop(self.remove(hash)));
    }
}
