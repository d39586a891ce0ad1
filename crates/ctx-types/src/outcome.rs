//! What happened: answer, citations, verdict, status, spend.

use crate::estimate::TokenClasses;
use crate::passage::Locator;
use crate::{ContentId, Micros, NanoUsd, Ppm};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a run ended. Exit codes: [`Status::exit_code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// An answer that passed its check.
    Completed,
    /// Something broke.
    Failed,
    /// A provider could not answer.
    ProviderFailed,
    /// The store cannot be read.
    StoreUnavailable,
    /// No plan meets the constraints.
    Infeasible,
    /// Insufficient evidence.
    Abstained,
    /// The answer did not pass its check.
    VerificationFailed,
    /// Stopped by the dollar limit.
    BudgetUsd,
    /// Stopped by the token limit.
    BudgetTokens,
    /// Stopped by the deadline.
    BudgetTime,
    /// Stopped by the call limit.
    BudgetCalls,
    /// Stopped by the tool-call limit.
    BudgetTools,
    /// Stopped by the step limit.
    MaxSteps,
    /// Waiting for a person.
    Paused,
    /// Refused by a provider.
    Refused,
    /// Blocked by policy or a person.
    Blocked,
    /// Cancelled by the caller.
    Cancelled,
}

impl Status {
    /// The command line's exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Status::Completed => 0,
            Status::Failed => 1,
            Status::Infeasible => 3,
            Status::Abstained => 4,
            Status::VerificationFailed => 5,
            Status::BudgetUsd
            | Status::BudgetTokens
            | Status::BudgetTime
            | Status::BudgetCalls
            | Status::BudgetTools
            | Status::MaxSteps => 6,
            Status::ProviderFailed => 7,
            Status::Paused => 8,
            Status::Refused | Status::Blocked => 9,
            Status::StoreUnavailable => 10,
            Status::Cancelled => 130,
        }
    }
}

/// A citation of the answer: label and place. Labels are unique by construction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    /// The number used in the answer, `[1]`.
    pub label: u32,
    /// Passage id.
    pub passage: String,
    /// Where to open it.
    pub locator: Locator,
    /// Title of the document.
    pub title: String,
    /// The quoted sentence, for extractive answers.
    pub quote: Option<String>,
}

/// Result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// Which verifier.
    pub verifier: String,
    /// Whether the answer may be given.
    pub passed: bool,
    /// Calibrated confidence that the answer is right.
    pub confidence: Ppm,
    /// What it found, one line each.
    pub findings: Vec<String>,
}

/// What was spent. `None` is unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// Dollars settled.
    pub cost: NanoUsd,
    /// Whether part of it is estimated or unknown.
    pub cost_incomplete: bool,
    /// Tokens by class, over all calls.
    pub tokens: TokenClasses,
    /// Model calls, failed attempts that reached the provider included.
    pub calls: u32,
    /// Calls among them that were not answered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_calls: u32,
    /// Called models whose price is unknown: their calls are missing in `cost`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// Wall time.
    pub elapsed: Micros,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The answer; empty unless `Completed`.
    pub answer: String,
    /// Its citations.
    pub citations: Vec<Citation>,
    /// Its check.
    pub verdict: Option<Verdict>,
    /// P(the needed evidence was in the context), calibrated on the scores seen.
    pub evidence: Option<Ppm>,
    /// What was spent.
    pub spend: Spend,
    /// The plan.
    pub plan: Option<ContentId>,
    /// The trace.
    pub trace: String,
    /// Remarks: coverage, degradations, why it stopped and what to do.
    pub notes: Vec<String>,
}
