//! Evidence packing: which passages go into the context. An exact 0/1 knapsack with clusters (near-duplicates, at most
//! one each), a cap per document and a cap on passages.
//!
//! Branch and bound in order of value density; the bound is the fractional knapsack without caps and clusters, which is
//! admissible. Horowitz and Sahni 1974 is the plain form.

/// A passage to be packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackItem {
    /// Value: −ln(1 − P(relevant)) in micro-nats. Items of no value are never packed.
    pub value: i64,
    /// Tokens.
    pub tokens: u64,
    /// Document it belongs to.
    pub document: u32,
    /// Near-duplicate cluster.
    pub cluster: u32,
}

/// A packing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Indices of chosen items, ascending.
    pub chosen: Vec<usize>,
    /// Their value.
    pub value: i64,
    /// Their tokens.
    pub tokens: u64,
    /// Whether it is proven optimal; otherwise the node limit stopped the search.
    pub optimal: bool,
    /// Nodes visited.
    pub nodes: u64,
}

/// Most nodes visited: some milliseconds of work. Reached only by adversarial inputs.
pub const NODES_MAX: u64 = 400_000;

/// The best packing of at most `budget` tokens, `per_document` passages a document and `max_items` in all.
pub fn pack(items: &[PackItem], budget: u64, per_document: u32, max_items: u32) -> Packing {
    let mut order: Vec<usize> = (0..items.len()).filter(|&i| items[i].value > 0 && items[i].tokens <= budget).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (&items[a], &items[b]);
        let left = i128::from(y.value) * i128::from(x.tokens.max(1));
        let right = i128::from(x.value) * i128::from(y.tokens.max(1));
        left.cmp(&right).then(x.tokens.cmp(&y.tokens)).then(a.cmp(&b))
    });
    let mut search = Search::new(items, &order, budget, per_document, max_items);
    search.descend(0, 0, 0, 0);
    let mut chosen: Vec<usize> = search.best.iter().map(|&i| order[i]).collect();
    chosen.sort_unstable();
    Packing {
        value: chosen.iter().map(|&i| items[i].value).sum(),
        tokens: chosen.iter().map(|&i| items[i].tokens).sum(),
        chosen,
        optimal: search.nodes < NODES_MAX,
        nodes: search.nodes,
    }
}

struct Search<'a> {
    items: &'a [PackItem],
    order: &'a [usize],
    value_before: Vec<i64>,
    tokens_before: Vec<u64>,
    largest_from: Vec<i64>,
    budget: u64,
    per_document: u32,
    max_items: u32,
    documents: Vec<u32>,
    clusters: Vec<bool>,
    taken: Vec<usize>,
    best: Vec<usize>,
    best_value: i64,
    nodes: u64,
}

impl<'a> Search<'a> {
    fn new(items: &'a [PackItem], order: &'a [usize], budget: u64, per_document: u32, max_items: u32) -> Self {
        let (mut value_before, mut tokens_before) = (vec![0i64], vec![0u64]);
        for &i in order {
            value_before.push(value_before[value_before.len() - 1].saturating_add(items[i].value));
            tokens_before.push(tokens_before[tokens_before.len() - 1].saturating_add(items[i].tokens));
        }
        let mut largest_from = vec![0i64; order.len() + 1];
        for (at, &i) in order.iter().enumerate().rev() {
            largest_from[at] = largest_from[at + 1].max(items[i].value);
        }
        let size = |f: fn(&PackItem) -> u32| items.iter().map(f).max().map_or(0, |m| m as usize + 1);
        Search {
            items,
            order,
            value_before,
            tokens_before,
            largest_from,
            budget,
            per_document,
            max_items,
            documents: vec![0; size(|i| i.document)],
            clusters: vec![false; size(|i| i.cluster)],
            taken: Vec::new(),
            best: Vec::new(),
            best_value: -1,
            nodes: 0,
        }
    }

