//! Edges: what follows what, and under which typed condition. Never free text.

use crate::NodeId;
use ctx_types::Ppm;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// `to` may follow `from`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// Predecessor.
    pub from: NodeId,
    /// Successor.
    pub to: NodeId,
    /// When.
    pub kind: EdgeKind,
}

/// When an edge fires. The table is in the crate's documentation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// After it, whatever it said.
    Then,
    /// A branch of a join: the target waits for all branches and runs with those that served.
    Parallel,
    /// When it passed.
    OnSuccess,
    /// When it was rejected, or broke under the policy `route`.
    OnFailure,
    /// When the condition holds after it ended.
    When(Condition),
}

impl EdgeKind {
    /// Whether the edge may stay unfired although its source did its work.
    pub fn is_conditional(&self) -> bool {
        !matches!(self, EdgeKind::Then | EdgeKind::Parallel)
    }
}

impl fmt::Display for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EdgeKind::Then => f.write_str("then"),
            EdgeKind::Parallel => f.write_str("parallel"),
            EdgeKind::OnSuccess => f.write_str("on success"),
            EdgeKind::OnFailure => f.write_str("on failure"),
            EdgeKind::When(condition) => write!(f, "when {condition}"),
        }
    }
}

/// Deepest nesting of a condition that validation accepts.
pub const CONDITION_DEPTH_MAX: usize = 16;

/// A small typed expression over what is known when the edge's source has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// P(the evidence is in the context), calibrated on the scores seen, is below this. Unknown evidence is below everything.
    EvidenceBelow(Ppm),
    /// The node broke.
    Failed(NodeId),
    /// The verifier let the answer pass.
    VerdictPassed(NodeId),
    /// All hold; an empty list holds.
    And(Vec<Condition>),
    /// One holds; an empty list does not.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

impl Condition {
    /// Nodes it speaks of.
    pub fn nodes(&self) -> Vec<&NodeId> {
        match self {
            Condition::EvidenceBelow(_) => Vec::new(),
            Condition::Failed(node) | Condition::VerdictPassed(node) => vec![node],
            Condition::And(parts) | Condition::Or(parts) => parts.iter().flat_map(Condition::nodes).collect(),
            Condition::Not(inner) => inner.nodes(),
        }
    }

    /// Levels of nesting, one for a leaf.
    pub fn depth(&self) -> usize {
        match self {
            Condition::EvidenceBelow(_) | Condition::Failed(_) | Condition::VerdictPassed(_) => 1,
            Condition::And(parts) | Condition::Or(parts) => 1 + parts.iter().map(Condition::depth).max().unwrap_or(0),
            Condition::Not(inner) => 1 + inner.depth(),
        }
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, parts: &[Condition], word: &str) -> fmt::Result {
    f.write_str("(")?;
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            write!(f, " {word} ")?;
        }
        write!(f, "{part}")?;
    }
    f.write_str(")")
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::EvidenceBelow(bound) => write!(f, "evidence < {bound}"),
            Condition::Failed(node) => write!(f, "{node} failed"),
            Condition::VerdictPassed(node) => write!(f, "{node} passed"),
            Condition::And(parts) => write_list(f, parts, "and"),
            Condition::Or(parts) => write_list(f, parts, "or"),
            Condition::Not(inner) => write!(f, "not {inner}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_as_words_and_survive_json() {
        let condition = Condition::And(vec![
            Condition::EvidenceBelow(Ppm(200_000)),
            Condition::Not(Box::new(Condition::VerdictPassed(NodeId::new("verify")))),
        ]);
        assert_eq!(condition.to_string(), "(evidence < 0.200 and not verify passed)");
        assert_eq!(condition.depth(), 3);
        let edge = Edge { from: NodeId::new("a"), to: NodeId::new("b"), kind: EdgeKind::When(condition) };
        let text = serde_json::to_string(&edge).expect("plain data");
        assert_eq!(serde_json::from_str::<Edge>(&text).expect("own output"), edge);
    }
}
