//! From text to [`Config`]: parse, overlay the environment, read section by section, report everything at once.

use super::reader::{Findings, Section};
use super::{Config, ConfigError, Loaded, environment, sections, tree};

pub(super) fn load(file: &str, text: &str, variables: &[(String, String)]) -> Result<Loaded, ConfigError> {
    let mut root = tree::parse(file, text.trim_start_matches('\u{feff}')).map_err(|e| ConfigError::NotYaml {
        file: file.to_owned(),
        line: e.line,
        column: e.column,
        cause: e.cause,
    })?;
    let mut findings = Findings::default();
    environment::apply(&mut root, variables, &mut findings.problems, &mut findings.warnings);
    let mut config = read(root, &mut findings);
    config.places = std::mem::take(&mut findings.places);
    if findings.problems.is_empty() {
        Ok(Loaded { config, warnings: findings.warnings })
    } else {
        Err(ConfigError::Invalid { problems: findings.problems, warnings: findings.warnings })
    }
}

fn read(root: tree::Node, findings: &mut Findings) -> Config {
    let mut top = Section::open("", root, findings);
    let mut config = Config::default();
    sections::runtime(top.section("runtime", findings), &mut config.runtime, findings);
    config.models = sections::models(top.section("models", findings), findings);
    sections::budgets(top.section("budgets", findings), &mut config.budgets, findings);
    sections::costmodel(top.section("costmodel", findings), &mut config.costmodel, findings);
    sections::learning(top.section("learning", findings), &mut config.learning, findings);
    sections::retrieval(top.section("retrieval", findings), &mut config.retrieval, findings);
    sections::verification(top.section("verification", findings), &mut config.verification, findings);
    sections::policy(top.section("policy", findings), &mut config.policy, findings);
    sections::observability(top.section("observability", findings), &mut config.observability, findings);
    config.sources = sections::sources(top.section("sources", findings), findings);
    config.tenant_budgets = sections::tenant_budgets(top.section("tenant_budgets", findings), findings);
    top.finish(findings);
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_types::{Micros, NanoUsd, PicoUsd, Ppm, Sensitivity, SourceName, Tokens};

    fn problems(text: &str) -> Vec<String> {
        match load("c.yaml", text, &[]) {
            Err(ConfigError::Invalid { problems, .. }) => problems.iter().map(ToString::to_string).collect(),
            Err(other) => vec![other.to_string()],
            Ok(_) => Vec::new(),
        }
    }

    const REFERENCE: &str = r#"
runtime:
  plugins: {model: openai_compatible, store: duckdb, retriever: local, knowledge: local, router: tiers, policy: builtin}
  plan_cache: {enabled: true, ttl_seconds: 60, match: exact}
  durability: sync
models:
  tiers:
    - {name: local, base_url: "http://localhost:11434/v1/", model: qwen, local: true, accepts: restricted, good_for: [draft, classify]}
    - {name: paid, base_url: "https://api.example.org/v1", model: big, api_key_env: BIG_KEY, price: {input: 2.5, output: 10}}
budgets: {max_tokens: 1e6, max_cost_usd: 0.25, max_latency_seconds: 30, max_calls: 3, max_tool_calls: 2, uncertain_latency: refuse}
tenant_budgets: {acme: {max_cost_usd: 2, max_tokens: 1e6, per: day}, "x y": {max_tokens: 5, per: hour}}
costmodel: {estimator: prior, weights: {acc: 2.0, cost: 0.6}}
learning: {explore: 0.1, within: 0.03, floor: 0.005, shadow: true}
retrieval: {default_strategy: hybrid, top_k: 50, final_k: 8, reranker: none}
verification: {default: false, high_risk_requires_human: true}
policy: {engine: builtin, pii: builtin}
observability: {traces: true}
sources:
  docs: {path: ./docs, sensitivity: confidential, refresh: {interval: 5}, auto_label: raise, readable_by: [ops]}
  logs: {kind: logs, path: ./app.log, refresh: always}
"#;

    #[test]
    fn every_key_of_the_reference_is_applied() {
        let config = load("c.yaml", REFERENCE, &[]).expect("valid").config;
        assert_eq!(config.budgets.max_tokens, Some(Tokens(1_000_000)));
        assert_eq!(config.budgets.max_cost, Some(NanoUsd(250_000_000)));
        assert_eq!(config.budgets.max_latency, Some(Micros(30_000_000)));
        assert_eq!((config.budgets.max_calls, config.budgets.max_tool_calls), (Some(3), Some(2)));
        let acme = super::super::TenantBudget {
            max_cost: Some(NanoUsd(2_000_000_000)),
            max_tokens: Some(Tokens(1_000_000)),
            per: super::super::Per::Day,
        };
        assert_eq!((config.tenant_budgets["acme"], config.tenant_budgets.len()), (acme, 2));
        assert_eq!(config.models[0].base_url.as_deref(), Some("http://localhost:11434/v1"));
        assert_eq!(config.models[1].price.as_ref().and_then(|p| p.input), Some(PicoUsd(2_500_000)));
        assert_eq!(config.costmodel.weights.acc, 2_000_000);
        assert_eq!(config.costmodel.estimator, super::super::EstimatorName::Prior);
        let learning = super::super::LearningConfig { explore: Ppm(100_000), within: Ppm(30_000), floor: Ppm(5_000), shadow: true };
        assert_eq!(config.learning, learning);
        assert_eq!(config.retrieval.final_k, Some(8));
        assert!(!config.verification.default && config.verification.high_risk_requires_human);
        let docs = &config.sources[&SourceName::new("docs").expect("valid")];
        assert_eq!((docs.sensitivity, docs.refresh), (Sensitivity::Confidential, Some(super::super::Refresh::Interval(5))));
    }

    #[test]
    fn the_configuration_of_the_seed_document_gets_advice_value_by_value() {
        let seed = r#"
runtime:
  plugins: {model: litellm, store: duckdb, retriever: redevops_rag, knowledge: mem0, router: native_tiers, policy: opa}
  plan_cache: {enabled: true, ttl_seconds: 3600, match: semantic}
models:
  tiers:
    - {name: local, base_url: http://localhost:11434/v1, model: qwen, good_for: [draft, classify]}
    - {name: cheap, provider: deepseek, good_for: [synthesis, code]}
    - {name: premium, provider: anthropic, model: claude-opus, good_for: [verify, hard]}
budgets: {max_tokens: 120000, max_cost_usd: 5.00, max_latency_seconds: 120}
costmodel: {estimator: heuristic, weights: {acc: 1.0, cost: 0.6, lat: 0.3, risk: 0.8, hall: 0.9, loss: 0.4, cache: 0.2, vrf: 0.5}}
retrieval: {default_strategy: hybrid, top_k: 50, final_k: 8, reranker: bge-reranker-v2-m3}
verification: {default: true, high_risk_requires_human: true}
policy: {engine: opa, file: policies.rego, pii: presidio}
observability: {exporter: openllmetry, sink: langfuse, traces: true}
"#;
        let found = problems(seed);
        for value in
            ["plugins.knowledge", "plugins.router", "costmodel.estimator", "policy.url", "observability.exporter", "observability.sink"]
        {
            let line = found.iter().find(|p| p.contains(value)).unwrap_or_else(|| panic!("{value} raised nothing in {found:#?}"));
            assert!(line.contains("c.yaml:") && line.ends_with(')'), "no place or no advice: {line}");
        }
        assert!(!found.iter().any(|p| p.contains("plugins.store") || p.contains("budgets")), "{found:#?}");
    }

    #[test]
    fn a_limit_that_cannot_be_counted_is_no_missing_limit() {
        for text in [
            "budgets: {max_latency_seconds: 1e18}\n",
            "budgets: {max_cost_usd: 1e18}\n",
            "costmodel: {weights: {latency_scale_seconds: 1e18}}\n",
        ] {
            assert!(problems(text).iter().any(|p| p.contains("more than can be counted")), "{text}: {:?}", problems(text));
        }
    }

    #[test]
    fn type_errors_name_key_type_and_place() {
        let found = problems("budgets: {max_latency_seconds: 90s, max_tokens: 1.5, max_cost_usd: -1}\nonoff: no\nbudgetz: {}\n");
        assert_eq!(found.len(), 5, "{found:#?}");
        assert!(
            found[0].starts_with("c.yaml:1:")
                && found.iter().any(|p| p.contains("max_latency_seconds") && p.contains("\"90s\"") && p.contains("seconds"))
        );
        assert!(found.iter().any(|p| p.contains("budgetz") && p.contains("\"budgets\"")), "{found:#?}");
        assert!(found.iter().any(|p| p.contains("onoff") && p.contains("unknown key")));
    }

    #[test]
    fn tiers_are_unique_and_secrets_are_not_echoed() {
        let found = problems("models:\n  tiers:\n  - {name: local, base_url: 'http://a/v1/'}\n  - {name: local, base_url: 'http://b'}\n");
        assert!(
            found.len() == 1 && found[0].contains("c.yaml:4:") && found[0].contains("local") && found[0].contains("c.yaml:3:"),
            "{found:#?}"
        );
        let found = problems("models: {tiers: [{name: x, base_url: 'http://a', api_key: sk-very-secret, api_key_env: sk-also-secret}]}\n");
        let all = found.join("\n");
        assert!(all.contains("api_key_env") && !all.contains("secret"), "{all}");
    }

    #[test]
    fn the_environment_overrides_and_strangers_are_named_without_values() {
        let env = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Vec<_>>();
        let variables = env(&[
            ("CTXRT_BUDGETS__MAX_COST_USD", "0.5"),
            ("CTXRT_BUDGETS_MAXCOST", "tiny"),
            ("CTX_BUDGETS_MAXCOST", "1"),
            ("CTXRT_STORE", "/x"),
            ("HOME", "/root"),
        ]);
        let loaded = load("c.yaml", "budgets: {max_cost_usd: 2}\n", &variables).expect("valid");
        assert_eq!(loaded.config.budgets.max_cost, Some(NanoUsd(500_000_000)));
        assert_eq!(loaded.warnings.len(), 2, "{:?}", loaded.warnings);
        assert!(loaded.warnings.iter().all(|w| w.0.contains("MAXCOST") && !w.0.contains("tiny")));
        let error = load("c.yaml", "", &env(&[("CTXRT_BUDGETS__MAX_COST_USD", "abc-secret")])).expect_err("not a number");
        let text = error.to_string();
        assert!(text.contains("CTXRT_BUDGETS__MAX_COST_USD") && text.contains("budgets.max_cost_usd") && !text.contains("abc"), "{text}");
    }

    #[test]
    fn a_ceiling_can_be_switched_off() {
        let loaded = load("c.yaml", "budgets: {max_cost_usd: none}\n", &[]).expect("valid");
        assert_eq!(loaded.config.budgets.max_cost, None);
        assert_eq!(
            load("c.yaml", "budgets: {max_cost_usd: null}\n", &[]).expect("valid").config.budgets.max_cost,
            Some(NanoUsd(5_000_000_000))
        );
    }

    #[test]
    fn requests_carry_what_a_server_wants_to_be_told_and_nothing_that_is_ours() {
        let tier = |request: &str| format!("models: {{tiers: [{{name: x, base_url: 'http://a', request: {request}}}]}}\n");
        let loaded = load("c.yaml", &tier("{options: {num_ctx: 32768, stop: [a, 1.5, true]}, keep_alive: 5m}"), &[]).expect("valid");
        let told = &loaded.config.models[0];
        assert_eq!(told.requested_window(), Some(Tokens(32_768)));
        assert_eq!(
            serde_json::Value::from(told.request.clone()).to_string(),
            r#"{"keep_alive":"5m","options":{"num_ctx":32768,"stop":["a",1.5,true]}}"#
        );
        for own in ["model", "messages", "max_tokens", "stream", "n"] {
            let found = problems(&tier(&format!("{{{own}: 1}}")));
            assert!(found.len() == 1 && found[0].contains(&format!("request.{own}")), "{found:#?}");
        }
        assert!(problems(&tier("[1]"))[0].contains("expected a map"));
    }

    #[test]
    fn source_names_are_names() {
        let found = problems("sources: {../etc: {path: /etc}, docs: {sensitivity: secret}, web: {path: 'https://example.org'}}\n");
        assert!(found.iter().any(|p| p.contains("sources.../etc")) && found.iter().any(|p| p.contains("sources.docs.path")), "{found:#?}");
        assert!(found.iter().any(|p| p.contains("public, internal, confidential, restricted")), "{found:#?}");
    }
}
