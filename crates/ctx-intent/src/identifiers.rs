//! Finds identifiers in text: names that must match exactly or not at all.
//!
//! Used on documents (what is indexed) and on goals (what is looked up), with one normal form for both. One pass, no
//! regular expression, bounded work per character. Not an entity recogniser: times, quantities and people live elsewhere.
//!
//! ```
//! use ctx_intent::identifiers::{IdentifierKind, identifiers};
//!
//! let found = identifiers("Does v1.2.3 fix CVE-2024-1234?");
//! assert_eq!(found[0].kind, IdentifierKind::Version);
//! assert_eq!(found[1].normal, "cve-2024-1234");
//! ```

mod shapes;

use std::ops::Range;

use shapes::{name_kind, normal_form, path_kind};

/// Longer runs of name characters are encoded data, not names.
pub const IDENTIFIER_BYTES_MAX: usize = 256;

/// What an identifier looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdentifierKind {
    /// `CVE-2024-1234`.
    Cve,
    /// `123e4567-e89b-12d3-a456-426614174000`.
    Uuid,
    /// `0xDEADBEEF`, a commit hash, a digest.
    Hex,
    /// `v1.2.3`, `1.2.3-rc.1`, `v3.14`.
    Version,
    /// `10.251.43.21`, with or without a port.
    Address,
    /// `E0502`, `ORA-00942`, `ERR_CONN_RESET`, `HTTP 500`.
    ErrorCode,
    /// `ORD-204417`, `SKU-73105`, `rs429358`: letters and digits that name a thing.
    Code,
    /// `crates/ctx-types/src/lib.rs`, `/etc/hosts`; its last component is found as well.
    Path,
    /// `https://kb.example.org/cables`.
    Url,
    /// `core.util`, `std::collections::BTreeMap`, `lib.rs`.
    Dotted,
    /// `snake_case`, `MAX_SIZE`.
    Snake,
    /// `camelCase`, `BTreeMap`: a guess, names of products and chemicals look alike.
    Camel,
}

impl IdentifierKind {
    /// Whether the shape alone says that the text names one thing. Camel case and dotted names also occur in prose.
    pub fn is_certain(self) -> bool {
        !matches!(self, IdentifierKind::Camel | IdentifierKind::Dotted)
    }

    /// The name used in explanations and traces.
    pub fn name(self) -> &'static str {
        match self {
            IdentifierKind::Cve => "cve",
            IdentifierKind::Uuid => "uuid",
            IdentifierKind::Hex => "hex",
            IdentifierKind::Version => "version",
            IdentifierKind::Address => "address",
            IdentifierKind::ErrorCode => "error_code",
            IdentifierKind::Code => "code",
            IdentifierKind::Path => "path",
            IdentifierKind::Url => "url",
            IdentifierKind::Dotted => "dotted_name",
            IdentifierKind::Snake => "snake_case",
            IdentifierKind::Camel => "camel_case",
        }
    }
}

/// An identifier found in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier<'a> {
    /// As written.
    pub text: &'a str,
    /// Lower case; `_`, blanks and typographic hyphens as `-`; `::` as `.`; versions without their `v`.
    pub normal: String,
    /// Where it stands, in bytes.
    pub range: Range<usize>,
    /// Its shape.
    pub kind: IdentifierKind,
}

/// The identifiers of a document, in order of their start.
pub fn identifiers(text: &str) -> Vec<Identifier<'_>> {
    let mut found = Vec::new();
    for_each_identifier(text, |identifier| found.push(identifier));
    found
}

/// The identifiers of a question: those of [`identifiers`], and pairs such as `sku 73105` that people type in lower case.
/// A pair that names nothing matches nothing, so guessing costs one lookup.
pub fn query_identifiers(text: &str) -> Vec<Identifier<'_>> {
    let mut found = Vec::new();
    scan(text, Pairing::AnyWord, &mut |identifier| found.push(identifier));
    found
}

