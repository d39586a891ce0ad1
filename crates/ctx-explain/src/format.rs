//! The formats, by name. Each is a function over the same value; none computes anything that another does not show.

use crate::explanation::Explanation;
use crate::{TextOptions, dot, html, json, mermaid, pg, text, yaml};

/// How an explanation is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A tree as PostgreSQL prints it.
    Text,
    /// The versioned JSON form.
    Json,
    /// The same value as YAML.
    Yaml,
    /// A Mermaid flowchart of the tree.
    Mermaid,
    /// A Graphviz graph of the tree.
    Dot,
    /// One page for a browser, without any other file.
    Html,
    /// JSON in the shape of PostgreSQL's, for viewers of its plans.
    Pg,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 7] = [Format::Text, Format::Json, Format::Yaml, Format::Mermaid, Format::Dot, Format::Html, Format::Pg];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::Mermaid => "mermaid",
            Format::Dot => "dot",
            Format::Html => "html",
            Format::Pg => "pg",
        }
    }

    /// From its name, in any case.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.as_str().eq_ignore_ascii_case(name))
    }
}

/// The explanation in a format. Every line ends with a newline.
pub fn render(explanation: &Explanation, format: Format, options: &TextOptions) -> String {
    match format {
        Format::Text => text(explanation, options),
        Format::Json => pretty(&json(explanation)),
        Format::Yaml => yaml::yaml(&json(explanation)),
        Format::Mermaid => mermaid::mermaid(explanation),
        Format::Dot => dot::dot(explanation),
        Format::Html => html::html(explanation),
        Format::Pg => pg::text(explanation),
    }
}

fn pretty(value: &serde_json::Value) -> String {
    // A value of strings, numbers and maps with string keys cannot fail to be written.
    serde_json::to_string_pretty(value).map(|text| text + "\n").unwrap_or_default()
}
