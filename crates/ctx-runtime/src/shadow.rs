//! Both estimators beside each other on runs that neither has seen: what the shipped estimates said, what past runs made of them, what
//! happened, and whether the other estimator would have planned otherwise.
//!
//! Off unless `learning.shadow` is set. A run's estimates are compared after it ended, with the statistics from before it, so every
//! comparison is on held-out data. Nothing that is written here is read by planning.

use crate::config::EstimatorName;
use crate::prepare::Prepared;
use crate::runtime::Inner;
use crate::{Runtime, RuntimeError};
use ctx_contracts::{Journal, PluginError, Store};
use ctx_cost::statistics::{Observation, Quantity, Scale, Statistics};
use ctx_learn::calibration::bootstrap;
use ctx_planner::Inputs;
use ctx_types::{Certainty, Estimated, Micros, Probe};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Name of the journal.
const JOURNAL: &str = "shadow";
/// Version of a record.
const SHADOW_SCHEMA_VERSION: u32 = 1;
/// Records that wait before the latest are made the snapshot.
const FOLD_RECORDS: usize = 200;
/// Records that are kept: the latest.
const SHADOW_MAX: usize = 2_000;
/// Draws of an interval.
const DRAWS: usize = 500;

/// One quantity of one run under both estimators, in the field's unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Compared {
    /// Field: latency, tokens, cost, …
    pub field: String,
    /// Kind of operator.
    pub class: String,
    /// The shipped estimate.
    pub prior: i64,
    /// The same, corrected by the runs before.
    pub learned: i64,
    /// What happened.
    pub actual: i64,
}

/// What one run showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Shadow {
    schema_version: u32,
    tenant: String,
    trace: String,
    /// Seconds since the Unix epoch.
    at: u64,
    /// Shape of the plan by the estimator in force, and by the other.
    gist: String,
    other: Option<String>,
    compared: Vec<Compared>,
}

/// One row of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EstimatorRow {
    /// Field.
    pub field: String,
    /// Kind of operator.
    pub class: String,
    /// Comparisons.
    pub n: usize,
    /// Median and 95th percentile of the q-error of shipped estimates.
    pub prior: (f64, f64),
    /// The same, of learned ones.
    pub learned: (f64, f64),
    /// Mean of ln(q-error of shipped) less ln(q-error of learned), with its 95 % interval over runs: above 0, learned is nearer.
    pub gain: f64,
    /// The interval.
    pub interval: (f64, f64),
}

impl EstimatorRow {
    /// Which estimator is nearer, where the interval says so.
    pub fn nearer(&self) -> Option<&'static str> {
        match self.interval {
            (low, _) if low > 0.0 => Some("learned"),
            (_, high) if high < 0.0 => Some("prior"),
            _ => None,
        }
    }
}

/// Both estimators on a tenant's runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// Runs with a record.
    pub runs: usize,
    /// Of them, runs that the other estimator would have planned in another shape, or not at all.
    pub planned_otherwise: usize,
    /// Estimates by field and kind of operator.
    pub rows: Vec<EstimatorRow>,
}

impl Inner {
    /// Writes down what both estimators said of a run, in the background. `observations` hold what was expected before any correction,
    /// `probe` what the sources said: a cached plan came without it.
    pub(crate) fn shadow(self: &Arc<Self>, prepared: &Prepared, probe: &Probe, run: &str, observations: &[Observation]) {
        if !self.config.learning.shadow || prepared.planned().is_none() {
            return;
        }
        let (inner, published) = (Arc::clone(self), self.learning.published());
        let compared = observations.iter().filter_map(|seen| compared(seen, &published)).collect();
        let (prepared, run) = (Prepared { probe: probe.clone(), ..prepared.clone() }, run.to_owned());
        self.tasks.spawn(async move { inner.write_down(&prepared, run, compared, &published).await });
    }

