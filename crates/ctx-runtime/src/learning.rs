//! What past runs teach: observations wait, are absorbed in batches, and become the next immutable snapshot.
//!
//! Off the response path: a run only queues what it saw. The estimator `prior` plans with an empty snapshot and still
//! collects. Stored as one blob; writing merges with what another process stored meanwhile.

use crate::config::EstimatorName;
use ctx_contracts::{PluginError, Store};
use ctx_cost::statistics::{Observation, Statistics};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the stored snapshot.
const BLOB: &str = "statistics";
/// Observed runs after which a batch is absorbed.
const BATCH_RUNS: usize = 100;
/// Seconds after which a batch is absorbed.
const BATCH_SECONDS: u64 = 60;

#[derive(Default)]
struct State {
    current: Arc<Statistics>,
    pending: Vec<Observation>,
    runs: usize,
    absorbed_at: u64,
    dirty: bool,
}

/// The statistics of this process.
pub(crate) struct Learning {
    estimator: EstimatorName,
    empty: Arc<Statistics>,
    state: Mutex<State>,
}

impl Learning {
    pub(crate) fn new(estimator: EstimatorName, stored: Statistics, now: u64) -> Learning {
        let state = State { current: Arc::new(stored), absorbed_at: now, ..State::default() };
        Learning { estimator, empty: Arc::default(), state: Mutex::new(state) }
    }

    /// What was stored before; a snapshot that cannot be read counts as none, and is said.
    pub(crate) async fn stored(store: &dyn Store) -> Statistics {
        match store.read_blob(BLOB).await {
            Ok(Some(bytes)) => parse(&bytes).unwrap_or_default(),
            Ok(None) => Statistics::default(),
            Err(error) => {
                tracing::warn!(%error, "statistics start empty");
                Statistics::default()
            }
        }
    }

    /// The snapshot to plan with.
    pub(crate) fn snapshot(&self) -> Arc<Statistics> {
        match self.estimator {
            EstimatorName::Prior => self.empty.clone(),
            EstimatorName::Learned => self.state().current.clone(),
        }
    }

    /// Everything known, whatever planning uses.
    pub(crate) fn known(&self) -> Arc<Statistics> {
        self.state().current.clone()
    }

    /// Queues what a run showed; absorbs when the batch is full or old.
    pub(crate) fn observe(&self, observations: Vec<Observation>, now: u64) {
        let mut state = self.state();
        state.pending.extend(observations);
        state.runs += 1;
        if state.runs >= BATCH_RUNS || now.saturating_sub(state.absorbed_at) >= BATCH_SECONDS {
            absorb(&mut state, now);
        }
    }

    /// Absorbs what waits and stores the result, merged with what others stored.
    pub(crate) async fn flush(&self, store: &dyn Store, now: u64) -> Result<(), PluginError> {
        let current = {
            let mut state = self.state();
            absorb(&mut state, now);
            if !state.dirty {
                return Ok(());
            }
            state.current.clone()
        };
        let theirs = store.read_blob(BLOB).await?.and_then(|bytes| parse(&bytes)).unwrap_or_default();
        let merged = current.merge(&theirs).publish(now);
        store.write_blob(BLOB, merged.to_json().as_bytes()).await?;
        let mut state = self.state();
        state.current = Arc::new(merged);
        state.dirty = false;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn absorb(state: &mut State, now: u64) {
    let pending = std::mem::take(&mut state.pending);
    state.runs = 0;
    state.absorbed_at = now;
    if !pending.is_empty() {
        state.current = Arc::new(state.current.absorb(&pending, now));
        state.dirty = true;
    }
}

fn parse(bytes: &[u8]) -> Option<Statistics> {
    let parsed = std::str::from_utf8(bytes).ok().and_then(|text| Statistics::from_json(text).ok());
    if parsed.is_none() {
        tracing::warn!("the stored statistics cannot be read; they start empty");
    }
    parsed
}
