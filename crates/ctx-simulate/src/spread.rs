//! Distributions of estimates: lognormal on either side of a median, and shares. Cheap to draw from.

use crate::priors::{PRIOR_FACTOR, UNKNOWN_FACTOR, UNKNOWN_SHARE};
use ctx_graph::latency::{Z90, Z95, normal_quantile};
use ctx_types::{Certainty, Estimated, Micros, Ppm};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

/// Strata of the normal table: a power of two, so that random bits index it without bias.
const STRATA: usize = 1024;

/// Random numbers of one simulation: xoshiro256++ by name, so that the bytes do not change with a library's default.
pub(crate) struct Chance {
    bits: Xoshiro256PlusPlus,
    normal: Vec<f64>,
}

impl Chance {
    pub(crate) fn seeded(seed: u64) -> Chance {
        let normal = (0..STRATA).map(|i| normal_quantile((i as f64 + 0.5) / STRATA as f64)).collect();
        Chance { bits: Xoshiro256PlusPlus::seed_from_u64(seed), normal }
    }

    /// A standard normal number, the middle of one of [`STRATA`] equally likely strata.
    pub(crate) fn normal(&mut self) -> f64 {
        self.normal[(self.bits.next_u64() >> 54) as usize % STRATA]
    }

    /// True with probability `p`.
    pub(crate) fn happens(&mut self, p: f64) -> bool {
        ((self.bits.next_u64() >> 11) as f64) < p * (1u64 << 53) as f64
    }
}

/// Standard deviations at which a measured 90 % interval ends. Less than the 1.645 of that quantile by its sampling error in 4,096
/// draws: outcomes that are always the same lie on the interval's end, and must not fall out of it by chance.
const MEASURED_Z: f64 = 1.60;

/// Points of a tabulated spread per standard deviation. Between them it is linear: off by less than σ² × 10⁻⁴ of the value.
const GRID: usize = 32;
/// A tabulated spread ends at this many standard deviations on either side.
const GRID_END: usize = 5;

/// A spread tabulated for drawing: an exponential costs ten times a look-up.
#[derive(Clone, Debug)]
pub(crate) enum Tabulated {
    /// The same value every time.
    Constant(f64),
    /// Values from −[`GRID_END`] to +[`GRID_END`] standard deviations.
    Grid(Vec<f64>),
}

impl Tabulated {
    /// The value at `z` standard deviations.
    pub(crate) fn at(&self, z: f64) -> f64 {
        match self {
            Tabulated::Constant(value) => *value,
            Tabulated::Grid(points) => {
                let place = (z.clamp(-(GRID_END as f64), GRID_END as f64) + GRID_END as f64) * GRID as f64;
                let left = (place as usize).min(points.len() - 2);
                points[left] + (points[left + 1] - points[left]) * (place - left as f64)
            }
        }
    }
}

/// A positive quantity: median, and the standard deviation of its logarithm below and above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    below: f64,
    above: f64,
    /// No draw exceeds it.
    most: f64,
}

impl Spread {
    pub(crate) const NONE: Spread = Spread { median: 0.0, below: 0.0, above: 0.0, most: 0.0 };

    /// From median and ninth decile; what statistics say are a median and a 90 % interval.
    pub(crate) fn latency(estimate: &Estimated<Micros>) -> Spread {
        let z = if estimate.is_learned() { MEASURED_Z } else { Z90 };
        Spread::between(estimate.low.0 as f64, estimate.value.0 as f64, estimate.high.0 as f64, z, estimate.certainty)
    }

    /// From a point and the 90 % interval of what was measured.
    pub(crate) fn measured(low: f64, value: f64, high: f64, certainty: Certainty) -> Spread {
        Spread::between(low, value, high, MEASURED_Z, certainty)
    }

    /// From a point and a 90 % interval.
    pub(crate) fn interval(low: f64, value: f64, high: f64, certainty: Certainty) -> Spread {
        Spread::between(low, value, high, Z95, certainty)
    }

    /// Around a point about which nothing is known.
    pub(crate) fn unknown(value: f64) -> Spread {
        Spread::between(value, value, value, Z95, Certainty::Unknown)
    }

    /// The same, no draw above `most`.
    pub(crate) fn at_most(self, most: f64) -> Spread {
        Spread { most, ..self }
    }

    /// Ready for many draws.
    pub(crate) fn tabulated(&self) -> Tabulated {
        if self.below == 0.0 && self.above == 0.0 {
            return Tabulated::Constant(self.at(0.0));
        }
        let z = |i: usize| i as f64 / GRID as f64 - GRID_END as f64;
        Tabulated::Grid((0..=2 * GRID_END * GRID).map(|i| self.at(z(i))).collect())
    }