    async fn write_down(&self, prepared: &Prepared, trace: String, compared: Vec<Compared>, published: &Statistics) {
        let Some(planned) = prepared.planned() else { return };
        // Of a run that explored, what it would have run otherwise.
        let best = prepared.exploration.as_ref().and_then(|e| e.arms.first()).map_or(&planned.plan.gist, |arm| &arm.gist);
        let record = Shadow {
            schema_version: SHADOW_SCHEMA_VERSION,
            tenant: prepared.goal.principal.tenant.clone(),
            trace,
            at: self.now(),
            gist: best.to_string(),
            other: self.other_plan(prepared, published),
            compared,
        };
        let value = serde_json::to_value(&record).expect("a record of integers and strings");
        if let Err(error) = self.parts.store.append(JOURNAL, value, self.config.runtime.durability).await {
            tracing::warn!(%error, "the comparison of estimators is not kept");
        }
    }

    /// Shape that the estimator which is not in force would have planned.
    fn other_plan(&self, prepared: &Prepared, published: &Statistics) -> Option<String> {
        let empty = Statistics::default();
        let statistics = if self.config.costmodel.estimator == EstimatorName::Prior { published } else { &empty };
        let settings = self.settings();
        let inputs = Inputs {
            goal: &prepared.goal,
            limits: &prepared.limits,
            catalog: &prepared.catalog,
            probe: &prepared.probe,
            statistics,
            denials: &prepared.denials,
            settings: &settings,
            versions: None,
        };
        self.planner.plan(&inputs).ok().map(|planned| planned.plan.gist.to_string())
    }
}

/// A quantity on the scale of q-errors; shares and frequencies have none.
fn compared(seen: &Observation, statistics: &Statistics) -> Option<Compared> {
    if seen.key.field.scale() != Scale::Ratio {
        return None;
    }
    let prior = Micros::from_unit(seen.estimate);
    let learned = statistics.corrected(&seen.key, Estimated::new(prior, prior, prior, Certainty::Prior, ""));
    Some(Compared {
        field: seen.key.field.as_str().to_owned(),
        class: seen.key.class.as_str().to_owned(),
        prior: seen.estimate,
        learned: learned.value.to_unit(),
        actual: seen.actual,
    })
}

impl Runtime {
    /// Both estimators on what was written down of a tenant's runs.
    pub async fn compare_estimators(&self, tenant: &str, seed: u64) -> Result<Comparison, RuntimeError> {
        let records = all(&self.parts().store.journal(JOURNAL).await?);
        let own: Vec<Shadow> = records.into_iter().filter(|record| record.tenant == tenant).collect();
        Ok(comparison(&own, seed))
    }
}

/// Every record that is kept, in the order of time. What another version wrote is left out.
fn all(journal: &Journal) -> Vec<Shadow> {
    let of_this_version = |record: &Shadow| record.schema_version == SHADOW_SCHEMA_VERSION;
    let folded = journal.snapshot.as_deref().and_then(|bytes| serde_json::from_slice::<Vec<Shadow>>(bytes).ok()).unwrap_or_default();
    let since = journal.records.iter().filter_map(|recorded| Shadow::deserialize(&recorded.record).ok());
    let mut records: Vec<Shadow> = folded.into_iter().chain(since).filter(of_this_version).collect();
    records.sort_by(|a, b| (a.at, &a.trace).cmp(&(b.at, &b.trace)));
    records
}

/// Makes the latest records the snapshot when there are enough of them, so that the journal does not grow for ever.
pub(crate) async fn fold(store: &dyn Store) -> Result<(), PluginError> {
    if store.journal(JOURNAL).await?.records.len() < FOLD_RECORDS {
        return Ok(());
    }
    let fold = |journal: &Journal| {
        let records = all(journal);
        serde_json::to_vec(&records[records.len().saturating_sub(SHADOW_MAX)..]).ok()
    };
    store.fold(JOURNAL, Box::new(fold)).await.map(|_| ())
}

