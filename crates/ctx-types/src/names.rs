//! Names and labels: sources, models, kinds, sensitivity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Why a name was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("naming a {what}: {name:?} {problem}; use letters, digits, '.', '_' and '-', at most {NAME_BYTES_MAX} bytes")]
pub struct NameError {
    /// "source" or "model".
    pub what: &'static str,
    /// The refused name.
    pub name: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Longest accepted name in bytes.
pub const NAME_BYTES_MAX: usize = 128;

fn check(what: &'static str, name: &str) -> Result<(), NameError> {
    let refuse = |problem| Err(NameError { what, name: name.to_owned(), problem });
    if name.is_empty() {
        return refuse("is empty");
    }
    if name.len() > NAME_BYTES_MAX {
        return refuse("is too long");
    }
    if name == "." || name == ".." {
        return refuse("is a path, not a name");
    }
    if name.chars().any(|c| !(c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
        return refuse("holds a character that a name cannot hold");
    }
    Ok(())
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            /// A checked name.
            pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
                let name = name.into();
                check($what, &name)?;
                Ok(Self(name))
            }
            /// The name as text.
            pub fn as_str(&self) -> &str { &self.0 }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(&self.0) }
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

name!(/// A configured source.
    SourceName, "source");
name!(/// A configured model tier: what plans choose among.
    ModelName, "model");

/// What a source is made of. Data labels *documents* and *runbooks* map to `Files`, *sql* and *table* to `Tables`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// Documents, code and runbooks in files.
    Files,
    /// Log lines.
    Logs,
    /// Rows with typed columns.
    Tables,
    /// Commits.
    Git,
    /// A knowledge graph.
    Graph,
    /// Time series.
    Metrics,
    /// Transcripts.
    Conversation,
    /// Pages behind URLs.
    Http,
    /// A service with an API.
    Service,
}

impl SourceKind {
    /// Every kind, in canonical order.
    pub const ALL: [SourceKind; 9] = [
        SourceKind::Files,
        SourceKind::Logs,
        SourceKind::Tables,
        SourceKind::Git,
        SourceKind::Graph,
        SourceKind::Metrics,
        SourceKind::Conversation,
        SourceKind::Http,
        SourceKind::Service,
    ];
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SourceKind::Files => "files",
            SourceKind::Logs => "logs",
            SourceKind::Tables => "tables",
            SourceKind::Git => "git",
            SourceKind::Graph => "graph",
            SourceKind::Metrics => "metrics",
            SourceKind::Conversation => "conversation",
            SourceKind::Http => "http",
            SourceKind::Service => "service",
        })
    }
}

/// How far data may travel. Ordered: the tightest of several wins with `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sensitivity {
    /// May be published.
    Public,
    /// The default of a source.
    #[default]
    Internal,
    /// Named persons, contracts.
    Confidential,
    /// Secrets, cards, national ids.
    Restricted,
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sensitivity::Public => "public",
            Sensitivity::Internal => "internal",
            Sensitivity::Confidential => "confidential",
            Sensitivity::Restricted => "restricted",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_not_a_name() {
        for bad in ["", "..", "../etc", "a/b", "file:///etc/passwd", "a\nb", "docs\r"] {
            assert!(SourceName::new(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(SourceName::new("docs-2.old_Ä").is_ok());
    }

    #[test]
    fn the_tightest_sensitivity_is_the_maximum() {
        assert_eq!(Sensitivity::Internal.max(Sensitivity::Restricted), Sensitivity::Restricted);
    }
}
