//! Sensitive values by a real Presidio analyzer. `.ci/presidio` starts one and sets `CTXRT_PRESIDIO`.
#![cfg(feature = "real-presidio")]

use ctx_contracts::Policy;
use ctx_policy::{BuiltinRules, HousePolicy, Presidio};
use ctx_tests::{both, command};
use std::fs;

fn url() -> String {
    std::env::var("CTXRT_PRESIDIO").expect("CTXRT_PRESIDIO names the server: run .ci/presidio")
}

#[tokio::test]
async fn names_are_found_where_they_stand_and_structured_values_too() {
    let policy = HousePolicy::new(BuiltinRules::default()).with_presidio(Presidio::new(&url()).expect("a client"));
    let text = "Zoë — please call John Smith at +1 425 882 8080 about password=hunter2";
    let spans = policy.scan(text).await.expect("the analyzer answers");
    let found = |detector: &str| {
        spans.iter().filter(|span| span.detector == detector).map(|span| &text[span.start as usize..span.end as usize]).collect::<Vec<_>>()
    };
    assert!(found("person").contains(&"John Smith"), "{spans:?}");
    assert!(found("phone").iter().any(|phone| phone.ends_with("425 882 8080")), "{spans:?}");
    assert_eq!(found("secret"), ["hunter2"]);
}

#[test]
fn a_configured_label_for_names_raises_the_goal() {
    let (files, store) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    fs::create_dir(files.path().join("docs")).expect("made");
    fs::write(files.path().join("docs/a.md"), "# Orders\n\nOrders ship within two days.\n").expect("written");
    let tier = "{name: hosted, base_url: \"https://models.example.org/v1\", model: m, accepts: internal}";
    let policy = format!("policy: {{pii: presidio, url: \"{}\", labels: {{person: confidential}}}}", url());
    let config = format!("models: {{tiers: [{tier}]}}\nsources: {{docs: {{path: ./docs}}}}\n{policy}\n");
    fs::write(files.path().join("ctxrt.yaml"), config).expect("written");
    let explained = |goal: &str| both(&command(files.path(), store.path()).args(["explain", goal, "--verbose"]).output().expect("started"));
    let named = explained("When does the order of John Smith ship?");
    assert!(named.contains("denied by accepts") && named.contains("the data is confidential"), "{named}");
    let plain = explained("When do orders ship?");
    assert!(!plain.contains("denied by accepts"), "{plain}");
}
