//! What past runs teach: outcomes wait in a journal of the store, are absorbed in batches, and become the next immutable
//! snapshot.
//!
//! Off the response path: a run only appends what it saw. Whoever holds the writer's lock absorbs what all processes
//! appended, when enough waits or long enough ([`Statistics::is_due`]); until then every process plans with the same numbers.
//! The estimator `prior` plans with an empty snapshot and still collects. The latest outcomes are kept beside, to fit estimators on:
//! [`crate::estimators`].

use crate::config::EstimatorName;
use crate::estimators;
use ctx_contracts::{Durability, Journal, PluginError, Store};
use ctx_cost::neural::{Estimators, Fitted, Mode};
use ctx_cost::statistics::{Observation, Statistics, Waiting};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Statistics with what was absorbed into them.
type Absorbed = (Statistics, Vec<Observation>);

/// Name of the journal.
const JOURNAL: &str = "statistics";
/// Version of a record.
const OUTCOME_SCHEMA_VERSION: u32 = 1;

/// What one run showed.
#[derive(Serialize, Deserialize)]
struct Outcome {
    schema_version: u32,
    /// When, seconds since the Unix epoch.
    at: u64,
    observations: Vec<Observation>,
}

/// Whether absorbing waits for its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Only if enough outcomes wait, or long enough.
    Due,
    /// At once: somebody asked for it.
    Now,
}

#[derive(Default)]
struct State {
    current: Arc<Statistics>,
    /// The same with fitted estimators, where the configuration asks for them.
    planning: Arc<Statistics>,
    fitted: BTreeMap<String, Fitted>,
    /// Outcomes that wait, as far as this process knows.
    waiting: Waiting,
}

/// The statistics of this process.
pub(crate) struct Learning {
    estimator: EstimatorName,
    durability: Durability,
    empty: Arc<Statistics>,
    state: Mutex<State>,
}

