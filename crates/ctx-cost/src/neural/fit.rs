//! Three estimators beside each other on outcomes that none of them has seen: shipped, corrected by statistics, corrected by a
//! network. Which of them planning may use follows from that, per field and kind of operator.
//!
//! Runs are split by the hash of their id; what is measured is what is used: the network that the held-out runs judged.

use super::features::Features;
use super::network::{Chance, Network};
use crate::statistics::correct::scaled;
use crate::statistics::observation::log_ratio;
use crate::statistics::{Field, Observation, OperatorClass, Quantity, StatKey, Statistics};
use ctx_types::id::sha256_hex;
use ctx_types::{Certainty, Estimated, Micros};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Fields that a network may estimate: time, tokens and money.
pub const FIELDS: [Field; 6] = [Field::Latency, Field::FirstToken, Field::PerToken, Field::Tokens, Field::OutputTokens, Field::Cost];
/// Rows of the training half from which a network is trained at all.
pub const TRAINED_FROM: usize = 40;
/// Runs of the held-out half from which another estimator than the statistics may be chosen: as many as ends need.
pub const HELD_OUT_FROM: usize = 20;
/// Share of the hash range that trains.
const TRAIN_SHARE: f64 = 0.6;
/// Draws of an interval.
const DRAWS: usize = 500;
/// Each tail of the 90 % interval.
const TAIL: f64 = 0.05;

/// Who gives an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// Shipped.
    Prior,
    /// Corrected by statistics.
    Learned,
    /// Corrected by a network.
    Neural,
}

impl std::fmt::Display for Estimator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Estimator::Prior => "prior",
            Estimator::Learned => "learned",
            Estimator::Neural => "neural",
        })
    }
}

/// A mean difference in ln(q-error) with its 95 % interval over runs, in millionths: above 0, the second is nearer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gain {
    /// Mean.
    pub mean: i64,
    /// 2.5 % quantile.
    pub low: i64,
    /// 97.5 % quantile.
    pub high: i64,
}

/// One field of one kind of operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Field.
    pub field: Field,
    /// Kind of operator.
    pub class: OperatorClass,
    /// Outcomes that trained.
    pub trained: u32,
    /// Outcomes that judged.
    pub judged: u32,
    /// Median and 95th percentile of the q-error of shipped estimates on the held-out runs, in millionths.
    pub prior: (u64, u64),
    /// The same, corrected by statistics of the training runs.
    pub learned: (u64, u64),
    /// The same, corrected by the network; nothing where too few outcomes trained one.
    pub neural: Option<(u64, u64)>,
    /// What statistics gain over shipped estimates.
    pub learned_over_prior: Gain,
    /// What the network gains over statistics.
    pub neural_over_learned: Gain,
    /// What the network gains over shipped estimates.
    pub neural_over_prior: Gain,
    /// Who is to be used.
    pub best: Estimator,
    /// Operators that trained: of others a network knows nothing.
    pub(crate) operators: BTreeSet<String>,
    pub(crate) network: Option<Network>,
    /// Ends of what the held-out runs leave after the network, in millionths of a nat.
    pub(crate) ends: (i64, i64),
}

/// A held-out outcome: |ln q| of the three, and what the network left.
struct Judged<'a> {
    run: &'a str,
    prior: i64,
    learned: i64,
    neural: Option<(i64, i64)>,
}

/// Fits and judges every field of every kind of operator that these outcomes hold. Outcomes of one tenant.
pub fn fit(outcomes: &[Observation], seed: u64) -> Vec<Group> {
    let mut groups: BTreeMap<(Field, OperatorClass), Vec<&Observation>> = BTreeMap::new();
    for seen in outcomes.iter().filter(|seen| FIELDS.contains(&seen.key.field) && seen.key.operator.is_some()) {
        groups.entry((seen.key.field, seen.key.class)).or_default().push(seen);
    }
    groups.into_iter().filter_map(|((field, class), seen)| group(field, class, seen, seed)).collect()
}