    fn between(low: f64, value: f64, high: f64, z: f64, certainty: Certainty) -> Spread {
        if high <= 0.0 {
            return Spread::NONE;
        }
        let value = value.max(1.0);
        let least = match certainty {
            Certainty::Configured | Certainty::Measured { .. } => 1.0,
            Certainty::Prior if low >= value && high <= value => PRIOR_FACTOR,
            Certainty::Prior => 1.0,
            Certainty::Unknown => UNKNOWN_FACTOR,
        };
        let sigma = |ratio: f64| libm::log(ratio.max(least)) / z;
        Spread { median: value, below: sigma(value / low.max(1.0)), above: sigma(high / value), most: f64::INFINITY }
    }

    /// The value at `z` standard deviations.
    pub(crate) fn at(&self, z: f64) -> f64 {
        let sigma = if z < 0.0 { self.below } else { self.above };
        let value = if sigma == 0.0 { self.median } else { self.median * libm::exp(sigma * z) };
        value.min(self.most)
    }
}

/// A probability: point, and linear distance to its interval's ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    pub(crate) point: f64,
    below: f64,
    above: f64,
}

impl Share {
    /// From an estimate; an absent or unknown one is even and wide.
    pub(crate) fn of(estimate: Option<&Estimated<Ppm>>) -> Share {
        let (point, low, high) = match estimate {
            Some(e) if e.certainty != Certainty::Unknown => (e.value.share(), e.low.share(), e.high.share()),
            _ => UNKNOWN_SHARE,
        };
        Share { point, below: (point - low) / Z95, above: (high - point) / Z95 }
    }

    pub(crate) fn exactly(point: f64) -> Share {
        Share { point, below: 0.0, above: 0.0 }
    }

    /// The value at `z` standard deviations, within 0..=1.
    pub(crate) fn at(&self, z: f64) -> f64 {
        let slope = if z < 0.0 { self.below } else { self.above };
        (self.point + slope * z).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ContinuousCDF, LogNormal};

    #[test]
    fn a_lognormal_keeps_its_median_and_ninth_decile() {
        let estimate = Estimated::new(Micros(1_000), Micros(250), Micros(4_000), Certainty::Measured { n: 50 }, "test");
        let spread = Spread::latency(&estimate);
        let reference = LogNormal::new(libm::log(1_000.0), libm::log(4.0) / Z90).expect("finite");
        for p in [0.1, 0.5, 0.9, 0.99] {
            let (got, want) = (spread.at(normal_quantile(p)), reference.inverse_cdf(p));
            assert!((got / want - 1.0).abs() < 1e-4, "{p}: {got} instead of {want}");
        }
        let table = spread.tabulated();
        for i in -40..=40 {
            let z = f64::from(i) / 9.7;
            assert!((table.at(z) / spread.at(z) - 1.0).abs() < 2e-4, "{z}: {} instead of {}", table.at(z), spread.at(z));
        }
        assert!(table.at(99.0) == table.at(5.0) && table.at(-99.0) == table.at(-5.0));
    }

    #[test]
    fn nothing_known_is_wide_and_zero_is_zero() {
        let unknown = Spread::unknown(100.0);
        assert!((unknown.at(Z95) - 1000.0).abs() < 1e-6 && (unknown.at(-Z95) - 10.0).abs() < 1e-6);
        let prior = Spread::interval(100.0, 100.0, 100.0, Certainty::Prior);
        assert!((prior.at(Z95) - 200.0).abs() < 1e-6, "a prior without a width is not exact");
        assert_eq!(Spread::interval(0.0, 0.0, 0.0, Certainty::Prior).at(3.0), 0.0);
        assert_eq!(Spread::interval(5.0, 5.0, 5.0, Certainty::Configured).at(3.0), 5.0);
        let share = Share::of(None);
        assert!((share.at(Z95) - 0.95).abs() < 1e-9 && share.at(9.0) == 1.0);
    }

    #[test]
    fn chance_is_fair() {
        let mut chance = Chance::seeded(7);
        let mean = (0..20_000).map(|_| chance.normal()).sum::<f64>() / 20_000.0;
        let share = (0..20_000).filter(|_| chance.happens(0.25)).count() as f64 / 20_000.0;
        assert!(mean.abs() < 0.03 && (share - 0.25).abs() < 0.015, "mean {mean}, share {share}");
        assert!(!chance.happens(0.0) && chance.happens(1.0));
    }
}
