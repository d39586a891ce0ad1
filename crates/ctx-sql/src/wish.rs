//! Wishes: what is preferred among feasible plans. `USING (…)` and `SET` may say them.

use crate::value::{self, Literal};
use ctx_types::{Objective, Weights};
use std::fmt;

/// A term of the score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the field of `Weights` with its name")]
pub enum Term {
    Acc,
    Cost,
    Lat,
    Risk,
    Hall,
    Loss,
    Cache,
    Vrf,
}

impl Term {
    /// Every term, in the configuration's order.
    pub const ALL: [Term; 8] = [Term::Acc, Term::Cost, Term::Lat, Term::Risk, Term::Hall, Term::Loss, Term::Cache, Term::Vrf];

    /// As statements and the configuration write it.
    pub fn name(self) -> &'static str {
        match self {
            Term::Acc => "acc",
            Term::Cost => "cost",
            Term::Lat => "lat",
            Term::Risk => "risk",
            Term::Hall => "hall",
            Term::Loss => "loss",
            Term::Cache => "cache",
            Term::Vrf => "vrf",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Term::Acc => "weight of expected accuracy",
            Term::Cost => "weight of cost",
            Term::Lat => "weight of latency",
            Term::Risk => "weight of irreversible actions",
            Term::Hall => "weight of wrong answers that pass the check",
            Term::Loss => "weight of evidence lost in packing",
            Term::Cache => "weight of the provider's prefix cache",
            Term::Vrf => "weight of wrong answers caught",
        }
    }

    /// Its weight.
    pub fn of(self, weights: &mut Weights) -> &mut i64 {
        match self {
            Term::Acc => &mut weights.acc,
            Term::Cost => &mut weights.cost,
            Term::Lat => &mut weights.lat,
            Term::Risk => &mut weights.risk,
            Term::Hall => &mut weights.hall,
            Term::Loss => &mut weights.loss,
            Term::Cache => &mut weights.cache,
            Term::Vrf => &mut weights.vrf,
        }
    }
}

/// Objectives by name.
const OBJECTIVES: [(&str, Objective); 4] = [
    ("weighted", Objective::Weighted),
    ("max_accuracy", Objective::MaxAccuracy),
    ("min_cost", Objective::MinCost),
    ("min_latency", Objective::MinLatency),
];

/// The key of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WishKey {
    /// A weight of the score.
    Weight(Term),
    /// What is maximised.
    Objective,
    /// Seed of everything random.
    Seed,
}

/// A wish with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// A weight of the score, in millionths.
    Weight(Term, i64),
    /// What is maximised.
    Objective(Objective),
    /// Seed of everything random.
    Seed(u64),
}

impl WishKey {
    /// Every key.
    pub fn all() -> impl Iterator<Item = WishKey> {
        Term::ALL.into_iter().map(WishKey::Weight).chain([WishKey::Objective, WishKey::Seed])
    }

    /// As statements write it.
    pub fn name(self) -> &'static str {
        match self {
            WishKey::Weight(term) => term.name(),
            WishKey::Objective => "objective",
            WishKey::Seed => "seed",
        }
    }

    /// What it means, in words.
    pub fn about(self) -> &'static str {
        match self {
            WishKey::Weight(term) => term.about(),
            WishKey::Objective => "what is maximised: weighted, max_accuracy, min_cost, min_latency",
            WishKey::Seed => "seed of everything random (unset: derived from the plan)",
        }
    }

    /// The key with this name, in any case.
    pub fn named(name: &str) -> Option<WishKey> {
        WishKey::all().find(|key| key.name().eq_ignore_ascii_case(name))
    }

    pub(crate) fn read(self, literal: &Literal) -> Result<Wish, String> {
        Ok(match self {
            WishKey::Weight(term) => Wish::Weight(term, value::weight(literal)?),
            WishKey::Objective => Wish::Objective(value::choice(literal, &OBJECTIVES)?),
            WishKey::Seed => Wish::Seed(value::whole(literal)?),
        })
    }
}

impl Wish {
    /// Its key.
    pub fn key(&self) -> WishKey {
        match self {
            Wish::Weight(term, _) => WishKey::Weight(*term),
            Wish::Objective(_) => WishKey::Objective,
            Wish::Seed(_) => WishKey::Seed,
        }
    }

    /// The value as it is written.
    pub fn value(&self) -> String {
        match self {
            Wish::Weight(_, weight) => value::decimal(u64::try_from(*weight).unwrap_or(0), 6),
            Wish::Objective(objective) => {
                OBJECTIVES.iter().find(|(_, value)| value == objective).map_or("weighted", |(name, _)| *name).to_owned()
            }
            Wish::Seed(seed) => seed.to_string(),
        }
    }
}

impl fmt::Display for Wish {
    /// `acc = 1.5`, `objective = min_cost`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.key().name(), self.value())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_of_the_score_has_a_term() {
        let fields = serde_json::to_value(Weights::default()).expect("plain");
        let fields = fields.as_object().expect("a struct");
        assert_eq!(fields.keys().filter(|key| !key.ends_with("_scale")).count(), Term::ALL.len());
        assert!(Term::ALL.iter().all(|term| fields.contains_key(term.name())));
    }
}
