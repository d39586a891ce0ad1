//! Typed mentions: identifiers, versions, paths, URLs, times, quantities, quotes; ordered by position, bounded in number.

use crate::identifiers::{Identifier, IdentifierKind, query_identifiers};
use crate::times::TimeMention;
use crate::words::{Word, read_ranges};
use ctx_types::intent::{Entity, EntityKind};
use std::ops::Range;

/// Most entities of one goal; what is pasted behind them is not what is asked.
pub(crate) const ENTITIES_MAX: usize = 256;
/// Longest quoted text.
const QUOTE_BYTES_MAX: usize = 400;

/// Extensions that make a dotted name a file.
const EXTENSIONS: &[&str] = &[
    "rs", "py", "js", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "rb", "php", "swift", "scala", "sh",
    "sql", "md", "rst", "txt", "html", "css", "csv", "tsv", "json", "jsonl", "yaml", "yml", "toml", "xml", "log", "ini", "cfg", "conf",
    "lock", "parquet", "pdf", "docx", "xlsx", "ipynb", "proto", "gz", "zip",
];

/// Every identifier-like name of the parts that are read.
pub(crate) fn names(text: &str) -> Vec<Identifier<'_>> {
    let mut found = Vec::new();
    for part in read_ranges(text) {
        for mut name in query_identifiers(&text[part.clone()]) {
            name.range = name.range.start + part.start..name.range.end + part.start;
            found.push(name);
        }
    }
    found.truncate(ENTITIES_MAX);
    found
}

/// All entities, by position.
pub(crate) fn entities(text: &str, words: &[Word], names: &[Identifier<'_>], times: &[TimeMention]) -> Vec<Entity> {
    let mut found: Vec<Entity> = names.iter().map(|name| entity(kind_of(name), name.text, name.normal.clone(), &name.range)).collect();
    found.extend(times.iter().map(|time| {
        let written = &text[time.range.clone()];
        entity(EntityKind::Time, written, written.to_lowercase(), &time.range)
    }));
    let taken: Vec<Range<usize>> = names.iter().map(|name| name.range.clone()).chain(times.iter().map(|time| time.range.clone())).collect();
    quantities(text, words, &taken, &mut found);
    quotes(text, &mut found);
    found.sort_by_key(|entity| (entity.start, entity.end, entity.kind));
    found.truncate(ENTITIES_MAX);
    found
}

fn entity(kind: EntityKind, text: &str, normal: String, range: &Range<usize>) -> Entity {
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Entity { kind, text: text.to_owned(), normal, start: offset(range.start), end: offset(range.end) }
}

fn kind_of(name: &Identifier<'_>) -> EntityKind {
    match name.kind {
        IdentifierKind::Version => EntityKind::Version,
        IdentifierKind::Path => EntityKind::Path,
        IdentifierKind::Url => EntityKind::Url,
        IdentifierKind::Dotted if is_file(name.text) => EntityKind::Path,
        _ => EntityKind::Identifier,
    }
}

/// Whether a dotted name ends as files do.
pub(crate) fn is_file(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}

/// Numbers with what they count: `5`, `1,200 ms`, `$3.50`, `12 %`.
fn quantities(text: &str, words: &[Word], taken: &[Range<usize>], found: &mut Vec<Entity>) {
    let mut from = 0;
    for (at, word) in words.iter().enumerate() {
        if word.range.start < from || !word.lower.as_bytes()[0].is_ascii_digit() || found.len() >= ENTITIES_MAX {
            continue;
        }
        if taken.iter().any(|range| range.start < word.range.end && word.range.start < range.end) {
            continue;
        }
        let range = quantity(text, words, at);
        let normal: String = text[range.clone()].to_lowercase().chars().filter(|c| !c.is_whitespace() && *c != ',').collect();
        from = range.end;
        found.push(entity(EntityKind::Quantity, &text[range.clone()], normal, &range));
    }
}

fn quantity(text: &str, words: &[Word], at: usize) -> Range<usize> {
    let mut end = words[at].range.end;
    let mut next = at + 1;
    while let Some(word) =
        words.get(next).filter(|word| matches!(&text[end..word.range.start], "," | ".") && word.lower.as_bytes()[0].is_ascii_digit())
    {
        end = word.range.end;
        next += 1;
    }
    if text[end..].starts_with('%') || text[end..].starts_with(" %") {
        end += text[end..].find('%').map_or(0, |offset| offset + 1);
    } else if let Some(unit) = words.get(next).filter(|unit| &text[end..unit.range.start] == " " && UNITS.contains(&unit.lower.as_str())) {
        end = unit.range.end;
    }
    let before = text[..words[at].range.start].chars().next_back().filter(|sign| matches!(sign, '$' | '€' | '£' | '¥' | '₽'));
    words[at].range.start - before.map_or(0, char::len_utf8)..end
}

const UNITS: &[&str] = &[
    "ms", "s", "sec", "seconds", "minutes", "hours", "days", "weeks", "years", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "bytes",
    "percent", "usd", "eur", "dollars", "euros", "tokens", "rows", "lines", "requests", "users", "km", "m", "kg", "g", "cm", "mm", "hz",
    "ghz", "cores",
];

/// Text between quotation marks of several traditions.
fn quotes(text: &str, found: &mut Vec<Entity>) {
    const PAIRS: [(char, char); 8] = [('"', '"'), ('`', '`'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』'), ('\'', '\'')];
    for part in read_ranges(text) {
        let mut rest = part.start;
        while let Some((open, offset)) =
            text[rest..part.end].char_indices().find_map(|(at, sign)| Some((PAIRS.iter().find(|pair| pair.0 == sign)?, at)))
        {
            let start = rest + offset + open.0.len_utf8();
            let bound = floor(text, part.end.min(start + QUOTE_BYTES_MAX));
            let apostrophe = open.0 == '\'' && text[..rest + offset].chars().next_back().is_some_and(char::is_alphanumeric);
            let close = if apostrophe { None } else { text[start..bound].find(open.1) };
            rest = match close.filter(|length| *length > 0) {
                Some(length) if found.len() < ENTITIES_MAX => {
                    let range = start..start + length;
                    found.push(entity(EntityKind::Quote, &text[range.clone()], text[range.clone()].to_lowercase(), &range));
                    range.end + open.1.len_utf8()
                }
                _ => start,
            };
        }
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::times;
    use crate::words::words;

    fn found(text: &str) -> Vec<(EntityKind, String)> {
        let words = words(text);
        let times = times(text, &words, "en");
        entities(text, &words, &names(text), &times).into_iter().map(|entity| (entity.kind, entity.text)).collect()
    }

    #[test]
    fn each_type_is_found_in_order() {
        use EntityKind::*;
        let text =
            "Since yesterday v1.2.3 of src/lib.rs fails with E0502 after 1,200 ms; see https://x.example/a and \"no route\" in helpers.rs";
        let expected = [
            (Time, "yesterday"),
            (Version, "v1.2.3"),
            (Path, "src/lib.rs"),
            (Path, "lib.rs"),
            (Identifier, "E0502"),
            (Quantity, "1,200 ms"),
            (Url, "https://x.example/a"),
            (Quote, "no route"),
            (Path, "helpers.rs"),
        ];
        assert_eq!(found(text), expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn apostrophes_are_not_quotes() {
        assert_eq!(found("don't say it's done"), []);
        assert_eq!(found("about $3.50 and 12 %").len(), 2);
    }
}
