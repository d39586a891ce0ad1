//! The pieces that o200k cuts ASCII text into before it merges bytes, found without a regular expression.
//!
//! The pattern, restricted to ASCII, in the order in which its branches are tried:
//!
//! ```text
//! [^\r\n\p{L}\p{N}]? \p{Lu}* \p{Ll}+ ('s|'t|'re|'ve|'m|'ll|'d)?
//! [^\r\n\p{L}\p{N}]? \p{Lu}+ ('s|…)?
//! \p{N}{1,3}
//!  ?[^\s\p{L}\p{N}]+[\r\n/]*
//! \s*[\r\n]+
//! \s+(?!\S)
//! \s+
//! ```
//!
//! A test holds it to the counts of the regular expression.

/// The length of the piece that `text`, which is ASCII and not empty, begins with.
pub(crate) fn piece(text: &[u8]) -> usize {
    let first = text[0];
    let second = text.get(1).copied().unwrap_or(b'0');
    if first.is_ascii_alphabetic() {
        return word(text, 0);
    }
    // Whatever is neither letter, digit nor line end goes with the word behind it.
    if second.is_ascii_alphabetic() && !first.is_ascii_digit() && !is_line_end(first) {
        return word(text, 1);
    }
    if first.is_ascii_digit() {
        return run(text, 0, |byte| byte.is_ascii_digit()).min(3);
    }
    if !is_blank(first) {
        return marks(text, 0);
    }
    if first == b' ' && text.len() > 1 && is_mark(second) {
        return marks(text, 1);
    }
    blanks(text)
}

fn run(text: &[u8], from: usize, is_part: impl Fn(u8) -> bool) -> usize {
    from + text[from..].iter().take_while(|byte| is_part(**byte)).count()
}

/// Capitals, small letters, and a contraction behind them.
fn word(text: &[u8], from: usize) -> usize {
    let capitals = run(text, from, |byte| byte.is_ascii_uppercase());
    let end = run(text, capitals, |byte| byte.is_ascii_lowercase());
    end + contraction(&text[end..])
}

fn contraction(rest: &[u8]) -> usize {
    if rest.first() != Some(&b'\'') {
        return 0;
    }
    let lower = |at: usize| rest.get(at).map_or(0, u8::to_ascii_lowercase);
    match (lower(1), lower(2)) {
        (b's' | b't' | b'm' | b'd', _) => 2,
        (b'r', b'e') | (b'v', b'e') | (b'l', b'l') => 3,
        _ => 0,
    }
}

/// Marks, and the line ends and slashes behind them.
fn marks(text: &[u8], from: usize) -> usize {
    let end = run(text, from, is_mark);
    run(text, end, |byte| is_line_end(byte) || byte == b'/')
}

/// White space: through its last line end, else all but the blank that belongs to what follows.
fn blanks(text: &[u8]) -> usize {
    let end = run(text, 0, is_blank);
    if let Some(at) = text[..end].iter().rposition(|byte| is_line_end(*byte)) {
        return at + 1;
    }
    if end == text.len() || end == 1 { end } else { end - 1 }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

fn is_mark(byte: u8) -> bool {
    !byte.is_ascii_alphanumeric() && !is_blank(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        let mut rest = text;
        std::iter::from_fn(|| {
            let (first, after) = (!rest.is_empty()).then(|| rest.split_at(piece(rest.as_bytes())))?;
            rest = after;
            Some(first)
        })
        .collect()
    }

    #[test]
    fn text_is_cut_where_the_pattern_cuts() {
        assert_eq!(pieces("Don't PANIC's, it's HTTPServer"), ["Don't", " PANIC's", ",", " it's", " HTTPServer"]);
        assert_eq!(pieces("a1234b ((x)) v1.2"), ["a", "123", "4", "b", " ((", "x", "))", " v", "1", ".", "2"]);
        assert_eq!(pieces("x\n\n  y  \n z   "), ["x", "\n\n", " ", " y", "  \n", " z", "   "]);
        assert_eq!(pieces("a //\n/b \t5"), ["a", " //\n/", "b", " ", "\t", "5"]);
        assert_eq!(pieces("_id"), ["_id"]);
    }
}
