//! What tenants have spent and set aside, by hour: a pure function of the ledger's journal.
//!
//! Every model call leaves an intent before and a settlement after it. An intent without settlement whose process has ended
//! is charged at its bound, marked assumed: the provider may have done the work. Money is counted in the window in which the
//! call was intended. Nothing here knows a clock: `now` is an argument, in seconds since the Unix epoch.

use super::{Actual, Bound, Refusal, incomplete};
use crate::config::{Per, TenantBudget};
use ctx_contracts::Journal;
use ctx_types::estimate::TokenClasses;
use ctx_types::trace::CallEnd;
use ctx_types::{NanoUsd, Tokens};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of rows and snapshot.
pub(crate) const LEDGER_SCHEMA_VERSION: u32 = 1;
/// Hours kept after they ended: a day's window needs twenty-four, people look at two.
const HOURS_KEPT: u64 = 48;
const HOUR: u64 = 3_600;

/// One row of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) schema_version: u32,
    #[serde(flatten)]
    pub(crate) entry: Entry,
}

/// What a row says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub(crate) enum Entry {
    /// A call is about to be made and may take so much.
    Intent {
        id: String,
        tenant: String,
        run: String,
        model: String,
        /// What for: `answer`, `rerank`.
        #[serde(default)]
        purpose: String,
        /// Whether nobody knows its price.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unpriced: bool,
        at: u64,
        cost: NanoUsd,
        tokens: Tokens,
    },
    /// It is charged so much.
    Settled {
        id: String,
        cost: NanoUsd,
        tokens: Tokens,
        /// Whether the provider did not report, and this is our count or the bound.
        estimated: bool,
        #[serde(default)]
        end: CallEnd,
        /// What the provider reported; absent: unknown, never zero.
        #[serde(default)]
        usage: Option<TokenClasses>,
    },
    /// It was not made.
    Released { id: String },
}

/// What one tenant took in one hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Dollars.
    pub cost: NanoUsd,
    /// Tokens of all classes.
    pub tokens: Tokens,
    /// Calls, failed attempts that reached the provider included.
    pub calls: u64,
    /// Calls among them that were not answered.
    #[serde(default)]
    pub failed: u64,
    /// Calls among them whose cost is not known exactly.
    #[serde(default)]
    pub incomplete: u64,
    /// Calls among them by model whose price is unknown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unpriced: BTreeMap<String, u64>,
    /// Calls among them that are charged at our count or their bound, because the provider reported none.
    pub estimated: u64,
    /// Calls among them that are charged at their bound, because their process died before it settled them.
    pub assumed: u64,
}

impl Spent {
    fn add(&mut self, other: &Spent) {
        self.cost += other.cost;
        self.tokens += other.tokens;
        self.calls += other.calls;
        self.failed += other.failed;
        self.incomplete += other.incomplete;
        for (model, calls) in &other.unpriced {
            *self.unpriced.entry(model.clone()).or_default() += calls;
        }
        self.estimated += other.estimated;
        self.assumed += other.assumed;
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    tenant: String,
    at: u64,
    cost: NanoUsd,
    tokens: Tokens,
    writer: String,
    /// The model, where nobody knows its price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unpriced: Option<String>,
}

impl Open {
    /// One call that is charged so much.
    fn spent(&self, cost: NanoUsd, tokens: Tokens, estimated: bool) -> Spent {
        Spent {
            cost,
            tokens,
            calls: 1,
            incomplete: u64::from(incomplete(self.unpriced.is_some(), estimated, self.cost)),
            unpriced: self.unpriced.iter().map(|model| (model.clone(), 1)).collect(),
            ..Spent::default()
        }
    }
}

/// The ledger as it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Accounts {
    schema_version: u32,
    /// By tenant and first second of the hour.
    hours: BTreeMap<String, BTreeMap<u64, Spent>>,
    /// Intents without settlement, by id.
    open: BTreeMap<String, Open>,
}

/// Whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Fits,
    /// Only outstanding calls are in the way.
    Waits,
    Refused(Refusal),
}

