//! Limits: what `WITH (…)` and `SET` may say. One key per field of [`Constraints`], under the name that the configuration
//! uses in `budgets:`.

use crate::value::{self, Literal};
use ctx_types::goal::UncertainLatency;
use ctx_types::{Constraints, Micros, NanoUsd, Ppm, Sensitivity, Tokens};
use std::fmt;

/// A limit with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the field of `Constraints` with its name")]
pub enum Limit {
    MaxCost(NanoUsd),
    MaxLatency(Micros),
    MaxTokens(Tokens),
    MaxCalls(u32),
    MaxToolCalls(u32),
    MaxContextTokens(Tokens),
    MaxOutputTokens(Tokens),
    MinAccuracy(Ppm),
    FinalK(u32),
    RequireCitations(bool),
    RequireVerification(bool),
    RequireApproval(bool),
    Sensitivity(Sensitivity),
    UncertainLatency(UncertainLatency),
    Quantile(Ppm),
}

/// The key of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "each is the variant of `Limit` with its name")]
pub enum LimitKey {
    MaxCost,
    MaxLatency,
    MaxTokens,
    MaxCalls,
    MaxToolCalls,
    MaxContextTokens,
    MaxOutputTokens,
    MinAccuracy,
    FinalK,
    RequireCitations,
    RequireVerification,
    RequireApproval,
    Sensitivity,
    UncertainLatency,
    Quantile,
}

/// Labels by name.
pub(crate) const SENSITIVITIES: [(&str, Sensitivity); 4] = [
    ("public", Sensitivity::Public),
    ("internal", Sensitivity::Internal),
    ("confidential", Sensitivity::Confidential),
    ("restricted", Sensitivity::Restricted),
];
const UNCERTAIN: [(&str, UncertainLatency); 2] = [("allow", UncertainLatency::Allow), ("refuse", UncertainLatency::Refuse)];

impl LimitKey {
    /// Every key.
    pub const ALL: [LimitKey; 15] = [
        LimitKey::MaxCost,
        LimitKey::MaxLatency,
        LimitKey::MaxTokens,
        LimitKey::MaxCalls,
        LimitKey::MaxToolCalls,
        LimitKey::MaxContextTokens,
        LimitKey::MaxOutputTokens,
        LimitKey::MinAccuracy,
        LimitKey::FinalK,
        LimitKey::RequireCitations,
        LimitKey::RequireVerification,
        LimitKey::RequireApproval,
        LimitKey::Sensitivity,
        LimitKey::UncertainLatency,
        LimitKey::Quantile,
    ];

