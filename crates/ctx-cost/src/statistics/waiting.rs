//! Outcomes that wait to be absorbed: how many runs, since when, and how many of each operator.

use super::key::{Field, StatKey};
use super::observation::Observation;
use super::published::TIERS;
use super::{ABSORB_OUTCOMES_MAX, ABSORB_SECONDS_MAX, Statistics};
use std::collections::BTreeMap;

/// What waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    runs: usize,
    first: u64,
    /// Latencies by operator, all buckets and sizes together.
    operators: BTreeMap<StatKey, u32>,
}

impl Waiting {
    /// One more run with what it showed, seen at `at` (seconds since the Unix epoch).
    pub fn add(&mut self, observations: &[Observation], at: u64) {
        self.first = if self.runs == 0 { at } else { self.first.min(at) };
        self.runs += 1;
        for observation in observations.iter().filter(|observation| observation.key.field == Field::Latency) {
            let key = StatKey { bucket: None, size: None, ..observation.key.clone() };
            *self.operators.entry(key).or_default() += 1;
        }
    }
}

impl Statistics {
    /// Whether waiting outcomes should be absorbed: enough of them; or the first of them and the last absorption are long
    /// enough ago; or they take an operator past one of the first counts that publish, so that a young store is not planned
    /// with blindly for its second dozen of runs. Between absorptions planning sees the same numbers, whatever is observed.
    pub fn is_due(&self, waiting: &Waiting, now: u64) -> bool {
        let since = waiting.first.max(self.as_of());
        let passes = |(key, more): (&StatKey, &u32)| {
            let known = self.cells().get(key).map_or(0, |cell| cell.published.n.max(cell.sample.distinct()));
            TIERS.iter().any(|tier| known < *tier && known + more >= *tier)
        };
        let late = now.saturating_sub(since) >= ABSORB_SECONDS_MAX;
        waiting.runs >= ABSORB_OUTCOMES_MAX || waiting.runs > 0 && (late || waiting.operators.iter().any(passes))
    }
}