impl Accounts {
    /// Snapshot and rows together; rows of another version are left out.
    pub(crate) fn of(journal: &Journal) -> Accounts {
        let snapshot = journal.snapshot.as_deref().and_then(|bytes| serde_json::from_slice::<Accounts>(bytes).ok());
        let mut accounts = snapshot.filter(|held| held.schema_version == LEDGER_SCHEMA_VERSION).unwrap_or_default();
        accounts.schema_version = LEDGER_SCHEMA_VERSION;
        for recorded in &journal.records {
            match Row::deserialize(&recorded.record) {
                Ok(row) if row.schema_version == LEDGER_SCHEMA_VERSION => accounts.apply(row.entry, &recorded.writer),
                _ => tracing::warn!(writer = %recorded.writer, "a row of the ledger cannot be read"),
            }
        }
        let ended: Vec<String> =
            accounts.open.iter().filter(|(_, open)| !journal.live.contains(&open.writer)).map(|(id, _)| id.clone()).collect();
        for id in ended {
            if let Some(open) = accounts.open.remove(&id) {
                let spent = open.spent(open.cost, open.tokens, true);
                accounts.charge(open, Spent { assumed: 1, ..spent });
            }
        }
        accounts
    }

    fn apply(&mut self, entry: Entry, writer: &str) {
        match entry {
            Entry::Intent { id, tenant, model, unpriced, at, cost, tokens, .. } => {
                let unpriced = unpriced.then_some(model);
                self.open.insert(id, Open { tenant, at, cost, tokens, writer: writer.to_owned(), unpriced });
            }
            Entry::Settled { id, cost, tokens, estimated, end, .. } => self.settle(&id, cost, tokens, estimated, end),
            Entry::Released { id } => drop(self.open.remove(&id)),
        }
    }

    /// What no provider saw is no call, and what one refused is known to be free.
    fn settle(&mut self, id: &str, cost: NanoUsd, tokens: Tokens, estimated: bool, end: CallEnd) {
        let Some(open) = self.open.remove(id).filter(|_| end != CallEnd::NotSent) else { return };
        let spent = match end {
            CallEnd::Refused => Spent { calls: 1, ..Spent::default() },
            _ => open.spent(cost, tokens, estimated),
        };
        let (failed, estimated) = (u64::from(end != CallEnd::Answered), u64::from(estimated));
        self.charge(open, Spent { failed, estimated, ..spent });
    }

    fn charge(&mut self, open: Open, spent: Spent) {
        self.hours.entry(open.tenant).or_default().entry(open.at - open.at % HOUR).or_default().add(&spent);
    }

    /// Without hours that nobody asks for any more.
    pub(crate) fn forgotten(mut self, now: u64) -> Accounts {
        let first = now.saturating_sub(HOURS_KEPT * HOUR);
        self.hours.values_mut().for_each(|hours| hours.retain(|hour, _| *hour >= first));
        self.hours.retain(|_, hours| !hours.is_empty());
        self
    }

    /// Whether a call of `tenant` fits into its budget now.
    pub(crate) fn answer(&self, tenant: &str, budget: &TenantBudget, bound: Bound, now: u64) -> Answer {
        let spent = self.spent(tenant, budget.per, now);
        let reserved = self.reserved(tenant, budget.per, now);
        if let Some(limit) = budget.max_cost.filter(|limit| spent.cost + bound.cost > *limit) {
            let (tenant, per) = (tenant.to_owned(), budget.per);
            return Answer::Refused(Refusal::TenantCost { tenant, per, bound: bound.cost, spent: spent.cost, limit });
        }
        if let Some(limit) = budget.max_tokens.filter(|limit| spent.tokens + bound.tokens > *limit) {
            let (tenant, per) = (tenant.to_owned(), budget.per);
            return Answer::Refused(Refusal::TenantTokens { tenant, per, bound: bound.tokens, spent: spent.tokens, limit });
        }
        let waits = budget.max_cost.is_some_and(|limit| spent.cost + reserved.cost + bound.cost > limit)
            || budget.max_tokens.is_some_and(|limit| spent.tokens + reserved.tokens + bound.tokens > limit);
        if waits { Answer::Waits } else { Answer::Fits }
    }

