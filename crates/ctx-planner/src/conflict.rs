//! Which demands of a request cannot hold together: found by planning again without some of them.
//!
//! Demands are the limits, what the request requires of the plan's shape, and its hints. Sensitivity, permissions and policy
//! are not among them: they are never offered as a relaxation.

use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::plan::Relaxation;
use ctx_types::{Constraints, Goal, Tokens};

/// Times that planning is tried again.
pub(crate) const TRIALS_MAX: u32 = 100;

/// One demand of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// Its key.
    pub name: String,
    /// Its present value.
    pub now: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Cost,
    Latency,
    Uncertain,
    Tokens,
    Calls,
    Accuracy,
    ContextTokens,
    OutputTokens,
    Citations,
    Verification,
    Approval,
    Hint(Hint),
}

/// What a request demands.
pub(crate) fn demands(goal: &Goal, limits: &Constraints) -> Vec<Demand> {
    let mut out = Vec::new();
    let mut add = |name: &str, now: Option<String>, kind: Kind| {
        out.extend(now.map(|now| Demand { name: name.to_owned(), now, kind }));
    };
    let refuses = limits.max_latency.is_some() && limits.uncertain_latency == UncertainLatency::Refuse;
    add("max_cost_usd", limits.max_cost.map(|v| v.to_string()), Kind::Cost);
    add("max_latency_seconds", limits.max_latency.map(|v| v.to_string()), Kind::Latency);
    add("uncertain_latency", refuses.then(|| "refuse".to_owned()), Kind::Uncertain);
    add("max_tokens", limits.max_tokens.map(|v| v.to_string()), Kind::Tokens);
    add("max_calls", limits.max_calls.map(|v| v.to_string()), Kind::Calls);
    add("min_accuracy", limits.min_accuracy.map(|v| v.to_string()), Kind::Accuracy);
    add("max_context_tokens", limits.max_context_tokens.map(|v| v.to_string()), Kind::ContextTokens);
    add("max_output_tokens", limits.max_output_tokens.map(|v| v.to_string()), Kind::OutputTokens);
    add("require_citations", limits.require_citations.then(|| "true".to_owned()), Kind::Citations);
    add("require_verification", limits.require_verification.filter(|v| *v).map(|_| "true".to_owned()), Kind::Verification);
    add("require_approval", limits.require_approval.then(|| "true".to_owned()), Kind::Approval);
    for hint in &goal.hints {
        let now = match hint {
            Hint::Force(name) => format!("force {name}"),
            Hint::Forbid(name) => format!("forbid {name}"),
            Hint::Model(name) => format!("model {name}"),
            Hint::Gist(gist) => format!("pin {gist}"),
        };
        add("hint", Some(now), Kind::Hint(hint.clone()));
    }
    out
}

impl Demand {
    /// In words.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.name, self.now)
    }

    /// Whether the search itself knows the demand and has said what alone would suffice.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(self.kind, Kind::Cost | Kind::Latency | Kind::Uncertain | Kind::Tokens | Kind::Calls | Kind::Accuracy)
    }

    /// Takes the demand out of a request.
    fn remove(&self, goal: &mut Goal, limits: &mut Constraints) {
        match &self.kind {
            Kind::Cost => limits.max_cost = None,
            Kind::Latency => limits.max_latency = None,
            Kind::Uncertain => limits.uncertain_latency = UncertainLatency::Allow,
            Kind::Tokens => limits.max_tokens = None,
            Kind::Calls => limits.max_calls = None,
            Kind::Accuracy => limits.min_accuracy = None,
            Kind::ContextTokens => limits.max_context_tokens = None,
            Kind::OutputTokens => limits.max_output_tokens = None,
            Kind::Citations => limits.require_citations = false,
            Kind::Verification => limits.require_verification = None,
            Kind::Approval => limits.require_approval = false,
            Kind::Hint(hint) => goal.hints.retain(|h| h != hint),
        }
    }
}

/// A request without the demands that are not in `kept` (bits).
pub(crate) fn with_only(goal: &Goal, limits: &Constraints, demands: &[Demand], kept: u64) -> (Goal, Constraints) {
    let (mut goal, mut limits) = (goal.clone(), limits.clone());
    for (_, demand) in demands.iter().enumerate().filter(|(i, _)| (kept >> *i) & 1 == 0) {
        demand.remove(&mut goal, &mut limits);
    }
    (goal, limits)
}

/// What planning again has found out.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Demands that cannot hold together, irreducibly.
    pub conflict: Vec<String>,
    /// Demands of the plan's shape with what alone would suffice.
    pub relaxations: Vec<Relaxation>,
    /// The fewest demands that must go together, where none alone suffices.
    pub joint: Vec<Relaxation>,
}

