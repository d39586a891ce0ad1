//! How often a decision proposed from further away is wrong, and from when on that is little enough.
//!
//! Proposals are judged by planning cold. The share of wrong ones has an upper confidence bound that holds at every count at once,
//! so looking after each check and stopping when it suits costs nothing: against a share `s` speaks the mean of likelihood ratios
//! of smaller shares (fixed fractions of `s`) over `s`, a supermartingale wherever the true share is `s` or more (Ville's
//! inequality; Robbins 1970). Only smaller shares are mixed because only they are of interest: a uniform mixture over all shares
//! needs twice the checks.
//!
//! Decisions that were chosen among several and those that were the only one are counted apart, by bands of distances. The bands
//! nest: a distance is served while the bound of everything judged up to some upper end above it is within the user's δ, if its own
//! band was judged a while and did no worse. Then a sample is still judged, and a bound that rises ends it; what is served is judged
//! more seldom than what is not, so that a pool that holds both errs on the careful side.

use crate::template::{EXACT_RADIUS, Verdict};
use ctx_types::Ppm;
use serde::{Deserialize, Serialize};

/// Upper ends of the bands: largest difference of any number that planning reads.
const BANDS: [Ppm; 4] = [Ppm(50_000), Ppm(100_000), Ppm(175_000), Ppm(300_000)];
/// Furthest proposal.
pub const SEMANTIC_RADIUS: Ppm = BANDS[BANDS.len() - 1];
/// Shares, as fractions of the one that is spoken against: none wrong, and few, some, half as many.
const FRACTIONS: [f64; 4] = [0.0, 0.125, 0.25, 0.5];
/// Checks of a band's own before those of nearer ones count for it.
const OWN_MIN: u32 = 32;
/// Probability that any bound of a tenant's fails, ever.
pub const BOUND_FAILS: f64 = 0.05;

/// Judged proposals of one band.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Band {
    checked: u32,
    wrong: u32,
}

/// What one tenant's proposals came to: those that were the only known decision, and those chosen among several, which are wrong
/// far more seldom at any distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    only: [Band; BANDS.len()],
    chosen: [Band; BANDS.len()],
}

impl Record {
    /// Counts a judged proposal. Those within the radius of templates are no semantic ones.
    pub(crate) fn add(&mut self, verdict: &Verdict) {
        if let Some(at) = band_of(verdict.distance) {
            let band = self.band_mut(verdict.chosen, at);
            band.checked = band.checked.saturating_add(1);
            band.wrong = band.wrong.saturating_add(u32::from(verdict.wrong));
        }
    }

    /// Upper bound of the share of wrong proposals like this one; one where none at such a distance were judged.
    pub(crate) fn bound(&self, distance: Ppm, chosen: bool) -> Ppm {
        let own = self.own(distance, chosen).filter(|own| own.checked >= OWN_MIN);
        let bound = own.and_then(|own| Some(self.pools(distance, chosen).map(Band::bound).min()?.max(own.share())));
        bound.unwrap_or(Ppm::ONE)
    }

    /// That bound if it is no more than `most`; cheaper than [`Record::bound`] where it is not.
    pub(crate) fn within(&self, distance: Ppm, chosen: bool, most: Ppm) -> Option<Ppm> {
        self.pools(distance, chosen).any(|pool| pool.is_within(most)).then(|| self.bound(distance, chosen)).filter(|bound| *bound <= most)
    }

    /// Proposals at such a distance that were judged, and wrong ones.
    pub(crate) fn judged(&self, distance: Ppm, chosen: bool) -> (u32, u32) {
        self.own(distance, chosen).map_or((0, 0), |own| (own.checked, own.wrong))
    }

    /// All that were judged, and wrong ones.
    pub(crate) fn all(&self) -> (u32, u32) {
        let all = self.only.iter().chain(&self.chosen).fold(Band::default(), |sum, band| sum.and(*band));
        (all.checked, all.wrong)
    }

