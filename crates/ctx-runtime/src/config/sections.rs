//! One function per section of the file: which keys it has, of which type, within which bounds.

use super::reader::{Findings, Section, nearest};
use super::tree::{Node, Origin, Value};
use super::{
    AutoLabel, CostModelConfig, Durability, EstimatorName, LearningConfig, ObservabilityConfig, Per, PolicyConfig, Refresh,
    RetrievalConfig, RuntimeConfig, SOURCE_KINDS, SourceConfig, TenantBudget, Tier, TierPrice, VerificationConfig, advice,
};
use ctx_types::goal::UncertainLatency;
use ctx_types::{AccessPath, Constraints, Micros, ModelName, NanoUsd, PicoUsd, Ppm, Sensitivity, SourceName, Tokens};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One of a closed set of words.
fn choice<T: Copy>(section: &mut Section, key: &'static str, options: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    let (text, origin) = section.text(key, findings)?;
    let path = section.key(key);
    chosen(&path, &text, &origin, options, findings)
}

fn chosen<T: Copy>(path: &str, text: &str, origin: &Origin, options: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    if let Some((_, value)) = options.iter().find(|(name, _)| *name == text) {
        return Some(*value);
    }
    let names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
    // Advice is kept by key: the names of sources are no part of it.
    let key = if path.starts_with("sources.") && path.ends_with(".kind") { "sources.kind" } else { path };
    let hint = match (advice::instead(key, text), nearest(text, &names)) {
        (Some(advice), _) => Some(advice.to_owned()),
        (None, Some(near)) => Some(format!("did you mean {near}?")),
        (None, None) => None,
    };
    findings.problem(origin, path, format!("no such value; known: {}", names.join(", ")), hint);
    None
}

/// A key that this build does not have at all.
fn absent(section: &mut Section, key: &'static str, hint: &str, findings: &mut Findings) {
    if let Some(node) = section.take(key) {
        let path = section.key(key);
        let value = if let Value::Text(text) = &node.value { text.as_str() } else { "" };
        let advice = advice::instead(&path, value).unwrap_or(hint).to_owned();
        findings.problem(&node.origin, &path, "nothing in this build honours it", Some(advice));
    }
}

fn count(value: u64, path: &str, origin: &Origin, findings: &mut Findings) -> Option<u32> {
    let small = u32::try_from(value).ok();
    if small.is_none() {
        findings.problem(origin, path, "larger than any such count can be", None);
    }
    small
}

fn small(section: &mut Section, key: &'static str, unit: &str, findings: &mut Findings) -> Option<u32> {
    let origin = section.origin().clone();
    let path = section.key(key);
    let value = section.integer(key, unit, findings)?;
    count(value, &path, &origin, findings)
}

/// A count of at least one: none at all would read nothing and find nothing.
fn positive(section: &mut Section, key: &'static str, unit: &str, findings: &mut Findings) -> Option<u32> {
    let (origin, path) = (section.origin().clone(), section.key(key));
    let value = small(section, key, unit, findings)?;
    if value == 0 {
        findings.problem(&origin, &path, format!("expected one or more {unit}, found 0"), Some("leave it out for the default".to_owned()));
    }
    (value > 0).then_some(value)
}