    /// As statements and the configuration write it.
    pub fn name(self) -> &'static str {
        match self {
            LimitKey::MaxCost => "max_cost_usd",
            LimitKey::MaxLatency => "max_latency_seconds",
            LimitKey::MaxTokens => "max_tokens",
            LimitKey::MaxCalls => "max_calls",
            LimitKey::MaxToolCalls => "max_tool_calls",
            LimitKey::MaxContextTokens => "max_context_tokens",
            LimitKey::MaxOutputTokens => "max_output_tokens",
            LimitKey::MinAccuracy => "min_accuracy",
            LimitKey::FinalK => "final_k",
            LimitKey::RequireCitations => "require_citations",
            LimitKey::RequireVerification => "require_verification",
            LimitKey::RequireApproval => "require_approval",
            LimitKey::Sensitivity => "sensitivity",
            LimitKey::UncertainLatency => "uncertain_latency",
            LimitKey::Quantile => "quantile",
        }
    }

    /// What it bounds, in words.
    pub fn about(self) -> &'static str {
        match self {
            LimitKey::MaxCost => "most dollars of a run",
            LimitKey::MaxLatency => "longest time of a run",
            LimitKey::MaxTokens => "most tokens over all calls of a run",
            LimitKey::MaxCalls => "most model calls of a run",
            LimitKey::MaxToolCalls => "most tool calls of a run",
            LimitKey::MaxContextTokens => "most context tokens of one call",
            LimitKey::MaxOutputTokens => "most output tokens of one call",
            LimitKey::MinAccuracy => "least expected accuracy, 0 to 1",
            LimitKey::FinalK => "most passages in the context",
            LimitKey::RequireCitations => "every claim cites a passage",
            LimitKey::RequireVerification => "a check runs (false: none, although the configuration asks for one)",
            LimitKey::RequireApproval => "a person approves",
            LimitKey::Sensitivity => "how sensitive the goal is: public, internal, confidential, restricted",
            LimitKey::UncertainLatency => "whether a plan of unmeasured latency may run under a latency limit: allow, refuse",
            LimitKey::Quantile => "quantile at which random quantities keep their limits, from 0.5 to below 1",
        }
    }

    /// The key with this name, in any case.
    pub fn named(name: &str) -> Option<LimitKey> {
        LimitKey::ALL.into_iter().find(|key| key.name().eq_ignore_ascii_case(name))
    }

    /// Whether the key alone means `= true`.
    pub(crate) fn is_flag(self) -> bool {
        matches!(self, LimitKey::RequireCitations | LimitKey::RequireVerification | LimitKey::RequireApproval)
    }

    pub(crate) fn read(self, literal: &Literal) -> Result<Limit, String> {
        Ok(match self {
            LimitKey::MaxCost => Limit::MaxCost(value::dollars(literal)?),
            LimitKey::MaxLatency => Limit::MaxLatency(value::seconds(literal)?),
            LimitKey::MaxTokens => Limit::MaxTokens(value::tokens(literal)?),
            LimitKey::MaxCalls => Limit::MaxCalls(value::count(literal)?),
            LimitKey::MaxToolCalls => Limit::MaxToolCalls(value::count(literal)?),
            LimitKey::MaxContextTokens => Limit::MaxContextTokens(value::tokens(literal)?),
            LimitKey::MaxOutputTokens => Limit::MaxOutputTokens(value::tokens(literal)?),
            LimitKey::MinAccuracy => Limit::MinAccuracy(value::share(literal)?),
            LimitKey::FinalK => Limit::FinalK(value::count(literal)?),
            LimitKey::RequireCitations => Limit::RequireCitations(value::boolean(literal)?),
            LimitKey::RequireVerification => Limit::RequireVerification(value::boolean(literal)?),
            LimitKey::RequireApproval => Limit::RequireApproval(value::boolean(literal)?),
            LimitKey::Sensitivity => Limit::Sensitivity(value::choice(literal, &SENSITIVITIES)?),
            LimitKey::UncertainLatency => Limit::UncertainLatency(value::choice(literal, &UNCERTAIN)?),
            LimitKey::Quantile => Limit::Quantile(value::quantile(literal)?),
        })
    }

    /// The value that `constraints` hold for this key; `None` if they say nothing.
    pub fn of(self, constraints: &Constraints) -> Option<Limit> {
        let c = constraints;
        match self {
            LimitKey::MaxCost => c.max_cost.map(Limit::MaxCost),
            LimitKey::MaxLatency => c.max_latency.map(Limit::MaxLatency),
            LimitKey::MaxTokens => c.max_tokens.map(Limit::MaxTokens),
            LimitKey::MaxCalls => c.max_calls.map(Limit::MaxCalls),
            LimitKey::MaxToolCalls => c.max_tool_calls.map(Limit::MaxToolCalls),
            LimitKey::MaxContextTokens => c.max_context_tokens.map(Limit::MaxContextTokens),
            LimitKey::MaxOutputTokens => c.max_output_tokens.map(Limit::MaxOutputTokens),
            LimitKey::MinAccuracy => c.min_accuracy.map(Limit::MinAccuracy),
            LimitKey::FinalK => c.final_k.map(Limit::FinalK),
            LimitKey::RequireCitations => c.require_citations.then_some(Limit::RequireCitations(true)),
            LimitKey::RequireVerification => c.require_verification.map(Limit::RequireVerification),
            LimitKey::RequireApproval => c.require_approval.then_some(Limit::RequireApproval(true)),
            LimitKey::Sensitivity => c.sensitivity.map(Limit::Sensitivity),
            LimitKey::UncertainLatency => {
                (c.uncertain_latency != UncertainLatency::default()).then_some(Limit::UncertainLatency(c.uncertain_latency))
            }
            LimitKey::Quantile => c.quantile.map(Limit::Quantile),
        }
    }
}

