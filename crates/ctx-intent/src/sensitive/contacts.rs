//! Addresses that hang on one sign: `@` of an e-mail address, `:` of an IPv6 address. Bounded look to both sides.

use super::{Detector, is_word};
use std::net::Ipv6Addr;
use std::ops::Range;

/// Longest local part of an e-mail address (RFC 5321).
const LOCAL_BYTES_MAX: usize = 64;
/// Longest domain name (RFC 1035).
const DOMAIN_BYTES_MAX: usize = 253;
/// Longest text form of an IPv6 address.
const IPV6_BYTES_MAX: usize = 45;

/// An e-mail address around the `@` at `at`.
pub(super) fn email(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let local = bytes[..at].iter().rev().take(LOCAL_BYTES_MAX).take_while(|byte| is_local(**byte)).count();
    let domain = bytes[at + 1..].iter().take(DOMAIN_BYTES_MAX).take_while(|byte| is_domain(**byte)).count();
    let trailing = bytes[at + 1..at + 1 + domain].iter().rev().take_while(|byte| matches!(byte, b'.' | b'-')).count();
    let end = at + 1 + domain - trailing;
    let leading = bytes[at - local..at].iter().take_while(|byte| matches!(byte, b'.' | b'-' | b'+' | b'%' | b'\'')).count();
    let start = at - local + leading;
    let top = bytes[at + 1..end].rsplit(|byte| *byte == b'.').next()?;
    let dotted = bytes[at + 1..end].contains(&b'.') && bytes[at + 1] != b'.';
    let remote = bytes.get(end) == Some(&b':') && bytes[start..at] == *b"git";
    let named = top.len() >= 2 && top.iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
    (start < at && dotted && named && !remote).then_some((Detector::Email, start..end))
}

fn is_local(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'-' | b'+' | b'%' | b'\'') || byte >= 0x80
}

fn is_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-') || byte >= 0x80
}

/// An IPv6 address that holds the colon at `at`.
pub(super) fn ipv6(bytes: &[u8], at: usize) -> Option<(Detector, Range<usize>)> {
    let part = |byte: &&u8| byte.is_ascii_hexdigit() || **byte == b':';
    let before = bytes[..at].iter().rev().take(IPV6_BYTES_MAX).take_while(part).count();
    let behind = bytes[at..].iter().take(IPV6_BYTES_MAX).take_while(part).count();
    let range = at - before..at + behind;
    let alone = (range.start == 0 || !is_word(bytes[range.start - 1])) && bytes.get(range.end).is_none_or(|byte| !is_word(*byte));
    let text = std::str::from_utf8(&bytes[range.clone()]).ok()?;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    (alone && digits > 0 && text.len() >= 6 && text.parse::<Ipv6Addr>().is_ok()).then_some((Detector::Address, range))
}