fn comparison(records: &[Shadow], seed: u64) -> Comparison {
    // By run, so that the interval is over runs: what one run shows of several nodes hangs together.
    let mut by_kind: BTreeMap<(&str, &str), BTreeMap<&str, Vec<&Compared>>> = BTreeMap::new();
    for record in records {
        for one in &record.compared {
            by_kind.entry((&one.field, &one.class)).or_default().entry(&record.trace).or_default().push(one);
        }
    }
    let row = |((field, class), runs): (&(&str, &str), &BTreeMap<&str, Vec<&Compared>>)| {
        let runs: Vec<&Vec<&Compared>> = runs.values().collect();
        let every = || runs.iter().flat_map(|run| run.iter());
        let gain = |one: &Compared| ln_q(one.prior, one.actual) - ln_q(one.learned, one.actual);
        let mean = |of: &[usize]| {
            let (sum, n) = of.iter().flat_map(|at| runs[*at].iter()).fold((0.0, 0.0), |(s, n), one| (s + gain(one), n + 1.0));
            sum / f64::max(n, 1.0)
        };
        let whole: Vec<usize> = (0..runs.len()).collect();
        EstimatorRow {
            field: (*field).to_owned(),
            class: (*class).to_owned(),
            n: every().count(),
            prior: quantiles(every().map(|one| ln_q(one.prior, one.actual)).collect()),
            learned: quantiles(every().map(|one| ln_q(one.learned, one.actual)).collect()),
            gain: mean(&whole),
            interval: bootstrap(runs.len(), DRAWS, 0.95, seed, mean),
        }
    };
    Comparison {
        runs: records.len(),
        planned_otherwise: records.iter().filter(|record| record.other.as_deref() != Some(record.gist.as_str())).count(),
        rows: by_kind.iter().map(row).collect(),
    }
}

/// ln of the q-error; one unit is added, so that nothing is divided by zero.
fn ln_q(estimate: i64, actual: i64) -> f64 {
    ((actual.max(0) as f64 + 1.0) / (estimate.max(0) as f64 + 1.0)).ln().abs()
}

/// Median and 95th percentile of q-errors, from their logarithms.
fn quantiles(mut logs: Vec<f64>) -> (f64, f64) {
    logs.sort_by(f64::total_cmp);
    let at = |q: f64| logs.get(((logs.len() as f64 * q) as usize).min(logs.len().saturating_sub(1))).map_or(f64::NAN, |log| log.exp());
    (at(0.5), at(0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(run: u32, other: &str, prior: i64, learned: i64, actual: i64) -> Shadow {
        let one = Compared { field: "latency".to_owned(), class: "model".to_owned(), prior, learned, actual };
        Shadow {
            schema_version: SHADOW_SCHEMA_VERSION,
            tenant: "default".to_owned(),
            trace: format!("run_{run}"),
            at: 0,
            gist: "a".to_owned(),
            other: Some(other.to_owned()),
            compared: vec![one],
        }
    }

    #[test]
    fn folded_and_fresh_records_are_read_together() {
        let at = |run: u32, at: u64| Shadow { at, ..record(run, "a", 1, 1, 1) };
        let fresh = serde_json::to_value(at(1, 9)).expect("a record");
        let journal = Journal {
            snapshot: Some(serde_json::to_vec(&[at(2, 3), at(3, 4)]).expect("records")),
            records: vec![ctx_contracts::Recorded { writer: "w".to_owned(), record: fresh }],
            ..Journal::default()
        };
        assert_eq!(all(&journal).iter().map(|record| record.at).collect::<Vec<_>>(), [3, 4, 9]);
    }

    #[test]
    fn the_nearer_estimator_is_named_and_only_where_it_is_clear() {
        let clear: Vec<Shadow> = (0..40).map(|run| record(run, "a", 999, 1_999, 1_899 + i64::from(run % 5) * 50)).collect();
        let found = comparison(&clear, 1);
        let row = &found.rows[0];
        assert_eq!((found.runs, found.planned_otherwise, row.n, row.nearer()), (40, 0, 40, Some("learned")));
        assert!(row.prior.0 > 1.9 && row.learned.0 < 1.1 && row.learned.0 >= 1.0, "{row:?}");
        let even: Vec<Shadow> = (0..40).map(|run| record(run, "b", 999, 1_999, if run % 2 == 0 { 999 } else { 1_999 })).collect();
        let found = comparison(&even, 1);
        assert_eq!((found.planned_otherwise, found.rows[0].nearer()), (40, None));
        assert_eq!(comparison(&[], 1), Comparison::default());
    }
}
