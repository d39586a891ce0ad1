//! Parts of camelCase and PascalCase names.

/// A name is cut only if at least this many parts have three letters or more: `BTreeMap` is, `mRNA` and `iPhone` are not.
const SOLID_PARTS_MIN: usize = 2;

/// The parts of `word` if it reads as a camelCase name, else nothing.
pub(crate) fn parts(word: &str) -> impl Iterator<Item = &str> {
    let solid = is_mixed(word) && Parts { rest: word }.filter(|part| part.len() >= 3).count() >= SOLID_PARTS_MIN;
    Parts { rest: if solid { word } else { "" } }.filter(|part| part.len() >= 2)
}

fn is_mixed(word: &str) -> bool {
    let bytes = word.as_bytes();
    bytes.len() >= 6 && bytes[1..].iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase)
}

struct Parts<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (part, rest) = self.rest.split_at(boundary(self.rest.as_bytes()));
        self.rest = rest;
        Some(part)
    }
}

/// Where the first part ends: before an upper-case letter that follows a lower-case letter or digit (`camel|Case`), or
/// that starts a new word after capitals (`HTTP|Server`). Always at an ASCII letter, so always between characters.
fn boundary(bytes: &[u8]) -> usize {
    for at in 1..bytes.len() {
        let after_lower = !bytes[at - 1].is_ascii_uppercase();
        let before_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        if bytes[at].is_ascii_uppercase() && (after_lower || before_lower) {
            return at;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_and_abbreviations_are_not() {
        let cut = |word| parts(word).collect::<Vec<_>>();
        assert_eq!(cut("camelCase"), ["camel", "Case"]);
        assert_eq!(cut("HTTPServerError"), ["HTTP", "Server", "Error"]);
        assert_eq!(cut("BTreeMap"), ["Tree", "Map"]);
        for whole in ["mRNA", "iPhone", "PostgreSQL", "plain", "SHOUT", "", "éÉ", "McDonald"] {
            let expected: &[&str] = if whole == "PostgreSQL" { &["Postgre", "SQL"] } else { &[] };
            assert_eq!(cut(whole), expected, "{whole}");
        }
    }
}
