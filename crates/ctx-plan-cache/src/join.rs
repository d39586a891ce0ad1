//! Several processes over one store: each joins what the others stored since it read, before it stores itself.
//!
//! Counts are added, plans that were not there are taken in, pins that others set or let go are followed. Of families, proofs and
//! what the guard watches the last writer's stay: each is evidence in itself, and losing some only asks for more of it.

use crate::cache::PlanCache;
use crate::counters::Counters;
use crate::persist::{LoadReport, Loaded, read};
use crate::pin::Pins;
use std::collections::BTreeSet;

/// What the store held when this cache read it or wrote to it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    counters: Counters,
    pins: Pins,
    entries: BTreeSet<u128>,
}

impl PlanCache {
    /// Takes in what others stored since [`PlanCache::stored`].
    pub fn join(&mut self, bytes: &[u8], now: u64, planner_version: &str) -> LoadReport {
        let mut report = LoadReport::default();
        let (state, entries) = read(bytes, &mut report);
        self.state.counters = state.counters.plus(&self.state.counters.since(&self.base.counters));
        let theirs = state.pins.iter().filter(|(scope, pin)| self.base.pins.get(*scope) != Some(pin));
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        changed.extend(theirs.map(|(scope, pin)| (scope, pin.clone())));
        gone.extend(self.base.pins.iter().map(|(scope, _)| scope).filter(|scope| state.pins.get(*scope).is_none()));
        for (scope, pin) in changed {
            self.state.pins.set(scope, pin);
            self.forget(scope);
        }
        for scope in gone {
            self.state.pins.remove(scope);
            self.forget(scope);
        }
        let new = entries.into_iter().filter(|loaded| !self.base.entries.contains(&loaded.key.hash())).collect();
        self.take_in(new, now, planner_version, &mut report);
        report
    }

    /// Remembers that this is what the store holds now.
    pub fn stored(&mut self) {
        self.base = Base {
            counters: self.state.counters.clone(),
            pins: self.state.pins.clone(),
            entries: self.by_recency().map(|slot| slot.key.hash()).collect(),
        };
    }

    pub(crate) fn take_in(&mut self, entries: Vec<Loaded>, now: u64, planner_version: &str, report: &mut LoadReport) {
        for Loaded { key, entry, hits, points } in entries {
            if entry.plan.planner_version != planner_version {
                report.other_planner(&entry.plan.planner_version);
            } else if self.age_if_expired(entry.planned_at, now).is_some() {
                report.expired += 1;
            } else if self.holds(&key) {
                report.known += 1;
            } else if self.restore(key, entry, hits, points) {
                report.loaded += 1;
            } else {
                report.no_room();
            }
        }
    }
}
