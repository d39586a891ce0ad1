//! What a statistic is about: a field of an operator, narrowed by bucket and source size; and its coarser keys.
//!
//! ```text
//! latency/access/bm25/conceptual/medium  →  latency/access/bm25/conceptual  →  latency/access/bm25  →  latency/access
//! ```

use ctx_types::{AccessPath, Bucket, ModelName, Strategy};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An estimated field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Field {
    /// Passages returned.
    Hits,
    /// Tokens of what an operator returns or sends.
    Tokens,
    /// Output tokens of a model call.
    OutputTokens,
    /// Nano-dollars.
    Cost,
    /// Microseconds, one undisturbed attempt.
    Latency,
    /// Microseconds to the first token.
    FirstToken,
    /// Microseconds per output token.
    PerToken,
    /// Real tokens per o200k token, in thousandths.
    TokenRatio,
    /// P(needed evidence among what is returned).
    Evidence,
    /// P(answer right): from feedback and gold labels only.
    Accuracy,
    /// P(our verifier lets the answer pass). Says nothing about being right.
    Verdict,
    /// P(a call fails at least once): errors, rate limits, timeouts.
    Failure,
}

/// How actual and estimate are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Positive quantities: ln(actual / estimate) in millionths of a nat.
    Ratio,
    /// Estimated probabilities: actual − estimate in ppm.
    Difference,
    /// Frequencies nobody estimates beforehand: the actual itself, in ppm.
    Rate,
}

impl Field {
    /// Every field, in canonical order.
    pub const ALL: [Field; 12] = [
        Field::Hits,
        Field::Tokens,
        Field::OutputTokens,
        Field::Cost,
        Field::Latency,
        Field::FirstToken,
        Field::PerToken,
        Field::TokenRatio,
        Field::Evidence,
        Field::Accuracy,
        Field::Verdict,
        Field::Failure,
    ];

    /// How it is compared.
    pub fn scale(self) -> Scale {
        match self {
            Field::Evidence | Field::Accuracy => Scale::Difference,
            Field::Verdict | Field::Failure => Scale::Rate,
            _ => Scale::Ratio,
        }
    }

    /// Name in keys and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            Field::Hits => "hits",
            Field::Tokens => "tokens",
            Field::OutputTokens => "output_tokens",
            Field::Cost => "cost",
            Field::Latency => "latency",
            Field::FirstToken => "first_token",
            Field::PerToken => "per_token",
            Field::TokenRatio => "token_ratio",
            Field::Evidence => "evidence",
            Field::Accuracy => "accuracy",
            Field::Verdict => "verdict",
            Field::Failure => "failure",
        }
    }
}

/// Kind of operator: the coarsest key, beyond which nothing is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorClass {
    /// Access paths, by name.
    Access,
    /// Model tiers, by name.
    Model,
    /// Answer strategies that need no model, by name.
    Strategy,
    /// Verifiers, by name.
    Verifier,
    /// Any other step, by name: fuse, pack.
    Step,
}

impl OperatorClass {
    /// Name in keys and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            OperatorClass::Access => "access",
            OperatorClass::Model => "model",
            OperatorClass::Strategy => "strategy",
            OperatorClass::Verifier => "verifier",
            OperatorClass::Step => "step",
        }
    }
}

/// Source size by passages, a power of ten each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeClass {
    /// Below a hundred.
    Tiny,
    /// Below a thousand.
    Small,
    /// Below ten thousand.
    Medium,
    /// Below a hundred thousand.
    Large,
    /// More.
    Huge,
}

impl SizeClass {
    /// The class of a source of so many passages.
    pub fn of(passages: u64) -> SizeClass {
        match passages {
            0..=99 => SizeClass::Tiny,
            100..=999 => SizeClass::Small,
            1_000..=9_999 => SizeClass::Medium,
            10_000..=99_999 => SizeClass::Large,
            _ => SizeClass::Huge,
        }
    }

    /// Name in keys and rows.
    pub fn as_str(self) -> &'static str {
        match self {
            SizeClass::Tiny => "tiny",
            SizeClass::Small => "small",
            SizeClass::Medium => "medium",
            SizeClass::Large => "large",
            SizeClass::Huge => "huge",
        }
    }
}

