//! The question as the document that rules read.
//!
//! ```json
//! {
//!   "action": "send",
//!   "principal": {"tenant": "default", "roles": ["ops"]},
//!   "source": {"name": "payroll", "kind": "files", "passages": 120, "tokens": 30000},
//!   "model": {"name": "hosted", "model": "gpt-4o", "provider": "openai_compatible", "local": false, "accepts": "internal"},
//!   "sensitivity": "restricted",
//!   "estimate": {"input_tokens": 120000, "output_tokens": 512, "cost_usd": 0.30512}
//! }
//! ```
//!
//! `action` is `read` (a source, no model), `send` (a source to a model) or `use` (a model, whatever it gets). What is not
//! known is absent, never zero: `cost_usd` of an unpriced model is undefined in a rule.

use ctx_contracts::PolicyQuestion;
use serde_json::{Map, Value, json};

/// The document.
pub(crate) fn document(question: &PolicyQuestion) -> Value {
    let mut out = Map::new();
    let action = match (&question.source, &question.model) {
        (Some(_), None) => "read",
        (Some(_), Some(_)) => "send",
        _ => "use",
    };
    out.insert("action".into(), json!(action));
    out.insert("principal".into(), json!({ "tenant": question.principal.tenant, "roles": question.principal.roles }));
    let facts = &question.facts;
    if let Some(name) = &question.source {
        let source = facts.source.as_ref();
        let known = [
            ("kind", source.map(|s| json!(s.kind))),
            ("passages", source.map(|s| json!(s.passages))),
            ("tokens", source.map(|s| json!(s.tokens))),
        ];
        out.insert("source".into(), present([("name", Some(json!(name)))].into_iter().chain(known)));
    }
    if let Some(name) = &question.model {
        let model = facts.model.as_ref();
        let known = [
            ("model", model.map(|m| json!(m.model))),
            ("provider", model.map(|m| json!(m.provider))),
            ("local", model.map(|m| json!(m.local))),
            ("accepts", model.map(|m| json!(m.accepts))),
        ];
        out.insert("model".into(), present([("name", Some(json!(name)))].into_iter().chain(known)));
    }
    out.insert("sensitivity".into(), json!(question.sensitivity));
    let estimate = [
        ("input_tokens", facts.input_tokens.map(|tokens| json!(tokens))),
        ("output_tokens", facts.output_tokens.map(|tokens| json!(tokens))),
        ("cost_usd", facts.cost.map(|cost| json!(cost.usd()))),
    ];
    out.insert("estimate".into(), present(estimate.into_iter()));
    Value::Object(out)
}

fn present<'a>(fields: impl Iterator<Item = (&'a str, Option<Value>)>) -> Value {
    Value::Object(fields.filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}
