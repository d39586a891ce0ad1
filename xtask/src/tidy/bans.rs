//! What planner crates must not name: clocks, threads, files, the environment, unordered maps, and floating-point
//! functions whose last bit differs by platform. Comments, texts and test modules are free.

use super::{PLANNER, TextFile, Violation, crate_of};

/// A name and what to write instead. Names of letters match whole words.
const BANNED: [(&str, &str); 12] = [
    ("HashMap", "its order is random: use BTreeMap"),
    ("HashSet", "its order is random: use BTreeSet"),
    ("std::time", "the planner knows no clock: time is an argument"),
    ("Instant", "the planner knows no clock: time is an argument"),
    ("SystemTime", "the planner knows no clock: time is an argument"),
    ("std::env", "the planner knows no environment"),
    ("std::fs", "the planner does no I/O"),
    ("TcpStream", "the planner does no I/O"),
    ("UdpSocket", "the planner does no I/O"),
    ("std::thread", "the planner is single-threaded"),
    (".ln()", "differs by platform: use libm::log"),
    (".exp()", "differs by platform: use libm::exp"),
];

/// No planner crate's source names a banned thing.
pub(super) fn check(files: &[TextFile]) -> Vec<Violation> {
    let planner = |file: &&TextFile| file.path.ends_with(".rs") && crate_of(&file.path).is_some_and(|name| PLANNER.contains(&name));
    files.iter().filter(planner).flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (index, line) in product_lines(&file.text) {
        let code = code_of(line);
        for (banned, why) in BANNED.iter().filter(|(banned, _)| names(&code, banned)) {
            violations.push(Violation::new(format!("{}:{}", file.path, index + 1), format!("`{banned}`: {why}")));
        }
    }
    violations
}

/// Lines before the test module, which stands last by convention.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
}

/// The line without its comment and with empty text literals.
fn code_of(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let (mut in_text, mut escaped, mut previous) = (false, false, ' ');
    for c in line.chars() {
        if in_text {
            in_text = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if c == '/' && previous == '/' {
            break;
        }
        in_text = c == '"' && previous != '\'';
        code.push(c);
        previous = c;
    }
    code
}

fn names(code: &str, banned: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(banned).any(|(at, _)| {
        let before = code[..at].chars().next_back().is_some_and(is_word) && banned.starts_with(is_word);
        let after = code[at + banned.len()..].chars().next().is_some_and(is_word) && banned.ends_with(is_word);
        !before && !after
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&[TextFile { path: path.into(), text: text.into() }]).into_iter().map(|v| v.place).collect()
    }

    #[test]
    fn each_ban_is_noticed_in_planner_crates_only() {
        for (banned, _) in BANNED {
            let text = format!("//! Head.\nfn f() {{ x{banned}; let y = 1{banned}; use_of({banned}) }}\n");
            assert!(!found("crates/ctx-cost/src/deep/file.rs", &text).is_empty(), "{banned}");
            assert!(found("crates/ctx-runtime/src/lib.rs", &text).is_empty(), "{banned}");
            assert!(found("crates/ctx-cost/tests/t.rs", &text).is_empty(), "{banned}");
        }
    }

    #[test]
    fn words_comments_texts_and_tests_are_free() {
        let text = "// a HashMap\nlet s = \"std::fs \\\" HashMap\"; // Instant\nfn Instantiate() {}\nlet c = '\"'; /// .ln()\n#[cfg(test)]\nmod tests { use std::fs; }\n";
        assert_eq!(found("crates/ctx-types/src/lib.rs", text), Vec::<String>::new());
        assert_eq!(found("crates/ctx-types/src/lib.rs", "let c = '\"'; HashMap::new()\n"), ["crates/ctx-types/src/lib.rs:1"]);
    }
}
