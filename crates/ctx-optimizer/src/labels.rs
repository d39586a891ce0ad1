//! Label-setting over the groups: all non-dominated selections of every prefix.

use crate::problem::{Item, NEEDABLE, Totals};
use std::cmp::Reverse;

/// A selection of one item per group so far, as coordinates and a back pointer.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Coordinates.
    pub totals: Totals,
    /// Index of the item chosen in this group.
    pub item: u32,
    /// Index of the label in the previous group.
    pub previous: u32,
}

/// In which direction evidence counts as better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// More is never worse.
    More,
    /// More or less may be better, and no limit needs evidence: a selection is beaten by two others, one with no less evidence
    /// and one with no more, because the value is linear in P(evidence).
    Either,
    /// Neither direction can be assumed: only equal evidence is comparable.
    Equal,
    /// Nor can it be assumed that a shorter context is better: only equal evidence at equal length is comparable.
    Exact,
}

/// Bounds of one search over labels, counted.
#[derive(Clone, Copy, Debug)]
pub struct LabelLimits {
    /// Most labels kept per group.
    pub labels_max: usize,
    /// Most comparisons of two labels, over all groups.
    pub compared_max: u64,
}

/// Labels of every group prefix, and whether a bound stopped them.
#[derive(Clone, Debug)]
pub struct Labels {
    layers: Vec<Vec<Label>>,
    /// Labels created.
    pub expanded: u64,
    /// Comparisons made.
    pub compared: u64,
    /// Which limit cut a layer.
    pub truncated: Option<&'static str>,
}

/// Whether `a` is no worse than `b` in every coordinate but evidence and what decides how much of it survives merging.
fn cheaper(a: &Totals, b: &Totals) -> bool {
    a.tokens <= b.tokens
        && a.quota <= b.quota
        && a.latency_p90 <= b.latency_p90
        && a.loss <= b.loss
        && a.latency_p50 <= b.latency_p50
        && a.cost <= b.cost
        && a.brings & !b.brings == 0
        && b.brings & !a.brings & NEEDABLE == 0
}

/// Whether `a` is at least as good as `b` in every coordinate.
pub fn dominates(a: &Totals, b: &Totals, sense: Sense) -> bool {
    let evidence = match sense {
        // Merging lists costs evidence: fewer lists are better where evidence is. None at all has not looked.
        Sense::More => a.evidence >= b.evidence && a.reads <= b.reads && (a.reads > 0 || b.reads == 0),
        Sense::Either | Sense::Equal => a.evidence == b.evidence && a.reads == b.reads,
        Sense::Exact => a.evidence == b.evidence && a.reads == b.reads && a.tokens == b.tokens,
    };
    evidence && cheaper(a, b)
}

/// Most evidence first, then what is cheapest: a label is dominated only by earlier ones. Stable, so canonical order breaks ties.
fn sort(labels: &mut [Label]) {
    let key = |t: &Totals| (Reverse(t.evidence), t.loss, t.tokens, t.quota, t.latency_p50, t.latency_p90, t.cost, t.reads);
    labels.sort_by_key(|label| key(&label.totals));
}

/// Drops dominated labels. Of equal ones the first survives. `false`: out of comparisons, what was not compared is kept.
fn prune(labels: &mut Vec<Label>, sense: Sense, compared: &mut u64, compared_max: u64) -> bool {
    sort(labels);
    match sense {
        Sense::Either => return sandwiched(labels, compared, compared_max),
        Sense::More | Sense::Equal | Sense::Exact => {}
    }
    let mut kept: Vec<Label> = Vec::with_capacity(labels.len().min(1_024));
    let mut in_time = true;
    for label in labels.iter() {
        in_time &= *compared < compared_max;
        let mut beaten = false;
        if in_time {
            for k in kept.iter().rev() {
                if sense != Sense::More && k.totals.evidence != label.totals.evidence {
                    break;
                }
                *compared += 1;
                if dominates(&k.totals, &label.totals, sense) {
                    beaten = true;
                    break;
                }
            }
        }
        if !beaten {
            kept.push(*label);
        }
    }
    *labels = kept;
    in_time
}

