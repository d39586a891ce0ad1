//! Decisions of other goals: the nearest known point of a family proposes, the family's record and the tenant's proof decide.

use crate::cache::{PlanCache, Points, bytes_of};
use crate::cause::{Lookup, MissCause};
use crate::entry::CachedPlan;
use crate::semantic::SEMANTIC_RADIUS;
use crate::stamps::CurrentStamps;
use crate::state::TENANTS_MAX;
use crate::template::{EXACT_RADIUS, TemplateKey, Verdict};
use ctx_types::Ppm;
use std::sync::Arc;

/// Points kept of one decision.
const POINTS_MAX: usize = 64;
/// A point this near to one of the same decision says nothing new.
const POINT_APART: Ppm = Ppm(5_000);

/// What a family's nearest point proposes.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The decision.
    pub entry: Arc<CachedPlan>,
    /// Largest difference of any number that planning reads.
    pub distance: Ppm,
    slot: u128,
}

impl PlanCache {
    /// Looks for the decision of another goal of the same family. Only a hit is counted: that the words were new is counted
    /// already.
    pub fn lookup_template(&mut self, key: &TemplateKey, tenant: &str, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        let nearest = self.nearest(key, current, now);
        let found = self.decided(key, tenant, nearest.as_ref());
        if let (Some(proposal), Some(entry)) = (nearest, found.hit()) {
            self.state.counters.hit(entry);
            self.state.counters.semantic_hits += u64::from(matches!(found, Lookup::Near { .. }));
            self.frequency.count(proposal.slot);
            self.touch(proposal.slot, current.digest());
        }
        found
    }

    /// What [`PlanCache::lookup_template`] would answer, changing nothing.
    pub fn peek_template(&self, key: &TemplateKey, tenant: &str, current: &CurrentStamps<'_>, now: u64) -> Lookup {
        self.decided(key, tenant, self.nearest(key, current, now).as_ref())
    }

    /// The decision that stands nearest, to be judged beside a plan made anew.
    pub fn nearest(&self, key: &TemplateKey, current: &CurrentStamps<'_>, now: u64) -> Option<Proposal> {
        if !self.settings.enabled {
            return None;
        }
        let mut most = if self.settings.semantic_error.0 > 0 { SEMANTIC_RADIUS } else { EXACT_RADIUS };
        let mut nearest = None;
        for hash in self.families.get(&key.family.hash())? {
            let Some(slot) = self.slots.get(hash).filter(|slot| slot.key.fields().get(..slot.points.length) == Some(key.family.fields()))
            else {
                continue;
            };
            let Some(distance) = slot.points.at.iter().filter_map(|point| key.distance(point, most)).min() else { continue };
            if nearest.as_ref().is_some_and(|(_, best)| *best <= distance) {
                continue;
            }
            if matches!(self.judge_slot(slot, current, now), Lookup::Hit(_)) {
                nearest = Some((slot, distance));
                most = distance;
            }
        }
        nearest.map(|(slot, distance)| Proposal { entry: Arc::clone(&slot.entry), distance, slot: slot.key.hash() })
    }

    /// Keeps what planning a request on its own gave: the time of planning in the score's unit, what the nearest decision would
    /// have lost if there was one, and the decision itself at its point of the family.
    pub fn custom(
        &mut self,
        key: &TemplateKey,
        entry: &CachedPlan,
        planning_cost: i64,
        verdict: Option<&Verdict>,
        current: &CurrentStamps<'_>,
    ) {
        let family = key.family.hash();
        self.state.families.add(family, planning_cost, verdict);
        let tenant = &entry.plan.goal.principal.tenant;
        if let Some(verdict) = verdict.filter(|verdict| verdict.distance > EXACT_RADIUS)
            && (self.state.judged.contains_key(tenant) || self.state.judged.len() < TENANTS_MAX)
        {
            self.state.counters.semantic_checks += 1;
            self.state.judged.entry(tenant.clone()).or_default().add(verdict);
        }
        let decision = decision_of(entry);
        let slot_key = key.family.with(&decision);
        if let Some(slot) = self.slots.get_mut(&slot_key.hash()).filter(|slot| slot.key == slot_key)
            && slot.entry.goal_tokens >= entry.goal_tokens
            && slot.agrees(current)
        {
            let known = slot.points.at.iter().any(|point| key.distance(point, POINT_APART).is_some());
            let bytes = bytes_of(&key.point);
            if !known && slot.points.at.len() < POINTS_MAX && self.bytes + bytes <= self.settings.bytes_max {
                slot.points.at.push(key.point.clone());
                slot.bytes += bytes;
                self.bytes += bytes;
            }
            return;
        }
        // A slot that is out of date goes with its points; one for shorter goals leaves its points to the one for longer goals.
        let mut at = match self.remove(slot_key.hash()) {
            Some(slot) if slot.agrees(current) => slot.points.at,
            _ => Vec::new(),
        };
        at.truncate(POINTS_MAX - 1);
        at.push(key.point.clone());
        self.insert_at(slot_key, entry.as_template(), Points { family, length: key.family.fields().len(), at }, current);
    }

    fn decided(&self, key: &TemplateKey, tenant: &str, nearest: Option<&Proposal>) -> Lookup {
        let Some(Proposal { entry, distance, .. }) = nearest else { return Lookup::Miss(MissCause::Absent) };
        if entry.goal_tokens < key.goal_tokens {
            return Lookup::Miss(MissCause::Longer);
        }
        if *distance <= EXACT_RADIUS {
            return match self.state.families.objection(key.family.hash()) {
                Some(cause) => Lookup::Miss(cause),
                None => Lookup::Hit(Arc::clone(entry)),
            };
        }
        let record = self.state.judged.get(tenant).copied().unwrap_or_default();
        let false_at_most = record.bound(*distance);
        if false_at_most > self.settings.semantic_error || key.sampled {
            let (checked, wrong) = record.judged(*distance);
            return Lookup::Miss(MissCause::Unproven { checked, wrong });
        }
        Lookup::Near { entry: Arc::clone(entry), distance: *distance, false_at_most }
    }
}

/// What is decided, without estimates.
fn decision_of(entry: &CachedPlan) -> Vec<u8> {
    let operators: Vec<_> = entry.plan.chosen.iter().map(|chosen| (&chosen.alternative.stage, &chosen.alternative.operator)).collect();
    serde_json::to_vec(&operators).expect("operators have string keys only")
}
