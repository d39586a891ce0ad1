//! Nodes: one operator each, with its estimate, its resource and what happens when it breaks. Data only, no behaviour.

use ctx_types::{AccessPath, AlternativeEstimate, FuseMethod, Layout, ModelName, Ppm, SourceName, Status, Strategy, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of a node: stable for a plan's shape and readable: `access.docs.bm25`, `fuse.docs`, `fuse`, `pack`, `answer`, `verify`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct NodeId(pub String);

impl NodeId {
    /// A node's name. Validation of the graph refuses empty, overlong and unprintable ones.
    pub fn new(id: impl Into<String>) -> NodeId {
        NodeId(id.into())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its name, unique in the graph.
    pub id: NodeId,
    /// What it does.
    pub op: NodeOp,
    /// What the plan expects of it, over all its attempts.
    pub estimate: AlternativeEstimate,
    /// What it occupies while it runs.
    pub resource: Resource,
    /// What a break (an error after the last attempt) means for the run.
    pub on_error: FailurePolicy,
    /// Attempts in all, the first included; only retryable errors are tried again.
    pub max_attempts: u32,
}

/// A single way of reading one source. Hybrid paths are two legs and a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LegPath {
    /// Exact identifier lookup.
    Identifier,
    /// BM25 over the text index.
    Bm25,
    /// Nearest vectors.
    Dense,
    /// Every passage, in order.
    Whole,
    /// A query computed over typed rows.
    Table,
}

impl LegPath {
    /// Name in node ids and EXPLAIN.
    pub fn as_str(self) -> &'static str {
        self.access_path().as_str()
    }

    /// The access path that consists of this leg alone.
    pub fn access_path(self) -> AccessPath {
        match self {
            LegPath::Identifier => AccessPath::Identifier,
            LegPath::Bm25 => AccessPath::Bm25,
            LegPath::Dense => AccessPath::Dense,
            LegPath::Whole => AccessPath::Whole,
            LegPath::Table => AccessPath::Table,
        }
    }
}

impl fmt::Display for LegPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Weight of one leg in a linear fusion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LegWeight {
    /// The access node.
    pub leg: NodeId,
    /// Its share; the shares of one fusion sum to 1,000,000.
    pub weight: Ppm,
}

/// How the legs of one source become one list. Exact identifier hits are not part of it: they stand above the merged list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "method")]
pub enum LegFusion {
    /// One ranked leg keeps its order.
    Single {
        /// That leg.
        leg: NodeId,
    },
    /// Weighted sum of scores, each leg's scores scaled to 0..1 first.
    Linear {
        /// One weight per ranked leg.
        weights: Vec<LegWeight>,
    },
    /// Sum of 1 / (constant + rank), ranks from 1; a passage missing from a list gets nothing from it.
    Rrf {
        /// The constant.
        constant: u32,
    },
}

/// What a node does, with everything the executor needs to do it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum NodeOp {
    /// One leg reads one source.
    Access {
        /// Which source.
        source: SourceName,
        /// How.
        path: LegPath,
        /// Passages asked for.
        k: u32,
        /// Most tokens of this source in the context; unused quota is lent in rank order.
        quota: Tokens,
    },
    /// The legs of one source become one list.
    FuseLegs {
        /// Which source.
        source: SourceName,
        /// How.
        method: LegFusion,
        /// The leg whose hits outrank all others, in its own order; `None` when there is none.
        exact: Option<NodeId>,
        /// Passages kept.
        k: u32,
        /// Most tokens of this source in the context.
        quota: Tokens,
    },
    /// The lists of several sources become one.
    Fuse {
        /// How.
        method: FuseMethod,
    },
    /// The list is reordered.
    Rerank {
        /// By which reranker.
        reranker: String,
    },
    /// Passages are chosen: exact knapsack.
    Pack {
        /// Context tokens at most.
        budget: Tokens,
        /// Order in the prompt.
        layout: Layout,
        /// Most passages of one document while passages of another one are left; `None`: no cap.
        per_document_cap: Option<u32>,
        /// Most passages in all; `None`: the budget alone decides.
        final_k: Option<u32>,
    },
    /// The chosen passages are shortened.
    Compress {
        /// By which compressor.
        compressor: String,
        /// Share of the tokens that is kept.
        keep: Ppm,
    },
    /// The answer is produced. *Rejected* when the answerer declines for want of evidence.
    Answer {
        /// How.
        strategy: Strategy,
        /// By which model; `None` for strategies without one.
        model: Option<ModelName>,
    },
    /// The answer is checked. *Rejected* when the verdict fails.
    Verify {
        /// By which verifier.
        verifier: String,
    },
    /// The run ends here without an answer: abstained, verification failed, blocked.
    Stop {
        /// How the run ends.
        status: Status,
    },
    /// A tool is called.
    Tool {
        /// Which.
        name: String,
        /// Whether what it does cannot be undone by itself.
        irreversible: bool,
    },
    /// Nothing is done; the outgoing conditions decide.
    Branch,
    /// The body runs again, so often at most; *rejected* when no iteration is left or the budget does not cover one.
    Loop {
        /// First node of the body.
        body: NodeId,
        /// Times the loop may start the body again.
        max_iterations: u32,
    },
    /// A person approves or refuses.
    Approval {
        /// What is to be approved.
        subject: String,
    },
    /// A person answers a question.
    Ask {
        /// The question.
        question: String,
    },
    /// Results of several branches become one.
    Merge,
    /// An earlier effect is undone.
    Rollback {
        /// The node whose effect it undoes.
        compensates: NodeId,
    },
    /// A part is done by another agent, and control returns.
    Delegate {
        /// To whom.
        to: String,
    },
    /// The rest is done by another agent, and control does not return.
    Transfer {
        /// To whom.
        to: String,
    },
}

