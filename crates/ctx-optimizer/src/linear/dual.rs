//! The Lagrangian dual of the budgets: with a price on every capacity, each group's best item is found on its own, and the
//! sum is a bound on every selection that fits.
//!
//! ```text
//! L(µ) = Σ_groups max_items (value − µ·weights) + µ·capacities        value(x) = L(µ) − Σ reduced costs − µ·slack
//! ```
//!
//! The minimum over µ ≥ 0 equals the bound of the linear relaxation. It is sought by bisection for one budget and by the
//! ellipsoid method with deep cuts for more, in floating point; the multipliers found are then rounded, and the bound is
//! computed from them in integers, so that it holds however good they are. Geoffrion 1974; Grötschel, Lovász, Schrijver.

use super::core::{CoreGroup, CoreItem};

/// Fixed point of multipliers and bounds.
pub const SCALE: i64 = 1 << 20;

/// Evaluations of the dual: enough for three budgets to come within a part in ten thousand.
const ROUNDS_MAX: usize = 160;
/// A bound this close to its minimum, in units of value, is good enough: values are integers.
const CLOSE: f64 = 0.05;

/// Multipliers with the bound they give.
#[derive(Clone, Debug, Default)]
pub struct Dual {
    /// Price of each capacity, in 1/[`SCALE`].
    pub multipliers: Vec<i64>,
    /// Best priced value of every group, in 1/[`SCALE`].
    pub best: Vec<i128>,
    /// The bound, in 1/[`SCALE`].
    pub bound: i128,
}

/// Priced value of an item, in 1/[`SCALE`].
pub(super) fn profit(item: &CoreItem, multipliers: &[i64]) -> i128 {
    let price: i128 = item.weights.iter().zip(multipliers).map(|(w, m)| i128::from(*w) * i128::from(*m)).sum();
    i128::from(item.value) * i128::from(SCALE) - price
}

/// The bound of given multipliers, exactly.
fn exact(groups: &[CoreGroup], capacities: &[i64], multipliers: Vec<i64>) -> Dual {
    let best: Vec<i128> = groups.iter().map(|g| g.items.iter().map(|i| profit(i, &multipliers)).max().unwrap_or(0)).collect();
    let price: i128 = capacities.iter().zip(&multipliers).map(|(c, m)| i128::from(*c) * i128::from(*m)).sum();
    Dual { bound: best.iter().sum::<i128>() + price, best, multipliers }
}

/// Good multipliers with their bound.
pub(super) fn minimise(groups: &[CoreGroup], capacities: &[i64]) -> Dual {
    let oracle = Oracle::new(groups, capacities);
    let priced = match capacities.len() {
        0 => Vec::new(),
        1 => oracle.bisect(),
        _ => oracle.ellipsoid(),
    };
    let rounded = |f: fn(f64) -> f64| -> Vec<i64> {
        let at = |(p, scale): (&f64, &f64)| f((p / scale * SCALE as f64).clamp(0.0, 9e15)) as i64;
        priced.iter().zip(&oracle.scales).map(at).collect()
    };
    let free = vec![0i64; capacities.len()];
    let candidates = [rounded(f64::round), rounded(f64::floor), rounded(f64::ceil), free];
    candidates.into_iter().map(|m| exact(groups, capacities, m)).min_by_key(|d| d.bound).unwrap_or_default()
}

/// Values and weights as floating point, budgets scaled to one.
struct Oracle {
    groups: Vec<std::ops::Range<usize>>,
    values: Vec<f64>,
    /// One column per budget.
    weights: Vec<Vec<f64>>,
    capacities: Vec<f64>,
    scales: Vec<f64>,
    /// No optimal multiplier is larger, as long as half of each capacity can be left unused.
    reach: f64,
}

impl Oracle {
    fn new(groups: &[CoreGroup], capacities: &[i64]) -> Oracle {
        let scales: Vec<f64> = capacities.iter().map(|c| (*c as f64).abs().max(1.0)).collect();
        let mut ranges = Vec::with_capacity(groups.len());
        let (mut values, mut weights) = (Vec::new(), vec![Vec::new(); capacities.len()]);
        let (mut most, mut least) = (0.0, 0.0);
        for group in groups {
            let start = values.len();
            for item in &group.items {
                values.push(item.value as f64);
                for (d, column) in weights.iter_mut().enumerate() {
                    column.push(item.weights[d] as f64 / scales[d]);
                }
            }
            ranges.push(start..values.len());
            let of = |f: fn(f64, f64) -> f64| values[start..].iter().copied().reduce(f).unwrap_or(0.0);
            most += of(f64::max);
            least += of(f64::min);
        }
        let capacities = capacities.iter().zip(&scales).map(|(c, s)| *c as f64 / s).collect();
        Oracle { groups: ranges, values, weights, capacities, scales, reach: 4.0 * (most - least).max(1.0) }
    }