fn group(field: Field, class: OperatorClass, mut seen: Vec<&Observation>, seed: u64) -> Option<Group> {
    // The order of the log must not matter.
    seen.sort_by(|a, b| (a.at, &a.outcome).cmp(&(b.at, &b.outcome)));
    let (train, test): (Vec<&Observation>, Vec<&Observation>) = seen.into_iter().partition(|one| is_train(run_of(one)));
    if train.is_empty() || test.is_empty() {
        return None;
    }
    let as_of = train.iter().map(|one| one.at).max().unwrap_or(0);
    let statistics = Statistics::default().absorb(&train.iter().map(|one| (*one).clone()).collect::<Vec<_>>(), as_of);
    let rows: Vec<(Features, i64)> = train.iter().map(|one| (Features::of(&one.key, one.estimate, one.load), one.residual())).collect();
    let network = if rows.len() >= TRAINED_FROM { Network::train(&rows, seed) } else { None };
    let judged: Vec<Judged> = test.iter().map(|one| judge(one, &statistics, network.as_ref())).collect();
    let runs = by_run(&judged);
    let gain = |of: &dyn Fn(&Judged) -> i64| interval(&runs, of, seed);
    let neural = |one: &Judged| one.neural.map_or(one.learned, |(off, _)| off);
    let (over_prior, over_learned) = (gain(&|one| one.prior - neural(one)), gain(&|one| one.learned - neural(one)));
    let learned_over_prior = gain(&|one| one.prior - one.learned);
    let best = match (network.is_some(), runs.len() >= HELD_OUT_FROM) {
        (true, true) if over_prior.low > 0 && over_learned.low > 0 => Estimator::Neural,
        (_, true) if learned_over_prior.high < 0 => Estimator::Prior,
        _ => Estimator::Learned,
    };
    Some(Group {
        field,
        class,
        trained: count(train.len()),
        judged: count(test.len()),
        prior: quantiles(judged.iter().map(|one| one.prior).collect()),
        learned: quantiles(judged.iter().map(|one| one.learned).collect()),
        neural: network.is_some().then(|| quantiles(judged.iter().map(neural).collect())),
        learned_over_prior,
        neural_over_learned: over_learned,
        neural_over_prior: over_prior,
        best,
        operators: train.iter().filter_map(|one| one.key.operator.clone()).collect(),
        network,
        ends: ends(judged.iter().filter_map(|one| one.neural).map(|(_, left)| left).collect()),
    })
}

fn judge<'a>(one: &'a Observation, statistics: &Statistics, network: Option<&Network>) -> Judged<'a> {
    let off = |said: i64| log_ratio(one.actual, said);
    let learned = said_by_statistics(statistics, &one.key, one.estimate);
    let neural = network.map(|network| {
        let left = off(scaled(one.estimate, network.predict(&Features::of(&one.key, one.estimate, one.load))));
        (left.abs(), left)
    });
    Judged { run: run_of(one), prior: off(one.estimate).abs(), learned: off(learned).abs(), neural }
}

fn said_by_statistics(statistics: &Statistics, key: &StatKey, shipped: i64) -> i64 {
    let prior = Micros::from_unit(shipped);
    statistics.corrected(key, Estimated::new(prior, prior, prior, Certainty::Prior, "")).value.to_unit()
}

/// The run of an outcome `run/node`.
fn run_of(one: &Observation) -> &str {
    one.outcome.split_once('/').map_or(one.outcome.as_str(), |(run, _)| run)
}

fn is_train(run: &str) -> bool {
    let leading = u64::from_str_radix(&sha256_hex(run.as_bytes())[..8], 16).unwrap_or(u64::MAX);
    (leading as f64) < TRAIN_SHARE * 4_294_967_296.0
}

fn by_run<'a>(judged: &'a [Judged<'a>]) -> Vec<Vec<&'a Judged<'a>>> {
    let mut runs: BTreeMap<&str, Vec<&Judged>> = BTreeMap::new();
    judged.iter().for_each(|one| runs.entry(one.run).or_default().push(one));
    runs.into_values().collect()
}

/// Mean over outcomes, its interval over runs: what one run shows of several operators hangs together (Efron and Tibshirani 1993).
fn interval(runs: &[Vec<&Judged>], of: &dyn Fn(&Judged) -> i64, seed: u64) -> Gain {
    let sums: Vec<(i64, i64)> = runs.iter().map(|run| (run.iter().map(|one| of(one)).sum(), run.len() as i64)).collect();
    let mean = |drawn: &mut dyn Iterator<Item = (i64, i64)>| {
        let (sum, n) = drawn.fold((0i64, 0i64), |(sum, n), (more, of)| (sum + more, n + of));
        sum / n.max(1)
    };
    let mut chance = Chance::new(seed);
    let mut means: Vec<i64> = (0..DRAWS).map(|_| mean(&mut (0..sums.len()).map(|_| sums[chance.below(sums.len())]))).collect();
    means.sort_unstable();
    let at = |share: f64| means[((DRAWS - 1) as f64 * share) as usize];
    Gain { mean: mean(&mut sums.iter().copied()), low: at(0.025), high: at(0.975) }
}

/// Median and 95th percentile of q-errors, from the sizes of their logarithms.
fn quantiles(mut sizes: Vec<i64>) -> (u64, u64) {
    sizes.sort_unstable();
    let at = |share: f64| {
        let size = sizes.get(((sizes.len() as f64 * share) as usize).min(sizes.len().saturating_sub(1))).copied().unwrap_or(0);
        libm::round(libm::exp(size as f64 / 1e6) * 1e6) as u64
    };
    (at(0.5), at(0.95))
}

/// Ends of the 90 % interval of what is left: conformal ranks where there are enough, else the extremes.
fn ends(mut left: Vec<i64>) -> (i64, i64) {
    left.sort_unstable();
    let rank = ((left.len() + 1) as f64 * TAIL) as usize;
    let low = left.get(rank.saturating_sub(1)).copied().unwrap_or(0);
    let high = left.len().checked_sub(rank.max(1)).and_then(|at| left.get(at)).copied().unwrap_or(0);
    (low, high)
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
