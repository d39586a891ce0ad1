//! The budget of one run: reserve the bound of a call before it is made, settle with the actual after.
//!
//! Every branch of a run shares one ledger, so spending never passes a limit: a call starts only when what was spent, what
//! is reserved and its own bound fit. A reservation blocked only by outstanding ones waits for their settlement; it is
//! refused when what was spent and its own bound exceed a limit alone. Deadlines are the caller's: waiting can be dropped.
//! What all runs of a tenant share is `book`'s, over the pure `accounts`.

pub(crate) mod accounts;
pub(crate) mod book;

use crate::config::Per;
use ctx_types::estimate::TokenClasses;
use ctx_types::outcome::Spend;
use ctx_types::{Constraints, Micros, NanoUsd, Tokens};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Upper bound of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Dollars.
    pub cost: NanoUsd,
    /// Tokens of all classes.
    pub tokens: Tokens,
}

/// What one call took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actual {
    /// Dollars.
    pub cost: NanoUsd,
    /// Tokens by class.
    pub tokens: TokenClasses,
    /// Whether the provider did not report and this is our count, or part of the price is unknown.
    pub estimated: bool,
}

/// The limit that refused a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Dollars.
    #[error("the call may cost up to {bound}; {spent} of {limit} are spent")]
    Cost {
        /// Its bound.
        bound: NanoUsd,
        /// Spent so far.
        spent: NanoUsd,
        /// The limit.
        limit: NanoUsd,
    },
    /// Tokens.
    #[error("the call may take up to {bound} tokens; {spent} of {limit} are used")]
    Tokens {
        /// Its bound.
        bound: Tokens,
        /// Used so far.
        spent: Tokens,
        /// The limit.
        limit: Tokens,
    },
    /// Calls.
    #[error("{made} of {limit} calls are made")]
    Calls {
        /// Made so far.
        made: u32,
        /// The limit.
        limit: u32,
    },
    /// Dollars of a tenant's runs together.
    #[error("the call may cost up to {bound}; tenant {tenant} has spent {spent} of {limit} this {per}")]
    TenantCost {
        /// Whose.
        tenant: String,
        /// The window.
        per: Per,
        /// Its bound.
        bound: NanoUsd,
        /// Spent in the window.
        spent: NanoUsd,
        /// The limit.
        limit: NanoUsd,
    },
    /// Tokens of a tenant's runs together.
    #[error("the call may take up to {bound} tokens; tenant {tenant} has used {spent} of {limit} this {per}")]
    TenantTokens {
        /// Whose.
        tenant: String,
        /// The window.
        per: Per,
        /// Its bound.
        bound: Tokens,
        /// Used in the window.
        spent: Tokens,
        /// The limit.
        limit: Tokens,
    },
}

#[derive(Debug, Default)]
struct State {
    spent: NanoUsd,
    tokens: TokenClasses,
    calls: u32,
    reserved: Bound,
    reserved_calls: u32,
    incomplete: bool,
}

/// The ledger of one run.
#[derive(Debug)]
pub struct Ledger {
    max_cost: Option<NanoUsd>,
    max_tokens: Option<Tokens>,
    max_calls: Option<u32>,
    state: Mutex<State>,
    settled: Notify,
}

enum Verdict {
    Fits,
    Waits,
    Refused(Refusal),
}

impl Ledger {
    /// An empty ledger under these limits.
    pub fn new(limits: &Constraints) -> Arc<Ledger> {
        Arc::new(Ledger {
            max_cost: limits.max_cost,
            max_tokens: limits.max_tokens,
            max_calls: limits.max_calls,
            state: Mutex::default(),
            settled: Notify::new(),
        })
    }

    /// Sets `bound` aside, waiting while only outstanding reservations are in the way.
    pub async fn reserve(self: &Arc<Self>, bound: Bound) -> Result<Reservation, Refusal> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // Registered before the state is read, so that a settlement in between is not missed.
            settled.as_mut().enable();
            if let Some(decision) = self.try_reserve(bound) {
                return decision;
            }
            settled.await;
        }
    }

    /// `None`: it must wait.
    fn try_reserve(self: &Arc<Self>, bound: Bound) -> Option<Result<Reservation, Refusal>> {
        let mut state = self.state();
        match self.verdict(&state, bound) {
            Verdict::Waits => None,
            Verdict::Refused(refusal) => Some(Err(refusal)),
            Verdict::Fits => {
                state.reserved.cost += bound.cost;
                state.reserved.tokens += bound.tokens;
                state.reserved_calls += 1;
                Some(Ok(Reservation { ledger: self.clone(), bound, open: true }))
            }
        }
    }

    fn verdict(&self, state: &State, bound: Bound) -> Verdict {
        let used = state.tokens.total();
        if let Some(limit) = self.max_calls.filter(|limit| state.calls >= *limit) {
            return Verdict::Refused(Refusal::Calls { made: state.calls, limit });
        }
        if let Some(limit) = self.max_cost.filter(|limit| state.spent + bound.cost > *limit) {
            return Verdict::Refused(Refusal::Cost { bound: bound.cost, spent: state.spent, limit });
        }
        if let Some(limit) = self.max_tokens.filter(|limit| used + bound.tokens > *limit) {
            return Verdict::Refused(Refusal::Tokens { bound: bound.tokens, spent: used, limit });
        }
        let waits = self.max_calls.is_some_and(|limit| state.calls + state.reserved_calls >= limit)
            || self.max_cost.is_some_and(|limit| state.spent + state.reserved.cost + bound.cost > limit)
            || self.max_tokens.is_some_and(|limit| used + state.reserved.tokens + bound.tokens > limit);
        if waits { Verdict::Waits } else { Verdict::Fits }
    }

    /// What was spent so far. `elapsed` is the caller's.
    pub fn spend(&self, elapsed: Micros) -> Spend {
        let state = self.state();
        Spend { cost: state.spent, cost_incomplete: state.incomplete, tokens: state.tokens, calls: state.calls, elapsed }
    }

    /// Bounds of calls in flight.
    pub fn reserved(&self) -> Bound {
        self.state().reserved
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, bound: Bound, actual: Option<Actual>) {
        let mut state = self.state();
        state.reserved.cost = state.reserved.cost - bound.cost;
        state.reserved.tokens = state.reserved.tokens - bound.tokens;
        state.reserved_calls = state.reserved_calls.saturating_sub(1);
        if let Some(actual) = actual {
            state.spent += actual.cost;
            state.tokens = sum(&state.tokens, &actual.tokens);
            state.calls += 1;
            state.incomplete |= actual.estimated;
        }
        drop(state);
        self.settled.notify_waiters();
    }
}

