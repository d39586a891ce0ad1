//! The plan space: stages, and the options of each.

use crate::{ModelName, Ppm, Score, SourceName, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A stage of the pipeline. Each is a group from which exactly one alternative is chosen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Reading one source.
    Access(SourceName),
    /// Merging the lists.
    Fuse,
    /// Reordering.
    Rerank,
    /// Choosing what goes into the context.
    Pack,
    /// Shortening it.
    Compress,
    /// Producing the answer.
    Answer,
    /// Checking it.
    Verify,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stage::Access(source) => write!(f, "access {source}"),
            Stage::Fuse => f.write_str("fuse"),
            Stage::Rerank => f.write_str("rerank"),
            Stage::Pack => f.write_str("pack"),
            Stage::Compress => f.write_str("compress"),
            Stage::Answer => f.write_str("answer"),
            Stage::Verify => f.write_str("verify"),
        }
    }
}

macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $type { $($(#[$vdoc])* $variant),+ }
        impl $type {
            /// Every value in canonical order.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];
            /// Name in EXPLAIN, configuration and hints.
            pub fn as_str(self) -> &'static str { match self { $($type::$variant => $text),+ } }
            /// From that name.
            pub fn from_name(name: &str) -> Option<$type> { Self::ALL.iter().copied().find(|v| v.as_str() == name) }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
    };
}

names!(/// How a source is read.
    AccessPath {
    /// Exact identifier lookup.
    Identifier => "identifier",
    /// BM25 over the text index.
    Bm25 => "bm25",
    /// Nearest vectors.
    Dense => "dense",
    /// BM25 and dense, linear score fusion.
    HybridLinear => "hybrid_linear",
    /// BM25 and dense, reciprocal rank fusion.
    HybridRrf => "hybrid_rrf",
    /// Every passage, in order.
    Whole => "whole",
    /// A query computed over typed rows (SQL).
    Table => "table",
});

names!(/// How lists of several sources are merged.
    FuseMethod {
    /// By calibrated probability of relevance.
    CalibratedScore => "calibrated_score",
    /// Reciprocal rank fusion.
    Rrf => "rrf",
});

names!(/// Order of the context and the question.
    Layout {
    /// Context, then the question.
    ContextFirst => "context_first",
    /// Question, then the context.
    QuestionFirst => "question_first",
    /// Best evidence at both ends, then the question.
    EdgesFirst => "edges_first",
});

names!(/// How the answer is produced.
    Strategy {
    /// Sentences quoted and cited; no model.
    Extractive => "extractive",
    /// One model call.
    SingleShot => "single_shot",
    /// A result computed from typed rows, given as it is; no model.
    Computed => "computed",
});

/// One physical operator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "op")]
pub enum Operator {
    /// The source is not read.
    Skip,
    /// The source is read.
    Access {
        /// How.
        path: AccessPath,
        /// Passages asked for.
        k: u32,
        /// Most tokens of this source in the context; unused quota is lent in rank order.
        quota: Tokens,
    },
    /// Lists are merged.
    Fuse {
        /// How.
        method: FuseMethod,
    },
    /// The merged list keeps its order.
    NoRerank,
    /// The merged list is looked at again.
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
    },
    /// Passages are sent as they are.
    NoCompress,
    /// Passages are shortened.
    Compress {
        /// By which compressor.
        compressor: String,
        /// Share of the tokens that is kept.
        keep: Ppm,
    },
    /// The answer is produced.
    Answer {
        /// How.
        strategy: Strategy,
        /// By which model; `None` for strategies without one.
        model: Option<ModelName>,
    },
    /// The answer is checked.
    Verify {
        /// By which verifier.
        verifier: String,
    },
    /// The answer is not checked.
    NoVerify,
}

impl Operator {
    /// The operator without its numbers: what shapes and folded lists are made of.
    pub fn shape(&self) -> String {
        match self {
            Operator::Access { path, .. } => path.to_string(),
            Operator::Pack { layout, .. } => layout.to_string(),
            Operator::Compress { compressor, .. } => compressor.clone(),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operator::Skip => f.write_str("skip"),
            Operator::Access { path, k, quota } => write!(f, "{path} k={k} quota={quota}"),
            Operator::Fuse { method } => write!(f, "{method}"),
            Operator::NoRerank | Operator::NoCompress | Operator::NoVerify => f.write_str("none"),
            Operator::Pack { budget, layout } => write!(f, "{budget} tokens {layout}"),
            Operator::Answer { strategy, model: Some(model) } => write!(f, "{strategy} {model}"),
            Operator::Answer { strategy, model: None } => write!(f, "{strategy}"),
            Operator::Rerank { reranker } => f.write_str(reranker),
            Operator::Compress { compressor, keep } => write!(f, "{compressor} keep={:.2}", keep.share()),
            Operator::Verify { verifier } => f.write_str(verifier),
        }
    }
}

/// Ordinal of an alternative in its plan space: canonical order, stable for the same inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AlternativeId(pub u32);

/// One option of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// Ordinal.
    pub id: AlternativeId,
    /// The group it belongs to.
    pub stage: Stage,
    /// What it would do.
    pub operator: Operator,
}

/// The rule that removes, when the rest of a run is planned, every way of reading a source but the one it was read by.
pub const ALREADY_READ: &str = "already_read";

/// Where an alternative ended: exactly one of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "fate")]
pub enum Fate {
    /// In the plan.
    Chosen,
    /// Removed by a rule before scoring.
    Pruned {
        /// The rule's name.
        rule: String,
        /// In words, with the values that decided.
        reason: String,
    },
    /// Another alternative of the same stage is at least as good in everything.
    Dominated {
        /// Which.
        by: AlternativeId,
    },
    /// Every complete plan through it breaks a constraint.
    Infeasible {
        /// The constraint.
        constraint: String,
        /// By how much the best plan through it misses.
        reason: String,
    },
    /// A complete plan through it exists and scores less.
    Outscored {
        /// Score of the best complete plan through it.
        score: Score,
        /// The winner's score minus that.
        difference: Score,
    },
}
