//! Every `lib.rs` and `main.rs` says first what the crate is.

use super::{TextFile, Violation};

/// The first line is a `//!` comment with words in it.
pub(super) fn check(files: &[TextFile]) -> Vec<Violation> {
    let head = |file: &&TextFile| file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs");
    let described =
        |file: &&TextFile| file.text.lines().next().and_then(|line| line.strip_prefix("//!")).is_some_and(|words| !words.trim().is_empty());
    files
        .iter()
        .filter(head)
        .filter(|file| !described(file))
        .map(|file| Violation::new(&file.path, "does not begin with `//!` and what the crate is"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_a_head_is_reported() {
        let file = |path: &str, text: &str| TextFile { path: path.into(), text: text.into() };
        let found = check(&[
            file("crates/a/src/lib.rs", "//! What a is.\n"),
            file("crates/a/src/other.rs", "fn f() {}\n"),
            file("crates/b/src/lib.rs", "use std::fmt;\n//! Too late.\n"),
            file("crates/c/src/main.rs", "//!\n"),
        ]);
        let places: Vec<_> = found.iter().map(|violation| violation.place.as_str()).collect();
        assert_eq!(places, ["crates/b/src/lib.rs", "crates/c/src/main.rs"]);
    }
}