pub(super) fn runtime(mut section: Section, config: &mut RuntimeConfig, findings: &mut Findings) {
    plugins(section.section("plugins", findings), config, findings);
    let mut cache = section.section("plan_cache", findings);
    config.plan_cache.enabled = cache.boolean("enabled", findings).unwrap_or(config.plan_cache.enabled);
    config.plan_cache.ttl_seconds = cache.integer("ttl_seconds", "seconds", findings).unwrap_or(config.plan_cache.ttl_seconds);
    config.plan_cache.max_bytes = cache.integer("max_bytes", "bytes", findings).unwrap_or(config.plan_cache.max_bytes);
    config.plan_cache.semantic_error = semantic(&mut cache, findings).unwrap_or(config.plan_cache.semantic_error);
    cache.finish(findings);
    let mut results = section.section("result_cache", findings);
    config.result_cache.enabled = results.boolean("enabled", findings).unwrap_or(config.result_cache.enabled);
    config.result_cache.ttl_seconds = results.integer("ttl_seconds", "seconds", findings).unwrap_or(config.result_cache.ttl_seconds);
    config.result_cache.max_bytes = results.integer("max_bytes", "bytes", findings).unwrap_or(config.result_cache.max_bytes);
    config.result_cache.semantic_error = semantic(&mut results, findings).unwrap_or(config.result_cache.semantic_error);
    if config.result_cache.semantic_error > Ppm(0) && !config.result_cache.enabled {
        let cause = "match: semantic serves nothing while the result cache is off";
        findings.problem(results.origin(), &results.key("match"), cause, Some("add enabled: true".to_owned()));
    }
    results.finish(findings);
    let durabilities = [("none", Durability::None), ("async", Durability::Async), ("sync", Durability::Sync)];
    config.durability = choice(&mut section, "durability", &durabilities, findings).unwrap_or(config.durability);
    section.finish(findings);
}

/// `match: semantic` takes a decision of a similar goal, or an answer to other words that ask the same, while at most this share of
/// them is wrong.
fn semantic(cache: &mut Section, findings: &mut Findings) -> Option<Ppm> {
    const DEFAULT: Ppm = Ppm(10_000);
    let matched = choice(cache, "match", &[("exact", false), ("semantic", true)], findings);
    let (origin, path) = (cache.origin().clone(), cache.key("semantic_error"));
    let share = cache.amount("semantic_error", "probability above 0, at most 0.2", findings);
    if let Some(wrong) = share.filter(|share| !(*share > 0.0 && *share <= 0.2)) {
        let cause = format!("expected a share of wrong matches above 0 and at most 0.2, found {wrong}");
        findings.problem(&origin, &path, cause, Some("for none at all write match: exact".to_owned()));
    }
    if share.is_some() && matched != Some(true) {
        findings.problem(&origin, &path, "a share of wrong matches belongs to match: semantic", Some("add match: semantic".to_owned()));
    }
    matched.map(|semantic| if semantic { share.map_or(DEFAULT, Ppm::from_share) } else { Ppm(0) })
}

fn plugins(mut section: Section, config: &mut RuntimeConfig, findings: &mut Findings) {
    let plugins = &mut config.plugins;
    for (key, slot) in [("model", &mut plugins.model), ("store", &mut plugins.store), ("policy", &mut plugins.policy)] {
        if let Some((name, origin)) = section.text(key, findings) {
            findings.places.insert(section.key(key), origin.to_string());
            *slot = name;
        }
    }
    if let Some(names) = named(&mut section, "retriever", findings) {
        plugins.retriever = names;
    }
    choice(&mut section, "knowledge", &[("local", ())], findings);
    choice(&mut section, "router", &[("tiers", ())], findings);
    plugins.reasoners = named(&mut section, "reasoners", findings);
    plugins.verifiers = named(&mut section, "verifiers", findings);
    section.finish(findings);
}

fn named(section: &mut Section, key: &'static str, findings: &mut Findings) -> Option<Vec<String>> {
    let names = section.texts(key, findings)?;
    if let Some((_, origin)) = names.first() {
        findings.places.insert(section.key(key), origin.to_string());
    }
    Some(names.into_iter().map(|(name, _)| name).collect())
}