    /// The dual function and a subgradient: capacity minus what the best items use.
    fn at(&self, prices: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.capacities);
        let mut total: f64 = prices.iter().zip(&self.capacities).map(|(p, c)| p * c).sum();
        for range in &self.groups {
            let (mut best, mut at) = (f64::NEG_INFINITY, range.start);
            for i in range.clone() {
                let mut profit = self.values[i];
                for (p, column) in prices.iter().zip(&self.weights) {
                    profit -= p * column[i];
                }
                if profit > best {
                    (best, at) = (profit, i);
                }
            }
            total += best;
            for (g, column) in gradient.iter_mut().zip(&self.weights) {
                *g -= column[at];
            }
        }
        total
    }

    fn bisect(&self) -> Vec<f64> {
        let (mut low, mut high) = (0.0, self.reach);
        let (mut gradient, mut best) = ([0.0], (self.at(&[0.0], &mut [0.0]), 0.0));
        for _ in 0..64 {
            let middle = (low + high) / 2.0;
            let value = self.at(&[middle], &mut gradient);
            if value < best.0 {
                best = (value, middle);
            }
            if gradient[0] >= 0.0 {
                high = middle
            } else {
                low = middle
            }
            if (high - low) * gradient[0].abs() < CLOSE / 8.0 {
                break;
            }
        }
        vec![best.1]
    }

    fn ellipsoid(&self) -> Vec<f64> {
        ellipsoid(self.capacities.len(), self.reach, &mut |prices, gradient| self.at(prices, gradient))
    }
}

/// Approximately where a convex function of `n ≥ 2` prices, none negative, is least; `oracle` gives its value and a
/// subgradient. `reach` is the largest price that matters.
pub(crate) fn ellipsoid(n: usize, reach: f64, oracle: &mut dyn FnMut(&[f64], &mut [f64]) -> f64) -> Vec<f64> {
    let nf = n as f64;
    let radius = reach / 2.0;
    let mut center = vec![radius / nf; n];
    let mut shape = vec![vec![0.0; n]; n];
    (0..n).for_each(|d| shape[d][d] = radius * radius * nf);
    let mut gradient = vec![0.0; n];
    let mut best = (oracle(&vec![0.0; n], &mut gradient), vec![0.0; n]);
    for _ in 0..ROUNDS_MAX {
        // A negative price is cut off at zero; its distance makes the cut deep.
        let negative = (0..n).filter(|&d| center[d] < 0.0).min_by(|&a, &b| center[a].total_cmp(&center[b]));
        let excess = match negative {
            Some(d) => {
                gradient.fill(0.0);
                gradient[d] = -1.0;
                -center[d]
            }
            None => {
                let value = oracle(&center, &mut gradient);
                let excess = value - best.0;
                if excess < 0.0 {
                    best = (value, center.clone());
                }
                excess.max(0.0)
            }
        };
        let step: Vec<f64> = shape.iter().map(|row| row.iter().zip(&gradient).map(|(a, g)| a * g).sum()).collect();
        let length = step.iter().zip(&gradient).map(|(s, g)| s * g).sum::<f64>().max(0.0).sqrt();
        let depth = if length > 0.0 { excess / length } else { 1.0 };
        if (negative.is_none() && length < CLOSE) || depth >= 1.0 {
            break;
        }
        let move_by = (1.0 + nf * depth) / (nf + 1.0) / length;
        let grow = nf * nf * (1.0 - depth * depth) / (nf * nf - 1.0);
        let squeeze = 2.0 * (1.0 + nf * depth) / ((nf + 1.0) * (1.0 + depth)) / (length * length);
        for d in 0..n {
            center[d] -= move_by * step[d];
            for e in 0..n {
                shape[d][e] = grow * (shape[d][e] - squeeze * step[d] * step[e]);
            }
        }
    }
    best.1
}
