//! What both searches run on: the items that may still be part of an optimum, flat, with their reduced costs.

use super::dual::{self, Dual, SCALE};
use super::{LinearProblem, LinearSolution, start};

/// An item that survived reduction.
#[derive(Clone, Debug)]
pub(super) struct CoreItem {
    /// Value.
    pub value: i64,
    /// Weights.
    pub weights: Vec<i64>,
    /// Index in its group.
    pub index: usize,
    /// What choosing it costs against the bound, in 1/[`SCALE`] of a unit of value.
    pub reduced: i64,
}

/// A group of such items.
#[derive(Clone, Debug)]
pub(super) struct CoreGroup {
    /// Its index in the problem.
    pub index: usize,
    /// Items.
    pub items: Vec<CoreItem>,
}

/// The reduced problem with bound and incumbent.
#[derive(Clone, Debug)]
pub(super) struct Core {
    /// Groups in the order of the search.
    pub groups: Vec<CoreGroup>,
    /// Capacities.
    pub capacities: Vec<i64>,
    /// The bound's multipliers.
    pub dual: Dual,
    /// Best selection so far, by the problem's group index, with its value.
    pub incumbent: Option<(i64, Vec<usize>)>,
    /// Least use of each capacity by the groups from here on.
    pub least_from: Vec<Vec<i64>>,
    /// Most use.
    pub most_from: Vec<Vec<i64>>,
    /// Nodes used so far.
    pub nodes: u64,
}

/// Reduced costs beyond this prune as surely as larger ones.
pub(super) const REDUCED_MAX: i64 = i64::MAX / 8;

/// Either a reduced problem to be searched, or the end.
pub(super) enum Reduced {
    Search(Core),
    Done(LinearSolution),
}

/// Dominance, bound, incumbent, and the removal of items that the bound excludes.
pub(super) fn reduce(problem: &LinearProblem) -> Reduced {
    let nothing = |nodes| LinearSolution { picks: None, value: None, bound: None, nodes, stopped_by: None };
    let Some(groups) = survivors(problem) else { return Reduced::Done(nothing(0)) };
    let mut core = Core {
        groups,
        capacities: problem.capacities.clone(),
        dual: Dual::default(),
        incumbent: None,
        least_from: Vec::new(),
        most_from: Vec::new(),
        nodes: 0,
    };
    core.dual = dual::minimise(&core.groups, &core.capacities);
    core.incumbent = start::incumbent(problem, &core);
    core.price();
    core.exclude();
    core.order();
    if core.proven() || core.groups.iter().any(|g| g.items.is_empty()) { Reduced::Done(core.finished(None)) } else { Reduced::Search(core) }
}

impl Core {
    /// What a selection may lose against the bound and still be better than the incumbent, in 1/[`SCALE`]; `None`: nothing
    /// better exists.
    pub(super) fn slack(&self) -> Option<i64> {
        let Some((value, _)) = &self.incumbent else { return Some(REDUCED_MAX) };
        let room = self.dual.bound - (i128::from(*value) + 1) * i128::from(SCALE);
        (room >= 0).then(|| i64::try_from(room).unwrap_or(REDUCED_MAX).min(REDUCED_MAX))
    }

    /// Whether the bound proves the incumbent.
    pub(super) fn proven(&self) -> bool {
        self.slack().is_none()
    }

    /// Cost of unused capacity against the bound.
    pub(super) fn idle(&self, used: &[i64], from: usize) -> i64 {
        let mut cost = 0i128;
        for (d, capacity) in self.capacities.iter().enumerate() {
            let idle = capacity.saturating_sub(used[d]).saturating_sub(self.most_from[from][d]);
            if idle > 0 {
                cost += i128::from(self.dual.multipliers[d]) * i128::from(idle);
            }
        }
        i64::try_from(cost).unwrap_or(REDUCED_MAX).min(REDUCED_MAX)
    }

    /// Whether what is used leaves room for the groups from here on.
    pub(super) fn fits(&self, used: &[i64], from: usize) -> bool {
        (0..self.capacities.len()).all(|d| used[d].saturating_add(self.least_from[from][d]) <= self.capacities[d])
    }

    /// A better selection, by group in search order and item.
    pub(super) fn improve(&mut self, value: i64, chosen: &[usize]) {
        let mut picks = vec![0; self.groups.len()];
        for (group, &at) in self.groups.iter().zip(chosen) {
            picks[group.index] = group.items[at].index;
        }
        self.incumbent = Some((value, picks));
    }

