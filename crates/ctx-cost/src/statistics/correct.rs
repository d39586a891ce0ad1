//! Estimates corrected by experience: the point by the shrunken bias, the interval by the residuals' quantiles.
//!
//! | what is known of the key | value | interval | certainty |
//! |---|---|---|---|
//! | nothing | the prior's | the prior's | the prior's |
//! | only that operators of its class are biased | prior × bias | the prior's, shifted, joined with the prior's | the prior's |
//! | outcomes, fewer than twenty of the operator | prior × bias | shifted prior, joined with all residuals seen | measured (n) |
//! | twenty to fifty of the operator | prior × bias | conformal, of all its outcomes | measured (n) |
//! | more | prior × bias | conformal, of the finest key with fifty | measured (n) |
//!
//! n is that of the finest key with twenty outcomes, or of the operator where no key has as many: what stands behind the
//! interval, not how rare the bucket is.
//!
//! Where estimators were fitted ([`crate::neural`]), they decide first who gives a number of time, tokens or money.
//!
//! On the probability scales the interval is that of a mean: the prior counts as so many outcomes as its width is worth.

use super::interval::ENDS_N_MIN;
use super::key::{Scale, StatKey};
use super::published::Published;
use super::{Cell, Statistics};
use crate::neural::{self, Estimator};
use ctx_types::{Certainty, Estimated, Micros, NanoUsd, PicoUsd, Ppm, Tokens};
use std::borrow::Cow;

/// Half-width of a 90 % interval in standard errors.
const Z90: f64 = 1.645;
/// A prior is worth at least half an outcome, and at most a thousand, however narrow it is drawn.
const PRIOR_WORTH: (f64, f64) = (0.5, 1000.0);
/// Variance below which no interval of a probability is drawn: that of .05, so that three successes do not prove certainty.
const VARIANCE_MIN: f64 = 0.0475;
/// How provenance begins when a correction was applied.
pub use ctx_types::certainty::STATISTICS_PROVENANCE as PROVENANCE;

/// A number that can be corrected, with its domain.
pub trait Quantity: Copy + Ord {
    /// In its unit.
    fn to_unit(self) -> i64;
    /// From its unit, bounded to the domain.
    fn from_unit(unit: i64) -> Self;
}

macro_rules! quantity {
    ($($type:ty, $inner:ty, $max:expr);+ $(;)?) => {$(
        impl Quantity for $type {
            fn to_unit(self) -> i64 { i64::try_from(self.get()).unwrap_or(i64::MAX) }
            fn from_unit(unit: i64) -> Self {
                let bounded = unit.clamp(0, $max);
                Self(<$inner>::try_from(bounded).unwrap_or(<$inner>::MAX))
            }
        }
    )+};
}

quantity! {
    Micros, u64, i64::MAX;
    Tokens, u64, i64::MAX;
    NanoUsd, i64, i64::MAX;
    PicoUsd, i64, i64::MAX;
    Ppm, u32, 1_000_000;
}

impl Quantity for u32 {
    fn to_unit(self) -> i64 {
        i64::from(self)
    }
    fn from_unit(unit: i64) -> Self {
        u32::try_from(unit.max(0)).unwrap_or(u32::MAX)
    }
}

impl Statistics {
    /// `prior` corrected by what was observed of `key`. Configured numbers are facts and stay; of an unknown one only a rate
    /// can be said.
    pub fn corrected<T: Quantity>(&self, key: &StatKey, prior: Estimated<T>) -> Estimated<T> {
        self.corrected_over(key, prior, Tokens(0))
    }

    /// The same for an operator that reads so many tokens (0: not told): a network may know what that changes.
    pub fn corrected_over<T: Quantity>(&self, key: &StatKey, prior: Estimated<T>, load: Tokens) -> Estimated<T> {
        let known = matches!(prior.certainty, Certainty::Prior | Certainty::Measured { .. });
        if let Some(estimators) = self.estimators().filter(|_| known && key.field.scale() == Scale::Ratio) {
            match estimators.ask(key, prior.value.to_unit(), load.get()) {
                (_, Some(said)) => return by_network(&said, key, &prior),
                (Estimator::Prior, None) => return prior,
                (Estimator::Learned | Estimator::Neural, None) => {}
            }
        }
        let scale = key.field.scale();
        let nothing_to_correct = match prior.certainty {
            Certainty::Configured => true,
            Certainty::Unknown => scale != Scale::Rate,
            Certainty::Measured { .. } | Certainty::Prior => false,
        };
        let Some((level, cell)) = self.nearest(key, |_| !nothing_to_correct) else { return prior };
        let published = &cell.published;
        let certainty = if level.operator.is_some() { Certainty::Measured { n: self.support(&level) } } else { prior.certainty };
        let (value, low, high) = match scale {
            Scale::Ratio => self.quantity(&level, published, &prior),
            Scale::Difference => mean(prior.value.to_unit() + published.point, published, &prior),
            Scale::Rate => mean(blended(published, &prior), published, &prior),
        };
        Estimated::new(T::from_unit(value), T::from_unit(low), T::from_unit(high), certainty, cell.provenance.clone())
    }

