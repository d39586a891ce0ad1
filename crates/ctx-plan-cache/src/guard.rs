//! The regression guard: a new plan that does measurably worse than the one before it is taken back.
//!
//! A scope is what shares a decision: a family of goals, or one goal. When the shape of its plan changes, the runs of the old
//! shape are the baseline, if there were [`BASELINE_RUNS_MIN`], and every run of the new one is weighed by three likelihood
//! ratios: success has fallen by [`FALL`], cost has doubled, latency has doubled, each against "as before". Under "as before" such
//! a product exceeds 1/α with a probability of at most α however long it runs (Wald 1945; Ville's inequality), so with
//! [`FALSE_REVERTS`] shared by the three at most that part of plan changes is ever taken back without cause. The baseline is an
//! estimate, so "as before" is its side of doubt: the lower success, the higher mean, the wider spread. A success tells less
//! than a duration: a fall from .9 to .6 shows after some twenty runs, a doubled latency after half of that.

use ctx_types::{ContentId, Micros, NanoUsd};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Runs of the old plan from which on the new one is judged.
pub const BASELINE_RUNS_MIN: u32 = 40;
/// Fall of the success rate that is looked for.
pub const FALL: f64 = 0.3;
/// Share of plan changes taken back without cause, at most.
pub const FALSE_REVERTS: f64 = 0.01;
/// What each ratio has of it: success, cost, latency.
const SHARES: [f64; 3] = [0.5, 0.25, 0.25];
/// Scopes that are watched; the longest unused is forgotten.
const SCOPES_MAX: usize = 4_096;
/// Spread of a logarithm that is assumed where the baseline shows less: a price or a clock is never that exact.
const SPREAD_MIN: f64 = 0.2;
/// Most that one run may say for or against in the ratios of cost and latency: one stall is no evidence of a slower plan.
const ONE_RUN_MOST: f64 = 2.0;
/// Share of doubt of the baseline that is granted to the new plan, in standard errors.
const DOUBT: f64 = 2.0;

/// What one run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Answered, and no check failed.
    pub success: bool,
    /// What it cost.
    pub cost: NanoUsd,
    /// How long it took.
    pub elapsed: Micros,
}

/// What is worse than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Worse {
    /// Fewer runs succeed.
    Success,
    /// Runs cost twice as much.
    Cost,
    /// Runs take twice as long.
    Latency,
}

impl fmt::Display for Worse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Worse::Success => "success fell by .3",
            Worse::Cost => "cost doubled",
            Worse::Latency => "latency doubled",
        })
    }
}

/// Mean and spread of a logarithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Moments {
    n: u32,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Welford's update.
    fn add(&mut self, x: f64) {
        self.n = self.n.saturating_add(1);
        let off = x - self.mean;
        self.mean += off / f64::from(self.n);
        self.squares += off * (x - self.mean);
    }

    /// Mean and spread on the new plan's side of doubt.
    fn doubted(&self) -> (f64, f64) {
        let n = f64::from(self.n.max(2));
        let spread = libm::sqrt(self.squares / (n - 1.0)).max(SPREAD_MIN) * (1.0 + DOUBT / libm::sqrt(2.0 * n));
        (self.mean + DOUBT * spread / libm::sqrt(n), spread)
    }
}

/// Runs of one shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Track {
    gist: String,
    runs: u32,
    succeeded: u32,
    cost: Moments,
    latency: Moments,
}

impl Track {
    fn new(gist: &ContentId) -> Track {
        Track { gist: gist.0.clone(), ..Track::default() }
    }

    fn add(&mut self, run: &Run) {
        self.runs = self.runs.saturating_add(1);
        self.succeeded += u32::from(run.success);
        self.cost.add(log_cost(run));
        self.latency.add(log_latency(run));
    }

