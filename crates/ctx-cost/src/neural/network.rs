//! One hidden layer from what is known of an operator before it runs to the logarithm of how far its shipped estimate is off.
//!
//! Weights are whole millionths: a network is a value that can be compared, hashed and written down exactly. Training is seeded and
//! runs in `f64` with no other source of chance; inputs outside what was seen in training are pulled back to its edge, and so are
//! predictions.

use super::features::{DENSE, Features, WIDTH};
use serde::{Deserialize, Serialize};

/// Units of the hidden layer.
pub const HIDDEN: usize = 12;
/// Passes over the rows.
const EPOCHS: usize = 150;
/// Rows of one step.
const BATCH: usize = 16;
/// Step size and decay of Adam (Kingma and Ba 2015); the rest are its defaults.
const RATE: f64 = 0.01;
const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;
const TINY: f64 = 1e-8;
/// Pull of the weights towards nothing.
const DECAY: f64 = 1e-4;
const PARAMETERS: usize = WIDTH * HIDDEN + HIDDEN + HIDDEN + 1;
const MILLION: f64 = 1e6;

/// Seeded chance (SplitMix64, Steele et al. 2014): small, and the same everywhere.
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `count`, which is at least one.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count.max(1) as u64) as usize
    }

    /// From −1 to 1.
    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A trained network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Network {
    /// Mean and spread of each dense input, in millionths.
    scale: Vec<(i64, i64)>,
    /// Smallest and largest dense input seen, standardised, in millionths.
    seen: Vec<(i64, i64)>,
    /// Mean and spread of the target.
    target: (i64, i64),
    /// Smallest and largest target seen, in millionths of a nat.
    range: (i64, i64),
    /// All weights: input to hidden, hidden biases, hidden to output, output bias.
    weights: Vec<i64>,
}

impl Network {
    /// Trains on rows of features with residuals in millionths of a nat. `None` without rows.
    pub(crate) fn train(rows: &[(Features, i64)], seed: u64) -> Option<Network> {
        let (least, most) = (rows.iter().map(|row| row.1).min()?, rows.iter().map(|row| row.1).max()?);
        let scale: Vec<(i64, i64)> = (0..DENSE).map(|at| spread(rows.iter().map(|row| row.0.dense[at]))).collect();
        let target = spread(rows.iter().map(|row| row.1 as f64 / MILLION));
        let mut network = Network { scale, seen: vec![(0, 0); DENSE], target, range: (least, most), weights: Vec::new() };
        let inputs: Vec<Features> = rows.iter().map(|row| network.standardised(&row.0)).collect();
        network.seen = (0..DENSE).map(|at| ends(inputs.iter().map(|features| features.dense[at]))).collect();
        let wanted: Vec<f64> = rows.iter().map(|row| (row.1 as f64 / MILLION - part(target.0)) / part(target.1)).collect();
        network.weights = descend(&inputs, &wanted, seed).into_iter().map(whole).collect();
        Some(network)
    }

    /// The residual to expect, in millionths of a nat.
    pub(crate) fn predict(&self, features: &Features) -> i64 {
        if self.weights.len() != PARAMETERS || self.scale.len() != DENSE || self.seen.len() != DENSE {
            return 0;
        }
        let mut inputs = self.standardised(features);
        for (value, (low, high)) in inputs.dense.iter_mut().zip(&self.seen) {
            *value = value.clamp(part(*low.min(high)), part(*high.max(low)));
        }
        let weight = |at: usize| part(self.weights[at]);
        let mut sum = weight(PARAMETERS - 1);
        for unit in 0..HIDDEN {
            sum += weight(WIDTH * HIDDEN + HIDDEN + unit) * softsign(activation(&inputs, unit, weight));
        }
        whole(sum * part(self.target.1) + part(self.target.0)).clamp(self.range.0.min(self.range.1), self.range.1.max(self.range.0))
    }

    fn standardised(&self, features: &Features) -> Features {
        let mut out = *features;
        for (value, (mean, spread)) in out.dense.iter_mut().zip(&self.scale) {
            *value = (*value - part(*mean)) / part(*spread);
        }
        out
    }
}

fn part(millionths: i64) -> f64 {
    millionths as f64 / MILLION
}

fn whole(value: f64) -> i64 {
    // `as` saturates; what is no number is nothing.
    libm::round(value * MILLION) as i64
}

fn softsign(x: f64) -> f64 {
    x / (1.0 + libm::fabs(x))
}

/// Input of a hidden unit: its bias, the dense inputs and the two names that are there.
fn activation(features: &Features, unit: usize, weight: impl Fn(usize) -> f64) -> f64 {
    let dense: f64 = (0..DENSE).map(|at| features.dense[at] * weight(at * HIDDEN + unit)).sum();
    weight(WIDTH * HIDDEN + unit) + dense + features.names.iter().map(|at| weight(at * HIDDEN + unit)).sum::<f64>()
}

