//! Web addresses. They raise nothing: pages are named in goals all the time. A value inside one (credentials, a token, an
//! e-mail address) is what counts, and is reported instead of the address.

use std::ops::Range;

/// Longest address taken as one.
const URL_BYTES_MAX: usize = 2048;
/// Longest scheme.
const SCHEME_BYTES_MAX: usize = 8;
const SCHEMES: [&[u8]; 5] = [b"http", b"https", b"ftp", b"ws", b"wss"];

/// The address whose scheme ends before the colon at `at`.
pub(super) fn schemed(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if !bytes[at..].starts_with(b"://") {
        return None;
    }
    let scheme = bytes[..at].iter().rev().take(SCHEME_BYTES_MAX).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let known = SCHEMES.iter().any(|known| bytes[at - scheme..at].eq_ignore_ascii_case(known));
    if known { address(bytes, at - scheme, at + 3) } else { None }
}

/// The address that begins with `www.` at `at`.
pub(super) fn bare(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    if bytes[at..].get(..4)?.eq_ignore_ascii_case(b"www.") { address(bytes, at, at + 4) } else { None }
}

fn address(bytes: &[u8], start: usize, host: usize) -> Option<Range<usize>> {
    let within = |byte: &u8| {
        *byte >= 0x80
            || byte.is_ascii_graphic()
                && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'|' | b'\\')
    };
    let rest = bytes[host..].iter().take(URL_BYTES_MAX).take_while(|byte| within(byte)).count();
    let trailing =
        bytes[host..host + rest].iter().rev().take_while(|byte| matches!(byte, b'.' | b',' | b';' | b':' | b'!' | b'?' | b'*')).count();
    let end = host + rest - trailing;
    let name =
        bytes[host..end].iter().take_while(|byte| **byte >= 0x80 || byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')).count();
    let dotted =
        bytes[host..host + name].iter().skip(1).any(|byte| *byte == b'.') || bytes[host..host + name].eq_ignore_ascii_case(b"localhost");
    (name > 0 && dotted && rest < URL_BYTES_MAX).then_some(start..end)
}