    /// How many more right ones of the kind that was judged most would prove it; none if it is proven or more than ten thousand are
    /// wanted.
    pub(crate) fn still_needed(&self, most: Ppm) -> Option<u32> {
        const LOOKED_AHEAD: u32 = 10_000;
        let kinds = [false, true].into_iter().flat_map(|chosen| (0..BANDS.len()).map(move |at| (chosen, at)));
        let (chosen, at) = kinds.max_by_key(|(chosen, at)| self.bands(*chosen)[*at].checked)?;
        let proven_with = |more: u32| {
            let mut with = *self;
            let band = with.band_mut(chosen, at);
            band.checked = band.checked.saturating_add(more);
            with.within(BANDS[at], chosen, most).is_some()
        };
        let (mut low, mut high) = (0, LOOKED_AHEAD);
        if proven_with(low) || !proven_with(high) {
            return None;
        }
        while high - low > 1 {
            let middle = low.midpoint(high);
            if proven_with(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    fn bands(&self, chosen: bool) -> &[Band; BANDS.len()] {
        if chosen { &self.chosen } else { &self.only }
    }

    fn band_mut(&mut self, chosen: bool, at: usize) -> &mut Band {
        if chosen { &mut self.chosen[at] } else { &mut self.only[at] }
    }

    fn own(&self, distance: Ppm, chosen: bool) -> Option<Band> {
        band_of(distance).map(|at| self.bands(chosen)[at])
    }

    /// Everything judged up to each upper end that the distance is below.
    fn pools(&self, distance: Ppm, chosen: bool) -> impl Iterator<Item = Band> {
        let (bands, from) = (self.bands(chosen), band_of(distance).unwrap_or(BANDS.len()));
        (from..BANDS.len()).map(move |to| bands[..=to].iter().fold(Band::default(), |sum, band| sum.and(*band)))
    }
}

fn band_of(distance: Ppm) -> Option<usize> {
    if distance <= EXACT_RADIUS {
        return None;
    }
    BANDS.iter().position(|upper| distance <= *upper)
}

impl Band {
    fn and(self, other: Band) -> Band {
        Band { checked: self.checked.saturating_add(other.checked), wrong: self.wrong.saturating_add(other.wrong) }
    }

    fn share(self) -> Ppm {
        Ppm::from_share(f64::from(self.wrong) / f64::from(self.checked.max(1)))
    }

    /// Whether the counts speak against any share above this one.
    fn is_within(self, most: Ppm) -> bool {
        let (n, wrong) = (f64::from(self.checked), f64::from(self.wrong));
        self.checked > 0 && wrong < most.share() * n && evidence_against(most.share(), n, wrong) >= level()
    }

    /// Smallest share that the counts contradict at this level, by bisection; rounded up.
    fn bound(self) -> Ppm {
        let (n, wrong) = (f64::from(self.checked), f64::from(self.wrong));
        if self.checked == 0 {
            return Ppm::ONE;
        }
        let level = level();
        let (mut low, mut high) = (wrong / n, 1.0);
        for _ in 0..40 {
            let middle = (low + high) / 2.0;
            if evidence_against(middle, n, wrong) >= level { high = middle } else { low = middle }
        }
        Ppm(u32::try_from(libm::ceil(high * 1e6) as u64).unwrap_or(u32::MAX).min(Ppm::ONE.0))
    }
}

/// What must speak against a share, so that no bound of a tenant's ever fails with more than [`BOUND_FAILS`].
fn level() -> f64 {
    libm::log((2 * BANDS.len()) as f64 / BOUND_FAILS)
}

/// Logarithm of the mean of likelihood ratios over that of `share`.
fn evidence_against(share: f64, n: f64, wrong: f64) -> f64 {
    let ratio = |fraction: f64| {
        let of_wrong = if wrong == 0.0 { 0.0 } else { wrong * libm::log(fraction) };
        of_wrong + (n - wrong) * libm::log((1.0 - fraction * share) / (1.0 - share))
    };
    let ratios = FRACTIONS.map(ratio);
    let largest = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + libm::log(ratios.iter().map(|r| libm::exp(r - largest)).sum::<f64>() / FRACTIONS.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(checked: u32, every: u32) -> Record {
        let mut record = Record::default();
        for at in 1..=checked {
            record.add(&Verdict { distance: Ppm(40_000), chosen: false, loss: 0, wrong: every > 0 && at.is_multiple_of(every) });
        }
        record
    }

    #[test]
    fn a_band_is_proven_by_its_own_checks_and_nearer_ones() {
        let proven = record(600, 0);
        assert!(proven.bound(Ppm(40_000), false) <= Ppm(10_000), "{}", proven.bound(Ppm(40_000), false));
        assert!(record(300, 0).bound(Ppm(40_000), false) > Ppm(10_000));
        assert!(record(125, 0).bound(Ppm(40_000), false) <= Ppm(50_000));
        assert_eq!(proven.bound(Ppm(60_000), false), Ppm::ONE, "the next band was never checked");
        let judged = |wrong: u32| {
            let mut further = proven;
            let verdict = |at| Verdict { distance: Ppm(60_000), chosen: false, loss: 0, wrong: at < wrong };
            (0..OWN_MIN).for_each(|at| further.add(&verdict(at)));
            further
        };
        assert!(judged(0).within(Ppm(60_000), false, Ppm(10_000)).is_some(), "what is judged nearer counts for it");
        assert_eq!(judged(1).within(Ppm(60_000), false, Ppm(20_000)), None, "it did worse itself");
        assert_eq!(judged(9).within(Ppm(60_000), false, Ppm(50_000)), None);
        assert_eq!(judged(9).within(Ppm(40_000), false, Ppm(10_000)), Some(proven.bound(Ppm(40_000), false)));
        assert_eq!(judged(9).judged(Ppm(40_000), false), (600, 0));
        assert_eq!(proven.bound(Ppm(400_000), false), Ppm::ONE, "too far");
        assert_eq!(proven.bound(Ppm(40_000), true), Ppm::ONE, "chosen ones were never checked");
        assert!(record(2_000, 50).bound(Ppm(40_000), false) > Ppm(20_000), "one in fifty is wrong");
    }

    #[test]
    fn what_is_still_needed_proves_it() {
        let most = Ppm(50_000);
        for begun in [record(1, 0), record(40, 0), record(60, 30)] {
            let needed = begun.still_needed(most).expect("not proven yet");
            let with = |more: u32| {
                let mut record = begun;
                (0..more).for_each(|_| record.add(&Verdict { distance: Ppm(40_000), chosen: false, loss: 0, wrong: false }));
                record.within(Ppm(40_000), false, most)
            };
            assert!(with(needed).is_some() && with(needed - 1).is_none(), "{needed}");
        }
        assert_eq!(record(600, 0).still_needed(most), None);
        assert_eq!(record(40, 20).all(), (40, 2));
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
                    record.add(&Verdict { distance: Ppm(40_000), chosen: false, loss: 0, wrong: random() < truth });
                    u64::from(record.bound(Ppm(40_000), false).0) < truth
                })
            })
            .count();
        // .00625 of 200 is 1.25 expected at most; 9 has a probability under .001.
        assert!(failed < 9, "{failed} of {sequences}");
    }
}