fn sum(a: &TokenClasses, b: &TokenClasses) -> TokenClasses {
    TokenClasses {
        input: a.input + b.input,
        cached_input: a.cached_input + b.cached_input,
        cache_write: a.cache_write + b.cache_write,
        output: a.output + b.output,
        reasoning: a.reasoning + b.reasoning,
    }
}

/// Budget set aside for one call. Dropped without settlement (the call was cancelled in flight), it is charged at its
/// bound and marked estimated: the provider may have done the work.
#[derive(Debug)]
pub struct Reservation {
    ledger: Arc<Ledger>,
    bound: Bound,
    open: bool,
}

impl Reservation {
    /// The call took this.
    pub fn settle(mut self, actual: Actual) {
        self.open = false;
        self.ledger.close(self.bound, Some(actual));
    }

    /// The call was not made, or was refused before any work.
    pub fn release(mut self) {
        self.open = false;
        self.ledger.close(self.bound, None);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.open {
            let tokens = TokenClasses { input: self.bound.tokens, ..TokenClasses::default() };
            self.ledger.close(self.bound, Some(Actual { cost: self.bound.cost, tokens, estimated: true }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(cost: i64, tokens: u64, calls: u32) -> Constraints {
        Constraints { max_cost: Some(NanoUsd(cost)), max_tokens: Some(Tokens(tokens)), max_calls: Some(calls), ..Constraints::default() }
    }

    fn bound(cost: i64, tokens: u64) -> Bound {
        Bound { cost: NanoUsd(cost), tokens: Tokens(tokens) }
    }

    fn actual(cost: i64, tokens: u64) -> Actual {
        Actual { cost: NanoUsd(cost), tokens: TokenClasses { input: Tokens(tokens), ..TokenClasses::default() }, estimated: false }
    }

    #[tokio::test]
    async fn a_call_that_fits_only_after_settlement_waits_and_one_that_never_fits_is_refused() {
        let ledger = Ledger::new(&limits(100, 1000, 10));
        let first = ledger.reserve(bound(80, 10)).await.expect("fits");
        let waiting = tokio::spawn({
            let ledger = ledger.clone();
            async move { ledger.reserve(bound(50, 10)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "reserved beyond the limit");
        first.settle(actual(20, 5));
        waiting.await.expect("no panic").expect("fits after settlement").settle(actual(50, 5));
        assert_eq!(
            ledger.reserve(bound(31, 1)).await.err(),
            Some(Refusal::Cost { bound: NanoUsd(31), spent: NanoUsd(70), limit: NanoUsd(100) })
        );
    }

    #[tokio::test]
    async fn a_dropped_reservation_is_charged_at_its_bound_and_a_released_one_is_not() {
        let ledger = Ledger::new(&limits(100, 1000, 10));
        drop(ledger.reserve(bound(30, 7)).await.expect("fits"));
        ledger.reserve(bound(30, 7)).await.expect("fits").release();
        let spend = ledger.spend(Micros(0));
        assert_eq!((spend.cost, spend.tokens.total(), spend.calls, spend.cost_incomplete), (NanoUsd(30), Tokens(7), 1, true));
        assert_eq!(ledger.reserved(), Bound::default());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_overshoots_whatever_runs_at_once(
            calls in proptest::collection::vec((1i64..40, 1u64..40, 0u8..3, 0u32..=100), 1..40),
            max_cost in 1i64..300, max_tokens in 1u64..300, max_calls in 1u32..20,
        ) {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("threads");
            let ledger = Ledger::new(&limits(max_cost, max_tokens, max_calls));
            runtime.block_on(async {
                let mut tasks = tokio::task::JoinSet::new();
                for (cost, tokens, end, share) in calls {
                    let ledger = ledger.clone();
                    tasks.spawn(async move {
                        let Ok(reservation) = ledger.reserve(bound(cost, tokens)).await else { return };
                        tokio::task::yield_now().await;
                        match end {
                            0 => reservation.settle(actual(cost * i64::from(share) / 100, tokens * u64::from(share) / 100)),
                            1 => reservation.release(),
                            _ => drop(reservation),
                        }
                    });
                }
                while tasks.join_next().await.is_some() {}
            });
            let spend = ledger.spend(Micros(0));
            prop_assert!(spend.cost.0 <= max_cost && spend.tokens.total().0 <= max_tokens && spend.calls <= max_calls);
            prop_assert_eq!(ledger.reserved(), Bound::default());
        }
    }
}
