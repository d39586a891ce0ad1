//! What a run of name characters looks like, and its normal form. Pure functions of the run; cutting text into runs is the
//! parent module's.

use super::{IdentifierKind, is_name};

/// A path or URL, if the whole run reads as one: an address scheme, a root, a file name, or several separators.
pub(super) fn path_kind(whole: &str) -> Option<IdentifierKind> {
    if whole.contains("://") {
        return Some(IdentifierKind::Url);
    }
    let separators = whole.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    if separators == 0 {
        return None;
    }
    let last = whole.rsplit(['/', '\\']).next().unwrap_or_default();
    let rooted = whole.starts_with(['/', '.', '~']) || whole.as_bytes().get(1..3) == Some(b":\\");
    let named = last.rsplit_once('.').is_some_and(|(stem, extension)| is_extension(extension) && !stem.is_empty());
    let spelled = whole.bytes().any(|byte| byte.is_ascii_alphabetic());
    (spelled && (rooted || named || separators >= 2)).then_some(IdentifierKind::Path)
}

fn is_extension(text: &str) -> bool {
    (1..=5).contains(&text.len()) && text.as_bytes()[0].is_ascii_alphabetic() && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

/// The shape of a run without path separators; nothing for plain words, numbers and prose.
pub(super) fn name_kind(name: &str) -> Option<IdentifierKind> {
    let bytes = name.as_bytes();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    if letters + digits == bytes.len() {
        return solid_kind(bytes, letters, digits);
    }
    if is_uuid(bytes) {
        return Some(IdentifierKind::Uuid);
    }
    if is_address(name) {
        return Some(IdentifierKind::Address);
    }
    if is_version(name) {
        return Some(IdentifierKind::Version);
    }
    if letters == 0 {
        return None;
    }
    if bytes.contains(&b'_') {
        let error = ["err_", "error_", "e_"].iter().any(|prefix| starts_with(name, prefix));
        return Some(if error && letters >= 4 { IdentifierKind::ErrorCode } else { IdentifierKind::Snake });
    }
    if name.contains("::") || bytes.contains(&b'.') {
        return is_dotted(name).then_some(IdentifierKind::Dotted);
    }
    hyphenated_kind(name)
}

/// Letters and digits only.
fn solid_kind(bytes: &[u8], letters: usize, digits: usize) -> Option<IdentifierKind> {
    let hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    if bytes.len() > 2 && bytes[0] == b'0' && matches!(bytes[1], b'x' | b'X') && hex(&bytes[2..]) {
        return Some(IdentifierKind::Hex);
    }
    if digits > 0 && letters > 0 {
        if bytes.len() >= 7 && hex(bytes) {
            return Some(IdentifierKind::Hex);
        }
        let leading = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let one_number = leading + digits == bytes.len();
        return match (one_number, leading, digits) {
            (true, 1..=4, 3..) if bytes[..leading].iter().all(u8::is_ascii_uppercase) => Some(IdentifierKind::ErrorCode),
            (true, 1..=4, 3..) => Some(IdentifierKind::Code),
            (false, _, 3..) if bytes.len() >= 5 && leading > 0 => Some(IdentifierKind::Code),
            _ => None,
        };
    }
    (digits == 0 && is_camel(bytes)).then_some(IdentifierKind::Camel)
}

fn is_camel(bytes: &[u8]) -> bool {
    if bytes.len() < 6 {
        return false;
    }
    let lower = bytes.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    // From the second letter on: `iPhone` and `mRNA` are words.
    let rises = bytes[1..].windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    lower >= 3 && rises
}

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_address(name: &str) -> bool {
    name.split('.').count() == 4 && name.split('.').all(|part| part.parse::<u8>().is_ok())
}

/// Two dots, or a `v` and one; a suffix behind `-` or `+` may hold anything.
fn is_version(name: &str) -> bool {
    let (number, marked) = match name.strip_prefix(['v', 'V']) {
        Some(rest) => (rest, true),
        None => (name, false),
    };
    let core = number.split(['-', '+']).next().unwrap_or_default();
    let parts = core.split('.').count();
    let numeric = core.split('.').all(|part| !part.is_empty() && part.len() <= 6 && part.bytes().all(|b| b.is_ascii_digit()));
    numeric && parts <= 5 && (parts >= 3 || marked && parts == 2)
}

/// Every part begins like a name, and one is longer than an abbreviation's (`e.g`, `U.S`).
fn is_dotted(name: &str) -> bool {
    let mut parts = name.split(['.', ':']).filter(|part| !part.is_empty());
    let first_is_name = parts.next().is_some_and(|part| begins_name(part) && !part.contains('-'));
    first_is_name && !name.contains("..") && parts.all(|part| part.bytes().all(|byte| is_name(byte) || byte == b'-')) && has_long_part(name)
}

fn has_long_part(name: &str) -> bool {
    name.split(['.', ':']).any(|part| part.len() >= 3)
}

fn begins_name(part: &str) -> bool {
    part.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic())
}

/// Letters, hyphen, something with a digit.
fn hyphenated_kind(name: &str) -> Option<IdentifierKind> {
    let parts: Vec<&str> = name.split(is_hyphen).collect();
    let tail_has_digit = parts[1..].iter().any(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
    if parts.len() < 2 || !begins_name(parts[0]) || !tail_has_digit {
        return None;
    }
    let numeric = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if parts[0].eq_ignore_ascii_case("cve") && parts.len() == 3 && numeric(parts[1]) && numeric(parts[2]) {
        return Some(IdentifierKind::Cve);
    }
    let vendor = ["ora", "err", "error", "sqlstate", "http"].iter().any(|prefix| parts[0].eq_ignore_ascii_case(prefix));
    Some(if vendor && numeric(parts[1]) { IdentifierKind::ErrorCode } else { IdentifierKind::Code })
}

fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{2010}'..='\u{2013}' | '\u{2212}')
}

fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// One spelling for all spellings of an identifier.
pub(super) fn normal_form(text: &str, kind: IdentifierKind) -> String {
    let written = match kind {
        IdentifierKind::Version => text.trim_start_matches(['v', 'V']),
        IdentifierKind::Url => text.split_once("://").map_or(text, |(_, rest)| rest),
        IdentifierKind::Path => text.trim_start_matches("./"),
        _ => text,
    };
    let mut normal = String::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        let next = match character {
            '_' | ' ' => '-',
            '\\' => '/',
            ':' if characters.next_if_eq(&':').is_some() => '.',
            character if is_hyphen(character) => '-',
            character => character.to_ascii_lowercase(),
        };
        if next != '-' || !normal.ends_with('-') {
            normal.push(next);
        }
    }
    normal
}
