//! EXPLAIN: one tree value, several renderers, redaction.
//!
//! [`explain`] builds an [`Explanation`] from a decision (a plan or an infeasible answer) and, with ANALYZE, the trace of its
//! run. [`text`] and [`json`] print the same value, so they cannot disagree. Another format is another function over it.
//! [`redact`] hides words before anything is printed, in every format alike.

mod actual;
mod build;
pub mod escape;
pub mod explanation;
mod redaction;
mod text;
mod verbose;

pub use build::{Decision, ExplainInput, Options, explain};
pub use explanation::Explanation;
pub use redaction::redact;
pub use text::{TextOptions, text};

/// The stable JSON form: integers with their unit in the field's name, one schema version for all.
pub fn json(explanation: &Explanation) -> serde_json::Value {
    serde_json::to_value(explanation).unwrap_or_else(|e| serde_json::json!({ "error": e.to_string() }))
}
