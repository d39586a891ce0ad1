//! Values made of digit groups: cards, national identifiers, telephone numbers, IPv4 addresses. What the check digits leave
//! open, the grouping and the words before it decide. Values that begin with letters: [`super::lettered`].

use super::{Detector, checksums, is_word};
use std::ops::Range;

/// Longest number with its separators; longer runs are data.
const NUMBER_BYTES_MAX: usize = 40;
/// How far before a number its name may stand.
const CONTEXT_BYTES_MAX: usize = 48;
/// Most groups of one number.
const GROUPS_MAX: usize = 8;

/// A maximal run of digit groups with single separators between them.
struct Number {
    range: Range<usize>,
    digits: Short<NUMBER_BYTES_MAX>,
    groups: Short<GROUPS_MAX>,
    separators: Short<GROUPS_MAX>,
    plus: bool,
    bracket: bool,
}

/// A few bytes on the stack: logs are full of numbers, and an allocation for each would be most of the scan.
pub(super) struct Short<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Short<N> {
    pub(super) fn new() -> Self {
        Short { bytes: [0; N], length: 0 }
    }

    /// What does not fit is dropped: callers refuse longer numbers first.
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }
}

impl<const N: usize> std::ops::Deref for Short<N> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A card, national identifier, telephone number or IPv4 address that begins at `at`.
pub(super) fn number(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    if at > 0
        && (is_word(bytes[at - 1]) || matches!(bytes[at - 1], b'.' | b'-' | b'/' | b'#' | b'$' | b',') && !matches!(bytes[at], b'(' | b'+'))
    {
        return None;
    }
    if !bytes[at].is_ascii_digit() && !bytes.get(at + 1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let number = read(bytes, at)?;
    let detector = classify(&number, bytes)?;
    Some((detector, number.range))
}

fn read(bytes: &[u8], at: usize) -> Option<Number> {
    let plus = bytes[at] == b'+';
    let bracket = bytes[at] == b'(' || plus && bytes.get(at + 1) == Some(&b'(');
    let first = at + usize::from(plus) + usize::from(bracket);
    let mut number = Number { range: at..first, digits: Short::new(), groups: Short::new(), separators: Short::new(), plus, bracket };
    let mut cursor = first;
    loop {
        let count = bytes[cursor..].iter().take(NUMBER_BYTES_MAX).take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 || number.groups.len() == GROUPS_MAX - 1 || cursor + count - at > NUMBER_BYTES_MAX {
            return None;
        }
        for byte in &bytes[cursor..cursor + count] {
            number.digits.push(byte - b'0');
        }
        number.groups.push(count as u8);
        cursor += count;
        number.range.end = cursor;
        let Some((separator, next)) = separator(bytes, cursor) else { break };
        number.separators.push(separator);
        cursor = next;
    }
    close(bytes, number)
}

/// A single separator with a digit behind it: blank, hyphen, dot, or a closing bracket with a blank.
fn separator(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    match bytes.get(at)? {
        b')' if digit(at + 1) => Some((b')', at + 1)),
        b')' if matches!(bytes.get(at + 1), Some(b' ' | b'-')) && digit(at + 2) => Some((b')', at + 2)),
        separator @ (b' ' | b'-' | b'.') if digit(at + 1) => Some((*separator, at + 1)),
        b' ' if bytes.get(at + 1) == Some(&b'(') && digit(at + 2) => Some((b'(', at + 2)),
        _ => None,
    }
}

/// Takes an extension or a check letter in, and refuses a number that goes on as a word.
fn close(bytes: &[u8], mut number: Number) -> Option<Number> {
    let end = number.range.end;
    let rest = &bytes[end..];
    let extension = rest.iter().skip(1).take(6).take_while(|byte| byte.is_ascii_digit()).count();
    match rest.first() {
        Some(b'x') if extension >= 2 => number.range.end += 1 + extension,
        Some(b'X') if number.digits.len() == 17 && rest.get(1).is_none_or(|byte| !is_word(*byte)) => {
            number.digits.push(10);
            number.range.end += 1;
        }
        Some(letter) if letter.is_ascii_uppercase() && *number.groups == [8] && rest.get(1).is_none_or(|byte| !is_word(*byte)) => {
            let value = number.digits.iter().fold(0, |value, digit| value * 10 + u32::from(*digit));
            number.digits.push(if checksums::dni(value, *letter) { 11 } else { return None });
            number.range.end += 1;
        }
        Some(byte) if is_word(*byte) => return None,
        Some(b'-') if is_line(rest) => {}
        Some(b'-' | b'/' | b':' | b'%') if rest.get(1).is_some_and(|byte| is_word(*byte)) => return None,
        _ => {}
    }
    Some(number)
}

fn classify(number: &Number, bytes: &[u8]) -> Option<Detector> {
    let blanks_or_hyphens = number.separators.iter().all(|separator| matches!(separator, b' ' | b'-'));
    if number.digits.last() == Some(&11) {
        return Some(Detector::NationalId);
    }
    if is_ipv4(number, bytes) {
        return Some(Detector::Address);
    }
    if blanks_or_hyphens && !number.plus && is_card_grouping(&number.groups) && checksums::card(&number.digits) {
        return Some(Detector::Card);
    }
    if !number.plus && !number.bracket && is_national(number, bytes) {
        return Some(Detector::NationalId);
    }
    is_phone(number, bytes).then_some(Detector::Phone)
}

fn is_ipv4(number: &Number, bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(&bytes[number.range.clone()]).unwrap_or_default();
    number.groups.len() == 4 && text.parse::<std::net::Ipv4Addr>().is_ok()
}

fn is_card_grouping(groups: &[u8]) -> bool {
    match groups {
        [_] | [4, 6, 4..=5] => true,
        [4, 4, 4, rest @ ..] => rest.iter().sum::<u8>() <= 7,
        _ => false,
    }
}

fn is_national(number: &Number, bytes: &[u8]) -> bool {
    let (digits, groups) = (&*number.digits, &*number.groups);
    let hyphens = number.separators.iter().all(|separator| *separator == b'-');
    match groups {
        [3, 2, 4] if number.separators.iter().all(|separator| matches!(separator, b'-' | b' ')) => is_ssn(digits),
        [9] if is_ssn(digits) && named(bytes, number.range.start, &["ssn", "social security"]) => true,
        [9] | [3, 3, 3] => named(bytes, number.range.start, NINE_DIGITS),
        [10] | [3, 3, 4] => checksums::nhs(digits) && named(bytes, number.range.start, &["nhs"]),
        [6, 4] if hyphens => checksums::month_day(&digits[2..6]) && checksums::luhn(digits),
        [3, 3, 3, 2] => checksums::cpf(digits) || checksums::snils(digits),
        [11] => {
            checksums::cpf(digits) && named(bytes, number.range.start, &["cpf"])
                || checksums::snils(digits) && named(bytes, number.range.start, &["снилс", "СНИЛС", "snils"])
                || named(bytes, number.range.start, &["steuer", "tax id", "idnr", "pesel"])
        }
        [6, 7] if hyphens => {
            checksums::resident_registration(digits) || matches!(digits[6], 1..=4) && checksums::date(&with_century(digits))
        }
        [18] | [17] => checksums::resident_identity(digits),
        [4, 4, 4] | [12] => {
            checksums::aadhaar(digits) && (groups.len() == 3 || named(bytes, number.range.start, &["aadhaar"]))
                || named(bytes, number.range.start, &["my number", "マイナンバー", "инн", "ИНН"])
        }
        [15] | [1, 2, 2, 2, 3, 3, 2] | [13, 2] => checksums::nir(digits),
        _ => (5..=14).contains(&digits.len()) && named(bytes, number.range.start, DOCUMENTS),
    }
}

/// Identifiers of nine digits without a form of their own: Canada, Australia, the Netherlands.
const NINE_DIGITS: &[&str] = &["social insurance", "sin number", "sin:", "tax file", "tfn", "bsn", "burgerservice"];

/// Papers whose numbers have no common form: the word before the number decides.
pub(super) const DOCUMENTS: &[&str] = &[
    "passport",
    "driver's license",
    "drivers license",
    "driver license",
    "driving licence",
    "driver’s license",
    "license number",
    "national id",
    "id card",
    "паспорт",
    "Паспорт",
    "personalausweis",
    "reisepass",
    "护照",
    "passeport",
    "pasaporte",
];

fn is_ssn(digits: &[u8]) -> bool {
    digits.len() == 9 && digits[..3] != [0, 0, 0] && digits[..3] != [6, 6, 6] && digits[3..5] != [0, 0] && digits[5..] != [0; 4]
}

fn with_century(digits: &[u8]) -> Vec<u8> {
    let century = if digits[6] <= 2 { [1, 9] } else { [2, 0] };
    century.iter().chain(&digits[..6]).copied().collect()
}

fn is_phone(number: &Number, bytes: &[u8]) -> bool {
    let (total, groups) = (number.digits.len(), &*number.groups);
    if number.plus {
        return (8..=16).contains(&total);
    }
    if !(7..=15).contains(&total) || is_date_like(number) {
        return false;
    }
    let called = || is_line(&bytes[number.range.end..]) || named(bytes, number.range.start, CALLS);
    let single_kind = number.separators.windows(2).all(|pair| pair[0] == pair[1]);
    let dots = number.separators.contains(&b'.');
    if dots && !(single_kind && groups.len() >= 3) {
        return false;
    }
    if number.bracket && groups.len() >= 2 {
        return true;
    }
    let shaped = match groups {
        [3, 3, 4] | [1, 3, 3, 4] | [3, 3, 3] | [2, 2, 2, 2] | [2, 2, 2, 2, 2] | [2, 3, 3] | [2, 3, 4] | [2, 3, 2, 2] => true,
        [3, 2, 2, 2] | [3, 3, 2, 2] | [4, 2, 2, 2] | [4, 3, 3] | [3, 2, 3] | [2, 4, 4] | [3, 4, 4] | [5, 6] | [5, 3, 3] => {
            number.digits[0] == 0 || called()
        }
        _ => false,
    };
    let printed = shaped && single_kind && (!dots || groups == [3, 3, 4] || called());
    printed && (number.separators[0] != b' ' || number.digits[0] == 0 || groups.len() >= 4 || groups == [3, 3, 4] || called()) || called()
}

/// Words that come before a number one can call.
const CALLS: &[&str] = &[
    "phone",
    "message",
    "answering",
    "registered",
    "call",
    "tel",
    "mobile",
    "cell",
    "fax",
    "reach",
    "contact",
    "whatsapp",
    "sms",
    "text me",
    "dial",
    "number is",
    "my number",
    "handy",
    "telefon",
    "anrufen",
    "téléphone",
    "appelez",
    "teléfono",
    "llama",
    "телефон",
    "Телефон",
    "звони",
    "Звони",
    "номер",
    "Номер",
    "电话",
    "手机",
    "電話",
    "전화",
];

/// Words behind a number that say whose line it is.
fn is_line(rest: &[u8]) -> bool {
    const LINES: [&[u8]; 5] = [b"office", b"fax", b"mobile", b"home", b"cell"];
    let word = rest.get(1..).unwrap_or_default();
    matches!(rest.first(), Some(b' ' | b'-'))
        && LINES.iter().any(|line| word.len() >= line.len() && word[..line.len()].eq_ignore_ascii_case(line))
}

fn is_date_like(number: &Number) -> bool {
    let at = |from: usize, count: usize| number.digits[from..from + count].iter().fold(0u32, |value, digit| value * 10 + u32::from(*digit));
    match &*number.groups {
        [4, 2, 2, ..] => (1..=12).contains(&at(4, 2)) && (1..=31).contains(&at(6, 2)) && (1000..=2999).contains(&at(0, 4)),
        [2, 2, 4, ..] => (1..=31).contains(&at(0, 2)) && (1..=31).contains(&at(2, 2)),
        [4, 4] => (1500..=2200).contains(&at(0, 4)) && (1500..=2200).contains(&at(4, 4)),
        [8] => checksums::date(&number.digits),
        _ => false,
    }
}

/// Whether one of `names` stands shortly before `at`. ASCII letters match in both cases; names begin where words do.
pub(super) fn named(bytes: &[u8], at: usize, names: &[&str]) -> bool {
    let before = &bytes[at.saturating_sub(CONTEXT_BYTES_MAX)..at];
    let bit = |byte: u8| 1u128 << (byte.to_ascii_lowercase() & 0x7f);
    let firsts = names.iter().fold(0, |firsts, name| firsts | bit(name.as_bytes()[0]));
    let starts = |from: usize| !is_digit_or_sign(before[from]) && (from == 0 || !is_word(before[from - 1]));
    (0..before.len()).filter(|from| starts(*from) && firsts & bit(before[*from]) != 0).any(|from| {
        let rest = &before[from..];
        names.iter().any(|name| rest.len() >= name.len() && rest[..name.len()].eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn is_digit_or_sign(byte: u8) -> bool {
    byte < 0x80 && !byte.is_ascii_alphabetic()
}
