//! Nothing in the repository names a folder of somebody's machine.

use super::{TextFile, Violation};

/// Beginnings of paths that exist on one machine only. Written in pieces, or this file would break its own rule.
const MACHINE_PATHS: [&str; 4] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

/// No text file holds an absolute path below those folders.
pub(super) fn check(files: &[TextFile]) -> Vec<Violation> {
    let lines = files.iter().flat_map(|file| file.text.lines().enumerate().map(move |(index, line)| (file, index, line)));
    lines
        .filter_map(|(file, index, line)| {
            let path = MACHINE_PATHS.iter().find(|path| begins_a_path(line, path))?;
            Some(Violation::new(format!("{}:{}", file.path, index + 1), format!("names a folder of one machine ({path}…)")))
        })
        .collect()
}

/// Whether `path` stands where a path begins: `docs/home/` and `example.org/home/` are somebody else's.
fn begins_a_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        !line[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '}' | ')' | '>' | '~' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_path_is_reported_and_a_relative_one_is_not() {
        let file = |text: String| TextFile { path: "a.md".into(), text };
        for path in MACHINE_PATHS {
            assert_eq!(check(&[file(format!("see\n`{path}x`"))])[0].place, "a.md:2");
            assert_eq!(check(&[file(format!("docs{path}x https://example.org{path} {{dir}}{path}"))]), []);
        }
    }
}
