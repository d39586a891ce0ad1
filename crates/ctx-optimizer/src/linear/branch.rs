//! Branch and bound: depth first over the groups, items in order of reduced cost. A branch ends where the reduced costs
//! taken so far, together with capacity that can no longer be used, exceed what is left between bound and incumbent.

use super::core::{Core, Reduced, reduce};
use super::{LinearProblem, LinearSolution};

/// The best selection, proven, or the gap that `nodes_max` left.
pub fn branch_and_bound(problem: &LinearProblem, nodes_max: u64) -> LinearSolution {
    match reduce(problem) {
        Reduced::Done(solution) => solution,
        Reduced::Search(mut core) => match descend(&mut core, nodes_max) {
            true => core.finished(None),
            false => core.finished(Some((format!("nodes_max = {nodes_max}"), core.dual.bound))),
        },
    }
}

/// Searches until proven (`true`) or out of nodes.
pub(super) fn descend(core: &mut Core, nodes_max: u64) -> bool {
    let (groups, dimensions) = (core.groups.len(), core.capacities.len());
    let Some(mut slack) = core.slack() else { return true };
    let stop = core.nodes.saturating_add(nodes_max);
    // Level g holds what the first g choices use, cost and are worth.
    let mut used = vec![0i64; (groups + 1) * dimensions];
    let (mut cost, mut value) = (vec![0i64; groups + 1], vec![0i64; groups + 1]);
    let mut next = vec![0usize; groups + 1];
    let mut level = 0;
    loop {
        if level == groups {
            let chosen: Vec<usize> = next[..groups].iter().map(|n| n - 1).collect();
            core.improve(value[level], &chosen);
            match core.slack() {
                Some(less) => slack = less,
                None => return true,
            }
            level -= 1;
            continue;
        }
        let at = next[level];
        let Some(item) = core.groups[level].items.get(at).filter(|i| cost[level] + i.reduced <= slack) else {
            next[level] = 0;
            if level == 0 {
                return true;
            }
            level -= 1;
            continue;
        };
        next[level] += 1;
        if core.nodes >= stop {
            return false;
        }
        core.nodes += 1;
        let (here, after) = used.split_at_mut((level + 1) * dimensions);
        let (here, after) = (&here[level * dimensions..], &mut after[..dimensions]);
        for d in 0..dimensions {
            after[d] = here[d].saturating_add(item.weights[d]);
        }
        let spent = cost[level] + item.reduced;
        let worth = value[level].saturating_add(item.value);
        if core.fits(after, level + 1) && spent.saturating_add(core.idle(after, level + 1)) <= slack {
            (cost[level + 1], value[level + 1]) = (spent, worth);
            level += 1;
            next[level] = 0;
        }
    }
}