    /// What a tenant spent in the window that `now` lies in.
    pub(crate) fn spent(&self, tenant: &str, per: Per, now: u64) -> Spent {
        let mut sum = Spent::default();
        let hours = self.hours.get(tenant).into_iter().flat_map(|hours| hours.range(per.start(now)..=now));
        hours.for_each(|(_, spent)| sum.add(spent));
        sum
    }

    /// Bounds of its calls in flight in that window.
    pub(crate) fn reserved(&self, tenant: &str, per: Per, now: u64) -> Bound {
        let start = per.start(now);
        self.open
            .values()
            .filter(|open| open.tenant == tenant && open.at >= start)
            .fold(Bound::default(), |sum, open| Bound { cost: sum.cost + open.cost, tokens: sum.tokens + open.tokens })
    }

    /// Tenants with calls, in order.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &String> {
        let open = self.open.values().map(|open| &open.tenant).filter(|tenant| !self.hours.contains_key(*tenant));
        self.hours.keys().chain(open.collect::<std::collections::BTreeSet<_>>())
    }
}

/// A call that was charged.
pub(crate) fn settled(id: &str, actual: &Actual) -> Row {
    let (cost, tokens, estimated, end) = (actual.cost, actual.tokens.total(), actual.estimated, actual.end);
    let usage = (!estimated).then_some(actual.tokens);
    let entry = Entry::Settled { id: id.to_owned(), cost, tokens, estimated, end, usage };
    Row { schema_version: LEDGER_SCHEMA_VERSION, entry }
}

