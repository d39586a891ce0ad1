//! Multiple-choice selection with additive value and several additive budgets: exactly one item of every group, the sum of
//! values as large as possible, the sum of every weight within its capacity.
//!
//! Two exact searches share one bound, the Lagrangian dual of the budgets ([`dual`]): branch and bound ([`branch`], depth
//! first over reduced costs) and label-setting ([`labels`], non-dominated partial sums). [`crate::milp`] states the same
//! problem for a solver that knows nothing of it and is the cross-check. Every search ends with a certificate: the bound
//! equals the value, or the limit that stopped it and the gap that is left. Limits count nodes, never time; the order in
//! which groups and items are given decides nothing but which of equally good selections is returned.
//!
//! ```
//! use ctx_optimizer::linear::{LinearItem, LinearProblem, NODES_MAX, branch_and_bound};
//! let item = |value, tokens| LinearItem { value, weights: vec![tokens] };
//! let problem = LinearProblem {
//!     groups: vec![vec![item(0, 0), item(7, 500)], vec![item(0, 0), item(5, 300), item(9, 900)]],
//!     capacities: vec![1_000],
//! };
//! let best = branch_and_bound(&problem, NODES_MAX);
//! assert_eq!((best.value, best.picks), (Some(12), Some(vec![1, 1])));
//! assert_eq!((best.bound, best.stopped_by), (Some(12), None));
//! ```

pub mod branch;
mod core;
pub mod dual;
pub mod labels;
mod start;

pub use branch::branch_and_bound;
pub use labels::label_setting;

/// An item with additive value and weights.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinearItem {
    /// Value.
    pub value: i64,
    /// Use of each capacity.
    pub weights: Vec<i64>,
}

/// One item of every group within every capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearProblem {
    /// Groups; exactly one item of each is chosen.
    pub groups: Vec<Vec<LinearItem>>,
    /// Capacities, one per weight.
    pub capacities: Vec<i64>,
}

/// How a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinearSolution {
    /// Item index per group of the best selection found; `None`: none fits, or none was found before the limit.
    pub picks: Option<Vec<usize>>,
    /// Its value.
    pub value: Option<i64>,
    /// No selection has more; `None`: proven that none fits.
    pub bound: Option<i64>,
    /// Nodes visited.
    pub nodes: u64,
    /// The limit that stopped the search; `None`: the value is proven.
    pub stopped_by: Option<String>,
}

/// Default limit of nodes: some milliseconds.
pub const NODES_MAX: u64 = 100_000;

impl LinearSolution {
    /// What the best selection may be short of the optimum; 0 when proven, `None` when no selection is known.
    pub fn gap(&self) -> Option<i64> {
        Some(self.bound?.saturating_sub(self.value?))
    }
}

impl LinearProblem {
    /// Complete assignments.
    pub fn assignments(&self) -> u64 {
        self.groups.iter().map(|g| g.len() as u64).fold(1, u64::saturating_mul)
    }

    /// Value of a selection, if it fits.
    pub fn value_of(&self, picks: &[usize]) -> Option<i64> {
        let chosen = || self.groups.iter().zip(picks).filter_map(|(g, &i)| g.get(i));
        if picks.len() != self.groups.len() || chosen().count() != picks.len() {
            return None;
        }
        let fits =
            self.capacities.iter().enumerate().all(|(d, &c)| chosen().map(|i| i128::from(i.weights[d])).sum::<i128>() <= i128::from(c));
        fits.then(|| chosen().map(|i| i.value).sum())
    }

    /// The oracle: every selection. For tests and small instances only.
    pub fn brute_force(&self) -> Option<(i64, Vec<usize>)> {
        let mut best: Option<(i64, Vec<usize>)> = None;
        if self.groups.iter().any(Vec::is_empty) {
            return None;
        }
        let mut picks = vec![0usize; self.groups.len()];
        loop {
            if let Some(value) = self.value_of(&picks)
                && best.as_ref().is_none_or(|(b, _)| value > *b)
            {
                best = Some((value, picks.clone()));
            }
            let Some(at) = (0..picks.len()).rev().find(|&g| picks[g] + 1 < self.groups[g].len()) else { return best };
            picks[at] += 1;
            picks[at + 1..].fill(0);
        }
    }
}
