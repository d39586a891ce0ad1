//! Integer units. Integers make plans hashable and byte-identical across platforms.
//!
//! | type | unit |
//! |---|---|
//! | [`NanoUsd`] | 10⁻⁹ dollar, amounts |
//! | [`PicoUsd`] | 10⁻¹² dollar: prices per token, and sums of them before rounding |
//! | [`Micros`] | microsecond |
//! | [`Tokens`] | token |
//! | [`Ppm`] | probability or share, parts per million, 0..=1_000_000 |
//! | [`MicroNats`] | −ln(1 − p) × 10⁶, additive evidence |
//! | [`Score`] | plan score × 10⁶, dimensionless |

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Zero of this unit.
            pub const ZERO: Self = Self(0);
            /// The bare number, in the unit the type's documentation names.
            pub const fn get(self) -> $inner { self.0 }
        }
        impl Add for $name { type Output = Self; fn add(self, other: Self) -> Self { Self(self.0.saturating_add(other.0)) } }
        impl AddAssign for $name { fn add_assign(&mut self, other: Self) { *self = *self + other; } }
        impl Sub for $name { type Output = Self; fn sub(self, other: Self) -> Self { Self(self.0.saturating_sub(other.0)) } }
        impl Sum for $name { fn sum<I: Iterator<Item = Self>>(iter: I) -> Self { iter.fold(Self(0), Add::add) } }
    };
}

unit!(/// An amount of money in nano-dollars.
    NanoUsd(i64));
unit!(/// Pico-dollars: a price per token, or a sum of `tokens × price` that has not been rounded yet.
    PicoUsd(i64));
unit!(/// A duration in microseconds.
    Micros(u64));
unit!(/// A number of tokens.
    Tokens(u64));
unit!(/// A probability or share in parts per million.
    Ppm(u32));
unit!(/// Evidence: −ln(1 − p) in millionths of a nat. Independent sources add.
    MicroNats(i64));
unit!(/// A plan score in millionths.
    Score(i64));

impl PicoUsd {
    /// The amount rounded up to whole nano-dollars: reservations use this.
    pub fn ceil_nano(self) -> NanoUsd {
        NanoUsd(self.0.div_euclid(1000) + i64::from(self.0.rem_euclid(1000) != 0))
    }

    /// The amount rounded half to even: settlements use this.
    pub fn half_even_nano(self) -> NanoUsd {
        let (quotient, rest) = (self.0.div_euclid(1000), self.0.rem_euclid(1000));
        let up = rest > 500 || (rest == 500 && quotient.rem_euclid(2) == 1);
        NanoUsd(quotient + i64::from(up))
    }

    /// `price × tokens`, unrounded.
    pub fn times(self, tokens: Tokens) -> PicoUsd {
        PicoUsd(self.0.saturating_mul(i64::try_from(tokens.0).unwrap_or(i64::MAX)))
    }
}

impl NanoUsd {
    /// From dollars, rounded to the nearest nano-dollar. `None` for NaN, infinities and amounts beyond ±9 billion dollars.
    pub fn from_usd(usd: f64) -> Option<NanoUsd> {
        let nano = usd * 1e9;
        (nano.is_finite() && nano.abs() < 9.0e18).then(|| NanoUsd(nano.round() as i64))
    }

    /// Dollars, for display and for ratios; never for sums.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Micros {
    /// From seconds, rounded. `None` for negative or non-finite values.
    pub fn from_seconds(seconds: f64) -> Option<Micros> {
        let micros = seconds * 1e6;
        (micros.is_finite() && (0.0..1.8e19).contains(&micros)).then(|| Micros(micros.round() as u64))
    }

    /// Seconds, for display and ratios.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Ppm {
    /// Certain.
    pub const ONE: Ppm = Ppm(1_000_000);

    /// From a share in 0..=1; values outside are clamped, NaN becomes 0.
    pub fn from_share(share: f64) -> Ppm {
        if share.is_nan() { Ppm(0) } else { Ppm((share.clamp(0.0, 1.0) * 1e6).round() as u32) }
    }