/// A call that was not made.
pub(crate) fn released(id: &str) -> Row {
    Row { schema_version: LEDGER_SCHEMA_VERSION, entry: Entry::Released { id: id.to_owned() } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ctx_contracts::Recorded;

    const NOW: u64 = 1_795_910_400;

    fn intent(id: &str, at: u64, cost: i64) -> Entry {
        let text = str::to_owned;
        let (cost, tokens) = (NanoUsd(cost), Tokens(10));
        let [tenant, run, model, purpose] = ["t", "r", "m", "answer"].map(text);
        Entry::Intent { id: text(id), tenant, run, model, purpose, unpriced: false, at, cost, tokens }
    }

    fn settlement(id: &str, cost: i64) -> Entry {
        let (cost, tokens, end) = (NanoUsd(cost), Tokens(5), CallEnd::Answered);
        Entry::Settled { id: id.to_owned(), cost, tokens, estimated: false, end, usage: None }
    }

    fn journal(entries: Vec<Entry>, live: &[&str]) -> Journal {
        let record = |entry| Recorded {
            writer: "w".to_owned(),
            record: serde_json::to_value(Row { schema_version: LEDGER_SCHEMA_VERSION, entry }).expect("plain data"),
        };
        Journal { snapshot: None, records: entries.into_iter().map(record).collect(), live: live.iter().map(|w| (*w).to_owned()).collect() }
    }

    fn budget(cost: i64, per: Per) -> TenantBudget {
        TenantBudget { max_cost: Some(NanoUsd(cost)), max_tokens: None, per }
    }

    fn bound(cost: i64) -> Bound {
        Bound { cost: NanoUsd(cost), tokens: Tokens(1) }
    }

    #[test]
    fn what_only_outstanding_calls_block_waits_and_what_was_spent_blocks_for_good() {
        let rows = || vec![intent("a", NOW, 60), settlement("a", 30), intent("b", NOW, 50)];
        let accounts = Accounts::of(&journal(rows(), &["w"]));
        let per = Per::Hour;
        assert_eq!(accounts.answer("t", &budget(100, per), bound(20), NOW), Answer::Fits);
        assert_eq!(accounts.answer("t", &budget(100, per), bound(21), NOW), Answer::Waits);
        let refused = accounts.answer("t", &budget(100, per), bound(71), NOW);
        assert!(matches!(&refused, Answer::Refused(refusal) if refusal.to_string().contains("tenant t")), "{refused:?}");
        assert_eq!(accounts.answer("other", &budget(100, per), bound(100), NOW), Answer::Fits, "tenants share nothing");
        let released = Accounts::of(&journal([rows(), vec![Entry::Released { id: "b".to_owned() }]].concat(), &["w"]));
        assert_eq!(released.reserved("t", per, NOW), Bound::default());
    }

    #[test]
    fn a_call_whose_process_died_is_charged_at_its_bound_marked_assumed() {
        let accounts = Accounts::of(&journal(vec![intent("a", NOW, 60)], &[]));
        let spent = accounts.spent("t", Per::Hour, NOW);
        assert_eq!((spent.cost, spent.calls, spent.assumed), (NanoUsd(60), 1, 1));
        assert!(matches!(accounts.answer("t", &budget(100, Per::Hour), bound(50), NOW), Answer::Refused(_)), "waiting helps nobody");
    }

    #[test]
    fn failed_calls_are_calls_and_models_without_price_are_named() {
        let settled = |id: &str, end, estimated| {
            let cost = NanoUsd(if estimated { 60 } else { 0 });
            Entry::Settled { id: id.to_owned(), cost, tokens: Tokens(5), estimated, end, usage: None }
        };
        let dark = |id: &str| match intent(id, NOW, 0) {
            Entry::Intent { id, tenant, run, purpose, at, cost, tokens, .. } => {
                Entry::Intent { id, tenant, run, model: "dark".to_owned(), purpose, unpriced: true, at, cost, tokens }
            }
            other => other,
        };
        let rows = [
            vec![intent("a", NOW, 60), settled("a", CallEnd::Refused, false), dark("b"), settled("b", CallEnd::Refused, false)],
            vec![intent("c", NOW, 60), settled("c", CallEnd::NotSent, false)],
        ]
        .concat();
        let spent = Accounts::of(&journal(rows.clone(), &["w"])).spent("t", Per::Hour, NOW);
        assert_eq!((spent.calls, spent.failed, spent.incomplete, spent.cost), (2, 2, 0, NanoUsd(0)), "{spent:?}");
        let more = vec![intent("d", NOW, 60), settled("d", CallEnd::Failed, true), dark("e"), settlement("e", 0)];
        let spent = Accounts::of(&journal([rows, more].concat(), &["w"])).spent("t", Per::Hour, NOW);
        assert_eq!((spent.calls, spent.failed, spent.incomplete, spent.cost), (4, 3, 2, NanoUsd(60)), "{spent:?}");
        assert_eq!(spent.unpriced, BTreeMap::from([("dark".to_owned(), 1)]));
    }

    #[test]
    fn windows_end_and_a_snapshot_says_the_same_as_its_rows() {
        let rows = vec![intent("a", NOW, 60), settlement("a", 40), intent("b", NOW + 3_600, 30)];
        let accounts = Accounts::of(&journal(rows, &["w"]));
        let cost = |per, at| accounts.spent("t", per, at).cost + accounts.reserved("t", per, at).cost;
        assert_eq!((cost(Per::Hour, NOW + 3_599), cost(Per::Hour, NOW + 3_601)), (NanoUsd(70), NanoUsd(30)));
        assert_eq!((cost(Per::Day, NOW + 3_601), accounts.spent("t", Per::Day, NOW + 86_400).cost), (NanoUsd(70), NanoUsd(0)));
        let kept = accounts.clone().forgotten(NOW + 3_601);
        let snapshot = Some(serde_json::to_vec(&kept).expect("plain data"));
        let again = Accounts::of(&Journal { snapshot, ..journal(vec![settlement("b", 10)], &["w"]) });
        assert_eq!(again.spent("t", Per::Day, NOW + 3_601).cost, NanoUsd(50));
        assert_eq!(accounts.forgotten(NOW + 50 * 3_600).tenants().count(), 1, "the open call still stands");
    }
}