/// Mean and standard deviation in millionths; a constant has a spread of one.
fn spread(values: impl Iterator<Item = f64> + Clone) -> (i64, i64) {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
    (whole(mean), whole(if variance > 1e-9 { libm::sqrt(variance) } else { 1.0 }).max(1))
}

fn ends(values: impl Iterator<Item = f64>) -> (i64, i64) {
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(value), high.max(value)));
    (whole(low), whole(high))
}

/// Adam on squared error.
fn descend(inputs: &[Features], wanted: &[f64], seed: u64) -> Vec<f64> {
    let mut chance = Chance::new(seed);
    let reach = 1.0 / libm::sqrt((DENSE + 2) as f64);
    let mut weights: Vec<f64> = (0..PARAMETERS).map(|at| if at < WIDTH * HIDDEN { chance.signed() * reach } else { 0.0 }).collect();
    for unit in 0..HIDDEN {
        weights[WIDTH * HIDDEN + HIDDEN + unit] = chance.signed() * reach;
    }
    let (mut first, mut second, mut steps) = (vec![0.0; PARAMETERS], vec![0.0; PARAMETERS], 0i32);
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    let mut gradient = vec![0.0; PARAMETERS];
    for _ in 0..EPOCHS {
        for at in (1..order.len()).rev() {
            order.swap(at, chance.below(at + 1));
        }
        for batch in order.chunks(BATCH) {
            gradient.iter_mut().zip(&weights).for_each(|(slope, weight)| *slope = DECAY * weight);
            batch.iter().for_each(|at| add_slope(&inputs[*at], wanted[*at], batch.len() as f64, &weights, &mut gradient));
            steps += 1;
            let (grown_1, grown_2) = (1.0 - libm::pow(BETA_1, f64::from(steps)), 1.0 - libm::pow(BETA_2, f64::from(steps)));
            for at in 0..PARAMETERS {
                first[at] = BETA_1 * first[at] + (1.0 - BETA_1) * gradient[at];
                second[at] = BETA_2 * second[at] + (1.0 - BETA_2) * gradient[at] * gradient[at];
                weights[at] -= RATE * (first[at] / grown_1) / (libm::sqrt(second[at] / grown_2) + TINY);
            }
        }
    }
    weights
}

/// Slope of the squared error of one row.
fn add_slope(features: &Features, wanted: f64, of: f64, weights: &[f64], gradient: &mut [f64]) {
    let mut sums = [0.0; HIDDEN];
    let mut said = weights[PARAMETERS - 1];
    for (unit, sum) in sums.iter_mut().enumerate() {
        *sum = activation(features, unit, |at| weights[at]);
        said += weights[WIDTH * HIDDEN + HIDDEN + unit] * softsign(*sum);
    }
    let error = 2.0 * (said - wanted) / of;
    gradient[PARAMETERS - 1] += error;
    for (unit, sum) in sums.iter().enumerate() {
        let out = WIDTH * HIDDEN + HIDDEN + unit;
        gradient[out] += error * softsign(*sum);
        let bent = 1.0 + libm::fabs(*sum);
        let back = error * weights[out] / (bent * bent);
        gradient[WIDTH * HIDDEN + unit] += back;
        for at in 0..DENSE {
            gradient[at * HIDDEN + unit] += back * features.dense[at];
        }
        for at in features.names {
            gradient[at * HIDDEN + unit] += back;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features(x: f64) -> Features {
        Features { dense: [x, 0.0, 0.0], names: [DENSE, WIDTH - 1] }
    }

    fn curve(x: f64) -> i64 {
        whole(if x < 5.0 { 0.0 } else { (x - 5.0) * 0.6 })
    }

    #[test]
    fn a_bent_law_is_learned_and_the_same_seed_gives_the_same_network() {
        let rows: Vec<(Features, i64)> = (0..160).map(|at| f64::from(at) / 16.0).map(|x| (features(x), curve(x))).collect();
        let network = Network::train(&rows, 3).expect("rows");
        let off = (0..10).map(|at| f64::from(at) + 0.03).map(|x| (network.predict(&features(x)) - curve(x)).abs()).max();
        assert!(off < Some(250_000), "{off:?}");
        assert_eq!(network, Network::train(&rows, 3).expect("rows"));
        assert_ne!(network, Network::train(&rows, 4).expect("rows"));
        let text = serde_json::to_string(&network).expect("integers");
        assert_eq!(serde_json::from_str::<Network>(&text).expect("own text"), network);
    }

    #[test]
    fn beyond_what_was_seen_it_says_what_it_says_at_the_edge() {
        let rows: Vec<(Features, i64)> = (0..40).map(|at| f64::from(at) / 4.0).map(|x| (features(x), curve(x))).collect();
        let network = Network::train(&rows, 1).expect("rows");
        assert_eq!(network.predict(&features(1e9)), network.predict(&features(9.75)));
        assert!(network.predict(&features(f64::NAN)) <= curve(9.75), "no number is no panic");
        assert_eq!(Network::train(&[], 1), None);
    }
}
