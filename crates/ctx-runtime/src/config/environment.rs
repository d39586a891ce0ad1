//! `CTXRT_BUDGETS__MAX_COST_USD=0.5` overrides `budgets.max_cost_usd`: two underscores go one level down.
//!
//! A variable that maps to nothing is warned about by name, never by value; so is a `CTX_…` variable that was meant for
//! a section of this configuration.

use super::tree::{Node, Origin, Value};
use super::{ConfigProblem, ConfigWarning};

/// Prefix of variables that are read.
const PREFIX: &str = "CTXRT_";
/// Variables with the prefix that are not configuration keys: the command line reads them.
const RESERVED: &[&str] = &["CTXRT_STORE", "CTXRT_CONFIG", "CTXRT_LOG", "CTXRT_LIBDUCKDB"];
/// Top-level sections, as in [`super::sections`].
pub(crate) const SECTIONS: &[&str] = &[
    "runtime",
    "models",
    "budgets",
    "tenant_budgets",
    "costmodel",
    "learning",
    "retrieval",
    "verification",
    "policy",
    "observability",
    "sources",
];

/// Keys a variable may set, by dotted path: scalars of fixed sections. Tiers and sources are lists of records: a file's matter.
const OVERRIDABLE: &[&str] = &[
    "runtime.plugins.model",
    "runtime.plugins.store",
    "runtime.plugins.retriever",
    "runtime.plugins.knowledge",
    "runtime.plugins.router",
    "runtime.plugins.policy",
    "runtime.plan_cache.enabled",
    "runtime.plan_cache.ttl_seconds",
    "runtime.plan_cache.max_bytes",
    "runtime.plan_cache.match",
    "runtime.plan_cache.semantic_error",
    "runtime.result_cache.enabled",
    "runtime.result_cache.ttl_seconds",
    "runtime.result_cache.max_bytes",
    "runtime.result_cache.match",
    "runtime.result_cache.semantic_error",
    "runtime.durability",
    "budgets.max_tokens",
    "budgets.max_cost_usd",
    "budgets.max_latency_seconds",
    "budgets.max_calls",
    "budgets.max_tool_calls",
    "budgets.max_context_tokens",
    "budgets.max_output_tokens",
    "budgets.min_accuracy",
    "budgets.uncertain_latency",
    "budgets.quantile",
    "costmodel.estimator",
    "costmodel.prices",
    "costmodel.weights.acc",
    "costmodel.weights.cost",
    "costmodel.weights.lat",
    "costmodel.weights.risk",
    "costmodel.weights.hall",
    "costmodel.weights.loss",
    "costmodel.weights.cache",
    "costmodel.weights.vrf",
    "costmodel.weights.cost_scale_usd",
    "costmodel.weights.latency_scale_seconds",
    "learning.explore",
    "learning.within",
    "learning.floor",
    "learning.shadow",
    "retrieval.default_strategy",
    "retrieval.top_k",
    "retrieval.final_k",
    "retrieval.reranker",
    "retrieval.rerank_gain_min",
    "retrieval.compress_keep_min",
    "verification.default",
    "verification.high_risk_requires_human",
    "policy.engine",
    "policy.pii",
    "policy.file",
    "policy.url",
    "observability.traces",
    "observability.exporter",
    "observability.sink",
];

/// Puts every matching variable into the tree, in order of name.
pub(crate) fn apply(
    tree: &mut Node,
    environment: &[(String, String)],
    problems: &mut Vec<ConfigProblem>,
    warnings: &mut Vec<ConfigWarning>,
) {
    let mut variables: Vec<&(String, String)> = environment.iter().collect();
    variables.sort();
    for (name, value) in variables {
        if let Some(rest) = name.strip_prefix(PREFIX) {
            if RESERVED.contains(&name.as_str()) {
                continue;
            }
            let path = rest.to_lowercase().replace("__", ".");
            if OVERRIDABLE.contains(&path.as_str()) {
                set(tree, &path, scalar(name, value), problems);
            } else {
                warnings.push(unknown(name, &path));
            }
        } else if let Some(rest) = name.strip_prefix("CTX_").map(str::to_lowercase)
            && SECTIONS.iter().any(|section| rest.starts_with(&format!("{section}_")))
        {
            let path = rest.replace("__", ".");
            warnings.push(unknown(name, &path));
        }
    }
}

fn unknown(name: &str, path: &str) -> ConfigWarning {
    let flat = |text: &str| text.replace(['.', '_'], "");
    let wanted = flat(path);
    let keys: Vec<String> = OVERRIDABLE.iter().map(|key| flat(key)).collect();
    let refs: Vec<&str> = keys.iter().map(String::as_str).collect();
    let near = super::reader::nearest(&wanted, &refs).and_then(|near| keys.iter().position(|k| k == near)).map(|at| OVERRIDABLE[at]);
    ConfigWarning(match near {
        Some(key) => format!("environment variable {name} sets nothing; did you mean {PREFIX}{}?", key.to_uppercase().replace('.', "__")),
        None => format!("environment variable {name} sets nothing"),
    })
}

/// The value as YAML would read it: boolean, integer, decimal number, text.
fn scalar(name: &str, text: &str) -> Node {
    let trimmed = text.trim();
    let value = match trimmed {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "" => Value::Null,
        other => match (other.parse::<i128>(), other.parse::<f64>()) {
            (Ok(integer), _) => Value::Integer(integer),
            (_, Ok(float)) => Value::Float(float),
            _ => Value::Text(other.to_owned()),
        },
    };
    Node { value, origin: Origin::Variable(name.to_owned()) }
}

fn set(tree: &mut Node, path: &str, new: Node, problems: &mut Vec<ConfigProblem>) {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    if tree.value == Value::Null {
        tree.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut tree.value else {
        let cause = format!("cannot override below {}", tree.value.kind());
        problems.push(ConfigProblem { place: new.origin.to_string(), key: path.to_owned(), cause, hint: None });
        return;
    };
    let at = entries.iter().position(|(key, _, _)| key == head).unwrap_or_else(|| {
        entries.push((head.to_owned(), new.origin.clone(), Node { value: Value::Null, origin: new.origin.clone() }));
        entries.len() - 1
    });
    match rest {
        None => entries[at].2 = new,
        Some(rest) => set(&mut entries[at].2, rest, new, problems),
    }
}
