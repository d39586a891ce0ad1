//! Citation markers in an answer: `[1]`, `[2][1]`, `[5,7]`, `[1-3]`, `[1, page 3]`, `【1†source】`, `[^2]`, `[doc-1]`, and the
//! link form `[1](url)`. Code (fenced, inline, or an index like `array[3]`) is not a citation.

/// One marker: the labels it names, in order, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Byte offset of its opening bracket.
    pub at: usize,
    /// Labels as written, ranges expanded.
    pub labels: Vec<String>,
}

/// Longest range that is expanded; a longer one is one unknown label.
const RANGE_MAX: u32 = 50;
/// Longest text inside brackets that can be a marker.
const MARKER_BYTES_MAX: usize = 40;

/// All markers of a text.
pub fn markers(text: &str) -> Vec<Marker> {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let code = code_spans(text);
    let mut at = 0;
    while let Some(offset) = text[at..].find(['[', '【']) {
        let open = at + offset;
        let (opened, close) = if bytes[open] == b'[' { (1, ']') } else { ('【'.len_utf8(), '】') };
        at = open + opened;
        if code.iter().any(|(a, b)| (*a..*b).contains(&open)) {
            continue;
        }
        let Some(length) = text[at..].find(close).filter(|l| *l <= MARKER_BYTES_MAX) else { continue };
        let inside = &text[at..at + length];
        // `array[3]` is an index: a word character stands right before the bracket.
        let glued = open > 0 && text[..open].chars().next_back().is_some_and(|c| c.is_alphanumeric() && c.is_ascii() || c == '_');
        if opened == 1 && glued && !ends_a_sentence_word(text, open) {
            continue;
        }
        if let Some(labels) = labels(inside) {
            out.push(Marker { at: open, labels });
            at += length;
        }
    }
    out
}

/// `works[1]` at the end of a word followed by a stop is a citation in prose; `array[3]` in code is not. Prose is told by a
/// plain lower-case word before and punctuation, blank or another marker after.
fn ends_a_sentence_word(text: &str, open: usize) -> bool {
    let word: String = text[..open].chars().rev().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let after = text[open..].find(']').and_then(|c| text[open + c + 1..].chars().next());
    word.chars().count() > 1 && word.chars().all(char::is_lowercase) && matches!(after, None | Some('.' | ',' | ';' | '['))
}

/// Fenced blocks and inline code.
fn code_spans(text: &str) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(offset) = text[at..].find('`') {
        let open = at + offset;
        let ticks = text[open..].bytes().take_while(|b| *b == b'`').count();
        let fence = &text[open..open + ticks];
        match text[open + ticks..].find(fence) {
            Some(length) => {
                out.push((open, open + ticks + length + ticks));
                at = open + ticks + length + ticks;
            }
            None => at = open + ticks,
        }
    }
    out
}

/// Labels inside one pair of brackets; `None` when this is not a marker.
fn labels(inside: &str) -> Option<Vec<String>> {
    let cleaned = inside.trim().trim_start_matches('^');
    let first = cleaned.split('†').next().unwrap_or_default();
    let mut out = Vec::new();
    for part in first.split([',', ';']) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        if let Some(range) = range(part) {
            out.extend(range);
        } else if number(part) || identifier(part) {
            out.push(part.to_owned());
        } else if out.is_empty() {
            return None;
        }
        // Words after a label (`page 3`) say where in it.
    }
    (!out.is_empty()).then_some(out)
}

fn number(part: &str) -> bool {
    let digits = part.strip_prefix('-').unwrap_or(part);
    !digits.is_empty() && digits.len() <= 9 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `doc-1`, `source_2`: letters, then a separator, then digits.
fn identifier(part: &str) -> bool {
    let letters = part.bytes().take_while(u8::is_ascii_alphabetic).count();
    let rest = part[letters..].strip_prefix(['-', '_', ':']).unwrap_or_default();
    (2..=12).contains(&letters) && !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
}

fn range(part: &str) -> Option<Vec<String>> {
    let (from, to) = part.split_once(['-', '–'])?;
    let (from, to) = (from.trim().parse::<u32>().ok()?, to.trim().parse::<u32>().ok()?);
    (from <= to && to - from <= RANGE_MAX).then(|| (from..=to).map(|n| n.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        markers(text).into_iter().flat_map(|m| m.labels).collect()
    }

    #[test]
    fn every_form_is_read_and_code_is_not() {
        assert_eq!(found("Fact one [1]. Fact two [5,7]. Three [2][1]."), ["1", "5", "7", "2", "1"]);
        assert_eq!(found("Four [0], [-1], [1-3], [1, page 3], 【1†source】, [^2]"), ["0", "-1", "1", "2", "3", "1", "1", "2"]);
        assert_eq!(found("array[3] in code `x[7]`, ```\n[9]\n```"), Vec::<String>::new());
        assert_eq!(found("it works[1]. [see below] [x]"), ["1"]);
    }

    #[test]
    fn a_link_does_not_hide_its_label() {
        assert_eq!(found("[doc-1] ok. [doc-99] fake. [doc-99](https://example.org)"), ["doc-1", "doc-99", "doc-99"]);
    }

    #[test]
    fn hostile_text_is_linear_and_quiet() {
        assert!(found(&"[".repeat(50_000)).is_empty());
        assert!(found(&"`".repeat(9_999)).is_empty());
        assert_eq!(found("[1-999999999]").len(), 0);
    }
}