/// Drops labels between two cheaper ones. Witnesses need not survive themselves: the relation is transitive on either side.
fn sandwiched(labels: &mut Vec<Label>, compared: &mut u64, compared_max: u64) -> bool {
    labels.dedup_by(|b, a| a.totals == b.totals);
    let mut beside = |order: &mut dyn Iterator<Item = usize>| {
        let (mut open, mut beaten): (Vec<usize>, Vec<bool>) = (Vec::new(), vec![false; labels.len()]);
        for i in order {
            if *compared >= compared_max {
                return None;
            }
            *compared += open.len() as u64;
            beaten[i] = open
                .iter()
                .rev()
                .any(|&k| labels[k].totals.reads == labels[i].totals.reads && cheaper(&labels[k].totals, &labels[i].totals));
            if !beaten[i] {
                open.push(i);
            }
        }
        Some(beaten)
    };
    let Some(above) = beside(&mut (0..labels.len())) else { return false };
    // From below, labels of equal evidence keep the order in which the cheaper one comes first.
    let mut rising: Vec<usize> = (0..labels.len()).collect();
    rising.sort_by_key(|&i| (labels[i].totals.evidence, i));
    let Some(below) = beside(&mut rising.into_iter()) else { return false };
    let mut at = 0;
    labels.retain(|_| {
        at += 1;
        !(above[at - 1] && below[at - 1])
    });
    true
}

impl Labels {
    /// Labels of all prefixes of `groups`. `promise` ranks what is kept when a limit is reached.
    pub fn build(groups: &[&[Item]], sense: Sense, limits: LabelLimits, promise: &dyn Fn(&Totals) -> i64) -> Labels {
        let start = Label { totals: Totals::default(), item: 0, previous: 0 };
        let mut out = Labels { layers: vec![vec![start]], expanded: 1, compared: 0, truncated: None };
        for group in groups {
            let previous = &out.layers[out.layers.len() - 1];
            let mut next = Vec::with_capacity(previous.len() * group.len());
            for (p, label) in previous.iter().enumerate() {
                for (i, item) in group.iter().enumerate() {
                    next.push(Label { totals: label.totals.with(item), item: i as u32, previous: p as u32 });
                }
            }
            out.expanded += next.len() as u64;
            out.settle(next, sense, limits, promise);
        }
        out
    }

    /// Labels of two lists of groups joined, as one layer without back pointers.
    pub fn join(a: &[Label], b: &[Label], sense: Sense, limits: LabelLimits, promise: &dyn Fn(&Totals) -> i64) -> Labels {
        let mut out = Labels { layers: Vec::new(), expanded: (a.len() * b.len()) as u64, compared: 0, truncated: None };
        let both = |x: &Label, y: &Label| Label { totals: x.totals.beside(&y.totals), item: 0, previous: 0 };
        let joined = a.iter().flat_map(|x| b.iter().map(move |y| both(x, y))).collect();
        // Every label of both lists is alone with the start of the other: nothing to compare.
        if a.len() == 1 || b.len() == 1 {
            out.layers.push(joined);
        } else {
            out.settle(joined, sense, limits, promise);
        }
        out
    }

    fn settle(&mut self, mut next: Vec<Label>, sense: Sense, limits: LabelLimits, promise: &dyn Fn(&Totals) -> i64) {
        if !prune(&mut next, sense, &mut self.compared, limits.compared_max) && next.len() > limits.labels_max {
            self.truncated = Some("compared_max");
        }
        if next.len() > limits.labels_max {
            self.truncated = self.truncated.or(Some("labels_max"));
            // The lightest stays: it is what fits where nothing else does.
            next.sort_by_cached_key(|l| Reverse(promise(&l.totals)));
            let lightest = (limits.labels_max..next.len()).min_by_key(|&i| {
                let t = &next[i].totals;
                (t.quota, t.latency_p90, t.tokens)
            });
            if let (Some(i), Some(last)) = (lightest, limits.labels_max.checked_sub(1)) {
                next.swap(last, i);
            }
            next.truncate(limits.labels_max);
        }
        self.layers.push(next);
    }

    /// Labels of all layers together.
    pub fn held(&self) -> usize {
        self.layers.iter().map(Vec::len).sum()
    }

    /// Complete selections.
    pub fn complete(&self) -> &[Label] {
        &self.layers[self.layers.len() - 1]
    }

    /// Selections over the first `groups` groups.
    pub fn of_first(&self, groups: usize) -> &[Label] {
        &self.layers[groups]
    }

    /// Item indices of a complete selection, one per group.
    pub fn selection(&self, complete: usize) -> Vec<usize> {
        let mut out = Vec::with_capacity(self.layers.len() - 1);
        let mut at = complete;
        for layer in self.layers[1..].iter().rev() {
            out.push(layer[at].item as usize);
            at = layer[at].previous as usize;
        }
        out.reverse();
        out
    }
}
