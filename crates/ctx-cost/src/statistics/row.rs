//! `ctxrt stats`: one row per key, like `pg_stats`. Numbers are finite or absent.

use super::interval::{absolute_quantile, conformal, drifted};
use super::key::{Scale, StatKey};
use super::sample::{HALF_LIFE_SECONDS, Sample};
use super::{ABSENT_VERSION, Cell, Statistics, version_of};
use serde::Serialize;

/// One key, for people. Ratios and q-errors are factors (1.0: no error); on the probability scales `bias` and the interval
/// are differences or rates in 0..1, and q-errors do not apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatRow {
    /// Whose.
    pub tenant: String,
    /// Field.
    pub field: &'static str,
    /// Kind of operator.
    pub class: &'static str,
    /// Its name; absent: all of the class.
    pub operator: Option<String>,
    /// Bucket; absent: all.
    pub bucket: Option<&'static str>,
    /// Source size; absent: all.
    pub size: Option<&'static str>,
    /// Outcomes.
    pub n: u32,
    /// Whether `n` is an estimate (more outcomes than the sample keeps).
    pub n_estimated: bool,
    /// Outcomes after decay.
    pub effective_n: Option<f64>,
    /// Typical actual / estimate; difference or rate on the probability scales. Before shrinkage.
    pub bias: Option<f64>,
    /// What planning applies: shrunken and published.
    pub published_bias: Option<f64>,
    /// Mean |actual − estimate| in the field's unit.
    pub mean_absolute_error: Option<f64>,
    /// Median q-error, max(actual / estimate, estimate / actual).
    pub q_error_p50: Option<f64>,
    /// Its 95th percentile.
    pub q_error_p95: Option<f64>,
    /// Its maximum.
    pub q_error_max: Option<f64>,
    /// Lower end of the 90 % interval of actual / estimate.
    pub interval_low: Option<f64>,
    /// Upper end.
    pub interval_high: Option<f64>,
    /// Share of shown 90 % intervals that held.
    pub coverage: Option<f64>,
    /// Intervals that were shown.
    pub coverage_n: u32,
    /// Whether recent outcomes disagree with older ones.
    pub drift: bool,
    /// Last outcome, seconds since the Unix epoch.
    pub last_update: Option<u64>,
    /// Age at which an outcome counts half, in seconds.
    pub half_life_seconds: u64,
    /// Version in plans' stamps.
    pub version: String,
}

impl Statistics {
    /// Every key with outcomes, in canonical order.
    pub fn rows(&self) -> Vec<StatRow> {
        self.cells().iter().map(|(key, cell)| row(key, cell, self.as_of())).collect()
    }
}

fn row(key: &StatKey, cell: &Cell, as_of: u64) -> StatRow {
    let (sample, scale) = (&cell.sample, key.field.scale());
    let weighed = sample.weighed(as_of);
    let ends = conformal(&weighed).filter(|_| scale == Scale::Ratio);
    let q_error =
        |share| absolute_quantile(sample, share).filter(|_| scale == Scale::Ratio).and_then(|size| shown(i64::try_from(size).ok()?, scale));
    let (coverage, coverage_n) = coverage(sample);
    let published = cell.published.serial > 0;
    StatRow {
        tenant: key.tenant.clone(),
        field: key.field.as_str(),
        class: key.class.as_str(),
        operator: key.operator.clone(),
        bucket: key.bucket.map(|bucket| bucket.as_str()),
        size: key.size.map(|size| size.as_str()),
        n: sample.distinct(),
        n_estimated: sample.overflowed(),
        effective_n: finite(weighed.effective_milli() as f64 / 1e3),
        bias: weighed.mean().and_then(|mean| shown(mean, scale)),
        published_bias: shown(cell.published.point, scale).filter(|_| published),
        mean_absolute_error: mean_absolute_error(sample),
        q_error_p50: q_error(0.5),
        q_error_p95: q_error(0.95),
        q_error_max: q_error(1.0),
        interval_low: ends.and_then(|(low, _)| shown(low, scale)),
        interval_high: ends.and_then(|(_, high)| shown(high, scale)),
        coverage,
        coverage_n,
        drift: drifted(sample),
        last_update: sample.last_update(),
        half_life_seconds: HALF_LIFE_SECONDS,
        version: if published { version_of(&cell.published) } else { ABSENT_VERSION.to_owned() },
    }
}

/// A residual as people read it.
fn shown(residual: i64, scale: Scale) -> Option<f64> {
    let real = residual as f64 / 1e6;
    finite(if scale == Scale::Ratio { libm::exp(real) } else { real })
}

fn coverage(sample: &Sample) -> (Option<f64>, u32) {
    let known: Vec<bool> = sample.items().filter_map(|item| item.covered).collect();
    let held = known.iter().filter(|held| **held).count();
    let share = (!known.is_empty()).then(|| held as f64 / known.len() as f64);
    (share.and_then(finite), u32::try_from(known.len()).unwrap_or(u32::MAX))
}

fn mean_absolute_error(sample: &Sample) -> Option<f64> {
    let (sum, n) = sample.items().fold((0u128, 0u32), |(sum, n), item| (sum + u128::from(item.error.unsigned_abs()), n + 1));
    (n > 0).then(|| sum as f64 / f64::from(n)).and_then(finite)
}

/// Finite and without a sign on zero, or nothing.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number + 0.0)
}