/// One statistic. Tenants share nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StatKey {
    /// Whose.
    pub tenant: String,
    /// Which field.
    pub field: Field,
    /// Kind of operator.
    pub class: OperatorClass,
    /// Its name; `None`: all of the class.
    pub operator: Option<String>,
    /// Display bucket of the goal; `None`: all.
    pub bucket: Option<Bucket>,
    /// Size of the source; `None`: all.
    pub size: Option<SizeClass>,
}

impl StatKey {
    /// A field of any operator.
    pub fn new(tenant: &str, field: Field, class: OperatorClass, operator: &str, bucket: Bucket) -> StatKey {
        StatKey { tenant: tenant.to_owned(), field, class, operator: Some(operator.to_owned()), bucket: Some(bucket), size: None }
    }

    /// A field of an access path on a source of some size.
    pub fn access(tenant: &str, field: Field, path: AccessPath, bucket: Bucket, size: SizeClass) -> StatKey {
        StatKey { size: Some(size), ..StatKey::new(tenant, field, OperatorClass::Access, path.as_str(), bucket) }
    }

    /// A field of a model tier.
    pub fn model(tenant: &str, field: Field, model: &ModelName, bucket: Bucket) -> StatKey {
        StatKey::new(tenant, field, OperatorClass::Model, model.as_str(), bucket)
    }

    /// A field of a strategy that needs no model.
    pub fn strategy(tenant: &str, field: Field, strategy: Strategy, bucket: Bucket) -> StatKey {
        StatKey::new(tenant, field, OperatorClass::Strategy, strategy.as_str(), bucket)
    }

    /// A field of a verifier.
    pub fn verifier(tenant: &str, field: Field, verifier: &str, bucket: Bucket) -> StatKey {
        StatKey::new(tenant, field, OperatorClass::Verifier, verifier, bucket)
    }

    /// The same field of another name: `key.of(Field::Cost)`.
    pub fn of(&self, field: Field) -> StatKey {
        StatKey { field, ..self.clone() }
    }

    /// Becomes its parent; `false` when it is the coarsest already.
    pub(crate) fn coarsen(&mut self) -> bool {
        if self.size.take().is_some() || self.bucket.take().is_some() {
            return true;
        }
        self.operator.take().is_some()
    }

    /// Itself and its parents, finest first.
    pub fn chain(&self) -> Vec<StatKey> {
        let mut chain = vec![self.clone()];
        let mut key = self.clone();
        while key.coarsen() {
            chain.push(key.clone());
        }
        chain
    }

    /// How many narrowings it has.
    pub(crate) fn depth(&self) -> u8 {
        u8::from(self.operator.is_some()) + u8::from(self.bucket.is_some()) + u8::from(self.size.is_some())
    }

    /// Name of this key among a plan's stamps.
    pub fn object(&self) -> String {
        format!("statistics {}:{self}", self.tenant)
    }
}

impl fmt::Display for StatKey {
    /// `latency/access/bm25/conceptual/medium`, without the tenant; what is not narrowed is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.field.as_str(), self.class.as_str())?;
        if let Some(operator) = &self.operator {
            write!(f, "/{operator}")?;
        }
        if let Some(bucket) = self.bucket {
            write!(f, "/{bucket}")?;
        }
        self.size.map_or(Ok(()), |size| write!(f, "/{}", size.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_coarsen_from_size_over_bucket_and_operator_to_the_class() {
        let key = StatKey::access("t", Field::Latency, AccessPath::Bm25, Bucket::Conceptual, SizeClass::of(4_000));
        let chain: Vec<String> = key.chain().iter().map(StatKey::to_string).collect();
        assert_eq!(
            chain,
            ["latency/access/bm25/conceptual/medium", "latency/access/bm25/conceptual", "latency/access/bm25", "latency/access",]
        );
        assert!(key.chain().is_sorted_by_key(|k| std::cmp::Reverse(k.depth())));
    }
}