pub(super) fn models(mut section: Section, findings: &mut Findings) -> Vec<Tier> {
    let mut tiers: Vec<(Tier, Origin)> = Vec::new();
    match section.take("tiers") {
        Some(Node { value: Value::List(items), .. }) => {
            for (at, item) in items.into_iter().enumerate() {
                let Some((tier, origin)) = tier(Section::open(&format!("models.tiers[{at}]"), item, findings), findings) else { continue };
                match tiers.iter().find(|(other, _)| other.name == tier.name) {
                    Some((_, first)) => {
                        let cause = format!("a tier named {} is already defined at {first}", tier.name);
                        findings.problem(&origin, "models.tiers", cause, Some("give each tier its own name".to_owned()));
                    }
                    None => tiers.push((tier, origin)),
                }
            }
        }
        Some(other) => {
            findings.problem(&other.origin, "models.tiers", format!("expected a list of tiers, found {}", other.value.kind()), None)
        }
        None => {}
    }
    section.finish(findings);
    tiers.into_iter().map(|(tier, _)| tier).collect()
}

fn tier(mut section: Section, findings: &mut Findings) -> Option<(Tier, Origin)> {
    let at = section.origin().clone();
    let name = section.text("name", findings);
    if name.is_none() {
        findings.problem(&at, &section.key("name"), "missing: every tier has a name", None);
    }
    let provider = section.text("provider", findings).map(|(text, origin)| {
        findings.places.insert(section.key("provider"), origin.to_string());
        text
    });
    let tier = Tier {
        name: name
            .and_then(|(text, origin)| {
                ModelName::new(text).map_err(|e| findings.problem(&origin, &section.key("name"), e.to_string(), None)).ok()
            })
            .unwrap_or_else(|| ModelName::new("unnamed").expect("letters are a name")),
        provider,
        base_url: section.text("base_url", findings).and_then(|(text, origin)| base_url(&section, &text, &origin, findings)),
        model: section.text("model", findings).map(|(text, _)| text),
        api_key_env: section.text("api_key_env", findings).and_then(|(text, origin)| variable(&section, text, &origin, findings)),
        local: section.boolean("local", findings),
        accepts: choice(&mut section, "accepts", SENSITIVITIES, findings),
        good_for: section.texts("good_for", findings).unwrap_or_default().into_iter().map(|(text, _)| text).collect(),
        context_window: section.integer("context_window", "tokens", findings).map(Tokens),
        max_output_tokens: section.integer("max_output_tokens", "tokens", findings).map(Tokens),
        price: section.take("price").map(|node| price(Section::open(&section.key("price"), node, findings), findings)),
        tokenizer: choice(&mut section, "tokenizer", &[("o200k", "o200k"), ("cl100k", "cl100k")], findings).map(str::to_owned),
        request: section.take("request").map(|node| request(&section.key("request"), node, findings)).unwrap_or_default(),
    };
    if let Some(node) = section.take("api_key") {
        let hint = "put the key into an environment variable and name it with api_key_env";
        findings.problem(&node.origin, &section.key("api_key"), "keys are never read from a file", Some(hint.to_owned()));
    }
    section.finish(findings);
    Some((tier, at))
}

/// Fields of a request that are not ours to leave to a file: prompts, limits and prices depend on them.
const OWN_FIELDS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "seed",
    "stream",
    "stream_options",
    "n",
    "query",
    "documents",
    "top_n",
];

fn request(path: &str, node: Node, findings: &mut Findings) -> serde_json::Map<String, serde_json::Value> {
    let mut fields = serde_json::Map::new();
    for (key, origin, value) in Section::open(path, node, findings).into_entries() {
        if OWN_FIELDS.contains(&key.as_str()) {
            let hint = "limits, prices and replays rest on this field; leave it out".to_owned();
            findings.problem(&origin, &format!("{path}.{key}"), "is set by the runtime", Some(hint));
        } else {
            fields.insert(key, value.into_json());
        }
    }
    fields
}

fn base_url(section: &Section, text: &str, origin: &Origin, findings: &mut Findings) -> Option<String> {
    address(&section.key("base_url"), text, origin, findings)
}

