//! Character references of HTML: the common names and all numbers.

use crate::decode::clean;

/// Longest reference looked for.
const REFERENCE_BYTES_MAX: usize = 12;

const NAMED: &[(&str, char)] = &[
    ("AMP", '&'),
    ("Auml", 'Ä'),
    ("GT", '>'),
    ("LT", '<'),
    ("Ouml", 'Ö'),
    ("QUOT", '"'),
    ("Uuml", 'Ü'),
    ("aacute", 'á'),
    ("acirc", 'â'),
    ("agrave", 'à'),
    ("amp", '&'),
    ("apos", '\''),
    ("aring", 'å'),
    ("auml", 'ä'),
    ("bull", '•'),
    ("ccedil", 'ç'),
    ("cent", '¢'),
    ("copy", '©'),
    ("deg", '°'),
    ("eacute", 'é'),
    ("ecirc", 'ê'),
    ("egrave", 'è'),
    ("emsp", '\u{2003}'),
    ("ensp", '\u{2002}'),
    ("euml", 'ë'),
    ("euro", '€'),
    ("frac12", '½'),
    ("ge", '≥'),
    ("gt", '>'),
    ("hellip", '…'),
    ("iacute", 'í'),
    ("icirc", 'î'),
    ("iuml", 'ï'),
    ("laquo", '«'),
    ("larr", '←'),
    ("ldquo", '“'),
    ("le", '≤'),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("micro", 'µ'),
    ("middot", '·'),
    ("minus", '−'),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("ne", '≠'),
    ("ntilde", 'ñ'),
    ("oacute", 'ó'),
    ("ocirc", 'ô'),
    ("oelig", 'œ'),
    ("ouml", 'ö'),
    ("para", '¶'),
    ("plusmn", '±'),
    ("pound", '£'),
    ("quot", '"'),
    ("raquo", '»'),
    ("rarr", '→'),
    ("rdquo", '”'),
    ("reg", '®'),
    ("rsquo", '’'),
    ("sect", '§'),
    ("shy", '\u{ad}'),
    ("szlig", 'ß'),
    ("thinsp", '\u{2009}'),
    ("times", '×'),
    ("trade", '™'),
    ("uacute", 'ú'),
    ("ucirc", 'û'),
    ("ugrave", 'ù'),
    ("uuml", 'ü'),
    ("yen", '¥'),
    ("zwj", '\u{200d}'),
    ("zwnj", '\u{200c}'),
];

/// The character that a reference at the start of `text` stands for, and the bytes it takes. `None` if it is none.
pub(crate) fn read(text: &str) -> Option<(char, usize)> {
    let window = &text.as_bytes()[..text.len().min(REFERENCE_BYTES_MAX)];
    let end = window.iter().position(|b| *b == b';')?;
    let name = text.get(1..end)?;
    let c = match name.strip_prefix('#') {
        Some(number) => numeric(number)?,
        None => NAMED[NAMED.binary_search_by(|(known, _)| known.cmp(&name)).ok()?].1,
    };
    Some((clean(c), end + 1))
}

/// `text` with its references read.
pub(crate) fn read_all(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (c, length) = read(&rest[at..]).unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[at + length..];
    }
    out.push_str(rest);
    out
}

fn numeric(number: &str) -> Option<char> {
    let value = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    Some(char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_numbers_and_nonsense() {
        assert!(NAMED.is_sorted_by_key(|(name, _)| *name));
        assert_eq!(read_all("a &lt; b &#8211; &#x41;&#0;&nope; & &amp;lt;"), "a < b – A &nope; & &lt;");
    }
}
