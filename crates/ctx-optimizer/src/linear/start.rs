//! A first selection: the best items at the bound's prices, repaired until it fits, then improved item by item. Not exact;
//! the better it is, the less the searches have to look at.

use super::LinearProblem;
use super::core::Core;
use super::dual;

/// Exchanges tried; each looks at every item once.
const ROUNDS_MAX: usize = 64;

/// The selection with its value, if one was found that fits.
pub(super) fn incumbent(problem: &LinearProblem, core: &Core) -> Option<(i64, Vec<usize>)> {
    let mut chosen: Vec<usize> = core
        .groups
        .iter()
        .map(|g| {
            let key = |&i: &usize| (dual::profit(&g.items[i], &core.dual.multipliers), std::cmp::Reverse(g.items[i].weights.clone()));
            (0..g.items.len()).max_by_key(key).unwrap_or(0)
        })
        .collect();
    let mut used = used(core, &chosen);
    let fits = repair(core, &mut chosen, &mut used) || {
        chosen = lightest(core);
        used = self::used(core, &chosen);
        over(core, &used) == 0.0
    };
    if !fits {
        return None;
    }
    improve(core, &mut chosen, &mut used);
    let mut picks = vec![0; core.groups.len()];
    for (group, &at) in core.groups.iter().zip(&chosen) {
        picks[group.index] = group.items[at].index;
    }
    problem.value_of(&picks).map(|value| (value, picks))
}

fn used(core: &Core, chosen: &[usize]) -> Vec<i64> {
    let of = |d: usize| core.groups.iter().zip(chosen).map(|(g, &i)| g.items[i].weights[d]).fold(0, i64::saturating_add);
    (0..core.capacities.len()).map(of).collect()
}

/// What exceeds the capacities, each in parts of itself.
fn over(core: &Core, used: &[i64]) -> f64 {
    let excess = |(u, c): (&i64, &i64)| u.saturating_sub(*c).max(0) as f64 / c.saturating_abs().max(1) as f64;
    used.iter().zip(&core.capacities).map(excess).sum()
}

fn exchanged(core: &Core, used: &[i64], group: usize, from: usize, to: usize, out: &mut Vec<i64>) {
    let items = &core.groups[group].items;
    out.clear();
    out.extend((0..used.len()).map(|d| used[d].saturating_sub(items[from].weights[d]).saturating_add(items[to].weights[d])));
}

/// Exchanges the item that buys back most room for its loss, until the selection fits.
fn repair(core: &Core, chosen: &mut [usize], used: &mut Vec<i64>) -> bool {
    let mut trial = Vec::with_capacity(used.len());
    for _ in 0..ROUNDS_MAX + core.groups.len() {
        let excess = over(core, used);
        if excess == 0.0 {
            return true;
        }
        let mut best: Option<(f64, usize, usize)> = None;
        for (g, group) in core.groups.iter().enumerate() {
            let now = dual::profit(&group.items[chosen[g]], &core.dual.multipliers);
            for i in (0..group.items.len()).filter(|&i| i != chosen[g]) {
                exchanged(core, used, g, chosen[g], i, &mut trial);
                let gain = excess - over(core, &trial);
                if gain > 0.0 {
                    let loss = (now - dual::profit(&group.items[i], &core.dual.multipliers)).max(0) as f64 + 1.0;
                    let rate = gain / loss;
                    if best.is_none_or(|(b, _, _)| rate > b) {
                        best = Some((rate, g, i));
                    }
                }
            }
        }
        let Some((_, g, i)) = best else { return false };
        exchanged(core, used, g, chosen[g], i, &mut trial);
        chosen[g] = i;
        std::mem::swap(used, &mut trial);
    }
    over(core, used) == 0.0
}

/// The items that weigh least in all budgets together.
fn lightest(core: &Core) -> Vec<usize> {
    let share =
        |weights: &[i64]| -> f64 { weights.iter().zip(&core.capacities).map(|(w, c)| *w as f64 / c.saturating_abs().max(1) as f64).sum() };
    let least = |g: &super::core::CoreGroup| {
        (0..g.items.len()).min_by(|&a, &b| share(&g.items[a].weights).total_cmp(&share(&g.items[b].weights))).unwrap_or(0)
    };
    core.groups.iter().map(least).collect()
}

/// The most valuable single exchange that fits, until there is none.
fn improve(core: &Core, chosen: &mut [usize], used: &mut Vec<i64>) {
    let mut trial = Vec::with_capacity(used.len());
    for _ in 0..ROUNDS_MAX {
        let mut best: Option<(i64, usize, usize)> = None;
        for (g, group) in core.groups.iter().enumerate() {
            for i in 0..group.items.len() {
                let gain = group.items[i].value.saturating_sub(group.items[chosen[g]].value);
                if gain <= best.map_or(0, |(b, _, _)| b) {
                    continue;
                }
                exchanged(core, used, g, chosen[g], i, &mut trial);
                if over(core, &trial) == 0.0 {
                    best = Some((gain, g, i));
                }
            }
        }
        let Some((_, g, i)) = best else { return };
        exchanged(core, used, g, chosen[g], i, &mut trial);
        chosen[g] = i;
        std::mem::swap(used, &mut trial);
    }
}
