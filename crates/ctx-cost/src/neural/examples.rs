//! Outcomes kept to fit estimators on: the latest of every field and kind of operator, per tenant. Merging is a union, so that it
//! does not matter which process kept what, and when.

use super::fit::FIELDS;
use crate::statistics::{Field, Observation, OperatorClass};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the persisted form.
pub const EXAMPLES_SCHEMA_VERSION: u32 = 1;
/// Outcomes kept of one field of one kind of operator of one tenant.
pub const EXAMPLES_MAX: usize = 600;

type Place = (String, Field, OperatorClass);

/// The latest outcomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examples {
    /// By time and outcome, so that the oldest go first and one outcome is there once.
    kept: BTreeMap<Place, BTreeMap<(u64, String), Observation>>,
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    outcomes: Vec<Observation>,
}

impl Examples {
    /// With these outcomes too.
    #[must_use]
    pub fn with<'a>(mut self, seen: impl IntoIterator<Item = &'a Observation>) -> Examples {
        for one in seen.into_iter().filter(|one| FIELDS.contains(&one.key.field)) {
            let place = (one.key.tenant.clone(), one.key.field, one.key.class);
            let kept = self.kept.entry(place).or_default();
            kept.insert((one.at, one.outcome.clone()), one.clone());
            if kept.len() > EXAMPLES_MAX {
                kept.pop_first();
            }
        }
        self
    }

    /// Those of a tenant.
    pub fn of_tenant(&self, tenant: &str) -> Vec<Observation> {
        self.kept.iter().filter(|((whose, ..), _)| whose == tenant).flat_map(|(_, kept)| kept.values().cloned()).collect()
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let outcomes = self.kept.values().flat_map(|kept| kept.values().cloned()).collect();
        let document = Document { schema_version: EXAMPLES_SCHEMA_VERSION, outcomes };
        serde_json::to_string(&document).expect("outcomes hold integers and strings only")
    }

    /// From its text; `None` for what is not that text.
    pub fn from_json(text: &[u8]) -> Option<Examples> {
        let document: Document = serde_json::from_slice(text).ok()?;
        (document.schema_version == EXAMPLES_SCHEMA_VERSION).then(|| Examples::default().with(&document.outcomes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::StatKey;
    use ctx_types::Bucket;

    fn seen(at: u64, tenant: &str) -> Observation {
        let key = StatKey::new(tenant, Field::Latency, OperatorClass::Model, "local", Bucket::Conceptual);
        Observation::new(key, format!("run {at}/answer"), at, 10, 20)
    }

    #[test]
    fn the_latest_are_kept_and_tenants_apart() {
        let many: Vec<Observation> = (0..EXAMPLES_MAX as u64 + 50).map(|at| seen(at, "a")).collect();
        let kept = Examples::default().with(&many).with(&[seen(1, "b")]);
        let own = kept.of_tenant("a");
        assert_eq!((own.len(), own[0].at, kept.of_tenant("b").len()), (EXAMPLES_MAX, 50, 1));
        assert_eq!(kept.clone().with(&many), kept, "what was seen before changes nothing");
        assert_eq!(Examples::from_json(kept.to_json().as_bytes()), Some(kept));
        assert_eq!(Examples::from_json(b"{}"), None);
    }
}
