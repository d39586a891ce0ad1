//! Literals become amounts: exact decimals, never floating point, so that what is printed reads back as the same integer.

use ctx_types::{Micros, NanoUsd, Ppm, Tokens};

/// Most significant digits of a number.
const DIGITS_MAX: usize = 36;

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Literal {
    /// With its sign.
    Number(String),
    /// In quotes.
    Text(String),
    /// Bare.
    Word(String),
}

impl Literal {
    /// As a message shows it.
    fn shown(&self) -> String {
        match self {
            Literal::Number(text) | Literal::Word(text) => text.clone(),
            Literal::Text(text) => format!("'{}'", clipped(text)),
        }
    }

    /// A word or a text.
    pub(crate) fn word(&self) -> Option<&str> {
        match self {
            Literal::Word(text) | Literal::Text(text) => Some(text),
            Literal::Number(_) => None,
        }
    }
}

/// The first characters of a text, for messages.
pub(crate) fn clipped(text: &str) -> String {
    const SHOWN_MAX: usize = 24;
    let short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() == text.len() { short } else { format!("{short}…") }
}

/// `value × 10^power`, rounded half up to a whole number.
fn scaled(literal: &Literal, power: i32) -> Result<u64, String> {
    let Literal::Number(text) = literal else { return Err(format!("expected a number, found {}", literal.shown())) };
    if text.starts_with('-') && text.bytes().any(|b| matches!(b, b'1'..=b'9')) {
        return Err(format!("expected a number of at least 0, found {text}"));
    }
    let plain = text.trim_start_matches(['+', '-']).replace('_', "").to_lowercase();
    let (mantissa, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Ok(0);
    }
    let too_large = || format!("{} is larger than any amount here", clipped(text));
    let exponent: i32 = exponent.parse().ok().filter(|e| (-400..=400).contains(e)).ok_or_else(too_large)?;
    if digits.len() > DIGITS_MAX {
        return Err(format!("{} has more digits than any amount here", clipped(text)));
    }
    let shift = exponent + power - i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let number: u128 = digits.parse().map_err(|_| too_large())?;
    let result = match 10u128.checked_pow(shift.unsigned_abs()) {
        Some(factor) if shift >= 0 => number.checked_mul(factor),
        Some(factor) => Some(number / factor + u128::from(number % factor >= factor.div_ceil(2) && factor > 1)),
        None => (shift < 0).then_some(0),
    };
    result.and_then(|value| u64::try_from(value).ok()).ok_or_else(too_large)
}

/// A whole number: rounding would change what was asked for.
pub(crate) fn whole(literal: &Literal) -> Result<u64, String> {
    const FINE: i32 = 6;
    let value = scaled(literal, 0)?;
    match scaled(literal, FINE) {
        Ok(fine) if fine != value.saturating_mul(1_000_000) => Err(format!("expected a whole number, found {}", literal.shown())),
        _ => Ok(value),
    }
}

pub(crate) fn dollars(literal: &Literal) -> Result<NanoUsd, String> {
    let nano = scaled(literal, 9)?;
    i64::try_from(nano).map(NanoUsd).map_err(|_| "larger than any budget".to_owned())
}

pub(crate) fn seconds(literal: &Literal) -> Result<Micros, String> {
    scaled(literal, 6).map(Micros)
}

pub(crate) fn tokens(literal: &Literal) -> Result<Tokens, String> {
    whole(literal).map(Tokens)
}

pub(crate) fn count(literal: &Literal) -> Result<u32, String> {
    u32::try_from(whole(literal)?).map_err(|_| "larger than any count here".to_owned())
}

pub(crate) fn share(literal: &Literal) -> Result<Ppm, String> {
    match scaled(literal, 6)? {
        ppm @ 0..=1_000_000 => Ok(Ppm(ppm as u32)),
        _ => Err(format!("expected a share between 0 and 1, found {}", literal.shown())),
    }
}

/// A quantile at which limits are kept.
pub(crate) fn quantile(literal: &Literal) -> Result<Ppm, String> {
    let share = share(literal)?;
    let fits = (Ppm(500_000)..Ppm::ONE).contains(&share);
    fits.then_some(share).ok_or_else(|| format!("expected a quantile from 0.5 to below 1, found {}", literal.shown()))
}

/// In millionths.
pub(crate) fn weight(literal: &Literal) -> Result<i64, String> {
    const WEIGHT_MAX: u64 = 1_000_000_000_000;
    match scaled(literal, 6)? {
        weight @ 0..=WEIGHT_MAX => Ok(weight as i64),
        _ => Err("larger than any weight".to_owned()),
    }
}

pub(crate) fn boolean(literal: &Literal) -> Result<bool, String> {
    let text = match literal {
        Literal::Number(text) | Literal::Word(text) | Literal::Text(text) => text.to_lowercase(),
    };
    match text.as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(format!("expected true or false, found {}", literal.shown())),
    }
}

/// One of some words.
pub(crate) fn choice<T: Copy>(literal: &Literal, choices: &[(&'static str, T)]) -> Result<T, String> {
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    let found = literal.word().and_then(|word| choices.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)));
    found.map(|(_, value)| *value).ok_or_else(|| {
        let near = literal.word().and_then(|word| crate::error::nearest(word, names.iter().copied()));
        let meant = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        format!("expected one of {}; found {}{meant}", names.join(", "), literal.shown())
    })
}

/// `units` with `digits` decimals and no needless zero.
pub(crate) fn decimal(units: u64, digits: u32) -> String {
    let scale = 10u64.pow(digits);
    let (whole, fraction) = (units / scale, units % scale);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:0width$}", width = digits as usize);
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Literal {
        Literal::Number(text.to_owned())
    }

    #[test]
    fn decimals_are_exact_to_the_last_unit() {
        assert_eq!(dollars(&number("0.05")), Ok(NanoUsd(50_000_000)));
        assert_eq!(dollars(&number("9223372036.854775807")), Ok(NanoUsd(i64::MAX)));
        assert_eq!(dollars(&number("5e-10")), Ok(NanoUsd(1)));
        assert_eq!(dollars(&number("4.9e-10")), Ok(NanoUsd(0)));
        assert_eq!(seconds(&number("1_000.5")), Ok(Micros(1_000_500_000)));
        assert_eq!(whole(&number("1e6")), Ok(1_000_000));
        assert_eq!(whole(&number("18446744073709551615")), Ok(u64::MAX));
        assert_eq!(weight(&number("-0")), Ok(0));
    }

    #[test]
    fn what_is_no_amount_says_why() {
        for bad in ["-1", "1e400", "1e999999999999", "18446744073709551616", "99999999999999999999999999999999999999999"] {
            assert!(whole(&number(bad)).is_err(), "{bad}");
        }
        assert!(whole(&number("1.5")).expect_err("a fraction").contains("whole number"));
        assert!(share(&number("1.1")).is_err());
        assert!(dollars(&Literal::Text("0.05".to_owned())).expect_err("a text").contains("'0.05'"));
        assert_eq!(boolean(&Literal::Word("ON".to_owned())), Ok(true));
        assert!(boolean(&Literal::Word("maybe".to_owned())).is_err());
    }

    #[test]
    fn what_is_printed_reads_back() {
        for units in [0, 1, 50_000_000, 1_000_000_000, 123_456_789_012, i64::MAX as u64] {
            assert_eq!(dollars(&number(&decimal(units, 9))), Ok(NanoUsd(units as i64)));
        }
    }
}
