//! What is wanted: facets with probabilities, not one label.

use crate::{Ppm, Sensitivity, SourceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A probability for every value of a facet, in canonical order, summing to about one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Distribution<T>(pub Vec<(T, Ppm)>);

impl<T: Copy + PartialEq> Distribution<T> {
    /// The most probable value; the first in canonical order on ties. `None` only when empty.
    pub fn top(&self) -> Option<(T, Ppm)> {
        self.0.iter().copied().fold(None, |best: Option<(T, Ppm)>, entry| match best {
            Some(b) if b.1 >= entry.1 => Some(b),
            _ => Some(entry),
        })
    }

    /// Probability of `value`, zero if it is not listed.
    pub fn of(&self, value: T) -> Ppm {
        self.0.iter().find(|(v, _)| *v == value).map_or(Ppm(0), |(_, p)| *p)
    }
}

macro_rules! facet {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant),+ }
        impl $name {
            /// Every value in canonical order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// Name as EXPLAIN prints it.
            pub fn as_str(self) -> &'static str { match self { $($name::$variant => $text),+ } }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
    };
}

facet!(/// The form of the answer.
    AnswerShape {
    /// A fact, a value, a place.
    Lookup => "lookup",
    /// How or why.
    Explanation => "explanation",
    /// Two or more things against each other.
    Comparison => "comparison",
    /// A number over many rows or passages.
    Aggregate => "aggregate",
    /// An enumeration.
    List => "list",
    /// Yes or no.
    YesNo => "yes/no",
    /// Do something.
    Action => "action",
});

facet!(/// Where the evidence lies.
    EvidenceShape {
    /// One passage holds it.
    OnePassage => "one passage",
    /// Several passages, each a part.
    ManyPassages => "many passages",
    /// A chain: the second is found through the first.
    MultiHop => "multi-hop",
    /// Rows of a table.
    Table => "table",
    /// A window of a log.
    LogWindow => "log window",
    /// Source code.
    Code => "code",
    /// Every passage of a source.
    WholeCorpus => "whole corpus",
});

facet!(/// Display bucket, derived from the facets: statistics slices and people use it, planning does not.
    Bucket {
    /// An identifier is looked up.
    ExactLookup => "exact_lookup",
    /// How or why something works.
    Conceptual => "conceptual",
    /// Something is broken.
    Incident => "incident",
    /// About code.
    CodeReasoning => "code_reasoning",
    /// Put several passages together.
    Synthesis => "synthesis",
    /// Chain of facts.
    MultiHop => "multi_hop",
    /// Time decides.
    Temporal => "temporal",
    /// An irreversible action.
    HighRisk => "high_risk",
    /// Holds or touches sensitive data.
    Sensitive => "sensitive",
    /// None of these.
    Unknown => "unknown",
});

facet!(/// Type of a thing named in the goal.
    EntityKind {
    /// CVE-2024-1234, E0502, a UUID, a hash, an error code, a dotted or snake_case name.
    Identifier => "identifier",
    /// v1.2.3.
    Version => "version",
    /// A date, a time, a relative window.
    Time => "time",
    /// A path or file name.
    Path => "path",
    /// A number with or without a unit.
    Quantity => "quantity",
    /// Quoted text.
    Quote => "quote",
    /// A URL.
    Url => "url",
});

/// A typed mention. `start..end` are byte offsets into the goal's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// Its type.
    pub kind: EntityKind,
    /// The words as they stand in the goal.
    pub text: String,
    /// Normal form for matching (lower-case, unified separators).
    pub normal: String,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// Time words of the goal. Relative ones resolve to a window given from outside, which is an input of planning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeScope {
    /// The words.
    pub text: String,
    /// Whether they depend on now ("yesterday").
    pub relative: bool,
}

/// A sensitive value found in text: what and how much it raises the label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SensitiveSpan {
    /// `card`, `email`, `secret`, …; the value itself is never kept.
    pub detector: String,
    /// What it raises the sensitivity to.
    pub raises_to: Sensitivity,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// The analysed goal. A pure function of the goal's text and the shipped coefficients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Intent {
    /// Form of the answer.
    pub answer: Distribution<AnswerShape>,
    /// Where the evidence lies.
    pub evidence: Distribution<EvidenceShape>,
    /// Which kind of source can hold it.
    pub sources: Distribution<SourceKind>,
    /// Typed mentions, by position.
    pub entities: Vec<Entity>,
    /// Probability that carrying the goal out changes something that cannot be undone.
    pub risk: Ppm,
    /// Sensitivity detected in the goal's words; `Internal` when nothing raises it.
    pub sensitivity: Sensitivity,
    /// What raised it.
    pub sensitive_spans: Vec<SensitiveSpan>,
    /// Words about sensitive things ("password", "api_key"): a facet for people; they raise nothing, only values do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sensitive_topics: Vec<String>,
    /// Time words.
    pub time: Option<TimeScope>,
    /// ISO 639-1 code, `und` when unsure.
    pub language: String,
    /// Whether the goal negates ("without", "not").
    pub negated: bool,
    /// Operands of a comparison, in the order of the words.
    pub operands: Vec<String>,
    /// Words after removing function words: a cheap measure of how much is asked.
    pub content_words: u32,
    /// How much harder than a typical goal one with such words is for language models, in thousandths of a logit.
    #[serde(default)]
    pub hardness_milli: i32,
    /// Display bucket.
    pub bucket: Bucket,
    /// Digest of the coefficients used.
    pub model: String,
}

impl Intent {
    /// Identifiers and versions: what an exact lookup can find.
    pub fn identifiers(&self) -> impl Iterator<Item = &Entity> {
        self.entities.iter().filter(|e| matches!(e.kind, EntityKind::Identifier | EntityKind::Version | EntityKind::Path))
    }

    /// Most probable answer shape; `Lookup` for an empty distribution.
    pub fn answer_shape(&self) -> AnswerShape {
        self.answer.top().map_or(AnswerShape::Lookup, |(shape, _)| shape)
    }

    /// Most probable evidence shape; `OnePassage` for an empty distribution.
    pub fn evidence_shape(&self) -> EvidenceShape {
        self.evidence.top().map_or(EvidenceShape::OnePassage, |(shape, _)| shape)
    }
}
