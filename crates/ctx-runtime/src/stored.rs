//! Answers given again: when a stored answer competes with the plan, and when an answer is stored.
//!
//! A stored answer is one more alternative: its score is that of the plan that gave it without the cost and the time that are not
//! spent again, and it is given where that is not below the plan's. EXPLAIN ANALYZE executes, so it never is.
//!
//! With `match: semantic` an answer to other words that ask the same is an alternative too, once it is proven that such answers are
//! seldom wrong. Until then, and for one request in sixteen for ever, the plan is executed and the two answers are compared.

use crate::prepare::{Choice, Mode, Prepared};
use crate::runtime::Inner;
use ctx_contracts::Store;
use ctx_plan_cache::{
    CurrentStamps, FoundResult, NearKey, PlanKey, ProposedResult, ResultCounters, ResultSettings, Results, Stamps, StoredResult, agree,
};
use ctx_types::{Micros, NanoUsd, Outcome, Ppm, Score, Sensitivity, Status};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the stored answers.
const RESULTS_BLOB: &str = "results";

/// What became of a request's stored answer.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The key to keep a new answer under.
    pub(crate) key: PlanKey,
    /// What it shares with other words, where answers to them may be given.
    pub(crate) near: Option<NearKey>,
    /// The answer that is given again.
    pub(crate) given: Option<Arc<StoredResult>>,
    /// The answer to other words that this run's answer is compared with, and how differently they are put.
    pub(crate) beside: Option<(Ppm, Arc<StoredResult>)>,
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

    /// See [`Results::compared`].
    pub(crate) fn compared(&self) -> (u32, u32, Option<u32>) {
        self.lock().compared()
    }

    fn lock(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Statuses that say something of the answer: that a provider or a budget failed says nothing.
fn is_judged(status: Status) -> bool {
    matches!(status, Status::Completed | Status::Abstained | Status::VerificationFailed)
}

/// A stored answer beside the plan, in words.
fn beside(what: &str, result: &StoredResult, score: Score, now: u64) -> String {
    let ago = Micros(now.saturating_sub(result.stored_at).saturating_mul(1_000_000));
    format!("{what} given {ago} ago scores {} beside the plan's {score}", result.score)
}

fn saves(result: &StoredResult) -> String {
    let (cost, time) = result.saved();
    format!("saves {cost} and {time}, costs {}", NanoUsd(0))
}

impl Inner {
    /// The stored answer beside the decision. None: answers are not kept, or not of such a goal.
    pub(crate) fn stored_answer(
        &self,
        (key, near): (&PlanKey, Option<NearKey>),
        stamps: &Stamps,
        choice: &Choice,
        mode: Mode,
        label: Sensitivity,
    ) -> Option<Asked> {
        let now = self.now();
        let mut results = self.answers.lock();
        let Choice::Planned(planned) = choice else { return None };
        let windowed = planned.plan.intent.time.as_ref().is_some_and(|time| time.relative);
        if !results.enabled() || label >= Sensitivity::Confidential || windowed {
            return None;
        }
        let asked = |given, beside, told: String| {
            Some(Asked { key: key.clone(), near: near.clone(), given, beside, told: format!("result cache: {told}") })
        };
        if mode == Mode::Analyze {
            return asked(None, None, "not used: ANALYZE executes".to_owned());
        }
        let score = planned.plan.score.total;
        let current = CurrentStamps::of(stamps);
        let found = results.look(key, &current, now);
        if let FoundResult::Stored(result) = &found
            && result.score >= score
        {
            if mode == Mode::Run {
                results.given(key);
            }
            let told = format!("{} and is given again: {}", beside("an answer", result, score, now), saves(result));
            return asked(Some(Arc::new(StoredResult::clone(result))), None, told);
        }
        let tenant = &planned.plan.goal.principal.tenant;
        let proposed = near.as_ref().filter(|_| !matches!(found, FoundResult::Stored(_)));
        if let Some(proposed) = proposed.and_then(|near| results.propose(near, key, tenant, &current, now)) {
            let ProposedResult { key: of, result, distance, false_at_most, judged: (checked, wrong), proven } = proposed;
            let other = format!("an answer to other words ({:.3} of them apart)", distance.share());
            let told = beside(&other, &result, score, now);
            if proven && result.score >= score {
                if mode == Mode::Run {
                    results.given_for_other_words(&of);
                }
                let told = format!("{told} and is given: wrong at most {:.3} of such, {}", false_at_most.share(), saves(&result));
                return asked(Some(Arc::from(result)), None, told);
            }
            if mode == Mode::Run {
                results.missed();
            }
            let why = if proven { "scores less".to_owned() } else { format!("{checked} of such were compared, {wrong} were wrong") };
            let told = format!("{told}: the plan is executed and the answers are compared ({why}; it {})", saves(&result));
            return asked(None, Some((distance, Arc::from(result))), told);
        }
        let told = match found {
            FoundResult::Stored(result) => format!("{}: the plan is executed", beside("an answer", &result, score, now)),
            FoundResult::Absent => "no answer is stored".to_owned(),
            FoundResult::Expired => "the stored answer outlived its time".to_owned(),
            FoundResult::Stale(mismatch) => format!("{} changed since the answer was stored", mismatch.object),
        };
        if mode == Mode::Run {
            results.missed();
        }
        asked(None, None, told)
    }

    /// Keeps the answer of a run that completed, passed its check if it had one, and was not cut off.
    pub(crate) fn store_answer(&self, prepared: &Prepared, outcome: &Outcome, cut: bool) {
        let (Some(asked), Some(planned)) = (&prepared.stored, prepared.planned()) else { return };
        // An answer that was cut off says nothing of another.
        if let Some((distance, stored)) = asked.beside.as_ref().filter(|_| !cut && is_judged(outcome.status)) {
            self.answers.lock().judge(&prepared.goal.principal.tenant, *distance, agree(&stored.outcome, outcome));
        }
        let passed = outcome.verdict.as_ref().is_none_or(|verdict| verdict.passed);
        if asked.given.is_some() || cut || !passed || outcome.status != Status::Completed || outcome.answer.is_empty() {
            return;
        }
        let result = StoredResult::of(outcome, &planned.plan, self.now());
        self.answers.lock().insert(asked.key.clone(), asked.near.as_ref(), &planned.plan.stamps, result);
    }
}
