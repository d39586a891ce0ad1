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
use ctx_types::trace::{CallEnd, CallRow};
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

/// Which call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// What for: `answer`, `rerank`.
    pub purpose: &'static str,
    /// Tier.
    pub model: String,
    /// Whether its price is unknown.
    pub unpriced: bool,
}

/// What one call is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actual {
    /// Dollars.
    pub cost: NanoUsd,
    /// Tokens by class.
    pub tokens: TokenClasses,
    /// Whether the provider did not report, and this is our count or the bound.
    pub estimated: bool,
    /// How it ended.
    pub end: CallEnd,
}

impl Actual {
    /// Nothing is due.
    pub fn nothing(end: CallEnd) -> Actual {
        Actual { end, ..Actual::default() }
    }

    /// Nobody knows what it took, so all that was set aside.
    pub fn at_bound(bound: Bound, end: CallEnd) -> Actual {
        let tokens = TokenClasses { input: bound.tokens, ..TokenClasses::default() };
        Actual { cost: bound.cost, tokens, estimated: true, end }
    }

    /// Whether the cost is known exactly: that of a call that no provider worked on is.
    pub(crate) fn is_costed(&self, tag: &Tag, bound: Bound) -> bool {
        matches!(self.end, CallEnd::Refused | CallEnd::NotSent) || !incomplete(tag.unpriced, self.estimated, bound.cost)
    }
}