    /// Upper bound on what `order[at..]` can add: the fractional knapsack over the rest of the budget, and the remaining
    /// item cap times the largest remaining value; the smaller of the two.
    fn bound(&self, at: usize, tokens: u64, count: u32) -> i64 {
        let limit = self.tokens_before[at].saturating_add(self.budget - tokens);
        let fit = at + self.tokens_before[at..].partition_point(|&t| t <= limit) - 1;
        let mut fractional = self.value_before[fit] - self.value_before[at];
        if let Some(&next) = self.order.get(fit) {
            let item = &self.items[next];
            let left = limit - self.tokens_before[fit];
            fractional += (i128::from(item.value) * i128::from(left) / i128::from(item.tokens.max(1))) as i64 + 1;
        }
        let capped = self.largest_from[at].saturating_mul(i64::from(self.max_items - count));
        fractional.min(capped)
    }

    fn allowed(&self, item: &PackItem, tokens: u64, count: u32) -> bool {
        count < self.max_items
            && tokens + item.tokens <= self.budget
            && self.documents[item.document as usize] < self.per_document
            && !self.clusters[item.cluster as usize]
    }

    fn descend(&mut self, start: usize, mut value: i64, mut tokens: u64, mut count: u32) {
        // Iterative depth-first search: `taken` is the stack, a position is revisited to try leaving it out.
        let mut at = start;
        loop {
            while at < self.order.len() && self.nodes < NODES_MAX {
                self.nodes += 1;
                if count >= self.max_items || value + self.bound(at, tokens, count) <= self.best_value {
                    break;
                }
                let item = self.items[self.order[at]];
                if self.allowed(&item, tokens, count) {
                    self.documents[item.document as usize] += 1;
                    self.clusters[item.cluster as usize] = true;
                    self.taken.push(at);
                    (value, tokens, count) = (value + item.value, tokens + item.tokens, count + 1);
                }
                at += 1;
            }
            if value > self.best_value {
                self.best_value = value;
                self.best = self.taken.clone();
            }
            let Some(last) = self.taken.pop() else { return };
            let item = self.items[self.order[last]];
            self.documents[item.document as usize] -= 1;
            self.clusters[item.cluster as usize] = false;
            (value, tokens, count) = (value - item.value, tokens - item.tokens, count - 1);
            at = last + 1;
            if self.nodes >= NODES_MAX {
                at = self.order.len();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn feasible(items: &[PackItem], set: &[usize], budget: u64, per_document: u32, max_items: u32) -> bool {
        let tokens: u64 = set.iter().map(|&i| items[i].tokens).sum();
        let mut documents = std::collections::BTreeMap::new();
        let mut clusters = std::collections::BTreeSet::new();
        tokens <= budget
            && set.len() <= max_items as usize
            && set.iter().all(|&i| {
                let seen = documents.entry(items[i].document).or_insert(0u32);
                *seen += 1;
                *seen <= per_document && clusters.insert(items[i].cluster)
            })
    }

    fn exhaustive(items: &[PackItem], budget: u64, per_document: u32, max_items: u32) -> i64 {
        (0u32..1 << items.len())
            .map(|mask| (0..items.len()).filter(|i| mask >> i & 1 == 1).collect::<Vec<_>>())
            .filter(|set| feasible(items, set, budget, per_document, max_items))
            .map(|set| set.iter().map(|&i| items[i].value).sum())
            .max()
            .unwrap_or(0)
    }

    fn item() -> impl Strategy<Value = PackItem> {
        (0i64..60, 0u64..40, 0u32..4, 0u32..8).prop_map(|(value, tokens, document, cluster)| PackItem { value, tokens, document, cluster })
    }

    proptest! {
        #[test]
        fn equal_to_enumeration(items in prop::collection::vec(item(), 0..11), budget in 0u64..150, cap in 1u32..4, most in 0u32..8) {
            let packing = pack(&items, budget, cap, most);
            prop_assert!(packing.optimal);
            prop_assert!(feasible(&items, &packing.chosen, budget, cap, most));
            prop_assert_eq!(packing.value.max(0), exhaustive(&items, budget, cap, most));
        }

        #[test]
        fn a_larger_budget_is_never_worse(items in prop::collection::vec(item(), 0..30), budget in 0u64..150) {
            prop_assert!(pack(&items, budget, 3, 10).value <= pack(&items, budget + 7, 3, 10).value);
        }
    }

    #[test]
    fn nothing_to_pack_is_an_empty_context() {
        assert_eq!(pack(&[], 100, 3, 8).chosen, Vec::<usize>::new());
        let worthless = PackItem { value: 0, tokens: 5, document: 0, cluster: 0 };
        assert!(pack(&[worthless], 100, 3, 8).chosen.is_empty());
    }
}
