//! Decisions of other goals: the nearest known point of a family proposes, the family's record and the tenant's proof decide.

use crate::cache::{PlanCache, Points, Slot, bytes_of};
use crate::cause::{Lookup, MissCause};
use crate::entry::CachedPlan;
use crate::semantic::SEMANTIC_RADIUS;
use crate::stamps::CurrentStamps;
use crate::state::TENANTS_MAX;
use crate::template::{EXACT_RADIUS, TemplateKey, Verdict};
use ctx_types::Ppm;
use ctx_types::plan::Known;
use std::sync::Arc;

/// Points kept of one decision.
const POINTS_MAX: usize = 64;
/// A point this near to one of the same decision says nothing new.
const POINT_APART: Ppm = Ppm(5_000);

/// Decisions that a semantic match is made of, at most: the nearest ones.
const DECISIONS_MAX: usize = 16;

/// Decisions from further away, where those within reach leave no choice.
const FURTHER_MAX: usize = 8;

/// What a family's nearest points propose.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The nearest decision.
    pub entry: Arc<CachedPlan>,
    /// Largest difference of any number that planning reads.
    pub distance: Ppm,
    /// Further away than a template serves, or made over other content: what the decisions within reach are made of. The best
    /// plan of that for the goal's own numbers is what is proposed.
    pub known: Option<Known>,
    /// Its slot, while everything that it depends on stands.
    slot: Option<u128>,
}

impl Proposal {
    /// Near enough to serve as a template.
    pub fn is_template(&self) -> bool {
        self.known.is_none()
    }

    /// How it did, by scores: the cold plan's, and its own for the same goal; none if it breaks a constraint.
    pub fn verdict(&self, cold: i64, proposed: Option<i64>) -> Verdict {
        Verdict::of(self.distance, self.chooses(), cold, proposed)
    }

    fn chooses(&self) -> bool {
        self.known.as_ref().is_some_and(Known::chooses)
    }
}

/// A decision of the family within reach.
struct Near<'a> {
    slot: &'a Slot,
    distance: Ppm,
    /// The content of a source has moved since. Nothing that was estimated then is used; what the decision is made of is as good
    /// a part as any: that goals at its point want it does not depend on which content put them there.
    moved: bool,
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
            if let Some(slot) = proposal.slot {
                self.frequency.count(slot);
                self.touch(slot, current.digest());
            }
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
        let semantic = self.settings.semantic_error.0 > 0;
        let (mut most, mut nearest) = (if semantic { SEMANTIC_RADIUS } else { EXACT_RADIUS }, None::<Near<'_>>);
        for slot in self.of_family(key) {
            let Some(near) = self.near(slot, key, most, current, now).filter(|near| semantic || !near.moved) else { continue };
            if nearest.as_ref().is_none_or(|best| near.distance < best.distance) {
                most = near.distance;
                nearest = Some(near);
            }
        }
        let Near { slot, distance, moved } = nearest?;
        let known = (distance > EXACT_RADIUS).then(|| self.known(key, slot, current, now));
        Some(Proposal { entry: Arc::clone(&slot.entry), distance, known, slot: (!moved).then(|| slot.key.hash()) })
    }

    /// A decision as it stands to a key, no further away than `most`.
    fn near<'a>(&self, slot: &'a Slot, key: &TemplateKey, most: Ppm, current: &CurrentStamps<'_>, now: u64) -> Option<Near<'a>> {
        let distance = slot.points.at.iter().filter_map(|point| key.distance(point, most)).min()?;
        let moved = self.has_moved(slot, current, now)?;
        // What has moved is never near enough for a template.
        Some(Near { slot, distance: if moved { distance.max(Ppm(EXACT_RADIUS.0 + 1)) } else { distance }, moved })
    }

    /// Whether the content of a source has moved under a decision; `None`: it stands no longer.
    fn has_moved(&self, slot: &Slot, current: &CurrentStamps<'_>, now: u64) -> Option<bool> {
        match self.judge_slot(slot, current, now) {
            Lookup::Hit(_) => Some(false),
            Lookup::Miss(MissCause::Stale(_)) if slot.only_sources_moved(current) => Some(true),
            _ => None,
        }
    }

    fn of_family(&self, key: &TemplateKey) -> impl Iterator<Item = &Slot> {
        let hashes = self.families.get(&key.family.hash()).into_iter().flatten();
        let of_family = |slot: &&Slot| slot.key.fields().get(..slot.points.length) == Some(key.family.fields());
        hashes.filter_map(|hash| self.slots.get(hash)).filter(of_family)
    }

    /// What the nearest decisions within reach choose behind retrieval; if that leaves no choice, the nearest ones further away
    /// too: a decision is weighed by the goal's own numbers, so one more costs time and is never a worse plan. Which passages are
    /// read is weighed anew for every goal.
    fn known(&self, key: &TemplateKey, nearest: &Slot, current: &CurrentStamps<'_>, now: u64) -> Known {
        let mut near: Vec<Near<'_>> = self.of_family(key).filter_map(|slot| self.near(slot, key, SEMANTIC_RADIUS, current, now)).collect();
        near.sort_by_key(|near| near.distance);
        let mut known = Known { stamps: nearest.renewed_stamps(current), ..Known::default() };
        near.iter().take(DECISIONS_MAX).for_each(|near| known.add(&near.slot.entry.plan));
        if !known.chooses() {
            let newest = |slot: &Slot| slot.points.at.last().and_then(|point| key.distance(point, Ppm(u32::MAX)));
            let stands = |slot: &Slot| self.has_moved(slot, current, now).is_some();
            let mut far: Vec<(Ppm, &Slot)> = self.of_family(key).filter_map(|slot| Some((newest(slot)?, slot))).collect();
            far.sort_by_key(|(distance, _)| *distance);
            far.iter().filter(|(_, slot)| stands(slot)).take(FURTHER_MAX).for_each(|(_, slot)| known.add(&slot.entry.plan));
        }
        known
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
        let Some(proposal) = nearest else { return Lookup::Miss(MissCause::Absent) };
        let Proposal { entry, distance, .. } = proposal;
        let Some(known) = &proposal.known else {
            if entry.goal_tokens < key.goal_tokens {
                return Lookup::Miss(MissCause::Longer);
            }
            return match self.state.families.objection(key.family.hash()) {
                Some(cause) => Lookup::Miss(cause),
                None => Lookup::Hit(Arc::clone(entry)),
            };
        };
        let record = self.state.judged.get(tenant).copied().unwrap_or_default();
        let chosen = proposal.chooses();
        let proven = record.within(*distance, chosen, self.settings.semantic_error).filter(|_| !key.sampled);
        let Some(false_at_most) = proven else {
            let (checked, wrong) = record.judged(*distance, chosen);
            return Lookup::Miss(MissCause::Unproven { checked, wrong });
        };
        Lookup::Near { entry: Arc::clone(entry), known: known.clone(), distance: *distance, false_at_most }
    }
}

/// What is decided, without estimates.
fn decision_of(entry: &CachedPlan) -> Vec<u8> {
    let operators: Vec<_> = entry.plan.chosen.iter().map(|chosen| (&chosen.alternative.stage, &chosen.alternative.operator)).collect();
    serde_json::to_vec(&operators).expect("operators have string keys only")
}