/// Whether the cost of a call is not known exactly. What cannot cost anything is known to be free, whatever it took.
pub(crate) fn incomplete(unpriced: bool, estimated: bool, bound: NanoUsd) -> bool {
    unpriced || (estimated && bound > NanoUsd(0))
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
    failed: u32,
    incomplete: bool,
    rows: Vec<CallRow>,
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
    pub async fn reserve(self: &Arc<Self>, tag: Tag, bound: Bound) -> Result<Reservation, Refusal> {
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // Registered before the state is read, so that a settlement in between is not missed.
            settled.as_mut().enable();
            if let Some(decision) = self.try_reserve(&tag, bound) {
                return decision;
            }
            settled.await;
        }
    }

    /// `None`: it must wait.
    fn try_reserve(self: &Arc<Self>, tag: &Tag, bound: Bound) -> Option<Result<Reservation, Refusal>> {
        let mut state = self.state();
        match self.verdict(&state, bound) {
            Verdict::Waits => None,
            Verdict::Refused(refusal) => Some(Err(refusal)),
            Verdict::Fits => {
                state.reserved.cost += bound.cost;
                state.reserved.tokens += bound.tokens;
                state.reserved_calls += 1;
                Some(Ok(Reservation { ledger: self.clone(), tag: tag.clone(), bound, stage: Stage::Waiting }))
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
        let mut unpriced: Vec<String> = state.rows.iter().filter(|row| counts(row) && row.unpriced).map(|row| row.model.clone()).collect();
        unpriced.sort();
        unpriced.dedup();
        Spend {
            cost: state.spent,
            cost_incomplete: state.incomplete,
            tokens: state.tokens,
            calls: state.calls,
            failed_calls: state.failed,
            unpriced_models: unpriced,
            elapsed,
        }
    }

    /// Every call so far, in the order in which they ended.
    pub fn rows(&self) -> Vec<CallRow> {
        self.state().rows.clone()
    }

    /// Bounds of calls in flight.
    pub fn reserved(&self) -> Bound {
        self.state().reserved
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, tag: &Tag, bound: Bound, actual: Option<Actual>) {
        let mut state = self.state();
        state.reserved.cost = state.reserved.cost - bound.cost;
        state.reserved.tokens = state.reserved.tokens - bound.tokens;
        state.reserved_calls = state.reserved_calls.saturating_sub(1);
        if let Some(actual) = actual {
            let row = row(tag, bound, &actual);
            if counts(&row) {
                state.spent += actual.cost;
                state.tokens = sum(&state.tokens, &actual.tokens);
                state.calls += 1;
                state.failed += u32::from(row.end != CallEnd::Answered);
                state.incomplete |= row.cost.is_none();
            }
            state.rows.push(row);
        }
        drop(state);
        self.settled.notify_waiters();
    }
}

/// Whether a provider saw the call.
fn counts(row: &CallRow) -> bool {
    row.end != CallEnd::NotSent
}

fn row(tag: &Tag, bound: Bound, actual: &Actual) -> CallRow {
    CallRow {
        purpose: tag.purpose.to_owned(),
        model: tag.model.clone(),
        end: actual.end,
        usage: (!actual.estimated).then_some(actual.tokens),
        cost: actual.is_costed(tag, bound).then_some(actual.cost),
        charged: actual.cost,
        unpriced: tag.unpriced,
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

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is not made yet.
    Waiting,
    /// It may be.
    Made,
    /// Nothing more is written.
    Closed,
}

/// Budget set aside for one call. Dropped with its call in flight it is charged at its bound and marked estimated, since the
/// provider may have done the work; before that it is released.
#[derive(Debug)]
pub struct Reservation {
    ledger: Arc<Ledger>,
    tag: Tag,
    bound: Bound,
    stage: Stage,
}

impl Reservation {
    /// From here on the provider may see the call.
    pub fn made(&mut self) {
        self.stage = Stage::Made;
    }

    /// The call took this.
    pub fn settle(mut self, actual: Actual) {
        self.close(Some(actual));
    }

    /// The call was not made.
    pub fn release(mut self) {
        self.close(None);
    }

    fn close(&mut self, actual: Option<Actual>) {
        if std::mem::replace(&mut self.stage, Stage::Closed) != Stage::Closed {
            self.ledger.close(&self.tag, self.bound, actual);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let actual = (self.stage == Stage::Made).then(|| Actual::at_bound(self.bound, CallEnd::Cancelled));
        self.close(actual);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(cost: i64, tokens: u64, calls: u32) -> Constraints {
        Constraints { max_cost: Some(NanoUsd(cost)), max_tokens: Some(Tokens(tokens)), max_calls: Some(calls), ..Constraints::default() }
    }

    fn tag() -> Tag {
        Tag { purpose: "answer", model: "m".to_owned(), unpriced: false }
    }

    fn bound(cost: i64, tokens: u64) -> Bound {
        Bound { cost: NanoUsd(cost), tokens: Tokens(tokens) }
    }

    fn actual(cost: i64, tokens: u64) -> Actual {
        Actual {
            cost: NanoUsd(cost),
            tokens: TokenClasses { input: Tokens(tokens), ..TokenClasses::default() },
            estimated: false,
            end: CallEnd::Answered,
        }
    }

    #[tokio::test]
    async fn a_call_that_fits_only_after_settlement_waits_and_one_that_never_fits_is_refused() {
        let ledger = Ledger::new(&limits(100, 1000, 10));
        let first = ledger.reserve(tag(), bound(80, 10)).await.expect("fits");
        let waiting = tokio::spawn({
            let ledger = ledger.clone();
            async move { ledger.reserve(tag(), bound(50, 10)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished(), "reserved beyond the limit");
        first.settle(actual(20, 5));
        waiting.await.expect("no panic").expect("fits after settlement").settle(actual(50, 5));
        assert_eq!(
            ledger.reserve(tag(), bound(31, 1)).await.err(),
            Some(Refusal::Cost { bound: NanoUsd(31), spent: NanoUsd(70), limit: NanoUsd(100) })
        );
    }

    #[tokio::test]
    async fn a_dropped_reservation_is_charged_at_its_bound_and_a_released_one_is_not() {
        let ledger = Ledger::new(&limits(100, 1000, 10));
        let mut made = ledger.reserve(tag(), bound(30, 7)).await.expect("fits");
        made.made();
        drop(made);
        drop(ledger.reserve(tag(), bound(30, 7)).await.expect("fits, and is never made"));
        ledger.reserve(tag(), bound(30, 7)).await.expect("fits").release();
        let spend = ledger.spend(Micros(0));
        assert_eq!((spend.cost, spend.tokens.total(), spend.calls, spend.cost_incomplete), (NanoUsd(30), Tokens(7), 1, true));
        assert_eq!(ledger.reserved(), Bound::default());
    }

    #[tokio::test]
    async fn every_request_is_a_row_and_what_nobody_saw_counts_nothing() {
        let ledger = Ledger::new(&limits(100, 1000, 3));
        let dark = Tag { unpriced: true, ..tag() };
        ledger.reserve(tag(), bound(30, 7)).await.expect("fits").settle(Actual::nothing(CallEnd::Refused));
        ledger.reserve(dark.clone(), bound(0, 7)).await.expect("fits").settle(Actual::nothing(CallEnd::NotSent));
        let spend = ledger.spend(Micros(0));
        assert_eq!((spend.calls, spend.failed_calls, spend.cost_incomplete, spend.unpriced_models.len()), (1, 1, false, 0));
        ledger.reserve(tag(), bound(0, 7)).await.expect("fits").settle(Actual::at_bound(bound(0, 7), CallEnd::Failed));
        assert!(!ledger.spend(Micros(0)).cost_incomplete, "what cannot cost anything is known to be free");
        ledger.reserve(dark, bound(0, 7)).await.expect("fits").settle(actual(0, 7));
        let spend = ledger.spend(Micros(0));
        assert_eq!((spend.calls, spend.cost_incomplete, spend.unpriced_models), (3, true, vec!["m".to_owned()]));
        let rows = ledger.rows();
        let known: Vec<(CallEnd, Option<u64>, Option<NanoUsd>)> =
            rows.iter().map(|row| (row.end, row.usage.map(|usage| usage.total().get()), row.cost)).collect();
        let zero = Some(NanoUsd(0));
        assert_eq!(
            known,
            [
                (CallEnd::Refused, Some(0), zero),
                (CallEnd::NotSent, Some(0), zero),
                (CallEnd::Failed, None, zero),
                (CallEnd::Answered, Some(7), None)
            ]
        );
        assert!(matches!(ledger.reserve(tag(), bound(0, 1)).await, Err(Refusal::Calls { made: 3, .. })), "failed ones count");
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
                        let Ok(mut reservation) = ledger.reserve(tag(), bound(cost, tokens)).await else { return };
                        reservation.made();
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