/// Asks `feasible` about subsets of the demands (bits).
pub(crate) fn examine(demands: &[Demand], context: &[Tokens], feasible: &dyn Fn(u64, Option<Tokens>) -> bool) -> Findings {
    const DEMANDS_MAX: usize = 24;
    let count = demands.len().min(DEMANDS_MAX);
    let all = (1u64 << count) - 1;
    let mut oracle = Oracle { feasible, known: std::collections::BTreeMap::new(), trials: 0 };
    // What stays infeasible without any demand is not the request's doing.
    if count == 0 || !oracle.ask(0) {
        return Findings::default();
    }
    let conflict = irreducible(all, count, &mut oracle);
    let shape = |i: usize| !demands[i].is_limit();
    let without = |i: usize| all & !(1 << i);
    let alone: Vec<(usize, bool)> = (0..count).filter(|&i| shape(i)).map(|i| (i, oracle.ask(without(i)))).collect();
    let relaxations =
        alone.iter().map(|&(i, suffices)| relaxation(&demands[i], suffices, context, without(i) | 1 << i, feasible)).collect();
    let any_alone = (0..count).any(|i| oracle.ask(without(i)));
    let joint = if any_alone { None } else { smallest(count, &mut |set| oracle.ask(all & !set)) };
    let members = |set: u64| (0..count).filter(move |i| (set >> *i) & 1 == 1);
    Findings {
        conflict: members(conflict).map(|i| demands[i].words()).collect(),
        relaxations,
        // Where limits alone suffice together, the search has already said by how much.
        joint: joint.filter(|set| members(*set).any(shape)).map(|set| members(set).map(|i| off(&demands[i])).collect()).unwrap_or_default(),
    }
}

fn off(demand: &Demand) -> Relaxation {
    Relaxation { constraint: demand.name.clone(), now: demand.now.clone(), suffices: Some("off".to_owned()) }
}

/// For a limit of the context the smallest larger one that suffices; for the rest, giving it up.
fn relaxation(demand: &Demand, suffices: bool, context: &[Tokens], all: u64, feasible: &dyn Fn(u64, Option<Tokens>) -> bool) -> Relaxation {
    let larger = (suffices && demand.kind == Kind::ContextTokens).then(|| context.iter().find(|&&t| feasible(all, Some(t)))).flatten();
    let value = larger.map_or_else(|| "off".to_owned(), ToString::to_string);
    Relaxation { constraint: demand.name.clone(), now: demand.now.clone(), suffices: suffices.then_some(value) }
}

/// Answers are kept; beyond [`TRIALS_MAX`] questions the answer is no.
struct Oracle<'a> {
    feasible: &'a dyn Fn(u64, Option<Tokens>) -> bool,
    known: std::collections::BTreeMap<u64, bool>,
    trials: u32,
}

impl Oracle<'_> {
    fn ask(&mut self, kept: u64) -> bool {
        if let Some(known) = self.known.get(&kept) {
            return *known;
        }
        // Fewer demands are never less feasible.
        if let Some((_, known)) = self.known.iter().find(|(set, known)| if **known { **set & kept == kept } else { **set & kept == **set })
        {
            return *known;
        }
        if self.trials >= TRIALS_MAX {
            return false;
        }
        self.trials += 1;
        let answer = (self.feasible)(kept, None);
        self.known.insert(kept, answer);
        answer
    }
}

/// The smallest set of at most three of `count` members that `holds`; the whole set if none of these does.
fn smallest(count: usize, holds: &mut dyn FnMut(u64) -> bool) -> Option<u64> {
    const SIZE_MAX: u32 = 3;
    let all = (1u64 << count) - 1;
    for size in 1..=SIZE_MAX.min(count as u32) {
        let mut set = (1u64 << size) - 1;
        while set <= all {
            if holds(set) {
                return Some(set);
            }
            // The next number with as many bits (Gosper).
            let low = set & set.wrapping_neg();
            let up = set + low;
            set = (((up ^ set) >> 2) / low) | up;
        }
    }
    holds(all).then_some(all)
}

/// Without what is not needed for the conflict.
fn irreducible(mut set: u64, count: usize, oracle: &mut Oracle<'_>) -> u64 {
    for i in 0..count {
        let less = set & !(1 << i);
        if (set >> i) & 1 == 1 && !oracle.ask(less) {
            set = less;
        }
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(count: usize) -> Vec<Demand> {
        (0..count).map(|i| Demand { name: format!("d{i}"), now: "on".to_owned(), kind: Kind::Hint(Hint::Force(format!("{i}"))) }).collect()
    }

    /// Every family of plans, each given by the demands it breaks, against enumeration of all subsets.
    #[test]
    fn the_conflict_is_irreducible_and_the_joint_set_the_smallest() {
        const COUNT: usize = 4;
        let all = (1u64 << COUNT) - 1;
        for seed in 0u64..3_000 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state
            };
            let plans: Vec<u64> = (0..1 + next() % 5).map(|_| next() & all).collect();
            let feasible = |kept: u64, _: Option<Tokens>| plans.iter().any(|broken| broken & kept == 0);
            if feasible(all, None) {
                continue;
            }
            let found = examine(&named(COUNT), &[], &feasible);
            let set = |list: &[String]| (0..COUNT as u64).filter(|i| list.contains(&format!("d{i} on"))).fold(0u64, |s, i| s | 1 << i);
            let conflict = set(&found.conflict);
            assert!(!feasible(conflict, None), "{plans:?}");
            assert!((0..COUNT).filter(|i| (conflict >> *i) & 1 == 1).all(|i| feasible(conflict & !(1 << i), None)), "{plans:?}");
            for (i, r) in found.relaxations.iter().enumerate() {
                assert_eq!(r.suffices.is_some(), feasible(all & !(1 << i), None), "{plans:?}");
            }
            let fewest = (1..=all).filter(|s| feasible(all & !s, None)).map(u64::count_ones).min().unwrap_or(0);
            let joint = found.joint.len() as u32;
            assert_eq!(joint, if fewest == 1 { 0 } else { fewest }, "{plans:?}");
        }
    }
}
