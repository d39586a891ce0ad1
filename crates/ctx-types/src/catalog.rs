//! What exists: sources with their statistics, models with prices and latencies, operators that a plugin can honour.
//! The counterpart of `pg_class` and `pg_statistic`. A value: the planner never asks anybody.

pub use crate::prices::{PriceTier, Prices};
use crate::{AccessPath, Estimated, FuseMethod, Layout, Micros, ModelName, PicoUsd, Sensitivity, SourceKind, SourceName, Strategy, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Everything a plan may consider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Catalog {
    /// Sources by name.
    pub sources: BTreeMap<SourceName, SourceEntry>,
    /// Model tiers by name.
    pub models: BTreeMap<ModelName, ModelEntry>,
    /// What the plugins in this process can do besides access and models.
    pub capabilities: Capabilities,
}

/// Operators some plugin can honour exactly. What is not listed here is never planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Fusion methods.
    pub fuse: Vec<FuseMethod>,
    /// Context layouts.
    pub layouts: Vec<Layout>,
    /// Answer strategies.
    pub strategies: Vec<Strategy>,
    /// Verifiers, by name.
    pub verifiers: Vec<VerifierEntry>,
    /// Rerankers, by name.
    #[serde(default)]
    pub rerankers: Vec<RerankerEntry>,
    /// Compressors, by name; each with the ratios it can honour.
    #[serde(default)]
    pub compressors: Vec<CompressorEntry>,
    /// Whether a person can be asked.
    pub approval: bool,
}

/// State of a source at planning time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Indexed and readable.
    Ready,
    /// Configured, nothing in it.
    Empty,
    /// Exists, no statistics: planned with priors, marked.
    NoStatistics,
    /// Cannot be read now.
    Unavailable {
        /// Why.
        reason: String,
    },
}

/// One source: `pg_class` and `pg_statistic` in one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceEntry {
    /// What it is made of.
    pub kind: SourceKind,
    /// Whether it can be used.
    pub state: SourceState,
    /// Documents (files, records).
    pub documents: u64,
    /// Passages.
    pub passages: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Tokens (o200k) of all passages.
    pub tokens: Tokens,
    /// Token quantiles of a passage: p10, p50, p90, maximum.
    pub passage_tokens: [u32; 4],
    /// Distinct terms.
    pub vocabulary: u64,
    /// Languages by passages, ISO 639-1.
    pub languages: BTreeMap<String, u64>,
    /// Vectors stored, if any.
    pub embedding: Option<EmbeddingInventory>,
    /// Declared label.
    pub sensitivity: Sensitivity,
    /// Sensitive values counted at indexing, by detector.
    pub sensitive_values: BTreeMap<String, u64>,
    /// Roles that may read it; empty means everyone.
    pub readable_by: BTreeSet<String>,
    /// Merkle root of the published generation.
    pub fingerprint: String,
    /// Generation number it was read at.
    pub generation: u64,
    /// Access paths that some retriever honours, with their latency.
    pub access: Vec<AccessCapability>,
    /// Tables with typed columns, of sources that are tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableEntry>,
}

/// One table of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TableEntry {
    /// Name in SQL.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Columns in the order of the file.
    pub columns: Vec<ColumnEntry>,
    /// What was noticed while reading: ragged rows, renamed columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One column of a table: what `pg_statistic` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnEntry {
    /// Name in SQL.
    pub name: String,
    /// Type in SQL, from all rows.
    pub data_type: String,
    /// Distinct values that are not null.
    pub distinct: u64,
    /// Share of rows without a value.
    pub null_share: crate::Ppm,
    /// Least and greatest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(String, String)>,
    /// Most frequent values with their counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub top: Vec<(String, u64)>,
    /// Columns of other tables in which its values stand, as `table.column`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joins: Vec<String>,
    /// What was noticed while typing it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl SourceEntry {
    /// Whether somebody with these roles may read it.
    pub fn readable_to(&self, roles: &BTreeSet<String>) -> bool {
        readable(&self.readable_by, roles)
    }
}

/// Whether somebody with these roles may read what is `readable_by` some: by everybody where it names none.
pub fn readable(readable_by: &BTreeSet<String>, roles: &BTreeSet<String>) -> bool {
    readable_by.is_empty() || !readable_by.is_disjoint(roles)
}

/// Vectors of a source and the model that made them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddingInventory {
    /// Model name.
    pub model: String,
    /// Components of a vector.
    pub dimension: u32,
    /// Hash of the model.
    pub model_hash: String,
    /// Version of the frozen IDF weights.
    pub idf_version: String,
    /// Vectors stored.
    pub vectors: u64,
}

