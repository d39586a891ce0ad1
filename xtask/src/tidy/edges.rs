//! Which crate may depend on which. A new arrow is argued in the commit that adds it here.

use super::Violation;
use crate::workspace::Workspace;

/// Crate and the workspace crates it may name. Stages of planning know the nouns and never each other; `ctx-planner`
/// lines them up; plugins know contracts; `ctx-embedded` puts plugins together; binaries know everything they wire.
const ALLOWED: &[(&str, &[&str])] = &[
    ("ctx-types", &[]),
    ("ctx-graph", &["ctx-types"]),
    ("ctx-contracts", &["ctx-types", "ctx-graph"]),
    ("ctx-intent", &["ctx-types"]),
    ("ctx-candidates", &["ctx-types"]),
    ("ctx-cost", &["ctx-types"]),
    ("ctx-optimizer", &["ctx-types"]),
    ("ctx-simulate", &["ctx-types", "ctx-graph"]),
    ("ctx-scheduler", &["ctx-types", "ctx-graph"]),
    ("ctx-planner", &["ctx-types", "ctx-graph", "ctx-intent", "ctx-candidates", "ctx-cost", "ctx-optimizer", "ctx-scheduler"]),
    ("ctx-plan-cache", &["ctx-types"]),
    // Outcomes in, estimates out: it knows texts and numbers, no plan.
    ("ctx-learn", &[]),
    ("ctx-explain", &["ctx-types", "ctx-graph", "ctx-scheduler"]),
    ("ctx-sql", &["ctx-types"]),
    (
        "ctx-runtime",
        &[
            "ctx-types",
            "ctx-graph",
            "ctx-contracts",
            "ctx-planner",
            "ctx-intent",
            "ctx-candidates",
            "ctx-cost",
            "ctx-optimizer",
            "ctx-scheduler",
            "ctx-simulate",
            "ctx-plan-cache",
            "ctx-explain",
            // Draws among plans, and evaluates such draws.
            "ctx-learn",
            // Sessions execute statements.
            "ctx-sql",
        ],
    ),
    ("ctx-ingest", &["ctx-types"]),
    ("ctx-store", &["ctx-types"]),
    ("ctx-embed", &[]),
    // Sentences are compared in meaning, too.
    ("ctx-local", &["ctx-types", "ctx-contracts", "ctx-embed"]),
    ("ctx-tables", &[]),
    ("ctx-duckdb", &["ctx-types", "ctx-tables"]),
    // Identifiers are recognised by one piece of code, in goals and in text.
    ("ctx-tantivy", &["ctx-types", "ctx-intent"]),
    ("ctx-http-model", &["ctx-types", "ctx-contracts"]),
    // The built-in detectors of sensitive values look on beside a server.
    ("ctx-policy", &["ctx-types", "ctx-contracts", "ctx-intent"]),
    (
        "ctx-embedded",
        &[
            "ctx-types",
            "ctx-contracts",
            "ctx-graph",
            "ctx-intent",
            "ctx-cost",
            "ctx-policy",
            "ctx-runtime",
            "ctx-ingest",
            "ctx-store",
            "ctx-embed",
            "ctx-local",
            "ctx-tables",
            "ctx-duckdb",
            "ctx-tantivy",
            "ctx-http-model",
        ],
    ),
    ("ctx-eval", &["ctx-types", "ctx-contracts", "ctx-cost", "ctx-graph", "ctx-learn", "ctx-runtime", "ctx-embedded"]),
    (
        "ctx-testkit",
        &[
            "ctx-types",
            "ctx-graph",
            "ctx-contracts",
            "ctx-intent",
            "ctx-candidates",
            "ctx-cost",
            "ctx-optimizer",
            "ctx-planner",
            "ctx-scheduler",
            "ctx-plan-cache",
            "ctx-explain",
            "ctx-simulate",
        ],
    ),
    ("ctx-cli", &["ctx-types", "ctx-contracts", "ctx-runtime", "ctx-explain", "ctx-sql", "ctx-embedded", "ctx-eval"]),
    ("xtask", &[]),
];

/// Packages of tests, benchmarks and examples: nothing depends on them, they may depend on anything.
const LEAVES: [&str; 3] = ["ctx-tests", "ctx-benchmarks", "ctx-examples"];

/// Every edge is in the table and every crate has its line.
pub(super) fn check(workspace: &Workspace) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (name, package) in &workspace.packages {
        if LEAVES.contains(&name.as_str()) {
            continue;
        }
        let Some((_, allowed)) = ALLOWED.iter().find(|(crate_name, _)| crate_name == name) else {
            violations.push(Violation::new(name, "has no line in the table of edges (xtask/src/tidy/edges.rs)"));
            continue;
        };
        for edge in package.edges.iter().filter(|edge| !allowed.contains(&edge.as_str())) {
            violations.push(Violation::new(name, format!("may not depend on {edge} (xtask/src/tidy/edges.rs)")));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Package;

    #[test]
    fn a_stage_that_knows_another_stage_is_reported() {
        let mut workspace = Workspace::default();
        let package = |edges: &[&str]| Package { edges: edges.iter().map(|e| (*e).to_owned()).collect(), ..Package::default() };
        workspace.packages.insert("ctx-candidates".into(), package(&["ctx-types"]));
        workspace.packages.insert("ctx-tests".into(), package(&["ctx-planner"]));
        assert_eq!(check(&workspace), []);
        workspace.packages.insert("ctx-candidates".into(), package(&["ctx-types", "ctx-cost"]));
        workspace.packages.insert("ctx-new".into(), package(&[]));
        let found = check(&workspace);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].problem.contains("ctx-cost") && found[1].place == "ctx-new");
    }

    #[test]
    fn the_table_has_no_cycle() {
        // Each crate's dependencies have shorter longest paths; a cycle would never settle.
        let mut depth = std::collections::BTreeMap::from_iter(ALLOWED.iter().map(|(name, _)| (*name, 0)));
        for _ in 0..=ALLOWED.len() {
            for (name, edges) in ALLOWED {
                let deepest = edges.iter().map(|edge| depth[edge] + 1).max().unwrap_or(0);
                depth.insert(name, deepest);
            }
        }
        assert!(depth.values().all(|depth| *depth < ALLOWED.len()), "{depth:?}");
    }
}
