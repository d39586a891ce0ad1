//! Label-setting: all partial selections over the first groups that could still become better than the incumbent, without
//! those that another one dominates (no less value, no more of any weight).

use super::branch::descend;
use super::core::{Core, Reduced, reduce};
use super::{LinearProblem, LinearSolution};

/// Nodes of the dive that improves the incumbent first: an incumbent at the bound saves all labels.
const DIVE_NODES: u64 = 4_000;
/// Kept labels that a new one is compared with, where dominance has more than one budget to look at. Leaving a dominated
/// label in costs time, never exactness.
const COMPARED_MAX: usize = 48;

/// Labels that every layer may keep whatever the limit.
const LAYER_MIN: usize = 16;

/// A partial selection.
#[derive(Clone, Copy, Debug)]
struct Label {
    cost: i64,
    value: i64,
    item: u32,
    previous: u32,
    /// Where its weights begin.
    used: u32,
}

/// The best selection, proven, or the gap that `labels_max` (in all) left.
pub fn label_setting(problem: &LinearProblem, labels_max: u64) -> LinearSolution {
    let mut core = match reduce(problem) {
        Reduced::Done(solution) => return solution,
        Reduced::Search(core) => core,
    };
    if descend(&mut core, DIVE_NODES) {
        return core.finished(None);
    }
    // Every kept label is joined with every item of the next group: what all layers together may create is divided up.
    let items: usize = core.groups.iter().map(|g| g.items.len()).sum();
    let per_layer = usize::try_from(labels_max / items.max(1) as u64).unwrap_or(usize::MAX).max(LAYER_MIN);
    let open = layers(&mut core, per_layer);
    match open {
        None => core.finished(None),
        Some(lost) => core.finished(Some((format!("labels_max = {labels_max}"), core.dual.bound - i128::from(lost)))),
    }
}

/// Builds the layers; the smallest cost of a label that a limit dropped, if any was.
fn layers(core: &mut Core, per_layer: usize) -> Option<i64> {
    let dimensions = core.capacities.len();
    let mut done: Vec<Vec<Label>> = Vec::with_capacity(core.groups.len() + 1);
    let mut used = vec![0i64; dimensions];
    done.push(vec![Label { cost: 0, value: 0, item: 0, previous: 0, used: 0 }]);
    let mut lost: Option<i64> = None;
    for level in 0..core.groups.len() {
        let Some(slack) = core.slack() else { return lost };
        let (mut next, mut next_used) = (Vec::new(), Vec::new());
        let mut after = vec![0i64; dimensions];
        for (p, label) in done[level].iter().enumerate() {
            let here = &used[label.used as usize..][..dimensions];
            for (i, item) in core.groups[level].items.iter().enumerate() {
                let cost = label.cost + item.reduced;
                if cost > slack {
                    break;
                }
                core.nodes += 1;
                (0..dimensions).for_each(|d| after[d] = here[d].saturating_add(item.weights[d]));
                if !core.fits(&after, level + 1) || cost.saturating_add(core.idle(&after, level + 1)) > slack {
                    continue;
                }
                let value = label.value.saturating_add(item.value);
                next.push(Label { cost, value, item: i as u32, previous: p as u32, used: next_used.len() as u32 });
                next_used.extend_from_slice(&after);
            }
        }
        if dimensions == 1 {
            lightest_first(&mut next, &next_used)
        } else {
            undominated(&mut next, &next_used, dimensions)
        }
        if next.len() > per_layer {
            let of = |l: &Label| &next_used[l.used as usize..][..dimensions];
            next.sort_by(|a, b| (a.cost, -a.value).cmp(&(b.cost, -b.value)).then_with(|| of(a).cmp(of(b))));
            let dropped = next[per_layer].cost;
            lost = Some(lost.map_or(dropped, |l| l.min(dropped)));
            next.truncate(per_layer);
        }
        used = next_used;
        done.push(next);
    }
    let last = &done[core.groups.len()];
    if let Some((at, best)) = last.iter().enumerate().max_by_key(|(at, l)| (l.value, std::cmp::Reverse(*at)))
        && core.incumbent.as_ref().is_none_or(|(v, _)| best.value > *v)
    {
        let mut chosen = vec![0; core.groups.len()];
        let mut at = at;
        for level in (0..core.groups.len()).rev() {
            let label = done[level + 1][at];
            (chosen[level], at) = (label.item as usize, label.previous as usize);
        }
        core.improve(best.value, &chosen);
    }
    lost
}

/// One budget: in order of weight, only labels that are worth more than every lighter one.
fn lightest_first(labels: &mut Vec<Label>, used: &[i64]) {
    labels.sort_by_key(|l| (used[l.used as usize], -l.value));
    let mut most: Option<i64> = None;
    labels.retain(|l| {
        let better = most.is_none_or(|m| l.value > m);
        if better {
            most = Some(l.value);
        }
        better
    });
}

/// Several budgets: in order of cost, only labels that none of the cheapest kept ones dominates.
fn undominated(labels: &mut Vec<Label>, used: &[i64], dimensions: usize) {
    let of = |l: &Label| &used[l.used as usize..][..dimensions];
    labels.sort_by(|a, b| (a.cost, -a.value).cmp(&(b.cost, -b.value)).then_with(|| of(a).cmp(of(b))));
    let mut kept: Vec<Label> = Vec::with_capacity(labels.len());
    for label in labels.iter() {
        let mine = of(label);
        let beaten = kept.iter().rev().take(COMPARED_MAX).any(|k| k.value >= label.value && of(k).iter().zip(mine).all(|(a, b)| a <= b));
        if !beaten {
            kept.push(*label);
        }
    }
    *labels = kept;
}