    /// Success rate on the new plan's side of doubt: a standard error below the estimate under Jeffreys' prior.
    fn success(&self) -> f64 {
        let n = f64::from(self.runs) + 1.0;
        let rate = (f64::from(self.succeeded) + 0.5) / n;
        (rate - libm::sqrt(rate * (1.0 - rate) / n)).clamp(0.02, 0.98)
    }
}

/// A nano-dollar is added, so that free runs have a logarithm.
fn log_cost(run: &Run) -> f64 {
    libm::log(run.cost.0.max(0) as f64 + 1.0)
}

fn log_latency(run: &Run) -> f64 {
    libm::log(run.elapsed.0 as f64 + 1.0)
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Scope {
    now: Track,
    before: Option<Track>,
    /// Logarithms of the ratios: success, cost, latency.
    ratios: [f64; 3],
    used: u64,
}

/// A plan that is to be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revert {
    /// The shape to go back to.
    pub to: ContentId,
    /// The shape that did worse.
    pub from: ContentId,
    /// In what.
    pub worse: Worse,
    /// Runs of it.
    pub runs: u32,
}

/// Scopes by hash.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    #[serde(with = "crate::hashed")]
    scopes: BTreeMap<u128, Scope>,
    uses: u64,
}

impl Guard {
    /// Takes a run in; says whether its plan is to be taken back.
    pub fn observe(&mut self, scope: u128, gist: &ContentId, run: &Run) -> Option<Revert> {
        self.uses += 1;
        let watched = self.scopes.entry(scope).or_default();
        watched.used = self.uses;
        if watched.now.gist != gist.0 {
            watched.changed(gist);
        }
        watched.weigh(run);
        watched.now.add(run);
        let revert = watched.verdict();
        if revert.is_some() {
            let before = watched.before.take().unwrap_or_default();
            watched.now = before;
            watched.ratios = [0.0; 3];
        }
        if self.scopes.len() > SCOPES_MAX
            && let Some(oldest) = self.scopes.iter().min_by_key(|(_, scope)| scope.used).map(|(hash, _)| *hash)
        {
            self.scopes.remove(&oldest);
        }
        revert
    }
}

impl Scope {
    /// Another shape: what ran so far becomes the baseline if it ran often enough; otherwise an older baseline stays.
    fn changed(&mut self, gist: &ContentId) {
        let old = std::mem::replace(&mut self.now, Track::new(gist));
        if old.runs >= BASELINE_RUNS_MIN {
            self.before = Some(old);
        }
        // Back to the shape of the baseline: nothing to judge it against but itself.
        if self.before.as_ref().is_some_and(|before| before.gist == gist.0) {
            self.now = self.before.take().unwrap_or_default();
        }
        self.ratios = [0.0; 3];
    }

    fn weigh(&mut self, run: &Run) {
        let Some(before) = &self.before else { return };
        let usual = before.success();
        let fallen = (usual - FALL).max(usual / 4.0);
        let ratio = |p: f64, q: f64| libm::log(p / q);
        self.ratios[0] += if run.success { ratio(fallen, usual) } else { ratio(1.0 - fallen, 1.0 - usual) };
        for (at, (moments, x)) in [(&before.cost, log_cost(run)), (&before.latency, log_latency(run))].into_iter().enumerate() {
            let (mean, spread) = moments.doubted();
            let shift = std::f64::consts::LN_2;
            let says = shift / (spread * spread) * (x - mean - shift / 2.0);
            self.ratios[at + 1] += says.clamp(-ONE_RUN_MOST, ONE_RUN_MOST);
        }
    }

