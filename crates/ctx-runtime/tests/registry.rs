//! The registry: duplicates, unknown names, and that nothing acts unless it is named.

use ctx_contracts::{Policy, Store};
use ctx_runtime::{Config, Contract, Registry, RegistryError};
use ctx_testkit::fakes::{FakePolicy, FakeStore};
use std::sync::Arc;

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.store("duckdb", "embedded", |_| Ok(Arc::new(FakeStore::default()) as Arc<dyn Store>)).expect("first");
    registry.policy("builtin", "embedded", |_| Ok(Arc::new(FakePolicy::default()) as Arc<dyn Policy>)).expect("first");
    registry
}

#[test]
fn a_duplicate_names_both() {
    let error = registry().store("duckdb", "my service", |_| Ok(Arc::new(FakeStore::default()) as Arc<dyn Store>)).err();
    let text = error.expect("a duplicate").to_string();
    assert!(text.contains("embedded") && text.contains("my service") && text.contains("duckdb"), "{text}");
}

#[test]
fn unknown_names_are_all_reported_with_place_known_names_and_advice() {
    let yaml = "runtime:\n  plugins: {model: litellm, store: pgvector, policy: opa, retriever: redevops_rag}\nmodels:\n  tiers: [{name: cheap, provider: deepseek}]\n";
    let config = Config::from_yaml("c.yaml", yaml, &[]).expect("names are the registry's matter").config;
    let Err(RegistryError::Unknown(problems)) = registry().check(&config) else { panic!("strangers were accepted") };
    for (key, known, advice) in [
        ("runtime.plugins.model", "none", "openai_compatible"),
        ("runtime.plugins.store", "duckdb", "duckdb"),
        ("runtime.plugins.policy", "builtin", "builtin"),
        ("runtime.plugins.retriever", "none", "local"),
        ("models.tiers[0].provider", "none", "openai_compatible"),
    ] {
        let problem = problems.iter().find(|p| p.key == key).unwrap_or_else(|| panic!("{key} raised nothing: {problems:#?}"));
        assert!(problem.place.starts_with("c.yaml:") && problem.cause.contains(known), "{problem}");
        assert!(problem.hint.as_deref().is_some_and(|hint| hint.contains(advice)), "{problem}");
    }
}

#[test]
fn defaults_act_only_where_the_configuration_is_silent() {
    let mut registry = registry();
    registry.default_names(Contract::Verifier, &["missing"]);
    let silent = Config::default();
    assert!(matches!(registry.check(&silent), Err(RegistryError::Unknown(p)) if p.iter().any(|p| p.cause.contains("missing"))));
    let mut spoken = Config::default();
    spoken.runtime.plugins.verifiers = Some(Vec::new());
    spoken.runtime.plugins.retriever = Vec::new();
    registry.check(&spoken).expect("nothing unknown is named");
}
