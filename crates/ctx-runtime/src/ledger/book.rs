//! The ledger that a tenant's runs share, in every process: intents before calls and settlements after them, in a journal of
//! the store.
//!
//! With `durability: sync` an intent is durable before its call is made and a settlement before the answer is used. A tenant
//! without a budget is only written down; with one, a call starts when what the tenant spent in the window, what its other
//! runs have set aside and its own bound fit. Blocked by outstanding calls only, it waits for them; its run's deadline ends
//! the wait.

use super::accounts::{Accounts, Answer, Entry, LEDGER_SCHEMA_VERSION, Row, Spent, released, settled};
use super::{Actual, Bound, Refusal, Stage, Tag};
use crate::config::{Config, Per, TenantBudget};
use ctx_contracts::{Clock, Durability, ErrorKind, Journal, PluginError, Store};
use ctx_types::trace::CallEnd;
use ctx_types::{NanoUsd, Tokens};
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::task::TaskTracker;

/// Name of the journal.
const JOURNAL: &str = "ledger";
/// First pause between two looks at a full budget; doubled up to [`PAUSE_MAX`].
const PAUSE_MIN: Duration = Duration::from_millis(10);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(200);
/// Rows that are folded into the snapshot together.
const FOLD_ROWS: usize = 100;

/// One tenant's account, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccountRow {
    /// Whose.
    pub tenant: String,
    /// The window.
    pub per: Per,
    /// Spent in it.
    pub spent: Spent,
    /// Whether the dollars are not all there: calls at unknown price, or charged at our count or their bound.
    pub cost_incomplete: bool,
    /// Called models whose price is unknown: their calls are missing in the dollars.
    pub unpriced_models: Vec<String>,
    /// Dollars set aside by calls in flight.
    pub reserved_cost: NanoUsd,
    /// Tokens set aside.
    pub reserved_tokens: Tokens,
    /// Dollar limit, if one is configured.
    pub max_cost: Option<NanoUsd>,
    /// Token limit.
    pub max_tokens: Option<Tokens>,
}

/// The ledger, as one run sees it.
pub(crate) struct Book {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    durability: Durability,
    tenant: String,
    run: String,
    budget: Option<TenantBudget>,
    calls: AtomicU64,
    tasks: TaskTracker,
}

/// A call that is written down and not settled yet. Dropped with its call in flight it is settled at its bound, before that
/// it is released.
pub(crate) struct Intent {
    book: Arc<Book>,
    id: String,
    bound: Bound,
    stage: Stage,
}