fn address(path: &str, text: &str, origin: &Origin, findings: &mut Findings) -> Option<String> {
    let trimmed = text.trim().trim_end_matches('/');
    let rest = trimmed.strip_prefix("http://").or_else(|| trimmed.strip_prefix("https://"));
    let problem = match rest {
        None | Some("") => "expected a URL that starts with http:// or https://",
        Some(rest) if rest.split('/').next().is_some_and(|host| host.contains('@')) => {
            "credentials do not belong into a URL; name a variable with api_key_env"
        }
        Some(_) => return Some(trimmed.to_owned()),
    };
    findings.problem(origin, path, problem, None);
    None
}

fn variable(section: &Section, text: String, origin: &Origin, findings: &mut Findings) -> Option<String> {
    let named =
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !text.starts_with(|c: char| c.is_ascii_digit());
    if !named {
        let hint = "write the variable's name, not the key itself".to_owned();
        findings.problem(origin, &section.key("api_key_env"), "expected the name of an environment variable", Some(hint));
    }
    named.then_some(text)
}

/// Dollars per million tokens are micro-dollars per token: × 10⁶ gives pico-dollars.
fn price(mut section: Section, findings: &mut Findings) -> TierPrice {
    let mut per_million =
        |key: &'static str| section.amount(key, "dollars per million tokens", findings).map(|usd| PicoUsd((usd * 1e6).round() as i64));
    let price = TierPrice {
        input: per_million("input"),
        cached_input: per_million("cached_input"),
        cache_write: per_million("cache_write"),
        output: per_million("output"),
    };
    section.finish(findings);
    price
}

pub(super) fn budgets(mut section: Section, config: &mut Constraints, findings: &mut Findings) {
    if let Some(tokens) = section.integer("max_tokens", "tokens", findings) {
        config.max_tokens = Some(Tokens(tokens));
    }
    // Without a ceiling models of unknown price may be called.
    config.max_cost = match section.is_none("max_cost_usd") {
        true => None,
        false => section.kept("max_cost_usd", "dollars", NanoUsd::from_usd, findings).or(config.max_cost),
    };
    config.max_latency = section.kept("max_latency_seconds", "seconds", Micros::from_seconds, findings).or(config.max_latency);
    config.max_calls = small(&mut section, "max_calls", "calls", findings).or(config.max_calls);
    config.max_tool_calls = small(&mut section, "max_tool_calls", "calls", findings).or(config.max_tool_calls);
    config.max_context_tokens = section.integer("max_context_tokens", "tokens", findings).map(Tokens);
    config.max_output_tokens = section.integer("max_output_tokens", "tokens", findings).map(Tokens);
    let origin = section.origin().clone();
    if let Some(share) = section.amount("min_accuracy", "probability between 0 and 1", findings) {
        if share > 1.0 {
            findings.problem(&origin, "budgets.min_accuracy", "a probability is at most 1", None);
        }
        config.min_accuracy = Some(Ppm::from_share(share));
    }
    if let Some(share) = section.amount("quantile", "probability between 0 and 1", findings) {
        if !(0.5..1.0).contains(&share) {
            findings.problem(&origin, "budgets.quantile", "a quantile that keeps limits is at least 0.5 and below 1", None);
        }
        config.quantile = Some(Ppm::from_share(share));
    }
    let latency = [("allow", UncertainLatency::Allow), ("refuse", UncertainLatency::Refuse)];
    config.uncertain_latency = choice(&mut section, "uncertain_latency", &latency, findings).unwrap_or(config.uncertain_latency);
    section.finish(findings);
}

