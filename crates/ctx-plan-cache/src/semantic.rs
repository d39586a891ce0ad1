//! How often a decision proposed from further away is wrong, and from when on that is little enough.
//!
//! Proposals are judged by planning cold. For each band of distances the share of wrong ones has an upper confidence bound that
//! holds at every count at once (the mixture of likelihood ratios under a uniform prior is a martingale: Ville's inequality;
//! Robbins 1970), so looking after each check and stopping when it suits costs nothing. A band serves while its bound is
//! within the user's δ; then a sample of its proposals is still judged, and a bound that rises ends it.

use crate::template::{EXACT_RADIUS, Verdict};
use ctx_types::Ppm;
use serde::{Deserialize, Serialize};

/// Upper ends of the bands: largest difference of any number that planning reads.
const BANDS: [Ppm; 4] = [Ppm(50_000), Ppm(100_000), Ppm(175_000), Ppm(300_000)];
/// Furthest proposal.
pub const SEMANTIC_RADIUS: Ppm = BANDS[BANDS.len() - 1];
/// Probability that the bound of any band fails, ever.
pub const BOUND_FAILS: f64 = 0.05;

/// Judged proposals of one band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Band {
    checked: u32,
    wrong: u32,
}

/// What one tenant's proposals came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    bands: [Band; BANDS.len()],
}

impl Record {
    /// Counts a judged proposal. Those within the radius of templates are no semantic ones.
    pub(crate) fn add(&mut self, verdict: &Verdict) {
        if let Some(band) = band_of(verdict.distance) {
            self.bands[band].checked = self.bands[band].checked.saturating_add(1);
            self.bands[band].wrong = self.bands[band].wrong.saturating_add(u32::from(verdict.wrong));
        }
    }

    /// Upper bound of the share of wrong proposals at this distance; one where there are none this far.
    pub(crate) fn bound(&self, distance: Ppm) -> Ppm {
        band_of(distance).map_or(Ppm::ONE, |at| self.bands[at].bound())
    }

    /// Proposals judged at this distance, and wrong ones.
    pub(crate) fn judged(&self, distance: Ppm) -> (u32, u32) {
        band_of(distance).map_or((0, 0), |at| (self.bands[at].checked, self.bands[at].wrong))
    }
}

fn band_of(distance: Ppm) -> Option<usize> {
    if distance <= EXACT_RADIUS {
        return None;
    }
    BANDS.iter().position(|upper| distance <= *upper)
}

impl Band {
    /// Smallest share that the counts contradict at this level, by bisection; rounded up.
    fn bound(self) -> Ppm {
        let (n, wrong) = (f64::from(self.checked), f64::from(self.wrong));
        if self.checked == 0 {
            return Ppm::ONE;
        }
        let level = libm::log(BANDS.len() as f64 / BOUND_FAILS);
        let (mut low, mut high) = (wrong / n, 1.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if evidence_against(middle, n, wrong) >= level { high = middle } else { low = middle }
        }
        Ppm(u32::try_from(libm::ceil(high * 1e6) as u64).unwrap_or(u32::MAX).min(Ppm::ONE.0))
    }
}

/// Logarithm of the mixture's likelihood over that of `share`.
fn evidence_against(share: f64, n: f64, wrong: f64) -> f64 {
    let mixture = libm::lgamma(wrong + 1.0) + libm::lgamma(n - wrong + 1.0) - libm::lgamma(n + 2.0);
    let at = |count: f64, p: f64| if count == 0.0 { 0.0 } else { count * libm::log(p) };
    mixture - at(wrong, share) - at(n - wrong, 1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(checked: u32, every: u32) -> Record {
        let mut record = Record::default();
        for at in 1..=checked {
            record.add(&Verdict { distance: Ppm(40_000), loss: 0, wrong: every > 0 && at.is_multiple_of(every) });
        }
        record
    }

    #[test]
    fn a_band_is_proven_by_its_own_checks_only() {
        let proven = record(1_300, 0);
        assert!(proven.bound(Ppm(40_000)) <= Ppm(10_000), "{}", proven.bound(Ppm(40_000)));
        assert!(record(300, 0).bound(Ppm(40_000)) > Ppm(10_000));
        assert_eq!(proven.bound(Ppm(60_000)), Ppm::ONE, "the next band was never checked");
        assert_eq!(proven.bound(Ppm(400_000)), Ppm::ONE, "too far");
        assert!(record(2_000, 50).bound(Ppm(40_000)) > Ppm(20_000), "one in fifty is wrong");
    }

    /// Over many sequences that are looked at after each check, the bound falls below the truth in no more than it may.
    #[test]
    fn the_bound_holds_at_every_look() {
        let truth = 50_000_u64;
        let mut state = 7_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % 1_000_000
        };
        let sequences = 200;
        let failed = (0..sequences)
            .filter(|_| {
                let mut record = Record::default();
                (0..400).any(|_| {
                    record.add(&Verdict { distance: Ppm(40_000), loss: 0, wrong: random() < truth });
                    u64::from(record.bound(Ppm(40_000)).0) < truth
                })
            })
            .count();
        // .0125 of 200 is 2.5 expected at most; 9 has a probability under .001.
        assert!(failed < 9, "{failed} of {sequences}");
    }
}
