//! Figures of the statistics: whether intervals of latency hold, whether quotes hold, whether the share of a prompt that a
//! provider has cached is foreseen. Rows of recorded requests come as text; nothing is read, called or timed here.
//!
//! `cargo run -p ctx-testkit --example statistics_figures -- DATA` prints them without building what needs a database.

pub mod latency;
pub mod prefix;
pub mod quotes;
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

/// Recorded requests, in the data folder.
const REQUESTS: &str = "llmperf_latency/requests.tsv";
/// Recorded prompts, likewise.
const PROMPTS: &str = "llm_request_traces/mooncake_conversation.jsonl";

/// All rows, and coverage by provider. `read` gives the text of a file of the data folder.
pub fn measure(read: &dyn Fn(&str) -> Result<String, String>) -> Result<(Vec<Row>, Vec<latency::Provider>), String> {
    let line = |file: &str, at: usize| format!("{file}: line {at} is not what was expected");
    let rows = requests(&read(REQUESTS)?).map_err(|at| line(REQUESTS, at))?;
    let (mut figures, providers) = latency::figures(&rows);
    figures.extend(quotes::figures(&rows).ok_or("no plan was made for the quotes")?);
    figures.extend(prefix::figures(&prefix::prompts(&read(PROMPTS)?).map_err(|at| line(PROMPTS, at))?));
    Ok((figures, providers))
}