/// A tenant without any limit is a mistake: its entry would look like one.
pub(super) fn tenant_budgets(section: Section, findings: &mut Findings) -> BTreeMap<String, TenantBudget> {
    let mut budgets = BTreeMap::new();
    for (tenant, origin, node) in section.into_entries() {
        let path = format!("tenant_budgets.{tenant}");
        let mut entry = Section::open(&path, node, findings);
        let max_cost = entry.kept("max_cost_usd", "dollars", NanoUsd::from_usd, findings);
        let max_tokens = entry.integer("max_tokens", "tokens", findings).map(Tokens);
        let per = choice(&mut entry, "per", &[("hour", Per::Hour), ("day", Per::Day)], findings);
        entry.finish(findings);
        match (per, max_cost.is_some() || max_tokens.is_some()) {
            (Some(per), true) => drop(budgets.insert(tenant, TenantBudget { max_cost, max_tokens, per })),
            (None, _) => findings.problem(&origin, &format!("{path}.per"), "missing: hour or day", None),
            (_, false) => findings.problem(&origin, &path, "holds no limit", Some("set max_cost_usd or max_tokens".to_owned())),
        }
    }
    budgets
}

pub(super) fn costmodel(mut section: Section, config: &mut CostModelConfig, findings: &mut Findings) {
    let estimators = [
        ("prior", EstimatorName::Prior),
        ("learned", EstimatorName::Learned),
        ("neural", EstimatorName::Neural),
        ("auto", EstimatorName::Auto),
    ];
    config.estimator = choice(&mut section, "estimator", &estimators, findings).unwrap_or(config.estimator);
    let mut weights = section.section("weights", findings);
    let w = &mut config.weights;
    let slots = [
        ("acc", &mut w.acc),
        ("cost", &mut w.cost),
        ("lat", &mut w.lat),
        ("risk", &mut w.risk),
        ("hall", &mut w.hall),
        ("loss", &mut w.loss),
        ("cache", &mut w.cache),
        ("vrf", &mut w.vrf),
    ];
    for (key, slot) in slots {
        if let Some(value) = weights.amount(key, "weight", findings) {
            *slot = (value.min(1e6) * 1e6).round() as i64;
        }
    }
    if let Some(scale) = weights.kept("cost_scale_usd", "dollars", NanoUsd::from_usd, findings).filter(|s| s.0 > 0) {
        w.cost_scale = scale;
    }
    if let Some(scale) = weights.kept("latency_scale_seconds", "seconds", Micros::from_seconds, findings).filter(|s| s.0 > 0) {
        w.latency_scale = scale;
    }
    weights.finish(findings);
    config.prices = section.text("prices", findings).map(|(path, _)| PathBuf::from(path));
    section.finish(findings);
}

pub(super) fn learning(mut section: Section, config: &mut LearningConfig, findings: &mut Findings) {
    let origin = section.origin().clone();
    for (key, slot) in [("explore", &mut config.explore), ("within", &mut config.within), ("floor", &mut config.floor)] {
        let Some(share) = section.amount(key, "share between 0 and 1", findings) else { continue };
        if share > 1.0 {
            findings.problem(&origin, &section.key(key), "a share is at most 1", None);
        }
        *slot = Ppm::from_share(share);
    }
    config.shadow = section.boolean("shadow", findings).unwrap_or(config.shadow);
    if config.explore > Ppm(0) && config.floor > config.explore {
        let hint = "set learning.floor to a tenth of learning.explore or less".to_owned();
        findings.problem(&origin, "learning.floor", "above learning.explore: nothing could be tried", Some(hint));
    }
    section.finish(findings);
}

pub(super) fn retrieval(mut section: Section, config: &mut RetrievalConfig, findings: &mut Findings) {
    // How passages are read where nothing is known; a query is planned where the goal means one.
    let paths = AccessPath::ALL.iter().filter(|path| **path != AccessPath::Table);
    let mut strategies: Vec<(&str, &str)> = paths.map(|path| (path.as_str(), path.as_str())).collect();
    strategies.extend([("hybrid", "hybrid"), ("auto", "auto")]);
    config.default_strategy =
        choice(&mut section, "default_strategy", &strategies, findings).filter(|name| *name != "auto").map(str::to_owned);
    config.top_k = positive(&mut section, "top_k", "passages", findings);
    config.final_k = positive(&mut section, "final_k", "passages", findings);
    config.reranker = section.text("reranker", findings).filter(|(name, _)| name != "auto").map(|(name, origin)| {
        findings.places.insert(section.key("reranker"), origin.to_string());
        name
    });
    config.rerank_gain_min = share(&mut section, "rerank_gain_min", findings);
    config.compress_keep_min = share(&mut section, "compress_keep_min", findings);
    section.finish(findings);
}

