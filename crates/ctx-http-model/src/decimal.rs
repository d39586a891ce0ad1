//! Decimal dollars to pico-dollars, without a detour through binary fractions.

use ctx_types::PicoUsd;

/// Most digits of a price; more are not one.
const DIGITS_MAX: usize = 30;
/// Relative distance below which a remainder is noise of the binary fraction that a price went through on its way
/// (`2.9999900000000002e-06`): 2⁻⁵⁰.
const NOISE_INVERSE: u128 = 1 << 50;

/// A price, and whether it is the written amount or the nearest whole pico-dollar to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The price.
    pub price: PicoUsd,
    /// Whether the written amount is a whole number of pico-dollars, noise of binary fractions aside.
    pub exact: bool,
}

/// Reads `0.0000025`, `2.5e-06`, `3`. `None` for negative amounts and what is no number or too large to be a price.
pub fn pico_dollars(text: &str) -> Option<Written> {
    let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text.trim(), 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || digits.len() > DIGITS_MAX || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u128 = digits.parse().ok()?;
    let shift = exponent.checked_add(12)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let (rounded, exact) = match u32::try_from(shift) {
        _ if value == 0 => (0, true),
        Ok(up) => (value.checked_mul(10u128.checked_pow(up)?)?, true),
        Err(_) => divided(value, 10u128.checked_pow(shift.unsigned_abs())),
    };
    Some(Written { price: PicoUsd(i64::try_from(rounded).ok()?), exact })
}

/// The nearest quotient, halves to even; exact if what is left is noise. No divisor: it is larger than any amount.
fn divided(value: u128, divisor: Option<u128>) -> (u128, bool) {
    let Some(divisor) = divisor else { return (0, false) };
    let (quotient, rest) = (value / divisor, value % divisor);
    let up = rest * 2 > divisor || rest * 2 == divisor && quotient % 2 == 1;
    let distance = if up { divisor - rest } else { rest };
    (quotient + u128::from(up), distance <= value / NOISE_INVERSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(i64, bool)> {
        pico_dollars(text).map(|written| (written.price.get(), written.exact))
    }

    #[test]
    fn amounts_are_read_as_written() {
        assert_eq!(read("2.5e-06"), Some((2_500_000, true)));
        assert_eq!(read("0.0000025"), Some((2_500_000, true)));
        assert_eq!(read("1.5e-7"), Some((150_000, true)));
        assert_eq!(read("0.0"), Some((0, true)));
        assert_eq!(read("0e-400"), Some((0, true)));
        assert_eq!(read("3"), Some((3_000_000_000_000, true)));
        assert_eq!(read("2.9999900000000002e-06"), Some((2_999_990, true)));
        assert_eq!(read("9.499999999999999e-07"), Some((950_000, true)));
        assert_eq!(read("1.41953125e-07"), Some((141_953, false)));
        assert_eq!(read("5e-13"), Some((0, false)));
        assert_eq!(read("15e-13"), Some((2, false)));
    }

    #[test]
    fn what_is_no_price_is_unknown() {
        for text in ["", "-1e-6", "free", "NaN", "1e99", "1e-6x", "..", "1234567890123456789012345678901"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
