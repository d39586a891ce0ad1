//! A goal answered by a real OpenAI-compatible server. Asserts on content and usage, never on time. `.ci/real-server` starts
//! the server and sets `CTXRT_REAL_SERVER`.
#![cfg(feature = "real-server")]

use ctx_tests::{both, command, json};
use std::fs;

fn configured(extra: &str) -> (tempfile::TempDir, tempfile::TempDir) {
    let url = std::env::var("CTXRT_REAL_SERVER").expect("CTXRT_REAL_SERVER names the server: run .ci/real-server");
    let (files, store) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::create_dir(files.path().join("docs")).expect("made");
    fs::write(files.path().join("docs/limits.md"), "# Limits\n\nThe retention limit for logs is 25 days.\n").expect("written");
    fs::write(files.path().join("docs/ponds.md"), "# Ponds\n\nPonds are wet and birds like them.\n").expect("written");
    let config = format!(
        "models:\n  tiers:\n    - {{name: local, base_url: \"{url}/\", model: smollm2-135m, max_output_tokens: 64}}\nsources:\n  docs: {{path: ./docs}}\n{extra}"
    );
    fs::write(files.path().join("ctxrt.yaml"), config).expect("written");
    (files, store)
}

#[test]
fn a_real_model_answers_is_metered_and_is_checked() {
    let (files, store) = configured("");
    let output = command(files.path(), store.path())
        .args(["run", "What is the retention limit for logs?", "--force", "single_shot", "--json"])
        .output()
        .expect("started");
    let outcome = json(&output);
    // A model of this size may well fail the check: then the run says so, and never gives the answer anyway.
    let status = outcome["status"].as_str().unwrap_or_default().to_owned();
    assert!(["completed", "verification_failed", "abstained"].contains(&status.as_str()), "{}", both(&output));
    assert!(status == "completed" || outcome["answer"] == "", "an answer that failed its check was given: {}", both(&output));
    let spend = &outcome["spend"];
    assert!(spend["calls"].as_u64() >= Some(1), "{}", both(&output));
    assert!(spend["tokens"]["output"].as_u64() >= Some(1) && spend["tokens"]["input"].as_u64() >= Some(20), "{}", both(&output));
    assert_eq!(spend["cost"], 0, "a local model is free");
}

#[test]
fn the_call_limit_of_zero_leaves_the_answer_to_quoting() {
    let (files, store) = configured("budgets: {max_calls: 0}\n");
    let output =
        command(files.path(), store.path()).args(["run", "What is the retention limit for logs?", "--json"]).output().expect("started");
    let outcome = json(&output);
    assert_eq!(outcome["spend"]["calls"], 0, "{}", both(&output));
    assert!(outcome["answer"].as_str().unwrap_or_default().contains("25 days"), "{}", both(&output));
}
