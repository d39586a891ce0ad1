//! One comparison of an estimate with what happened.

use super::key::{Field, Scale, StatKey};
use ctx_types::Ppm;
use serde::{Deserialize, Serialize};

/// Version of the persisted form.
pub const OBSERVATION_SCHEMA_VERSION: u32 = 1;

/// Residuals beyond this say "off by a thousand" whatever the factor, so that one broken clock cannot carry a mean away.
/// ln(1000) in millionths of a nat.
pub const RESIDUAL_MAX: i64 = 6_907_755;

/// Estimate beside actual, in the field's unit. The estimate is the *uncorrected* one: statistics that learn from their
/// own corrections would forget them as soon as they work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// [`OBSERVATION_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The finest key it belongs to; it counts for the coarser ones too.
    pub key: StatKey,
    /// What was observed: run and node. The same outcome absorbed twice counts once.
    pub outcome: String,
    /// When, seconds since the Unix epoch.
    pub at: u64,
    /// What was expected before any correction; 0 for rates.
    pub estimate: i64,
    /// What happened.
    pub actual: i64,
    /// Tokens that a call was expected to read; 0: not told.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub load: u64,
    /// Whether the 90 % interval shown beforehand held the actual; `None` where none was shown.
    pub covered: Option<bool>,
}

/// Who says that an answer was right. A verifier of ours is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// The user.
    Feedback,
    /// A gold answer.
    Gold,
}

impl Label {
    /// Name in outcomes and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Label::Feedback => "feedback",
            Label::Gold => "gold",
        }
    }
}

impl Observation {
    /// A comparison of `actual` with `estimate`.
    pub fn new(key: StatKey, outcome: impl Into<String>, at: u64, estimate: i64, actual: i64) -> Observation {
        let (estimate, actual) = in_domain(key.field, estimate, actual);
        Observation {
            schema_version: OBSERVATION_SCHEMA_VERSION,
            key,
            outcome: outcome.into(),
            at,
            estimate,
            actual,
            load: 0,
            covered: None,
        }
    }

    /// The same of an operator that was expected to read so many tokens.
    pub fn with_load(self, load: u64) -> Observation {
        Observation { load, ..self }
    }

    /// The same, knowing whether the shown interval held.
    pub fn with_coverage(self, covered: bool) -> Observation {
        Observation { covered: Some(covered), ..self }
    }

    /// A label for an answer of `key`'s operator that was expected to be right with `estimate`. The only source of
    /// accuracy statistics.
    pub fn labelled(key: &StatKey, run: &str, at: u64, estimate: Ppm, right: bool, label: Label) -> Observation {
        let actual = if right { 1_000_000 } else { 0 };
        Observation::new(key.of(Field::Accuracy), format!("{run}#{}", label.as_str()), at, i64::from(estimate.0), actual)
    }

    /// Actual against estimate on the field's scale, in millionths.
    pub(crate) fn residual(&self) -> i64 {
        match self.key.field.scale() {
            Scale::Ratio => log_ratio(self.actual, self.estimate).clamp(-RESIDUAL_MAX, RESIDUAL_MAX),
            Scale::Difference => self.actual - self.estimate,
            Scale::Rate => self.actual,
        }
    }
}

fn is_zero(load: &u64) -> bool {
    *load == 0
}

fn in_domain(field: Field, estimate: i64, actual: i64) -> (i64, i64) {
    match field.scale() {
        Scale::Ratio => (estimate.max(0), actual.max(0)),
        Scale::Difference => (estimate.clamp(0, 1_000_000), actual.clamp(0, 1_000_000)),
        Scale::Rate => (0, actual.clamp(0, 1_000_000)),
    }
}

/// ln((a + 1) / (b + 1)) in millionths: one unit is added so that nothing is divided by zero; units are small (a token,
/// a microsecond, a nano-dollar).
pub(crate) fn log_ratio(a: i64, b: i64) -> i64 {
    let nats = libm::log((a.max(0) as f64 + 1.0) / (b.max(0) as f64 + 1.0));
    libm::round(nats * 1e6) as i64
}
