//! What a complete plan may not do. Feasibility only; it knows no score.

use crate::problem::{Frame, Totals};
use ctx_types::goal::UncertainLatency;
use ctx_types::{Constraints, NanoUsd, Ppm, Tokens};

/// A hard limit that depends on the complete plan. (Citations, verification, sensitivity and permissions are
/// implications: they prune alternatives before the search.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Dollars.
    Cost,
    /// Seconds.
    Latency,
    /// Seconds, of a plan nobody has measured.
    UnmeasuredLatency,
    /// Tokens over all calls.
    Tokens,
    /// Calls.
    Calls,
    /// Accuracy.
    Accuracy,
    /// Quotas within the pack budget.
    Quota,
    /// An answerer that works on what the sources bring.
    Answerer,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Limit; 8] = [
        Limit::Cost,
        Limit::Latency,
        Limit::UnmeasuredLatency,
        Limit::Tokens,
        Limit::Calls,
        Limit::Accuracy,
        Limit::Quota,
        Limit::Answerer,
    ];

    /// Its key in configuration and requests.
    pub fn key(self) -> &'static str {
        match self {
            Limit::Cost => "max_cost_usd",
            Limit::Latency => "max_latency_seconds",
            Limit::UnmeasuredLatency => "uncertain_latency",
            Limit::Tokens => "max_tokens",
            Limit::Calls => "max_calls",
            Limit::Accuracy => "min_accuracy",
            Limit::Quota => "pack budget",
            Limit::Answerer => "answerer",
        }
    }
}

/// What a complete plan uses of every limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Bound on dollars.
    pub cost: NanoUsd,
    /// Upper quantile of latency in µs.
    pub latency: u64,
    /// Whether it is measured.
    pub latency_measured: bool,
    /// Bound on tokens.
    pub tokens: Tokens,
    /// Calls.
    pub calls: u32,
    /// Expected accuracy.
    pub accuracy: Ppm,
    /// Quotas beyond the pack budget.
    pub over_quota: Tokens,
    /// Whether its answerer works on what the sources bring.
    pub answerable: bool,
}

impl Usage {
    /// Of a frame with a selection whose accuracy is known.
    pub fn of(frame: &Frame, totals: &Totals, accuracy: f64) -> Usage {
        Usage {
            cost: (frame.cost_bound + totals.cost).ceil_nano(),
            latency: (frame.latency_p90 + totals.latency_p90).get(),
            latency_measured: frame.latency_measured,
            tokens: frame.tokens_bound,
            calls: frame.calls,
            accuracy: Ppm::from_share(accuracy),
            over_quota: totals.quota - frame.budget,
            answerable: frame.takes(totals),
        }
    }

    /// Bit set of the limits it breaks, bit i for `Limit::ALL[i]`.
    pub fn violations(&self, limits: &Constraints) -> u8 {
        let late = limits.max_latency.is_some_and(|m| self.latency > m.get());
        // No run takes no time: under a limit of zero nothing needs to be measured.
        let hopeless = limits.max_latency.is_some_and(|m| m.get() == 0);
        let limited = limits.max_latency.is_some();
        let broken = [
            limits.max_cost.is_some_and(|m| self.cost > m),
            hopeless || late && (self.latency_measured || limits.uncertain_latency == UncertainLatency::Refuse),
            limited && !self.latency_measured && limits.uncertain_latency == UncertainLatency::Refuse,
            limits.max_tokens.is_some_and(|m| self.tokens > m),
            limits.max_calls.is_some_and(|m| self.calls > m),
            limits.min_accuracy.is_some_and(|m| self.accuracy < m),
            self.over_quota.get() > 0,
            !self.answerable,
        ];
        broken.iter().enumerate().fold(0, |set, (bit, on)| set | (u8::from(*on) << bit))
    }
}
