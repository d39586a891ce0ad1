//! Keys, tokens and passwords: known prefixes, PEM blocks, signed tokens, and values assigned to a telling name.
//!
//! Placeholders, types and calls (`password: &str`, `token=get_token()`) are not values.

use super::{Detector, is_word};
use std::ops::Range;

/// Longest token looked at.
const TOKEN_BYTES_MAX: usize = 4096;
/// Longest PEM block taken as one span.
const PEM_BYTES_MAX: usize = 16 * 1024;
/// Longest name before an assignment.
const NAME_BYTES_MAX: usize = 40;
/// Longest value of an assignment.
const VALUE_BYTES_MAX: usize = 256;

type Found = Option<(Detector, Range<usize>)>;

/// Prefixes of issued keys, with the least number of characters behind them.
const PREFIXES: &[(&[u8], usize)] = &[
    (b"AKIA", 16),
    (b"ASIA", 16),
    (b"AIza", 35),
    (b"sk-", 20),
    (b"sk_live_", 16),
    (b"sk_test_", 16),
    (b"rk_live_", 16),
    (b"ghp_", 30),
    (b"gho_", 30),
    (b"ghu_", 30),
    (b"ghs_", 30),
    (b"ghr_", 30),
    (b"github_pat_", 22),
    (b"glpat-", 20),
    (b"xoxb-", 20),
    (b"xoxp-", 20),
    (b"xoxa-", 20),
    (b"xoxs-", 20),
    (b"hf_", 30),
    (b"npm_", 30),
    (b"pypi-", 40),
    (b"SG.", 40),
    (b"ya29.", 30),
    (b"dop_v1_", 40),
    (b"whsec_", 24),
    (b"shpat_", 24),
    (b"glsa_", 24),
    (b"dckr_pat_", 20),
    (b"hvs.", 24),
];

/// A key with a known prefix, a signed token (`eyJ…`), or what follows `Bearer`.
pub(super) fn prefixed(bytes: &[u8], at: usize) -> Found {
    let rest = &bytes[at..];
    if !may_open(rest) {
        return None;
    }
    if let Some((prefix, least)) = PREFIXES.iter().find(|(prefix, _)| rest.starts_with(prefix)) {
        let body = token(&rest[prefix.len()..]);
        let digit = rest[prefix.len()..prefix.len() + body].iter().any(u8::is_ascii_digit);
        return (body >= *least && digit).then_some((Detector::Secret, at..at + prefix.len() + body));
    }
    if rest.starts_with(b"eyJ") {
        return signed(bytes, at);
    }
    if rest.len() > 7 && rest[..7].eq_ignore_ascii_case(b"bearer ") {
        let body = token(&rest[7..]);
        let digit = rest[7..7 + body].iter().any(u8::is_ascii_digit);
        return (body >= 20 && digit).then_some((Detector::Secret, at + 7..at + 7 + body));
    }
    None
}

/// First two bytes of the prefixes, of signed tokens and of `Bearer`: most words are settled here.
fn may_open(rest: &[u8]) -> bool {
    matches!(
        rest,
        [b'A', b'K' | b'S' | b'I', ..]
            | [b's' | b'r', b'k', ..]
            | [b'g', b'h' | b'i' | b'l', ..]
            | [b's', b'h', ..]
            | [b'd', b'c', ..]
            | [b'h', b'v', ..]
            | [b'x', b'o', ..]
            | [b'h', b'f', ..]
            | [b'n', b'p', ..]
            | [b'p', b'y', ..]
            | [b'S', b'G', ..]
            | [b'y', b'a', ..]
            | [b'd', b'o', ..]
            | [b'w', b'h', ..]
            | [b'e', b'y', ..]
            | [b'b' | b'B', b'e' | b'E', ..]
    )
}

fn token(bytes: &[u8]) -> usize {
    bytes.iter().take(TOKEN_BYTES_MAX).take_while(|byte| is_word(**byte) || matches!(byte, b'-' | b'.' | b'/' | b'+' | b'=')).count()
}

/// Three parts of base64url with dots between them.
fn signed(bytes: &[u8], at: usize) -> Found {
    let length = bytes[at..].iter().take(TOKEN_BYTES_MAX).take_while(|byte| is_word(**byte) || matches!(byte, b'-' | b'.')).count();
    let text = &bytes[at..at + length];
    let parts: Vec<usize> = text.split(|byte| *byte == b'.').map(<[u8]>::len).collect();
    (parts.len() >= 3 && parts[0] >= 10 && parts[1] >= 8 && parts[2] >= 8).then_some((Detector::Secret, at..at + length))
}

/// A private key block that begins at the hyphen at `at`.
pub(super) fn pem(bytes: &[u8], at: usize) -> Found {
    let rest = &bytes[at..];
    if !rest.starts_with(b"-----BEGIN ") {
        return None;
    }
    let line = &rest[..rest.len().min(80)];
    if !contains(line, b"PRIVATE KEY") {
        return None;
    }
    let body = &rest[..rest.len().min(PEM_BYTES_MAX)];
    let end = find(body, b"-----END ").map_or(line.len(), |found| {
        let tail = &body[found + 9..];
        found + 9 + find(tail, b"-----").map_or(0, |close| close + 5)
    });
    Some((Detector::Secret, at..floor(bytes, at + end)))
}

/// The last byte boundary of a character at or before `end`.
fn floor(bytes: &[u8], mut end: usize) -> usize {
    while end < bytes.len() && bytes[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    end
}

fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    find(bytes, needle).is_some()
}

fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