    fn price(&mut self) {
        let dual = &self.dual;
        for (group, best) in self.groups.iter_mut().zip(&dual.best) {
            for item in &mut group.items {
                let cost = *best - dual::profit(item, &dual.multipliers);
                item.reduced = i64::try_from(cost).unwrap_or(REDUCED_MAX).clamp(0, REDUCED_MAX);
            }
        }
    }

    fn exclude(&mut self) {
        let Some(slack) = self.slack() else { return };
        self.groups.iter_mut().for_each(|g| g.items.retain(|i| i.reduced <= slack));
    }

    /// Items by reduced cost; groups whose second item is dear first, so that the tree is narrow where it is long. Ties by
    /// content, so that the order of the input decides nothing.
    fn order(&mut self) {
        for group in &mut self.groups {
            group.items.sort_by(|a, b| (a.reduced, -a.value, &a.weights).cmp(&(b.reduced, -b.value, &b.weights)));
        }
        let second = |g: &CoreGroup| g.items.get(1).map_or(i64::MAX, |i| i.reduced);
        let content = |g: &CoreGroup| g.items.iter().map(|i| (i.reduced, i.value, i.weights.clone())).collect::<Vec<_>>();
        self.groups.sort_by(|a, b| second(b).cmp(&second(a)).then_with(|| content(a).cmp(&content(b))));
        let dimensions = self.capacities.len();
        let extreme = |groups: &[CoreGroup], pick: fn(i64, i64) -> i64| {
            let mut from = vec![vec![0i64; dimensions]];
            for group in groups.iter().rev() {
                let last = &from[from.len() - 1];
                let of = |d: usize| group.items.iter().map(|i| i.weights[d]).reduce(pick).unwrap_or(0);
                from.push((0..dimensions).map(|d| last[d].saturating_add(of(d))).collect());
            }
            from.reverse();
            from
        };
        self.least_from = extreme(&self.groups, i64::min);
        self.most_from = extreme(&self.groups, i64::max);
    }

    /// The result: proven, or stopped with a bound on what is left.
    pub(super) fn finished(&self, stopped: Option<(String, i128)>) -> LinearSolution {
        let (value, picks) = self.incumbent.clone().map_or((None, None), |(v, p)| (Some(v), Some(p)));
        let (stopped_by, bound) = match stopped {
            None => (None, value),
            Some((limit, bound)) => {
                let open = i64::try_from(bound.div_euclid(i128::from(SCALE))).unwrap_or(i64::MAX);
                (Some(limit), Some(value.map_or(open, |v| v.max(open))))
            }
        };
        // A bound that the value reaches is a proof, whatever stopped the search.
        let stopped_by = stopped_by.filter(|_| bound != value || value.is_none());
        LinearSolution { picks, value, bound, nodes: self.nodes, stopped_by }
    }
}

/// Items that no other item of their group dominates and that fit beside the lightest of all other groups; `None`: some
/// group has none.
fn survivors(problem: &LinearProblem) -> Option<Vec<CoreGroup>> {
    let dimensions = problem.capacities.len();
    let least = |group: &[super::LinearItem], d: usize| group.iter().map(|i| i.weights[d]).min();
    let mut room = problem.capacities.clone();
    for group in &problem.groups {
        for (d, room) in room.iter_mut().enumerate() {
            *room = room.saturating_sub(least(group, d)?);
        }
    }
    if room.iter().any(|r| *r < 0) || problem.groups.iter().any(Vec::is_empty) {
        return None;
    }
    let mut out = Vec::with_capacity(problem.groups.len());
    for (index, group) in problem.groups.iter().enumerate() {
        let lightest: Vec<i64> = (0..dimensions).map(|d| least(group, d).unwrap_or(0)).collect();
        let mut order: Vec<usize> =
            (0..group.len()).filter(|&i| (0..dimensions).all(|d| group[i].weights[d].saturating_sub(lightest[d]) <= room[d])).collect();
        order.sort_by(|&a, &b| (-group[a].value, &group[a].weights, a).cmp(&(-group[b].value, &group[b].weights, b)));
        let mut items: Vec<CoreItem> = Vec::new();
        for i in order {
            if !items.iter().any(|k| (0..dimensions).all(|d| k.weights[d] <= group[i].weights[d])) {
                items.push(CoreItem { value: group[i].value, weights: group[i].weights.clone(), index: i, reduced: 0 });
            }
        }
        if items.is_empty() {
            return None;
        }
        out.push(CoreGroup { index, items });
    }
    Some(out)
}
