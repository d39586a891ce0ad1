//! Ten questions about this repository, answered from its own files: every citation opens at lines that hold its quotation,
//! and the answer names what it should.

use ctx_tests::{both, json, repository, run};
use serde_json::Value;

/// Question, and words of which the answer holds at least one.
const QUESTIONS: [(&str, &[&str]); 10] = [
    ("What does the regression guard compare?", &["likelihood", "new plan"]),
    ("What does cargo xtask tidy check?", &["tidy"]),
    ("Which crate links C++?", &["ctx-duckdb"]),
    ("How do I add an access path?", &["AccessPath", "variant", "access path"]),
    ("What is the execution graph?", &["graph", "boundary"]),
    ("Why are labels built once for all frames?", &["frame", "vector"]),
    ("Where are golden plans kept?", &["plans/"]),
    ("Which crates know no I/O, clock or thread?", &["clock"]),
    ("How are near-duplicates handled in packing?", &["cluster", "duplicate"]),
    ("Where are the JSON Schemas of persisted formats generated?", &["tests/schemas"]),
];

#[test]
fn ten_questions_are_answered_with_citations_that_open_at_the_right_lines() {
    let store = tempfile::tempdir().expect("a folder");
    let mut wrong = Vec::new();
    for (question, wanted) in QUESTIONS {
        let output = run(&repository(), store.path(), &["run", question, "--source", "docs=.", "--json"]);
        if output.status.code() != Some(0) {
            wrong.push(format!("{question}: {}", both(&output)));
            continue;
        }
        let outcome = json(&output);
        let answer = outcome["answer"].as_str().unwrap_or_default().to_owned();
        if !wanted.iter().any(|w| answer.to_lowercase().contains(&w.to_lowercase())) {
            wrong.push(format!("{question}: the answer holds none of {wanted:?}: {answer}"));
        }
        let citations = outcome["citations"].as_array().cloned().unwrap_or_default();
        if citations.is_empty() {
            wrong.push(format!("{question}: no citation"));
        }
        wrong.extend(citations.iter().filter_map(|c| misplaced(c).map(|why| format!("{question}: {why}"))));
    }
    assert!(wrong.is_empty(), "{} of ten:\n{}", wrong.len(), wrong.join("\n"));
}

/// Why a citation does not open at its quotation.
fn misplaced(citation: &Value) -> Option<String> {
    let locator = &citation["locator"];
    let path = repository().join(locator["path"].as_str()?);
    let text = std::fs::read_to_string(&path).ok()?;
    let line = |key: &str| usize::try_from(locator[key].as_u64().unwrap_or(0)).unwrap_or(0);
    let (first, last) = (line("line_start"), line("line_end"));
    let lines: Vec<&str> = text.lines().skip(first.saturating_sub(1)).take(last + 1 - first).collect();
    let quote = citation["quote"].as_str()?;
    let normal = |s: &str| s.split_whitespace().collect::<Vec<_>>().join(" ");
    (!normal(&lines.join("\n")).contains(&normal(quote))).then(|| format!("{}:{first}-{last} does not hold {quote:?}", path.display()))
}

#[test]
fn explaining_twice_gives_the_same_bytes_and_the_plan_that_runs() {
    let store = tempfile::tempdir().expect("a folder");
    let question = "How are near-duplicates handled in packing?";
    let index = run(&repository(), store.path(), &["index", "--source", "docs=."]);
    assert_eq!(index.status.code(), Some(0), "{}", both(&index));
    let explain = || run(&repository(), store.path(), &["explain", question, "--source", "docs=.", "--json"]);
    let (first, second) = (explain(), explain());
    assert_eq!(first.status.code(), Some(0), "{}", both(&first));
    let without_time = |output: &std::process::Output| {
        let mut value = json(output);
        value["summary"]["planning_us"].take();
        value.to_string()
    };
    assert_eq!(without_time(&first), without_time(&second));
    let ran = json(&run(&repository(), store.path(), &["run", question, "--source", "docs=.", "--json"]));
    assert_eq!(json(&first)["plan"]["id"], ran["plan"], "the plan that EXPLAIN shows is the plan that runs");
}
