//! Label-setting over the groups: all non-dominated selections.

use crate::problem::{Item, Totals};

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
    /// Neither direction can be assumed: only equal evidence is comparable.
    Equal,
}

/// Labels of every group prefix, and whether a bound stopped them.
#[derive(Clone, Debug)]
pub struct Labels {
    layers: Vec<Vec<Label>>,
    /// Labels created.
    pub expanded: u64,
    /// Whether `labels_max` cut a layer.
    pub truncated: bool,
}

/// Whether `a` is at least as good as `b` in every coordinate.
pub fn dominates(a: &Totals, b: &Totals, sense: Sense) -> bool {
    let evidence = match sense {
        Sense::More => a.evidence >= b.evidence,
        Sense::Equal => a.evidence == b.evidence,
    };
    evidence
        && a.loss <= b.loss
        && a.cost <= b.cost
        && a.tokens <= b.tokens
        && a.quota <= b.quota
        && a.latency_p50 <= b.latency_p50
        && a.latency_p90 <= b.latency_p90
        && a.reads <= b.reads
}

/// Drops dominated labels. Of equal ones the first survives, so canonical order breaks ties.
fn prune(mut labels: Vec<Label>, sense: Sense) -> Vec<Label> {
    labels.sort_by(|a, b| {
        (b.totals.evidence, a.totals.loss, a.totals.tokens, a.totals.quota, a.totals.latency_p50).cmp(&(
            a.totals.evidence,
            b.totals.loss,
            b.totals.tokens,
            b.totals.quota,
            b.totals.latency_p50,
        ))
    });
    let mut kept: Vec<Label> = Vec::with_capacity(labels.len().min(256));
    for label in labels {
        if !kept.iter().any(|k| dominates(&k.totals, &label.totals, sense)) {
            kept.push(label);
        }
    }
    kept
}

impl Labels {
    /// Labels of all prefixes of `groups`.
    pub fn build(groups: &[&[Item]], sense: Sense, labels_max: usize) -> Labels {
        let start = Label { totals: Totals::default(), item: 0, previous: 0 };
        let mut out = Labels { layers: vec![vec![start]], expanded: 1, truncated: false };
        for group in groups {
            let previous = &out.layers[out.layers.len() - 1];
            let mut next = Vec::with_capacity(previous.len() * group.len());
            for (p, label) in previous.iter().enumerate() {
                for (i, item) in group.iter().enumerate() {
                    next.push(Label { totals: label.totals.with(item), item: i as u32, previous: p as u32 });
                }
            }
            out.expanded += next.len() as u64;
            let mut kept = prune(next, sense);
            if kept.len() > labels_max {
                kept.truncate(labels_max);
                out.truncated = true;
            }
            out.layers.push(kept);
        }
        out
    }

    /// Complete selections.
    pub fn complete(&self) -> &[Label] {
        &self.layers[self.layers.len() - 1]
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
