//! Where a number comes from. EXPLAIN prints it beside the number, arithmetic keeps the weaker of two.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// How the provenance of a number begins that statistics corrected.
pub const STATISTICS_PROVENANCE: &str = "statistics ";

/// How far a number can be trusted. Ordered from strongest to weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Set by configuration or true by construction.
    Configured,
    /// Counted or observed on `n` cases.
    Measured {
        /// Number of observations.
        n: u32,
    },
    /// Shipped with the program; provenance names the fit.
    Prior,
    /// Nobody knows. Never treated as zero.
    Unknown,
}

impl Certainty {
    /// The weaker of two: unknown beats prior beats measured (fewer observations) beats configured.
    pub fn weaker(self, other: Certainty) -> Certainty {
        use Certainty::Measured;
        match (self, other) {
            (Measured { n: a }, Measured { n: b }) => Measured { n: a.min(b) },
            (a, b) => a.max(b),
        }
    }

    /// Observations behind the number, zero unless measured.
    pub fn observations(self) -> u32 {
        if let Certainty::Measured { n } = self { n } else { 0 }
    }
}

impl fmt::Display for Certainty {
    /// `=` configured, `≈ (n=84)` measured, `~` prior, `?` unknown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Certainty::Configured => f.write_str("="),
            Certainty::Measured { n } => write!(f, "≈ (n={n})"),
            Certainty::Prior => f.write_str("~"),
            Certainty::Unknown => f.write_str("?"),
        }
    }
}

/// A point with a 90 % interval, its certainty and where it came from. Invariant: `low ≤ value ≤ high`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Estimated<T> {
    /// The point estimate.
    pub value: T,
    /// Lower end of the 90 % interval.
    pub low: T,
    /// Upper end of the 90 % interval.
    pub high: T,
    /// How the point was obtained.
    pub certainty: Certainty,
    /// From where: a fit, a file, a counter.
    pub provenance: Cow<'static, str>,
}

impl<T: Copy + Ord> Estimated<T> {
    /// An estimate; the interval is widened to hold the point if it did not.
    pub fn new(value: T, low: T, high: T, certainty: Certainty, provenance: impl Into<Cow<'static, str>>) -> Self {
        Estimated { value, low: low.min(value), high: high.max(value), certainty, provenance: provenance.into() }
    }

    /// Whether outcomes of the very operator made it: then `low` and `high` are the ends of a measured 90 % interval.
    pub fn is_learned(&self) -> bool {
        matches!(self.certainty, Certainty::Measured { .. }) && self.provenance.starts_with(STATISTICS_PROVENANCE)
    }

    /// A number known exactly: set by configuration or true by construction.
    pub fn exact(value: T, provenance: impl Into<Cow<'static, str>>) -> Self {
        Self::new(value, value, value, Certainty::Configured, provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_keeps_the_weaker() {
        let measured = Certainty::Measured { n: 84 };
        assert_eq!(measured.weaker(Certainty::Measured { n: 3 }), Certainty::Measured { n: 3 });
        assert_eq!(measured.weaker(Certainty::Prior), Certainty::Prior);
        assert_eq!(Certainty::Configured.weaker(measured), measured);
        assert_eq!(Certainty::Unknown.weaker(Certainty::Prior), Certainty::Unknown);
    }

    #[test]
    fn an_interval_holds_its_point() {
        let wide = Estimated::new(5u64, 7, 6, Certainty::Prior, "test");
        assert!(wide.low <= wide.value && wide.value <= wide.high);
    }
}