fn share(section: &mut Section, key: &'static str, findings: &mut Findings) -> Option<Ppm> {
    let origin = section.origin().clone();
    let share = section.amount(key, "share between 0 and 1", findings)?;
    if share > 1.0 {
        findings.problem(&origin, &section.key(key), "a share is at most 1", None);
    }
    Some(Ppm::from_share(share))
}

pub(super) fn verification(mut section: Section, config: &mut VerificationConfig, findings: &mut Findings) {
    config.default = section.boolean("default", findings).unwrap_or(config.default);
    config.high_risk_requires_human = section.boolean("high_risk_requires_human", findings).unwrap_or(config.high_risk_requires_human);
    section.finish(findings);
}

pub(super) fn policy(mut section: Section, config: &mut PolicyConfig, findings: &mut Findings) {
    let at = section.origin().clone();
    let engines = [("builtin", "builtin"), ("opa", "opa")];
    config.engine = choice(&mut section, "engine", &engines, findings).unwrap_or("builtin").to_owned();
    let detectors = [("builtin", "builtin"), ("presidio", "presidio")];
    config.pii = choice(&mut section, "pii", &detectors, findings).unwrap_or("builtin").to_owned();
    let file = section.text("file", findings);
    match (config.engine.as_str(), &file) {
        ("opa", None) => needs(&at, "policy.file", "missing: engine opa reads its rules from a file", "file: policies.rego", findings),
        ("builtin", Some((_, origin))) => {
            needs(origin, "policy.file", "the built-in engine reads no file", "write engine: opa, or leave file out", findings);
        }
        _ => {}
    }
    config.file = file.map(|(path, _)| PathBuf::from(path));
    let url = section.text("url", findings);
    match (config.pii.as_str(), &url) {
        ("presidio", None) => needs(&at, "policy.url", "missing: presidio is a server", "url: http://localhost:5002", findings),
        ("builtin", Some((_, origin))) => {
            needs(origin, "policy.url", "the built-in detectors need no server", "write pii: presidio, or leave url out", findings);
        }
        _ => {}
    }
    config.url = url.and_then(|(text, origin)| address(&section.key("url"), &text, &origin, findings));
    for (name, origin, node) in section.section("labels", findings).into_entries() {
        let path = format!("policy.labels.{name}");
        let Value::Text(text) = &node.value else {
            findings.problem(&node.origin, &path, format!("expected a label, found {}", node.value.kind()), None);
            continue;
        };
        if let Some(label) = chosen(&path, text, &origin, SENSITIVITIES, findings) {
            config.labels.insert(name, label);
        }
    }
    section.finish(findings);
}

fn needs(origin: &Origin, path: &str, cause: &str, hint: &str, findings: &mut Findings) {
    findings.problem(origin, path, cause.to_owned(), Some(hint.to_owned()));
}

pub(super) fn observability(mut section: Section, config: &mut ObservabilityConfig, findings: &mut Findings) {
    config.traces = section.boolean("traces", findings).unwrap_or(config.traces);
    absent(&mut section, "exporter", "leave exporter out: traces are kept in the store", findings);
    absent(&mut section, "sink", "leave sink out: traces are kept in the store, see `ctxrt trace`", findings);
    section.finish(findings);
}

const SENSITIVITIES: &[(&str, Sensitivity)] = &[
    ("public", Sensitivity::Public),
    ("internal", Sensitivity::Internal),
    ("confidential", Sensitivity::Confidential),
    ("restricted", Sensitivity::Restricted),
];

