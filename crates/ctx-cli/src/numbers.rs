//! Numbers as people type them, checked where they are typed.

use ctx_types::{Micros, NanoUsd, Ppm, Tokens};

/// Smallest passage that can be kept: one character may cost several tokens.
const CHUNK_TOKENS_MIN: u32 = 16;
/// Largest passage that still fits common context windows beside others.
const CHUNK_TOKENS_MAX: u32 = 32_768;

/// A whole number: `120000`, `120_000`, `1e6`.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace('_', "");
    if let Ok(number) = plain.parse::<u64>() {
        return Ok(number);
    }
    match plain.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (0.0..9.0e15).contains(&number) => Ok(number as u64),
        _ => Err("write a whole number such as 120000, 120_000 or 1e6".to_owned()),
    }
}

fn decimal(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
        _ => Err("write a number of at least 0, without a unit".to_owned()),
    }
}

/// Dollars.
pub(crate) fn dollars(text: &str) -> Result<NanoUsd, String> {
    NanoUsd::from_usd(decimal(text)?).ok_or_else(|| "larger than any budget".to_owned())
}

/// Seconds.
pub(crate) fn seconds(text: &str) -> Result<Micros, String> {
    Micros::from_seconds(decimal(text)?).ok_or_else(|| "larger than any deadline".to_owned())
}

/// Tokens.
pub(crate) fn tokens(text: &str) -> Result<Tokens, String> {
    whole(text).map(Tokens)
}

/// A count that fits 32 bits.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    u32::try_from(whole(text)?).map_err(|_| "larger than any count here".to_owned())
}

/// A count of at least one.
pub(crate) fn positive(text: &str) -> Result<u32, String> {
    match count(text)? {
        0 => Err("write a number of at least 1".to_owned()),
        number => Ok(number),
    }
}

/// The same, as a length.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    positive(text).map(|count| count as usize)
}

/// A bound of passages.
pub(crate) fn chunk_tokens(text: &str) -> Result<u32, String> {
    match count(text)? {
        tokens @ CHUNK_TOKENS_MIN..=CHUNK_TOKENS_MAX => Ok(tokens),
        _ => Err(format!("write a number of tokens between {CHUNK_TOKENS_MIN} and {CHUNK_TOKENS_MAX}")),
    }
}

/// A share in 0..=1.
pub(crate) fn share(text: &str) -> Result<Ppm, String> {
    let share = decimal(text)?;
    if share <= 1.0 { Ok(Ppm::from_share(share)) } else { Err("write a share between 0 and 1".to_owned()) }
}

/// A quantile at which limits are kept.
pub(crate) fn quantile(text: &str) -> Result<Ppm, String> {
    let share = share(text)?;
    if (Ppm(500_000)..Ppm::ONE).contains(&share) { Ok(share) } else { Err("write a quantile from 0.5 up to, not including, 1".to_owned()) }
}

/// `NAME=NUMBER`, the number in millionths.
pub(crate) fn weight(text: &str) -> Result<(String, i64), String> {
    let (name, number) = text.split_once('=').ok_or_else(|| "write NAME=NUMBER, for example acc=1.0".to_owned())?;
    let number = decimal(number)?;
    if number > 1e6 {
        return Err("larger than any weight".to_owned());
    }
    Ok((name.trim().to_owned(), (number * 1e6).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_type_them() {
        assert_eq!((whole("1e6"), whole("120_000"), whole(" 7 ")), (Ok(1_000_000), Ok(120_000), Ok(7)));
        for bad in ["90s", "-1", "1.5", "NaN", "inf", "", "1e30"] {
            assert!(whole(bad).is_err(), "{bad}");
        }
        assert_eq!((positive("0").is_err(), positive("1")), (true, Ok(1)));
        assert_eq!(dollars("0.5"), Ok(NanoUsd(500_000_000)));
        for bad in ["-1", "NaN", "inf", "$1", "1e300"] {
            assert!(dollars(bad).is_err(), "{bad}");
        }
        assert_eq!(share("0.8"), Ok(Ppm(800_000)));
        assert!(share("1.1").is_err());
        assert_eq!(weight("acc=1.5"), Ok(("acc".to_owned(), 1_500_000)));
        assert!(weight("acc").is_err() && weight("acc=-1").is_err());
    }
}
