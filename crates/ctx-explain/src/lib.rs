//! EXPLAIN: one tree value, several renderers, redaction.
//!
//! [`explain`] builds an [`Explanation`] from a decision (a plan or an infeasible answer) and, with ANALYZE, the trace of its
//! run. What an option leaves out is not in the value. [`render`] writes the same value in every [`Format`], so formats
//! cannot disagree; another format is another file with a function over it. [`redact`] hides words before anything is
//! written, in every format alike. [`diff`] compares two explanations or runs.
//!
//! Strings of goals and sources are data in every format: [`escape`] for terminals, and each format's own rules.

mod actual;
mod build;
pub mod diff;
mod dot;
pub mod escape;
pub mod explanation;
mod format;
mod html;
mod mermaid;
mod nodes;
pub mod options;
mod pg;
mod redaction;
mod text;
mod verbose;
mod words;
mod yaml;

pub use build::{Decision, ExplainInput, explain};
pub use explanation::Explanation;
pub use format::{Format, render};
pub use options::Options;
pub use redaction::redact;
pub use text::{TextOptions, text};
pub use words::least;

/// The stable JSON form: integers with their unit in the field's name, one schema version for all.
pub fn json(explanation: &Explanation) -> serde_json::Value {
    serde_json::to_value(explanation).unwrap_or_else(|e| serde_json::json!({ "error": e.to_string() }))
}
