//! ARCHITECTURE.md names every crate.

use super::Violation;
use crate::workspace::Workspace;

/// Each workspace package stands in the code map as `` `name` ``.
pub(super) fn check(workspace: &Workspace, architecture: &str) -> Vec<Violation> {
    if architecture.is_empty() {
        return vec![Violation::new("ARCHITECTURE.md", "is missing")];
    }
    let listed = |name: &str| architecture.contains(&format!("`{name}`"));
    // Tests, benchmarks and examples are known by their folders.
    let folder = |name: &str| {
        name.strip_prefix("ctx-")
            .is_some_and(|folder| ["tests", "benchmarks", "examples"].contains(&folder) && architecture.contains(&format!("`{folder}/`")))
    };
    workspace
        .packages
        .keys()
        .filter(|name| !listed(name) && !folder(name))
        .map(|name| Violation::new("ARCHITECTURE.md", format!("does not list `{name}`")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    #[test]
    fn an_unlisted_crate_is_reported() {
        let mut workspace = Workspace::default();
        for name in ["ctx-types", "ctx-secret", "ctx-tests"] {
            workspace.packages.insert(name.into(), Package::default());
        }
        let found = check(&workspace, "The nouns are in `ctx-types`, whole-system tests in `tests/`; ctx-secret is not in quotes.");
        assert_eq!(found, [Violation::new("ARCHITECTURE.md", "does not list `ctx-secret`")]);
        assert_eq!(check(&workspace, "").len(), 1);
    }
}