pub(super) fn sources(section: Section, findings: &mut Findings) -> BTreeMap<SourceName, SourceConfig> {
    let mut sources = BTreeMap::new();
    for (name, origin, node) in section.into_entries() {
        let path = format!("sources.{name}");
        match SourceName::new(name) {
            Ok(name) => {
                if let Some(source) = source(Section::open(&path, node, findings), findings) {
                    sources.insert(name, source);
                }
            }
            Err(error) => findings.problem(&origin, &path, error.to_string(), None),
        }
    }
    sources
}

fn source(mut section: Section, findings: &mut Findings) -> Option<SourceConfig> {
    let at = section.origin().clone();
    let path = section.text("path", findings);
    let mut source = SourceConfig::at(PathBuf::new());
    match path {
        Some((path, origin)) if path.contains("://") => {
            let hint = advice::instead("sources.kind", "http").unwrap_or_default().to_owned();
            findings.problem(&origin, &section.key("path"), "expected a folder or a file, found a URL", Some(hint));
        }
        Some((path, _)) => source.path = PathBuf::from(path),
        None => findings.problem(&at, &section.key("path"), "missing: a source has a folder or a file", None),
    }
    absent(&mut section, "url", "pages are not in this build; save them to a folder and give its path", findings);
    if let Some((kind, origin)) = section.text("kind", findings) {
        source.kind = chosen(&section.key("kind"), &kind, &origin, &SOURCE_KINDS, findings).unwrap_or(source.kind);
    }
    source.sensitivity = choice(&mut section, "sensitivity", SENSITIVITIES, findings).unwrap_or(source.sensitivity);
    source.refresh = section.take("refresh").and_then(|node| refresh(&section.key("refresh"), node, findings));
    let labels = [("off", AutoLabel::Off), ("warn", AutoLabel::Warn), ("raise", AutoLabel::Raise)];
    source.auto_label = match section.take("auto_label") {
        // YAML reads a bare `off` as false.
        Some(Node { value: Value::Bool(false), .. }) => AutoLabel::Off,
        Some(Node { value: Value::Text(text), origin }) => {
            chosen(&section.key("auto_label"), &text, &origin, &labels, findings).unwrap_or_default()
        }
        Some(other) => {
            findings.problem(
                &other.origin,
                &section.key("auto_label"),
                format!("expected off, warn or raise, found {}", other.value.kind()),
                None,
            );
            AutoLabel::default()
        }
        None => AutoLabel::default(),
    };
    source.readable_by = section.texts("readable_by", findings).unwrap_or_default().into_iter().map(|(role, _)| role).collect();
    section.finish(findings);
    Some(source)
}

/// `always`, `manual`, `interval 5`, `interval(5)` or `{interval: 5}`.
fn refresh(path: &str, node: Node, findings: &mut Findings) -> Option<Refresh> {
    match node.value {
        Value::Text(text) => {
            let seconds =
                text.strip_prefix("interval").map(|rest| rest.trim_matches(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | 's')));
            match (text.as_str(), seconds.and_then(|s| s.parse().ok())) {
                ("always", _) => Some(Refresh::Always),
                ("manual", _) => Some(Refresh::Manual),
                (_, Some(seconds)) => Some(Refresh::Interval(seconds)),
                _ => {
                    findings.problem(&node.origin, path, "expected always, manual or interval SECONDS", None);
                    None
                }
            }
        }
        value @ Value::Map(_) => {
            let mut section = Section::open(path, Node { value, origin: node.origin }, findings);
            let seconds = section.integer("interval", "seconds", findings);
            section.finish(findings);
            seconds.map(Refresh::Interval)
        }
        other => {
            findings.problem(&node.origin, path, format!("expected always, manual or interval SECONDS, found {}", other.kind()), None);
            None
        }
    }
}
