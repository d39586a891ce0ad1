//! Figures of the statistics: whether intervals of latency hold, whether quotes hold, whether the share of a prompt that a
//! provider has cached is foreseen. Rows of recorded requests come as text; nothing is read, called or timed here.
//!
//! `cargo run -p ctx-testkit --example statistics_figures -- DATA` prints them without building what needs a database.

pub mod latency;
pub mod prefix;
mod recorded;

pub use recorded::{Request, requests};

use crate::optimizer_figures::Row;

/// Seed of everything drawn.
pub const SEED: u64 = 20_261_129;

/// Share and its standard error.
pub(crate) fn share(hits: usize, n: usize) -> (f64, f64) {
    let p = hits as f64 / n.max(1) as f64;
    (p, (p * (1.0 - p) / n.max(1) as f64).sqrt())
}

/// Nearest-rank quantile.
pub(crate) fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = ((values.len() as f64 * q).ceil() as usize).clamp(1, values.len().max(1));
    values.get(rank - 1).copied().unwrap_or(f64::NAN)
}

/// A row whose value must lie within a distance of a target.
pub(crate) fn within(what: String, value: f64, target: f64, distance: f64, how: String) -> Row {
    let off = 100.0 * (value - target).abs();
    Row::new(format!("{what}: {:.1} %, points off {:.0} %", 100.0 * value, 100.0 * target), off, "points", how).at_most(100.0 * distance)
}