impl Limit {
    /// Its key.
    pub fn key(&self) -> LimitKey {
        match self {
            Limit::MaxCost(_) => LimitKey::MaxCost,
            Limit::MaxLatency(_) => LimitKey::MaxLatency,
            Limit::MaxTokens(_) => LimitKey::MaxTokens,
            Limit::MaxCalls(_) => LimitKey::MaxCalls,
            Limit::MaxToolCalls(_) => LimitKey::MaxToolCalls,
            Limit::MaxContextTokens(_) => LimitKey::MaxContextTokens,
            Limit::MaxOutputTokens(_) => LimitKey::MaxOutputTokens,
            Limit::MinAccuracy(_) => LimitKey::MinAccuracy,
            Limit::FinalK(_) => LimitKey::FinalK,
            Limit::RequireCitations(_) => LimitKey::RequireCitations,
            Limit::RequireVerification(_) => LimitKey::RequireVerification,
            Limit::RequireApproval(_) => LimitKey::RequireApproval,
            Limit::Sensitivity(_) => LimitKey::Sensitivity,
            Limit::UncertainLatency(_) => LimitKey::UncertainLatency,
            Limit::Quantile(_) => LimitKey::Quantile,
        }
    }

    /// Sets its field.
    pub fn apply(&self, constraints: &mut Constraints) {
        let c = constraints;
        match *self {
            Limit::MaxCost(value) => c.max_cost = Some(value),
            Limit::MaxLatency(value) => c.max_latency = Some(value),
            Limit::MaxTokens(value) => c.max_tokens = Some(value),
            Limit::MaxCalls(value) => c.max_calls = Some(value),
            Limit::MaxToolCalls(value) => c.max_tool_calls = Some(value),
            Limit::MaxContextTokens(value) => c.max_context_tokens = Some(value),
            Limit::MaxOutputTokens(value) => c.max_output_tokens = Some(value),
            Limit::MinAccuracy(value) => c.min_accuracy = Some(value),
            Limit::FinalK(value) => c.final_k = Some(value),
            Limit::RequireCitations(value) => c.require_citations = value,
            Limit::RequireVerification(value) => c.require_verification = Some(value),
            Limit::RequireApproval(value) => c.require_approval = value,
            Limit::Sensitivity(value) => c.sensitivity = Some(value),
            Limit::UncertainLatency(value) => c.uncertain_latency = value,
            Limit::Quantile(value) => c.quantile = Some(value),
        }
    }

    /// The value as it is written, without unit.
    pub fn value(&self) -> String {
        match self {
            Limit::MaxCost(value) => value::decimal(u64::try_from(value.0).unwrap_or(0), 9),
            Limit::MaxLatency(value) => value::decimal(value.0, 6),
            Limit::MaxTokens(value) | Limit::MaxContextTokens(value) | Limit::MaxOutputTokens(value) => value.0.to_string(),
            Limit::MaxCalls(value) | Limit::MaxToolCalls(value) | Limit::FinalK(value) => value.to_string(),
            Limit::MinAccuracy(value) | Limit::Quantile(value) => value::decimal(u64::from(value.0), 6),
            Limit::RequireCitations(value) | Limit::RequireVerification(value) | Limit::RequireApproval(value) => value.to_string(),
            Limit::Sensitivity(value) => value.to_string(),
            Limit::UncertainLatency(UncertainLatency::Allow) => "allow".to_owned(),
            Limit::UncertainLatency(UncertainLatency::Refuse) => "refuse".to_owned(),
        }
    }
}

impl fmt::Display for Limit {
    /// `max_cost_usd = 0.05`, `require_citations`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.key().is_flag(), self.value()) {
            (true, value) if value == "true" => f.write_str(self.key().name()),
            (_, value) => write!(f, "{} = {value}", self.key().name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_constraints_has_a_key() {
        let fields = serde_json::to_value(Constraints { quantile: Some(Ppm(900_000)), ..Constraints::default() }).expect("plain");
        assert_eq!(fields.as_object().expect("a struct").len(), LimitKey::ALL.len());
        let mut names: Vec<&str> = LimitKey::ALL.iter().map(|key| key.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LimitKey::ALL.len());
        for key in LimitKey::ALL {
            let trimmed = key.name().trim_end_matches("_usd").trim_end_matches("_seconds");
            assert!(fields.get(trimmed).is_some(), "{trimmed} is no field");
        }
    }

    #[test]
    fn what_is_applied_is_found_again() {
        let limits = [Limit::MaxCost(NanoUsd(7)), Limit::RequireCitations(true), Limit::RequireVerification(false)];
        let mut constraints = Constraints::default();
        limits.iter().for_each(|limit| limit.apply(&mut constraints));
        for limit in limits {
            assert_eq!(limit.key().of(&constraints), Some(limit));
        }
        assert_eq!(LimitKey::MaxCalls.of(&constraints), None);
    }
}
