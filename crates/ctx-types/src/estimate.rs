//! What an alternative or a complete plan would cost and achieve.

use crate::{Estimated, MicroNats, Micros, NanoUsd, PicoUsd, Ppm, Score, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens by billing class. Classes are disjoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenClasses {
    /// Input that is not in the provider's cache.
    pub input: Tokens,
    /// Input read from it.
    pub cached_input: Tokens,
    /// Input written to it.
    pub cache_write: Tokens,
    /// Output.
    pub output: Tokens,
    /// Reasoning, billed as output.
    pub reasoning: Tokens,
}

impl TokenClasses {
    /// All classes.
    pub fn total(&self) -> Tokens {
        self.prompt() + self.output + self.reasoning
    }

    /// What is sent: the provider's cache reads and writes included.
    pub fn prompt(&self) -> Tokens {
        self.input + self.cached_input + self.cache_write
    }
}

/// Estimate of one alternative, on its own terms. Fields that do not apply are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AlternativeEstimate {
    /// Passages it would return.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Estimated<u32>>,
    /// Tokens it adds to the context (access) or sends and receives (answer).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Estimated<Tokens>>,
    /// Dollars: point and bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Estimated<NanoUsd>>,
    /// Median latency; `high` is the ninth decile of a prior, the upper end of the 90 % interval of what was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Estimated<Micros>>,
    /// Probability that the needed evidence is among what it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Estimated<Ppm>>,
    /// P(right | evidence) of an answerer, or P(a wrong answer is caught) of a verifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<Estimated<Ppm>>,
    /// Parts of a model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<CallEstimate>>,
}

/// One model call, part by part: its latency is the time to the first token and the time per token times the tokens of the
/// answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallEstimate {
    /// Tokens of the prompt at the context that the plan expects.
    pub input: Tokens,
    /// Of these the ones that are expected to be read from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Tokens>,
    /// Tokens of the answer, for this model and kind of goal.
    pub output: Estimated<Tokens>,
    /// Time to the first token.
    pub first_token: Estimated<Micros>,
    /// Time per token of the answer.
    pub per_token: Estimated<Micros>,
    /// P(an attempt breaks): errors, rate limits, timeouts.
    pub failure: Estimated<Ppm>,
    /// Tokens of the whole call, with the 90 % interval of what was measured; absent before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Estimated<Tokens>>,
    /// Its dollars, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Estimated<NanoUsd>>,
}

/// Estimate of a complete plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanEstimate {
    /// P(needed evidence is in the context).
    pub evidence: Estimated<Ppm>,
    /// P(final answer right) + P(withheld and no permitted source holds an answer).
    pub accuracy: Estimated<Ppm>,
    /// P(wrong and passes the check).
    pub hallucination: Ppm,
    /// P(wrong answer caught) − P(right answer rejected), in ppm; may be negative.
    pub verification: i64,
    /// P(irreversible and unapproved).
    pub risk: Ppm,
    /// 1 − share of estimated evidence surviving pack and compress.
    pub loss: Ppm,
    /// Expected share of input tokens read from the provider's cache beyond what cost counted.
    pub cache: Ppm,
    /// Expected cost and interval.
    pub cost: Estimated<NanoUsd>,
    /// Whether an unknown price is part of it: then `cost` is a lower bound.
    pub cost_incomplete: bool,
    /// Provable upper bound of the primary path. Constraints use it.
    pub cost_bound: NanoUsd,
    /// Critical path: median and 90 % interval; constraints use `high`.
    pub latency: Estimated<Micros>,
    /// Expected tokens over all calls.
    pub tokens: TokenClasses,
    /// Upper bound of tokens over all calls.
    pub tokens_bound: Tokens,
    /// Context tokens sent.
    pub context_tokens: Estimated<Tokens>,
    /// Model calls of the primary path.
    pub calls: u32,
}

/// The score, term by term: weight × term, so that they add up to `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreBreakdown {
    /// + accuracy.
    pub acc: Score,
    /// + prefix-cache share.
    pub cache: Score,
    /// + net value of the check.
    pub vrf: Score,
    /// − cost.
    pub cost: Score,
    /// − latency.
    pub lat: Score,
    /// − risk.
    pub risk: Score,
    /// − hallucination.
    pub hall: Score,
    /// − loss.
    pub loss: Score,
    /// Their sum.
    pub total: Score,
}

/// The additive part of an alternative: what the optimizer sums along a selection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vector {
    /// Evidence.
    pub evidence: MicroNats,
    /// Unrounded cost.
    pub cost: PicoUsd,
    /// Context tokens.
    pub tokens: Tokens,
    /// Latency of this branch, upper quantile.
    pub latency: Micros,
}