/// An access path that can be honoured on a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccessCapability {
    /// Which.
    pub path: AccessPath,
    /// Median latency of one call.
    pub latency_p50: Estimated<Micros>,
    /// Ninth decile.
    pub latency_p90: Estimated<Micros>,
}

/// Where a model runs. Decides the default of `accepts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Locality {
    /// Loopback, a private address or declared local.
    Local,
    /// Anywhere else.
    Remote,
}

/// Tokenizer family, for counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenizerFamily {
    /// o200k: exact.
    O200k,
    /// cl100k: exact.
    Cl100k,
    /// Unknown: o200k × multiplier.
    Other {
        /// Multiplier on the o200k count, in thousandths, with its interval.
        multiplier_milli: Estimated<u32>,
    },
}

/// Whether a model can be called now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Availability {
    /// It answered discovery, or its breaker is closed.
    Available,
    /// It did not.
    Unavailable {
        /// Why: no key, no endpoint, breaker open.
        reason: String,
    },
}

/// One model tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    /// The provider's name for it.
    pub model: String,
    /// Wire adapter: `openai_compatible`, …
    pub provider: String,
    /// Where it runs.
    pub locality: Locality,
    /// Highest sensitivity it may see.
    pub accepts: Sensitivity,
    /// Context window; `None` is unknown.
    pub context_window: Option<Tokens>,
    /// Most output tokens of one call.
    pub max_output: Option<Tokens>,
    /// Prices.
    pub prices: Prices,
    /// Time to first token.
    pub first_token: Estimated<Micros>,
    /// Time per output token.
    pub per_token: Estimated<Micros>,
    /// Output tokens of an answer.
    pub output_tokens: Estimated<Tokens>,
    /// For counting.
    pub tokenizer: TokenizerFamily,
    /// Whether it can be called.
    pub availability: Availability,
    /// What the configuration says it is good for.
    pub good_for: Vec<String>,
}

/// A check that some plugin can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerifierEntry {
    /// `citations`, `answers_question`, `support`, …
    pub name: String,
    /// Strategies whose answers it can check.
    pub checks: Vec<Strategy>,
    /// P(a wrong answer is caught).
    pub catches: Estimated<crate::Ppm>,
    /// P(a right answer is rejected).
    pub rejects_right: Estimated<crate::Ppm>,
    /// Latency of one check.
    pub latency: Estimated<Micros>,
    /// Whether passing it proves that every citation resolves.
    pub proves_citations: bool,
}

/// A second look at a list that some plugin can take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RerankerEntry {
    /// `features`, or the model's name.
    pub name: String,
    /// Most passages it looks at, from the top of the list.
    pub depth: u32,
    /// By how much P(evidence in the context) grows, as a share of itself, by how much the context holds; in ascending order.
    pub gains: Vec<RerankGain>,
    /// Latency of the whole list at `depth`.
    pub latency: Estimated<Micros>,
    /// Where it runs.
    pub locality: Locality,
    /// Highest sensitivity it may see.
    pub accepts: Sensitivity,
    /// Price of a token read; `None` is unknown.
    pub price: Option<PicoUsd>,
    /// Model calls that one list costs; 0 for what runs in this process.
    pub calls: u32,
}

/// What a reranker brings where the context holds so much.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RerankGain {
    /// Contexts of up to so many tokens.
    pub up_to: Tokens,
    /// Growth of P(evidence in the context), as a share of itself.
    pub gain: Estimated<crate::Ppm>,
}

impl RerankerEntry {
    /// The gain for a context of so many tokens: a larger one holds more of the list in any order. Beyond the largest that was
    /// measured there is none.
    pub fn gain_at(&self, context: Tokens) -> Option<&Estimated<crate::Ppm>> {
        self.gains.iter().find(|measured| measured.up_to >= context).map(|measured| &measured.gain)
    }
}

/// A way of shortening passages that some plugin can honour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompressorEntry {
    /// `structural`, `extractive`, `learned`.
    pub name: String,
    /// Ratios it was measured at, in ascending order of what is kept.
    pub ratios: Vec<CompressionRatio>,
    /// Latency per 1,000 tokens read.
    pub latency_per_ktoken: Estimated<Micros>,
}

/// What a compressor keeps at one setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompressionRatio {
    /// Share of the tokens asked for.
    pub keep: crate::Ppm,
    /// Share of the tokens that is really sent: what must not be dropped counts.
    pub sent: Estimated<crate::Ppm>,
    /// P(the evidence is still in the text | it was before).
    pub survives: Estimated<crate::Ppm>,
}