/// `://user:value@host`: the colon at `at` stands between user and value.
pub(super) fn credentials(bytes: &[u8], at: usize) -> Found {
    let user = bytes[..at].iter().rev().take(64).take_while(|byte| is_word(**byte) || matches!(byte, b'.' | b'-' | b'%')).count();
    let scheme = bytes[..at - user].ends_with(b"://");
    let value =
        bytes[at + 1..].iter().take(VALUE_BYTES_MAX).take_while(|byte| byte.is_ascii_graphic() && !matches!(byte, b'@' | b'/')).count();
    let range = at + 1..at + 1 + value;
    let closed = bytes.get(range.end) == Some(&b'@');
    (scheme && user > 0 && value > 0 && closed && !is_placeholder(&bytes[range.clone()])).then_some((Detector::Secret, range))
}

/// Endings of names whose values are secret.
const NAMES: &[&[u8]] = &[
    b"password",
    b"passwd",
    b"pwd",
    b"passphrase",
    b"secret",
    b"secret_key",
    b"token",
    b"api_key",
    b"apikey",
    b"api-key",
    b"access_key",
    b"private_key",
    b"client_secret",
    b"auth_key",
    b"access_token",
    b"auth_token",
    b"account_key",
    b"accountkey",
    b"secretkey",
    b"passwort",
    b"kennwort",
    "пароль".as_bytes(),
    "contraseña".as_bytes(),
    b"mot de passe",
    "密码".as_bytes(),
    "パスワード".as_bytes(),
    "비밀번호".as_bytes(),
];

/// `name = value` or `name: value` around the sign at `at`.
pub(super) fn assigned(bytes: &[u8], at: usize) -> Found {
    let before = trim_end(&bytes[at.saturating_sub(NAME_BYTES_MAX)..at]);
    if !ends_with_name(before) {
        return None;
    }
    let blank = bytes.get(at + 1).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    value(bytes, at + 1, if bytes[at] == b'=' && !blank { Care::Usual } else { Care::Strict })
}

/// "password is VALUE": `at` is where the name begins.
pub(super) fn stated(bytes: &[u8], at: usize) -> Found {
    let rest = &bytes[at..bytes.len().min(at + NAME_BYTES_MAX)];
    let word = rest.iter().take_while(|byte| is_word(**byte)).count();
    let opens = matches!(rest.first(), Some(b'p' | b'P' | b's' | b'S' | b't' | b'T' | b'a' | b'A' | b'c' | b'C'));
    // The cheapest question first: it settles nearly every word.
    let is = rest.get(word..word + 4).is_some_and(|is| is.eq_ignore_ascii_case(b" is "));
    if !opens || !is || !ends_with_name(&rest[..word]) {
        return None;
    }
    value(bytes, at + word + 3, Care::Strict)
}

/// How much a value must look like one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Care {
    Usual,
    Strict,
}

fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t' | b'"' | b'\''] = bytes {
        bytes = rest;
    }
    bytes
}

fn ends_with_name(before: &[u8]) -> bool {
    let last = before.last().map_or(0, u8::to_ascii_lowercase);
    NAMES.iter().any(|name| {
        name[name.len() - 1] == last && before.len() >= name.len() && before[before.len() - name.len()..].eq_ignore_ascii_case(name)
    })
}

fn value(bytes: &[u8], from: usize, care: Care) -> Found {
    let skipped = bytes[from..].iter().take(4).take_while(|byte| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`')).count();
    let start = from + skipped;
    let quoted = skipped > 0 && matches!(bytes[start - 1], b'"' | b'\'' | b'`');
    let stops = |byte: u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'>') || !byte.is_ascii_graphic()
    };
    let length = bytes[start..].iter().take(VALUE_BYTES_MAX).take_while(|byte| !stops(**byte)).count();
    let length = length - bytes[start..start + length].iter().rev().take_while(|byte| matches!(byte, b'.' | b'?' | b'!')).count();
    let text = &bytes[start..start + length];
    let passed = matches!(bytes.get(start + length), Some(b',' | b')'));
    (is_value(text, care, quoted, passed)).then_some((Detector::Secret, start..start + length))
}

fn is_value(text: &[u8], care: Care, quoted: bool, passed: bool) -> bool {
    if text.len() < 6 || is_placeholder(text) || ends_with_name(text) {
        return false;
    }
    let letter = text.iter().any(u8::is_ascii_alphabetic);
    let digit = text.iter().any(u8::is_ascii_digit);
    let called = text.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{' | b'&' | b'$')) && !digit;
    let dotted = text.contains(&b'.') && !digit;
    let plain = !called && !dotted;
    let telling = digit || quoted || care == Care::Usual && !passed;
    plain && (letter && telling || digit && text.len() >= 8)
}

fn is_placeholder(text: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[
        b"null",
        b"none",
        b"true",
        b"false",
        b"string",
        b"str",
        b"your",
        b"example",
        b"changeme",
        b"redacted",
        b"placeholder",
        b"value",
        b"option",
        b"undefined",
        b"optional",
        b"required",
        b"env.",
        b"os.",
        b"process.",
        b"self.",
        b"this.",
        b"config",
        b"settings",
        b"secrets.",
    ];
    let opens = matches!(text.first(), None | Some(b'<' | b'$' | b'{' | b'*' | b'%' | b'[' | b'&' | b'(' | b'='));
    let masked = text.iter().all(|byte| matches!(byte, b'*' | b'x' | b'X' | b'.' | b'-' | b'_'));
    opens || masked || WORDS.iter().any(|word| text.len() >= word.len() && text[..word.len()].eq_ignore_ascii_case(word))
}
