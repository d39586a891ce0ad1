//! The neural estimator, and which estimator gives which number.
//!
//! A small [`network`] per field and kind of operator predicts how far the shipped estimate is off, from what is known before the
//! operator runs (`features`). It is trained on outcomes (`examples`) off the response path and judged on runs that it has not
//! seen, beside shipped estimates and statistics ([`mod@fit`]). Planning gets the result as a value inside the statistics snapshot
//! ([`Statistics::with_estimators`](crate::statistics::Statistics::with_estimators)): no file, no clock, no chance.
//!
//! A number that a network gave says so, with the network's fingerprint and the shipped estimate it stood for, so that outcomes
//! are compared with the latter and statistics never learn from a network.

pub mod examples;
pub(crate) mod features;
pub mod fit;
pub mod network;

pub use examples::Examples;
pub use fit::{Estimator, Gain, Group, fit};

use crate::statistics::StatKey;
use ctx_types::id::sha256_hex;
use ctx_types::plan::Stamp;
use features::Features;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Between a correction's key and the shipped estimate in a provenance.
const SHIPPED: &str = ", shipped ";

/// Which estimator a configuration asks for, of those that are not everywhere the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The network wherever there is one.
    Neural,
    /// Per field and kind of operator the one that held-out runs chose.
    Auto,
}

/// What was fitted for a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fitted {
    /// Hash of the groups: part of what plans depend on.
    pub fingerprint: String,
    /// Seed of the fit.
    pub seed: u64,
    /// When, seconds since the Unix epoch.
    pub at: u64,
    /// Outcomes it was fitted and judged on.
    pub outcomes: u32,
    /// By field and kind of operator.
    pub groups: Vec<Group>,
}

impl Fitted {
    /// Fits these outcomes of one tenant.
    pub fn of(examples: &Examples, tenant: &str, seed: u64, at: u64) -> Fitted {
        let outcomes = examples.of_tenant(tenant);
        let groups = fit(&outcomes, seed);
        // Integers and strings with string keys.
        let text = serde_json::to_string(&groups).unwrap_or_default();
        let fingerprint = sha256_hex(text.as_bytes())[..16].to_owned();
        Fitted { fingerprint, seed, at, outcomes: u32::try_from(outcomes.len()).unwrap_or(u32::MAX), groups }
    }
}

/// Fitted estimators by tenant, and how they are to be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimators {
    mode: Mode,
    tenants: BTreeMap<String, Fitted>,
}

/// A correction by a network: the factor's logarithm and its ends, in millionths, and how many outcomes stand behind the ends.
pub(crate) struct Said<'a> {
    pub(crate) residual: i64,
    pub(crate) ends: (i64, i64),
    pub(crate) n: u32,
    fingerprint: &'a str,
}

impl Said<'_> {
    pub(crate) fn provenance(&self, begins: &str, key: &StatKey, shipped: i64) -> String {
        let operator = key.operator.as_deref().unwrap_or_default();
        let (field, class) = (key.field.as_str(), key.class.as_str());
        format!("{begins}{field}/{class}/{operator}, neural {}{SHIPPED}{shipped}", &self.fingerprint[..self.fingerprint.len().min(8)])
    }
}

/// What the shipped estimate was, of a number that a network gave.
pub(crate) fn shipped(provenance: &str) -> Option<i64> {
    provenance.rsplit_once(SHIPPED)?.1.parse().ok()
}

impl Estimators {
    /// Of what was fitted by tenant.
    pub fn new(mode: Mode, tenants: BTreeMap<String, Fitted>) -> Estimators {
        Estimators { mode, tenants }
    }

    /// Tenants that something was fitted for.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &str> {
        self.tenants.keys().map(String::as_str)
    }

    /// What planning for a tenant depends on: a statistic among the others, for it moves estimates and no stored answer.
    pub(crate) fn stamp(&self, tenant: &str) -> Stamp {
        let mode = match self.mode {
            Mode::Neural => "neural",
            Mode::Auto => "auto",
        };
        let fingerprint = self.tenants.get(tenant).map_or("absent", |fitted| fitted.fingerprint.as_str());
        Stamp { object: format!("statistics {tenant}:estimators"), version: format!("{mode}-{fingerprint}") }
    }

    /// Who estimates `key`, and what the network says where it is the network.
    pub(crate) fn ask(&self, key: &StatKey, shipped: i64, load: u64) -> (Estimator, Option<Said<'_>>) {
        let fitted = self.tenants.get(&key.tenant);
        let group = fitted.and_then(|fitted| fitted.groups.iter().find(|group| group.field == key.field && group.class == key.class));
        let (Some(fitted), Some(group)) = (fitted, group) else { return (Estimator::Learned, None) };
        let wanted = if self.mode == Mode::Neural { Estimator::Neural } else { group.best };
        let known = key.operator.as_ref().is_some_and(|operator| group.operators.contains(operator));
        match (wanted, &group.network) {
            (Estimator::Neural, Some(network)) if known => {
                let residual = network.predict(&Features::of(key, shipped, load));
                let said = Said { residual, ends: group.ends, n: group.judged, fingerprint: &fitted.fingerprint };
                (Estimator::Neural, Some(said))
            }
            (Estimator::Neural, _) => (Estimator::Learned, None),
            (other, _) => (other, None),
        }
    }
}