    fn verdict(&self) -> Option<Revert> {
        let before = self.before.as_ref()?;
        let crosses = |at: &usize| self.ratios[*at] >= -libm::log(FALSE_REVERTS * SHARES[*at]);
        let at = (0..SHARES.len()).find(crosses)?;
        Some(Revert {
            to: ContentId(before.gist.clone()),
            from: ContentId(self.now.gist.clone()),
            worse: [Worse::Success, Worse::Cost, Worse::Latency][at],
            runs: self.now.runs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        state: u64,
    }

    impl World {
        fn share(&mut self) -> f64 {
            self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Twelve uniform numbers: near enough to a normal one.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.share()).sum::<f64>() - 6.0
        }

        fn run(&mut self, success: f64, cost: f64, seconds: f64) -> Run {
            let spread = 0.4;
            Run {
                success: self.share() < success,
                cost: NanoUsd((cost * 1e6 * libm::exp(0.2 * self.normal())) as i64),
                elapsed: Micros((seconds * 1e6 * libm::exp(spread * self.normal())) as u64),
            }
        }
    }

    fn gist(name: &str) -> ContentId {
        ContentId(format!("gist_{name}"))
    }

    /// Runs of the old plan, then of the new one until it is taken back.
    fn until_revert(world: &mut World, new: (f64, f64, f64), most: u32) -> Option<Revert> {
        let mut guard = Guard::default();
        for _ in 0..100 {
            assert_eq!(guard.observe(1, &gist("old"), &world.run(0.9, 2.0, 1.0)), None);
        }
        (0..most).find_map(|_| guard.observe(1, &gist("new"), &world.run(new.0, new.1, new.2)))
    }

    /// Median number of runs and its reason; a baseline that was bad luck itself may hide a fall for ever.
    fn typical(seed: u64, new: (f64, f64, f64)) -> (u32, Worse) {
        let mut world = World { state: seed };
        let mut all: Vec<Revert> = (0..101).filter_map(|_| until_revert(&mut world, new, 1_000)).collect();
        assert!(all.len() > 95, "{} of 101 were taken back", all.len());
        all.sort_by_key(|revert| revert.runs);
        (all[50].runs, all[50].worse)
    }

    #[test]
    fn a_plan_that_is_much_worse_is_taken_back_within_about_fifteen_runs() {
        for (new, why, most) in
            [((0.9, 4.0, 1.0), Worse::Cost, 15), ((0.9, 2.0, 2.0), Worse::Latency, 15), ((0.6, 2.0, 1.0), Worse::Success, 24)]
        {
            let (runs, worse) = typical(3, new);
            assert!(runs <= most && worse == why, "{why}: median {runs} runs, {worse}");
        }
    }

    /// The bar of the design: of 100 sequences of 1,000 runs at most one.
    #[test]
    fn a_plan_that_is_as_good_is_left_alone() {
        let mut world = World { state: 11 };
        let reverted = (0..300).filter(|_| until_revert(&mut world, (0.9, 2.0, 1.0), 1_000).is_some()).count();
        assert!(reverted <= 3, "{reverted} of 300");
    }

    #[test]
    fn what_ran_too_rarely_is_no_baseline() {
        let mut guard = Guard::default();
        let mut world = World { state: 5 };
        for _ in 0..BASELINE_RUNS_MIN - 1 {
            guard.observe(1, &gist("old"), &world.run(0.9, 2.0, 1.0));
        }
        assert!((0..200).all(|_| guard.observe(1, &gist("new"), &world.run(0.1, 9.0, 9.0)).is_none()));
        assert!(guard.observe(2, &gist("new"), &world.run(0.1, 9.0, 9.0)).is_none(), "scopes are apart");
    }

    #[test]
    fn after_a_revert_the_old_plan_is_the_one_that_runs() {
        let mut world = World { state: 9 };
        let mut guard = Guard::default();
        (0..40).for_each(|_| drop(guard.observe(1, &gist("old"), &world.run(0.9, 2.0, 1.0))));
        let revert = (0..100).find_map(|_| guard.observe(1, &gist("new"), &world.run(0.9, 8.0, 1.0))).expect("four times the cost");
        assert_eq!((revert.to, revert.from), (gist("old"), gist("new")));
        assert!((0..200).all(|_| guard.observe(1, &gist("old"), &world.run(0.9, 2.0, 1.0)).is_none()));
    }
}