/// As [`identifiers`], without collecting them.
pub fn for_each_identifier<'a>(text: &'a str, mut each: impl FnMut(Identifier<'a>)) {
    scan(text, Pairing::Capitals, &mut each);
}

/// Which words may pair with a number behind a blank (`SKU 73105`).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pairing {
    Capitals,
    AnyWord,
}

fn scan<'a>(text: &'a str, pairing: Pairing, each: &mut dyn FnMut(Identifier<'a>)) {
    let mut previous: Option<Range<usize>> = None;
    let mut at = 0;
    while let Some(run) = next_run(text, at) {
        at = run.end;
        if let Some(word) = previous.filter(|word| pairs(text, word, &run, pairing)) {
            let range = word.start..run.end;
            let kind = if text[word].eq_ignore_ascii_case("http") { IdentifierKind::ErrorCode } else { IdentifierKind::Code };
            each(found(text, range, kind));
        }
        classify_run(text, run.clone(), each);
        previous = Some(run);
    }
}

/// The next stretch of name characters: letters, digits, `_`, and connectors between them. Plain words are runs too: one
/// may pair with the number behind it.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = from;
    while start < bytes.len() && !opens(bytes, start) {
        start += 1;
    }
    if start == bytes.len() {
        return None;
    }
    let mut end = start;
    let mut last = start;
    while end < bytes.len() {
        let step = connector_or_name(bytes, end);
        match step {
            Step::Name => {
                end += 1;
                last = end;
            }
            Step::Connector(width) => end += width,
            Step::Stop => break,
        }
    }
    Some(start..last.max(start + 1))
}

enum Step {
    Name,
    Connector(usize),
    Stop,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// A run opens at a name character, or at the slash or dot of an absolute or relative path.
fn opens(bytes: &[u8], at: usize) -> bool {
    let next = |offset: usize| bytes.get(at + offset).copied().unwrap_or(b' ');
    match bytes[at] {
        byte if is_name(byte) => true,
        b'/' => is_name(next(1)),
        b'.' => next(1) == b'/' || next(1) == b'.' && next(2) == b'/',
        _ => false,
    }
}

fn connector_or_name(bytes: &[u8], at: usize) -> Step {
    match bytes[at] {
        byte if is_name(byte) => Step::Name,
        b'-' | b'.' | b'/' | b':' | b'\\' | b'~' | b'+' => Step::Connector(1),
        0xE2 if hyphen(bytes, at) => Step::Connector(3),
        _ => Step::Stop,
    }
}

/// Hyphen, non-breaking hyphen, figure dash, en dash (U+2010 to U+2013), minus (U+2212).
fn hyphen(bytes: &[u8], at: usize) -> bool {
    matches!(bytes.get(at + 1..at + 3), Some([0x80, 0x90..=0x93] | [0x88, 0x92]))
}

fn pairs(text: &str, word: &Range<usize>, run: &Range<usize>, pairing: Pairing) -> bool {
    if !text.as_bytes()[run.start].is_ascii_digit() {
        return false;
    }
    let (letters, digits) = (&text[word.clone()], &text[run.clone()]);
    let blank = run.start == word.end + 1 && text.as_bytes()[word.end] == b' ';
    let long_enough = digits.len() >= 3 && (2..=12).contains(&letters.len());
    let shaped = match pairing {
        Pairing::Capitals => letters.bytes().all(|byte| byte.is_ascii_uppercase()),
        Pairing::AnyWord => letters.bytes().all(|byte| byte.is_ascii_alphabetic()),
    };
    let named = pairing == Pairing::Capitals || !is_unnamed(letters);
    blank && long_enough && shaped && named && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Words before numbers that name nothing: verbs, counters, prepositions. `returns 502` and `since 2019` are not names.
fn is_unnamed(word: &str) -> bool {
    const UNNAMED: &[&str] = &[
        "a", "about", "above", "after", "all", "and", "are", "around", "as", "at", "before", "below", "between", "by", "card", "chapter",
        "code", "column", "does", "during", "every", "exactly", "exits", "fails", "first", "for", "from", "gave", "gets", "gives", "got",
        "had", "has", "have", "in", "is", "last", "least", "line", "lines", "most", "near", "nearly", "next", "number", "of", "on", "only",
        "or", "out", "over", "page", "past", "per", "phone", "plus", "raises", "reached", "reports", "return", "returned", "returns",
        "row", "rows", "saw", "section", "sends", "sent", "shows", "since", "sold", "some", "status", "step", "than", "that", "the",
        "these", "those", "throws", "to", "took", "top", "total", "under", "until", "up", "version", "was", "were", "with", "within",
        "year", "years",
    ];
    let lower = word.to_ascii_lowercase();
    UNNAMED.binary_search(&lower.as_str()).is_ok()
}

fn classify_run<'a>(text: &'a str, run: Range<usize>, each: &mut dyn FnMut(Identifier<'a>)) {
    let whole = without_line_number(&text[run.clone()]);
    if whole.len() < 4 || whole.len() > IDENTIFIER_BYTES_MAX || is_plain_word(whole.as_bytes()) {
        return;
    }
    let run = run.start..run.start + whole.len();
    if let Some(kind) = path_kind(whole) {
        each(found(text, run.clone(), kind));
        if let Some(last) = whole.rfind(['/', '\\']).filter(|_| kind == IdentifierKind::Path) {
            classify_name(text, run.start + last + 1..run.end, each);
        }
        return;
    }
    for part in split(whole, run.start) {
        classify_name(text, part, each);
    }
}

/// `src/lib.rs:42:7` names `src/lib.rs`.
fn without_line_number(whole: &str) -> &str {
    let mut name = whole;
    while let Some((rest, number)) = name.rsplit_once(':') {
        if number.is_empty() || rest.ends_with([':', '/']) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        name = rest;
    }
    name
}

/// Lower-case words, capitalised words, numbers: most of any text, settled without looking further.
fn is_plain_word(bytes: &[u8]) -> bool {
    bytes[1..].iter().all(u8::is_ascii_lowercase) && bytes[0].is_ascii_alphabetic() || bytes.iter().all(u8::is_ascii_digit)
}

/// Parts between slashes, single colons, backslashes, tildes and pluses; `::` holds names together.
fn split(whole: &str, offset: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = whole.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= bytes.len() {
            return None;
        }
        let start = at;
        while at < bytes.len() && !is_cut(bytes, at) {
            at += if bytes[at..].starts_with(b"::") { 2 } else { 1 };
        }
        let part = start..at.min(bytes.len());
        at += 1;
        Some(offset + part.start..offset + part.end)
    })
}

