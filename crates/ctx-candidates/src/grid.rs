//! Grids of the numeric choices. Geometric, because evidence grows with the logarithm of what is read.

use ctx_types::{Constraints, Settings, Tokens};

/// Passages asked of one source.
const K: [u32; 4] = [5, 10, 20, 50];

/// Context tokens of a pack budget, and of a source's quota in it.
const BUDGET: [u64; 5] = [500, 1_000, 2_000, 4_000, 8_000];

/// `k` values up to `retrieval.top_k`, which is one of them.
pub fn ks(settings: &Settings) -> Vec<u32> {
    let most = settings.top_k.unwrap_or(K[K.len() - 1]).max(1);
    let mut out: Vec<u32> = K.iter().copied().filter(|k| *k < most).collect();
    out.push(most);
    out
}

/// Pack budgets up to `max_context_tokens`, which is one of them when it binds.
pub fn budgets(limits: &Constraints) -> Vec<Tokens> {
    let most = limits.max_context_tokens.unwrap_or(Tokens(BUDGET[BUDGET.len() - 1]));
    let mut out: Vec<Tokens> = BUDGET.iter().map(|b| Tokens(*b)).filter(|b| *b < most).collect();
    out.push(most.min(Tokens(BUDGET[BUDGET.len() - 1])));
    out
}