impl Learning {
    /// What was stored before; a snapshot that cannot be read counts as none, and is said.
    pub(crate) async fn open(estimator: EstimatorName, durability: Durability, store: &dyn Store) -> Learning {
        let journal = store.journal(JOURNAL).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "statistics start empty");
            Journal::default()
        });
        let (current, outcomes) = read(&journal);
        let fitted = if mode(estimator).is_some() { estimators::fitted(store).await } else { BTreeMap::new() };
        let learning = Learning { estimator, durability, empty: Arc::default(), state: Mutex::default() };
        *learning.state() = State { fitted, waiting: waiting(&outcomes), ..State::default() };
        learning.plan_with(current);
        learning
    }

    /// Plans with this snapshot from now on.
    fn plan_with(&self, current: Statistics) {
        let mut state = self.state();
        state.current = Arc::new(current);
        state.planning = match mode(self.estimator) {
            Some(mode) => Arc::new(state.current.for_planning().with_estimators(Arc::new(Estimators::new(mode, state.fitted.clone())))),
            None => state.current.clone(),
        };
    }

    /// Takes in what was fitted for a tenant.
    pub(crate) fn adopt(&self, tenant: &str, fitted: Fitted) {
        let current = {
            let mut state = self.state();
            state.fitted.insert(tenant.to_owned(), fitted);
            state.current.clone()
        };
        self.plan_with(Statistics::clone(&current));
    }

    /// Outcomes that wait to be absorbed.
    pub(crate) async fn outcomes_waiting(&self, store: &dyn Store) -> Result<Vec<Observation>, PluginError> {
        Ok(observations(read(&store.journal(JOURNAL).await?).1))
    }

    /// The snapshot to plan with.
    pub(crate) fn snapshot(&self) -> Arc<Statistics> {
        match self.estimator {
            EstimatorName::Prior => self.empty.clone(),
            EstimatorName::Learned | EstimatorName::Neural | EstimatorName::Auto => self.state().planning.clone(),
        }
    }

    /// The snapshot of past runs, whether or not it is planned with.
    pub(crate) fn published(&self) -> Arc<Statistics> {
        self.state().current.clone()
    }

    /// Everything known, whatever planning uses: what waits is there too, and not published.
    pub(crate) async fn known(&self, store: &dyn Store) -> Result<Statistics, PluginError> {
        let (current, outcomes) = read(&store.journal(JOURNAL).await?);
        Ok(current.gather(&observations(outcomes)))
    }

    /// Appends what a run showed. `true`: it is time to [absorb](Learning::absorb).
    pub(crate) async fn observe(&self, store: &dyn Store, observations: Vec<Observation>, now: u64) -> bool {
        let outcome = Outcome { schema_version: OUTCOME_SCHEMA_VERSION, at: now, observations };
        let record = serde_json::to_value(&outcome).expect("an outcome holds integers and strings only");
        if let Err(error) = store.append(JOURNAL, record, self.durability).await {
            tracing::warn!(%error, "what this run showed is not kept");
            return false;
        }
        let mut state = self.state();
        state.waiting.add(&outcome.observations, now);
        state.current.is_due(&state.waiting, now)
    }

    /// Absorbs what waits, of all processes, and plans with it from now on. Nothing happens before its time, or while
    /// another writer is at work.
    pub(crate) async fn absorb(&self, store: &dyn Store, now: u64, when: When) -> Result<(), PluginError> {
        let due = |state: &State| when == When::Now || state.current.is_due(&state.waiting, now);
        if !due(&self.state()) {
            return Ok(());
        }
        let made: Arc<Mutex<Option<Absorbed>>> = Arc::default();
        let slot = Arc::clone(&made);
        let fold = move |journal: &Journal| {
            let (current, outcomes) = read(journal);
            // Another process may have absorbed meanwhile: then this one plans with what it made.
            let absorbed = if when == When::Now || current.is_due(&waiting(&outcomes), now) {
                observations(outcomes)
            } else {
                *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((current, Vec::new()));
                return None;
            };
            let next = current.absorb(&absorbed, now);
            let bytes = next.to_json().into_bytes();
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((next, absorbed));
            Some(bytes)
        };
        let folded = store.fold(JOURNAL, Box::new(fold)).await?;
        let made = made.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((next, absorbed)) = made {
            self.renew(next);
            if folded {
                estimators::keep(store, &absorbed).await?;
            }
        }
        Ok(())
    }

    /// Nothing waits any more, and this is planned with.
    fn renew(&self, next: Statistics) {
        self.state().waiting = Waiting::default();
        self.plan_with(next);
    }

    /// Joins what another store knew to what this one knows, and plans with both from now on. `false`: another writer is at
    /// work, and nothing was changed.
    pub(crate) async fn import(&self, store: &dyn Store, imported: Statistics, name: &str, now: u64) -> Result<bool, PluginError> {
        let made: Arc<Mutex<Option<Absorbed>>> = Arc::default();
        let (slot, name) = (Arc::clone(&made), name.to_owned());
        let fold = move |journal: &Journal| {
            let (current, outcomes) = read(journal);
            let gathered = observations(outcomes);
            let next = current.gather(&gathered).with_imported(&imported, &name).publish(now);
            let bytes = next.to_json().into_bytes();
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some((next, gathered));
            Some(bytes)
        };
        if !store.fold(JOURNAL, Box::new(fold)).await? {
            return Ok(false);
        }
        let made = made.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((next, gathered)) = made {
            self.renew(next);
            estimators::keep(store, &gathered).await?;
        }
        Ok(true)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How fitted estimators are used; `None`: they are not.
fn mode(estimator: EstimatorName) -> Option<Mode> {
    match estimator {
        EstimatorName::Prior | EstimatorName::Learned => None,
        EstimatorName::Neural => Some(Mode::Neural),
        EstimatorName::Auto => Some(Mode::Auto),
    }
}

/// The snapshot, and the outcomes since. What another version wrote is left out.
fn read(journal: &Journal) -> (Statistics, Vec<Outcome>) {
    let parse = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(|text| Statistics::from_json(text).ok());
    let current = journal.snapshot.as_deref().map(|bytes| {
        parse(bytes).unwrap_or_else(|| {
            tracing::warn!("the stored statistics cannot be read; they start empty");
            Statistics::default()
        })
    });
    let outcome = |record: &serde_json::Value| Outcome::deserialize(record).ok().filter(|o| o.schema_version == OUTCOME_SCHEMA_VERSION);
    (current.unwrap_or_default(), journal.records.iter().filter_map(|recorded| outcome(&recorded.record)).collect())
}

fn waiting(outcomes: &[Outcome]) -> Waiting {
    let mut waiting = Waiting::default();
    outcomes.iter().for_each(|outcome| waiting.add(&outcome.observations, outcome.at));
    waiting
}

fn observations(outcomes: Vec<Outcome>) -> Vec<Observation> {
    outcomes.into_iter().flat_map(|outcome| outcome.observations).collect()
}
