//! Planner crates build without a database, an HTTP client or an async runtime, however far down.

use super::{PLANNER, Violation};
use crate::workspace::Workspace;

/// Packages that must not be reached, and why. A trailing `*` means any ending.
const BANNED: [(&str, &str); 10] = [
    ("duckdb", "the planner knows no database"),
    ("libduckdb-sys", "the planner knows no database"),
    ("rusqlite", "the planner knows no database"),
    ("tantivy*", "the planner knows no index"),
    ("reqwest", "the planner knows no HTTP client"),
    ("hyper*", "the planner knows no HTTP client"),
    ("tokio*", "the planner is synchronous"),
    ("async-trait", "the planner is synchronous"),
    ("ctx-contracts", "the planner calls no trait object: plugins are described before planning and called after it"),
    ("ctx-store", "the planner reads no file"),
];

/// No planner crate reaches a banned package.
pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, package) in workspace.packages.iter().filter(|(name, _)| PLANNER.contains(&name.as_str())) {
        for (banned, why) in BANNED {
            if let Some(reached) = package.closure.iter().find(|reached| matches(banned, reached)) {
                violations.push(Violation::new(name, format!("reaches {reached}: {why} (`cargo tree -p {name} -i {reached}`)")));
            }
        }
    }
    violations
}

fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    #[test]
    fn a_planner_crate_that_reaches_a_runtime_is_reported_and_others_may() {
        let package = |names: &[&str]| Package { closure: names.iter().map(|n| (*n).to_owned()).collect(), ..Package::default() };
        let mut workspace = Workspace::default();
        workspace.packages.insert("ctx-planner".into(), package(&["serde", "duckling"]));
        workspace.packages.insert("ctx-runtime".into(), package(&["tokio", "async-trait"]));
        assert_eq!(check(&workspace), []);
        workspace.packages.insert("ctx-cost".into(), package(&["tokio-util", "serde"]));
        let found = check(&workspace);
        assert!(found.len() == 1 && found[0].place == "ctx-cost" && found[0].problem.contains("tokio-util"), "{found:?}");
    }
}