    /// What `estimate` was before [`Statistics::corrected`] by this snapshot; the value itself if it was not corrected.
    pub fn uncorrected<T: Quantity>(&self, key: &StatKey, estimate: &Estimated<T>) -> i64 {
        let corrected = estimate.provenance.starts_with(PROVENANCE);
        if let Some(shipped) = neural::shipped(&estimate.provenance).filter(|_| corrected) {
            return shipped;
        }
        let point = self.nearest(key, |_| corrected).map_or(0, |(_, cell)| cell.published.point);
        match key.field.scale() {
            Scale::Ratio => scaled(estimate.value.to_unit(), -point),
            Scale::Difference => (estimate.value.to_unit() - point).clamp(0, 1_000_000),
            Scale::Rate => 0,
        }
    }

    /// Outcomes of the finest key at or above `level` that has enough of them to be relied on; of the operator if none has.
    fn support(&self, level: &StatKey) -> u32 {
        let relied_on = self.nearest(level, |published| u64::from(published.n) >= ENDS_N_MIN);
        let of_operator = relied_on.filter(|(key, _)| key.operator.is_some()).or_else(|| self.whole_operator(level));
        of_operator.map_or(0, |(_, cell)| cell.published.n)
    }

    /// Ends of residuals at or above `level`: of the finest key with enough outcomes of its own, else of all that the operator
    /// has, where that is enough for ends at all.
    fn ends(&self, level: &StatKey) -> Option<(i64, i64)> {
        let own = self.nearest(level, Published::stands_alone).filter(|(key, _)| key.operator.is_some());
        own.or_else(|| self.whole_operator(level))?.1.published.ends
    }

    fn whole_operator(&self, level: &StatKey) -> Option<(Cow<'_, StatKey>, &Cell)> {
        let key = StatKey { bucket: None, size: None, ..level.clone() };
        self.cells().get_key_value(&key).filter(|(_, cell)| cell.published.serial > 0).map(|(key, cell)| (Cow::Borrowed(key), cell))
    }

    fn quantity<T: Quantity>(&self, level: &StatKey, published: &Published, prior: &Estimated<T>) -> (i64, i64, i64) {
        let (value, low, high) = (prior.value.to_unit(), prior.low.to_unit(), prior.high.to_unit());
        let point = scaled(value, published.point);
        if level.operator.is_none() {
            return (point, low.min(scaled(low, published.point)), high.max(scaled(high, published.point)));
        }
        if let Some((down, up)) = self.ends(level) {
            // Residuals are whole millionths: one more on either side, so that what is always the same lies inside.
            return (point, scaled(value, down - 1) - 1, scaled(value, up + 1) + 1);
        }
        let (least, most) = published.range.unwrap_or((published.point, published.point));
        let low = scaled(low, published.point).min(scaled(value, least));
        let high = scaled(high, published.point).max(scaled(value, most));
        (point, low, high)
    }
}

/// The shipped value times the factor that the network expects; the ends are what held-out runs left after it.
fn by_network<T: Quantity>(said: &neural::Said<'_>, key: &StatKey, prior: &Estimated<T>) -> Estimated<T> {
    let shipped = prior.value.to_unit();
    let (down, up) = (said.residual.saturating_add(said.ends.0), said.residual.saturating_add(said.ends.1));
    let point = scaled(shipped, said.residual);
    let (low, high) = ((scaled(shipped, down - 1) - 1).min(point), (scaled(shipped, up + 1) + 1).max(point));
    let provenance = said.provenance(PROVENANCE, key, shipped);
    Estimated::new(T::from_unit(point), T::from_unit(low), T::from_unit(high), Certainty::Measured { n: said.n }, provenance)
}

/// (x + 1) · exp(r) − 1: the inverse of the log-ratio that residuals are.
pub(crate) fn scaled(unit: i64, micro_nats: i64) -> i64 {
    if micro_nats == 0 {
        return unit;
    }
    let factor = libm::exp(micro_nats as f64 / 1e6);
    // `as` saturates; the result is not negative for non-negative units.
    libm::round((unit.max(0) as f64 + 1.0) * factor - 1.0).max(0.0) as i64
}

/// A mean with the interval of a mean, in ppm.
fn mean<T: Quantity>(value: i64, published: &Published, prior: &Estimated<T>) -> (i64, i64, i64) {
    let value = value.clamp(0, 1_000_000);
    let share = value as f64 / 1e6;
    let outcomes = published.effective_milli as f64 / 1e3 + worth(prior);
    let half = Z90 * libm::sqrt((share * (1.0 - share)).max(VARIANCE_MIN) / outcomes);
    let half = libm::round(half * 1e6) as i64;
    (value, (value - half).max(0), (value + half).min(1_000_000))
}

/// Observed rate and prior, each by its weight.
fn blended<T: Quantity>(published: &Published, prior: &Estimated<T>) -> i64 {
    let outcomes = published.effective_milli as f64 / 1e3;
    let worth = worth(prior);
    let sum = outcomes * published.point as f64 + worth * prior.value.to_unit() as f64;
    libm::round(sum / (outcomes + worth)) as i64
}

/// Number of outcomes that a prior's width is worth: n with z·√(p(1−p)/n) = half the width.
fn worth<T: Quantity>(prior: &Estimated<T>) -> f64 {
    if prior.certainty == Certainty::Unknown {
        return PRIOR_WORTH.0;
    }
    let share = prior.value.to_unit() as f64 / 1e6;
    let half = (prior.high.to_unit() - prior.low.to_unit()) as f64 / 2e6;
    let variance = (share * (1.0 - share)).max(VARIANCE_MIN);
    if half <= 0.0 { PRIOR_WORTH.1 } else { (variance * Z90 * Z90 / (half * half)).clamp(PRIOR_WORTH.0, PRIOR_WORTH.1) }
}