fn is_cut(bytes: &[u8], at: usize) -> bool {
    match bytes[at] {
        b'/' | b'\\' | b'~' => true,
        b'+' => !bytes[..at].iter().any(u8::is_ascii_digit),
        b':' => bytes.get(at + 1) != Some(&b':'),
        _ => false,
    }
}

fn classify_name<'a>(text: &'a str, range: Range<usize>, each: &mut dyn FnMut(Identifier<'a>)) {
    let raw = &text[range.clone()];
    let trimmed = raw.trim_matches(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let start = range.start + (trimmed.as_ptr() as usize - raw.as_ptr() as usize);
    if trimmed.len() < 3 {
        return;
    }
    if let Some(kind) = name_kind(trimmed) {
        each(found(text, start..start + trimmed.len(), kind));
    }
}

fn found(text: &str, range: Range<usize>, kind: IdentifierKind) -> Identifier<'_> {
    let text = &text[range.clone()];
    Identifier { text, normal: normal_form(text, kind), range, kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normals(text: &str) -> Vec<String> {
        identifiers(text).into_iter().map(|identifier| identifier.normal).collect()
    }

    fn kind(text: &str) -> Option<IdentifierKind> {
        identifiers(text).first().map(|identifier| identifier.kind)
    }

    #[test]
    fn each_shape_is_recognised() {
        let cases = [
            ("CVE-2024-1234", IdentifierKind::Cve),
            ("123e4567-e89b-12d3-a456-426614174000", IdentifierKind::Uuid),
            ("0xDEADBEEF", IdentifierKind::Hex),
            ("a685d14cf512", IdentifierKind::Hex),
            ("v1.2.3", IdentifierKind::Version),
            ("1.2.3-rc.1", IdentifierKind::Version),
            ("v3.14", IdentifierKind::Version),
            ("10.251.43.21", IdentifierKind::Address),
            ("E0502", IdentifierKind::ErrorCode),
            ("ORA-00942", IdentifierKind::ErrorCode),
            ("ERR_CONN_RESET", IdentifierKind::ErrorCode),
            ("HTTP 500", IdentifierKind::ErrorCode),
            ("ORD-204417", IdentifierKind::Code),
            ("rs429358", IdentifierKind::Code),
            ("crates/ctx-types/src/lib.rs", IdentifierKind::Path),
            ("/etc/hosts", IdentifierKind::Path),
            ("https://kb.example.org/cables", IdentifierKind::Url),
            ("core.util", IdentifierKind::Dotted),
            ("std::collections::BTreeMap", IdentifierKind::Dotted),
            ("snake_case", IdentifierKind::Snake),
            ("MAX_SIZE", IdentifierKind::Snake),
            ("camelCase", IdentifierKind::Camel),
        ];
        for (text, expected) in cases {
            assert_eq!(kind(text), Some(expected), "{text}");
            assert_eq!(identifiers(text)[0].text, text);
        }
    }

    #[test]
    fn prose_holds_no_identifiers() {
        for text in [
            "The planner decides, e.g. within 12.5 ms, which well-known sources and/or files to read.",
            "In 2024 the U.S. spent 50% more; see page 123: note",
            "mRNA, DNA and iPhone",
            "用存储 正式版本 🚀",
            "0-dimensional biomaterials, 1-1% of patients",
            "... --- /// ___ ::: <<< ''",
        ] {
            assert_eq!(normals(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn spellings_of_one_identifier_share_a_normal_form() {
        assert_eq!(normals("SKU-73105: brass hinge"), ["sku-73105"]);
        assert_eq!(normals("SKU 73105 material"), ["sku-73105"]);
        assert_eq!(normals("SKU\u{2011}73105"), ["sku-73105"]);
        assert_eq!(normals("用SKU_73105存储"), ["sku-73105"]);
        assert_eq!(normals("std::vec"), ["std.vec"]);
        assert_eq!(normals("V1.2.3 and 1.2.3."), ["1.2.3", "1.2.3"]);
        assert_eq!(normals("(src/lib.rs:42)"), ["src/lib.rs", "lib.rs"]);
    }

    #[test]
    fn a_question_may_spell_a_code_as_two_lower_case_words() {
        let found: Vec<String> = query_identifiers("what is sku 73105?").into_iter().map(|found| found.normal).collect();
        assert_eq!(found, ["sku-73105"]);
        assert_eq!(normals("what is sku 73105?"), [""; 0]);
        for text in ["the proxy returns 502", "since 2019", "status 404 on page 1200", "more than 5000 rows"] {
            assert_eq!(query_identifiers(text), [], "{text}");
        }
    }

    #[test]
    fn ranges_point_at_the_text() {
        let text = "see `core.util`, „ORD-204417“ und «E0502».";
        for identifier in identifiers(text) {
            assert_eq!(&text[identifier.range.clone()], identifier.text);
        }
        assert_eq!(normals(text), ["core.util", "ord-204417", "e0502"]);
    }

    #[test]
    fn encoded_data_is_not_a_name() {
        assert_eq!(normals(&"Ab9/".repeat(20_000)), [""; 0]);
        assert_eq!(normals(&"a.".repeat(20_000)), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC*|[a-zA-Z0-9_./:~+\\\\ -]{0,80}|[‐–−a0. ]{0,40}") {
            for identifier in query_identifiers(&text) {
                proptest::prop_assert_eq!(&text[identifier.range.clone()], identifier.text);
                proptest::prop_assert!(!identifier.normal.is_empty());
            }
        }
    }
}
