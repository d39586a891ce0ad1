//! Values that begin with letters: accounts, and national identifiers whose letters and check characters give them a form.

use super::numbers::{DOCUMENTS, Short, named};
use super::{Detector, checksums, is_word};
use std::ops::Range;

/// An account, or a national identifier that begins with letters.
pub(super) fn lettered(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    if !bytes[at].is_ascii_uppercase() {
        return None;
    }
    iban(bytes, at)
        .or_else(|| insurance(bytes, at))
        .or_else(|| foreigner(bytes, at))
        .or_else(|| checked(bytes, at))
        .or_else(|| document(bytes, at))
}

/// Two letters, two digits, then groups of letters and digits; the longest prefix whose check digits agree.
fn iban(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let head = bytes.get(at..at + 4)?;
    if !head[1].is_ascii_uppercase() || !head[2].is_ascii_digit() || !head[3].is_ascii_digit() {
        return None;
    }
    let mut compact = Vec::with_capacity(34);
    let mut best = None;
    for (offset, byte) in bytes[at..].iter().enumerate().take(44) {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' => compact.push(*byte),
            b' ' | b'-' if offset > 0 => continue,
            _ => break,
        }
        let ends = bytes.get(at + offset + 1).is_none_or(|next| !is_word(*next));
        if ends && checksums::iban(&compact) {
            best = Some((Detector::Iban, at..at + offset + 1));
        }
    }
    best
}

/// United Kingdom, National Insurance: two letters, six digits, one letter, blanks between pairs.
fn insurance(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    if !bytes.get(at + 1).is_some_and(u8::is_ascii_uppercase) {
        return None;
    }
    let mut kinds = Short::<9>::new();
    let mut end = at;
    for (offset, byte) in bytes[at..].iter().enumerate().take(13).filter(|(_, byte)| **byte != b' ') {
        kinds.push(*byte);
        end = at + offset + 1;
        if kinds.len() == 9 {
            break;
        }
    }
    let shaped = kinds.len() == 9
        && kinds[..2].iter().all(u8::is_ascii_uppercase)
        && kinds[2..8].iter().all(u8::is_ascii_digit)
        && matches!(kinds[8], b'A'..=b'D');
    (shaped && bytes.get(end).is_none_or(|next| !is_word(*next))).then_some((Detector::NationalId, at..end))
}

/// Spain, NIE: X, Y or Z, seven digits, a letter.
fn foreigner(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let text = bytes.get(at..at + 9)?;
    let lead = u32::from(text[0].checked_sub(b'X').filter(|lead| *lead <= 2)?);
    let shaped = text[1..8].iter().all(u8::is_ascii_digit) && bytes.get(at + 9).is_none_or(|next| !is_word(*next));
    let value = text[1..8].iter().fold(lead, |value, byte| value * 10 + u32::from(byte.wrapping_sub(b'0') % 10));
    (shaped && checksums::dni(value, text[8])).then_some((Detector::NationalId, at..at + 9))
}

/// A passport or licence number: one or two letters and digits behind the paper's name.
fn document(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let length = bytes[at..].iter().take(20).take_while(|byte| is_word(**byte)).count();
    let digits = bytes[at..at + length].iter().filter(|byte| byte.is_ascii_digit()).count();
    if digits < 5 || length > digits + 3 {
        return None;
    }
    named(bytes, at, DOCUMENTS).then_some((Detector::NationalId, at..at + length))
}

/// Forms of fixed length with a check character, or a name before them: Italy (codice fiscale), Singapore (NRIC), India (PAN).
fn checked(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let length = bytes[at..].iter().take(17).take_while(|byte| is_word(**byte)).count();
    let text = &bytes[at..at + length];
    let found = match length {
        16 => checksums::codice_fiscale(text),
        9 => checksums::nric(text),
        10 => is_pan(text) && named(bytes, at, &["pan"]),
        _ => false,
    };
    found.then_some((Detector::NationalId, at..at + length))
}

/// Five letters, four digits, a letter; the fourth letter says who holds it.
fn is_pan(text: &[u8]) -> bool {
    text[..5].iter().all(u8::is_ascii_uppercase)
        && text[5..9].iter().all(u8::is_ascii_digit)
        && text[9].is_ascii_uppercase()
        && b"PCHABGJLFT".contains(&text[3])
}
