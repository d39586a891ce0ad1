//! Values that other designs and older notes use, with what to write here instead.

/// (key, value as written, what to do). Values are compared without case.
const INSTEAD: &[(&str, &str, &str)] = &[
    ("runtime.plugins.model", "litellm", "write openai_compatible; a LiteLLM proxy is one more endpoint: give a tier its base_url"),
    ("runtime.plugins.model", "openai", "write openai_compatible"),
    ("runtime.plugins.store", "pgvector", "PostgreSQL is not in this build; write duckdb"),
    ("runtime.plugins.store", "postgres", "PostgreSQL is not in this build; write duckdb"),
    ("runtime.plugins.store", "lancedb", "write duckdb"),
    ("runtime.plugins.retriever", "redevops_rag", "write local: BM25, dense and hybrid retrieval are built in"),
    ("runtime.plugins.retriever", "hipporag", "write local; graph walks are not in this build"),
    ("runtime.plugins.knowledge", "mem0", "write local: facts come from the configured sources"),
    ("runtime.plugins.knowledge", "graphiti", "write local: facts come from the configured sources"),
    ("runtime.plugins.router", "native_tiers", "write tiers"),
    ("runtime.plugins.router", "native", "write tiers"),
    ("runtime.plugins.policy", "opa", "write builtin here, and policy: {engine: opa, file: policies.rego}"),
    ("costmodel.estimator", "heuristic", "write prior for shipped estimates, learned to correct them by past runs"),
    (
        "retrieval.reranker",
        "bge-reranker-v2-m3",
        "add a tier of that name with its base_url and good_for: [rerank], or write features, which needs no model",
    ),
    ("policy.engine", "rego", "write opa, with file: policies.rego"),
    (
        "observability.exporter",
        "openllmetry",
        "not in this build; leave exporter and sink out: traces are kept in the store, see `ctxrt trace`",
    ),
    ("observability.exporter", "otlp", "not in this build; leave exporter and sink out: traces are kept in the store, see `ctxrt trace`"),
    ("provider", "deepseek", "write openai_compatible with its base_url and api_key_env"),
    ("provider", "openai", "write openai_compatible with base_url https://api.openai.com/v1 and api_key_env"),
    ("provider", "ollama", "write openai_compatible with base_url http://localhost:11434/v1"),
    ("provider", "vllm", "write openai_compatible with its base_url"),
    ("provider", "litellm", "write openai_compatible with the proxy's base_url"),
    ("provider", "anthropic", "Anthropic's own wire is not in this build; write openai_compatible with an endpoint that speaks it"),
    ("sources.kind", "git", "history is not in this build; leave kind out: the working tree is read as files"),
    ("sources.kind", "http", "pages are not in this build; save them to a folder"),
    ("sources.kind", "documents", "write files"),
    ("sources.kind", "runbooks", "write files"),
];

/// What to write instead of `value` at `key`, if anybody is known to write it.
pub(crate) fn instead(key: &str, value: &str) -> Option<&'static str> {
    INSTEAD.iter().find(|(k, v, _)| *k == key && v.eq_ignore_ascii_case(value)).map(|(_, _, advice)| *advice)
}