impl Book {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        config: &Config,
        tenant: &str,
        run: &str,
        tasks: TaskTracker,
    ) -> Arc<Book> {
        Arc::new(Book {
            store,
            clock,
            durability: config.runtime.durability,
            budget: config.tenant_budgets.get(tenant).copied(),
            tenant: tenant.to_owned(),
            run: run.to_owned(),
            calls: AtomicU64::new(0),
            tasks,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.unix_seconds()).unwrap_or(0)
    }

    /// Writes a call down before it is made.
    pub(crate) async fn intend(self: &Arc<Self>, tag: &Tag, bound: Bound) -> Result<Intent, PluginError> {
        let id = format!("{}/{}", self.run, self.calls.fetch_add(1, Ordering::Relaxed));
        let mut intent = Intent { book: self.clone(), id: id.clone(), bound, stage: Stage::Waiting };
        let row = |at: u64| {
            let entry = Entry::Intent {
                id: id.clone(),
                tenant: self.tenant.clone(),
                run: self.run.clone(),
                model: tag.model.clone(),
                purpose: tag.purpose.to_owned(),
                unpriced: tag.unpriced,
                at,
                cost: bound.cost,
                tokens: bound.tokens,
            };
            record(&Row { schema_version: LEDGER_SCHEMA_VERSION, entry })
        };
        let written = match self.budget {
            None => self.store.append(JOURNAL, row(self.now()), self.durability).await,
            Some(budget) => self.admitted(budget, bound, row).await,
        };
        match written {
            Ok(()) => intent.stage = Stage::Made,
            // Nobody waits for this row and no limit depends on it: the run is worth more than its bookkeeping.
            Err(error) if self.budget.is_none() && self.durability != Durability::Sync => {
                tracing::warn!(%error, "a call is not in the ledger");
                intent.stage = Stage::Closed;
            }
            Err(error) => {
                intent.stage = Stage::Closed;
                return Err(error);
            }
        }
        Ok(intent)
    }

    async fn admitted(&self, budget: TenantBudget, bound: Bound, row: impl Fn(u64) -> serde_json::Value) -> Result<(), PluginError> {
        let mut pause = PAUSE_MIN;
        loop {
            let now = self.now();
            let verdict = Arc::new(Mutex::new(Answer::Waits));
            let (slot, tenant) = (verdict.clone(), self.tenant.clone());
            let admit = move |journal: &Journal| {
                let answer = Accounts::of(journal).answer(&tenant, &budget, bound, now);
                let fits = answer == Answer::Fits;
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = answer;
                fits
            };
            if self.store.append_if(JOURNAL, row(now), self.durability, Box::new(admit)).await? {
                return Ok(());
            }
            let refused = match &*verdict.lock().unwrap_or_else(PoisonError::into_inner) {
                Answer::Refused(refusal) => Some(refused(refusal)),
                Answer::Fits | Answer::Waits => None,
            };
            if let Some(error) = refused {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    async fn write(&self, row: &Row) {
        if let Err(error) = self.store.append(JOURNAL, record(row), self.durability).await {
            tracing::warn!(%error, "a settlement is not in the ledger: the call will be charged at its bound");
        }
    }
}

impl Intent {
    /// The call took this.
    pub(crate) async fn settle(mut self, actual: &Actual) {
        self.close(settled(&self.id, actual)).await;
    }

    async fn close(&mut self, row: Row) {
        if std::mem::replace(&mut self.stage, Stage::Closed) != Stage::Closed {
            self.book.write(&row).await;
        }
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        let row = match self.stage {
            Stage::Closed => return,
            Stage::Waiting => released(&self.id),
            Stage::Made => settled(&self.id, &Actual::at_bound(self.bound, CallEnd::Cancelled)),
        };
        let book = self.book.clone();
        // Outside a runtime nothing can be written: then the row is missing, and the bound is charged all the same.
        if let Ok(handle) = tokio::runtime::Handle::try_current() {
            self.book.tasks.spawn_on(async move { book.write(&row).await }, &handle);
        }
    }
}

fn record(row: &Row) -> serde_json::Value {
    serde_json::to_value(row).expect("a row holds integers and strings only")
}

fn refused(refusal: &Refusal) -> PluginError {
    PluginError::new(refusal.kind(), "calling a model", refusal.to_string()).with_hint("wait for the next window, or raise tenant_budgets")
}

/// Accounts of all tenants that have calls or a budget.
pub(crate) async fn accounts(store: &dyn Store, config: &Config, now: u64) -> Result<Vec<AccountRow>, PluginError> {
    let accounts = Accounts::of(&store.journal(JOURNAL).await?);
    let mut tenants: Vec<&String> = accounts.tenants().chain(config.tenant_budgets.keys()).collect();
    tenants.sort();
    tenants.dedup();
    let row = |tenant: &String| {
        let budget = config.tenant_budgets.get(tenant);
        let per = budget.map_or(Per::Day, |budget| budget.per);
        let (spent, reserved) = (accounts.spent(tenant, per, now), accounts.reserved(tenant, per, now));
        AccountRow {
            tenant: tenant.clone(),
            per,
            cost_incomplete: spent.incomplete > 0,
            unpriced_models: spent.unpriced.keys().cloned().collect(),
            spent,
            reserved_cost: reserved.cost,
            reserved_tokens: reserved.tokens,
            max_cost: budget.and_then(|budget| budget.max_cost),
            max_tokens: budget.and_then(|budget| budget.max_tokens),
        }
    };
    Ok(tenants.into_iter().map(row).collect())
}

/// Folds rows into the snapshot when there are enough of them.
pub(crate) async fn fold(store: &dyn Store, now: u64) -> Result<(), PluginError> {
    if store.journal(JOURNAL).await?.records.len() < FOLD_ROWS {
        return Ok(());
    }
    let fold = move |journal: &Journal| serde_json::to_vec(&Accounts::of(journal).forgotten(now)).ok();
    store.fold(JOURNAL, Box::new(fold)).await.map(|_| ())
}

/// What refuses a call, as the contracts name it.
impl Refusal {
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            Refusal::Cost { .. } | Refusal::TenantCost { .. } => ErrorKind::BudgetUsd,
            Refusal::Tokens { .. } | Refusal::TenantTokens { .. } => ErrorKind::BudgetTokens,
            Refusal::Calls { .. } => ErrorKind::BudgetCalls,
        }
    }
}