    /// Which of so many equal bins it lies in, from 0; one lies in the last.
    pub fn bin(self, bins: u32) -> u32 {
        self.0.min(999_999) / (1_000_000 / bins)
    }

    /// The share in 0..=1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }

    /// 1 − p.
    pub fn complement(self) -> Ppm {
        Ppm(1_000_000u32.saturating_sub(self.0))
    }

    /// p × q, rounded to the nearest ppm.
    pub fn and(self, other: Ppm) -> Ppm {
        Ppm(((u64::from(self.0) * u64::from(other.0) + 500_000) / 1_000_000) as u32)
    }

    /// −ln(1 − p), the additive form of evidence. p = 1 is capped at 16 nats (1 − 10⁻⁷).
    pub fn to_micro_nats(self) -> MicroNats {
        let miss = 1.0 - self.share();
        let nats = if miss <= 1e-7 { 16.0 } else { -libm::log(miss) };
        MicroNats((nats * 1e6).round() as i64)
    }
}

impl MicroNats {
    /// 1 − exp(−nats), back to a probability.
    pub fn to_ppm(self) -> Ppm {
        Ppm::from_share(1.0 - libm::exp(-(self.0 as f64) / 1e6))
    }
}

impl Score {
    /// From a real score; the result is what plans compare and hash.
    pub fn from_real(score: f64) -> Score {
        Score((score * 1e6).round() as i64)
    }

    /// The real score.
    pub fn real(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for NanoUsd {
    /// `$0.0034`: at least two, at most nine decimals, no trailing zeros beyond the second.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let abs = self.0.unsigned_abs();
        let mut decimals = format!("{:09}", abs % 1_000_000_000);
        while decimals.len() > 2 && decimals.ends_with('0') {
            decimals.pop();
        }
        write!(f, "{sign}${}.{decimals}", abs / 1_000_000_000)
    }
}

impl fmt::Display for Micros {
    /// `870 µs`, `12.3 ms`, `4.20 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..=999 => write!(f, "{} µs", self.0),
            1_000..=999_999 => write!(f, "{:.1} ms", self.0 as f64 / 1e3),
            _ => write!(f, "{:.2} s", self.0 as f64 / 1e6),
        }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Ppm {
    /// Three decimals: `0.732`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.share())
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.real())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_up_for_reservations_and_half_even_for_settlements() {
        assert_eq!(PicoUsd(1).ceil_nano(), NanoUsd(1));
        assert_eq!(PicoUsd(2000).ceil_nano(), NanoUsd(2));
        assert_eq!(PicoUsd(1500).half_even_nano(), NanoUsd(2));
        assert_eq!(PicoUsd(2500).half_even_nano(), NanoUsd(2));
        assert_eq!(PicoUsd(2501).half_even_nano(), NanoUsd(3));
    }

    #[test]
    fn evidence_round_trips_within_a_ppm() {
        for p in [0u32, 1, 500_000, 732_123, 999_000] {
            let back = Ppm(p).to_micro_nats().to_ppm();
            assert!(back.0.abs_diff(p) <= 1, "{p} came back as {}", back.0);
        }
        assert!(Ppm::ONE.to_micro_nats().to_ppm().0 >= 999_999);
    }

    #[test]
    fn amounts_print_without_noise() {
        assert_eq!(NanoUsd(0).to_string(), "$0.00");
        assert_eq!(NanoUsd(3_400_000).to_string(), "$0.0034");
        assert_eq!(NanoUsd(-1_500_000_000).to_string(), "-$1.50");
        assert_eq!(Micros(12_300).to_string(), "12.3 ms");
    }

    #[test]
    fn nonsense_becomes_none_not_a_number() {
        assert_eq!(NanoUsd::from_usd(f64::NAN), None);
        assert_eq!(NanoUsd::from_usd(f64::INFINITY), None);
        assert_eq!(Micros::from_seconds(-1.0), None);
        assert_eq!(Ppm::from_share(f64::NAN), Ppm(0));
    }
}