impl NodeOp {
    /// Kind of the operator as EXPLAIN, metrics and errors name it.
    pub fn kind(&self) -> &'static str {
        match self {
            NodeOp::Access { .. } => "access",
            NodeOp::FuseLegs { .. } => "fuse_legs",
            NodeOp::Fuse { .. } => "fuse",
            NodeOp::Rerank { .. } => "rerank",
            NodeOp::Pack { .. } => "pack",
            NodeOp::Compress { .. } => "compress",
            NodeOp::Answer { .. } => "answer",
            NodeOp::Verify { .. } => "verify",
            NodeOp::Stop { .. } => "stop",
            NodeOp::Tool { .. } => "tool",
            NodeOp::Branch => "branch",
            NodeOp::Loop { .. } => "loop",
            NodeOp::Approval { .. } => "approval",
            NodeOp::Ask { .. } => "ask",
            NodeOp::Merge => "merge",
            NodeOp::Rollback { .. } => "rollback",
            NodeOp::Delegate { .. } => "delegate",
            NodeOp::Transfer { .. } => "transfer",
        }
    }

    /// Whether it changes something outside the run, so that a rollback can name it.
    pub fn has_effect(&self) -> bool {
        matches!(self, NodeOp::Tool { .. } | NodeOp::Delegate { .. })
    }
}

impl fmt::Display for NodeOp {
    /// In words, for traces: `bm25 docs k=50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeOp::Access { source, path, k, .. } => write!(f, "{path} {source} k={k}"),
            NodeOp::FuseLegs { source, method, exact, .. } => {
                let method = match method {
                    LegFusion::Single { .. } => "keep order",
                    LegFusion::Linear { .. } => "linear",
                    LegFusion::Rrf { .. } => "rrf",
                };
                let first = if exact.is_some() { ", exact hits first" } else { "" };
                write!(f, "fuse {source}: {method}{first}")
            }
            NodeOp::Fuse { method } => write!(f, "fuse {method}"),
            NodeOp::Rerank { reranker } => write!(f, "rerank {reranker}"),
            NodeOp::Pack { budget, layout, .. } => write!(f, "pack {budget} tokens {layout}"),
            NodeOp::Compress { compressor, keep } => write!(f, "compress {compressor} keep={:.2}", keep.share()),
            NodeOp::Answer { strategy, model: Some(model) } => write!(f, "answer {strategy} {model}"),
            NodeOp::Answer { strategy, model: None } => write!(f, "answer {strategy}"),
            NodeOp::Verify { verifier } => write!(f, "verify {verifier}"),
            NodeOp::Stop { status } => write!(f, "stop {status:?}"),
            NodeOp::Tool { name, .. } => write!(f, "tool {name}"),
            NodeOp::Loop { body, max_iterations } => write!(f, "again from {body}, at most {max_iterations}"),
            NodeOp::Rollback { compensates } => write!(f, "undo {compensates}"),
            NodeOp::Delegate { to } => write!(f, "delegate to {to}"),
            NodeOp::Transfer { to } => write!(f, "transfer to {to}"),
            NodeOp::Approval { .. } | NodeOp::Ask { .. } | NodeOp::Branch | NodeOp::Merge => f.write_str(self.kind()),
        }
    }
}

/// What a node occupies: the unit of concurrency limits. Written `store`, `cpu`, `model:NAME`, `tool:NAME`, `person`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub enum Resource {
    /// Index and segment files.
    Store,
    /// Computation in this process.
    Cpu,
    /// One model tier.
    Model(ModelName),
    /// One tool.
    Tool(String),
    /// Somebody's attention.
    Person,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resource::Store => f.write_str("store"),
            Resource::Cpu => f.write_str("cpu"),
            Resource::Model(name) => write!(f, "model:{name}"),
            Resource::Tool(name) => write!(f, "tool:{name}"),
            Resource::Person => f.write_str("person"),
        }
    }
}

impl From<Resource> for String {
    fn from(resource: Resource) -> String {
        resource.to_string()
    }
}

impl TryFrom<String> for Resource {
    type Error = String;

    fn try_from(text: String) -> Result<Resource, String> {
        match text.as_str() {
            "store" => Ok(Resource::Store),
            "cpu" => Ok(Resource::Cpu),
            "person" => Ok(Resource::Person),
            other => match other.split_once(':') {
                Some(("model", name)) => ModelName::new(name).map(Resource::Model).map_err(|e| e.to_string()),
                Some(("tool", name)) if !name.is_empty() => Ok(Resource::Tool(name.to_owned())),
                _ => Err(format!("resource {other:?} is none of store, cpu, model:NAME, tool:NAME, person")),
            },
        }
    }
}

/// What a break means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailurePolicy {
    /// The run fails.
    Fail,
    /// The other branches of the join serve; the run says that it is degraded.
    Degrade,
    /// Its `on_failure` edges and conditions decide.
    Route,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_round_trip_as_text_and_strangers_are_refused() {
        for text in ["store", "cpu", "model:premium", "tool:git", "person"] {
            let parsed: Resource = serde_json::from_value(text.into()).expect("known resource");
            assert_eq!(parsed.to_string(), text);
        }
        for text in ["gpu", "model:", "model:a/b", "tool:", ""] {
            assert!(serde_json::from_value::<Resource>(text.into()).is_err(), "{text:?} was accepted");
        }
    }
}
