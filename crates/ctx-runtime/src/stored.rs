//! Answers given again: when a stored answer competes with the plan, and when an answer is stored.
//!
//! A stored answer is one more alternative: its score is that of the plan that gave it without the cost and the time that are not
//! spent again, and it is given where that is not below the plan's. EXPLAIN ANALYZE executes, so it never is.

use crate::prepare::{Choice, Mode, Prepared};
use crate::runtime::Inner;
use ctx_contracts::Store;
use ctx_plan_cache::{CurrentStamps, FoundResult, PlanKey, ResultCounters, ResultSettings, Results, Stamps, StoredResult};
use ctx_types::{Micros, Outcome, Sensitivity, Status};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the stored answers.
const RESULTS_BLOB: &str = "results";

/// What became of a request's stored answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The key to keep a new answer under.
    pub(crate) key: PlanKey,
    /// The answer that is given again.
    pub(crate) given: Option<Arc<StoredResult>>,
    /// In words.
    pub(crate) told: String,
}

/// The stored answers of this process.
pub(crate) struct Answers {
    results: Mutex<Results>,
}

impl Answers {
    pub(crate) async fn open(settings: ResultSettings, store: &dyn Store, now: u64) -> Answers {
        let stored = if settings.enabled { store.read_blob(RESULTS_BLOB).await } else { Ok(None) };
        let results = match stored {
            Ok(Some(bytes)) => Results::from_bytes(&bytes, settings, now),
            Ok(None) => Results::new(settings),
            Err(error) => {
                tracing::warn!(%error, "no stored answer is given again");
                Results::new(settings)
            }
        };
        Answers { results: Mutex::new(results) }
    }

    /// Writes them, if they are kept at all.
    pub(crate) async fn close(&self, store: &dyn Store) -> Result<(), ctx_contracts::PluginError> {
        let bytes = Some(self.lock()).filter(|results| results.enabled()).map(|results| results.to_bytes());
        match bytes {
            Some(bytes) => store.write_blob(RESULTS_BLOB, &bytes).await,
            None => Ok(()),
        }
    }

    /// Forgets them, on disk too.
    pub(crate) async fn clear(&self, store: &dyn Store) -> Result<usize, ctx_contracts::PluginError> {
        let (forgotten, bytes) = {
            let mut results = self.lock();
            (results.clear(), results.to_bytes())
        };
        if store.read_blob(RESULTS_BLOB).await?.is_some() {
            store.write_blob(RESULTS_BLOB, &bytes).await?;
        }
        Ok(forgotten)
    }

    /// How many there are, and what they saved.
    pub(crate) fn counters(&self) -> (usize, ResultCounters) {
        let results = self.lock();
        (results.len(), results.counters())
    }

    fn lock(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// The stored answer beside the decision. None: answers are not kept, or not of such a goal.
    pub(crate) fn stored_answer(&self, key: &PlanKey, stamps: &Stamps, choice: &Choice, mode: Mode, label: Sensitivity) -> Option<Asked> {
        let now = self.now();
        let mut results = self.answers.lock();
        let Choice::Planned(planned) = choice else { return None };
        let windowed = planned.plan.intent.time.as_ref().is_some_and(|time| time.relative);
        if !results.enabled() || label >= Sensitivity::Confidential || windowed {
            return None;
        }
        let asked = |given, told: String| Some(Asked { key: key.clone(), given, told: format!("result cache: {told}") });
        if mode == Mode::Analyze {
            return asked(None, "not used: ANALYZE executes".to_owned());
        }
        let told = match results.look(key, &CurrentStamps::of(stamps), now) {
            FoundResult::Stored(result) => {
                let beside = format!(
                    "an answer given {} ago scores {} beside the plan's {}",
                    Micros(now.saturating_sub(result.stored_at).saturating_mul(1_000_000)),
                    result.score,
                    planned.plan.score.total
                );
                if result.score >= planned.plan.score.total {
                    let (cost, time) = result.saved();
                    if mode == Mode::Run {
                        results.given(key);
                    }
                    let told = format!("{beside} and is given again: saves {cost} and {time}");
                    return asked(Some(Arc::from(result)), told);
                }
                format!("{beside}: the plan is executed")
            }
            FoundResult::Absent => "no answer is stored".to_owned(),
            FoundResult::Expired => "the stored answer outlived its time".to_owned(),
            FoundResult::Stale(mismatch) => format!("{} changed since the answer was stored", mismatch.object),
        };
        if mode == Mode::Run {
            results.missed();
        }
        asked(None, told)
    }

    /// Keeps the answer of a run that completed, passed its check if it had one, and was not cut off.
    pub(crate) fn store_answer(&self, prepared: &Prepared, outcome: &Outcome, cut: bool) {
        let (Some(asked), Some(planned)) = (&prepared.stored, prepared.planned()) else { return };
        let passed = outcome.verdict.as_ref().is_none_or(|verdict| verdict.passed);
        if asked.given.is_some() || cut || !passed || outcome.status != Status::Completed || outcome.answer.is_empty() {
            return;
        }
        let result = StoredResult::of(outcome, &planned.plan, self.now());
        self.answers.lock().insert(asked.key.clone(), &planned.plan.stamps, result);
    }
}
