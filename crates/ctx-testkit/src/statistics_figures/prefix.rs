//! The share of prompts that a prefix cache holds, foreseen from the first 60 % of a recorded day part and compared with the
//! replay of the rest, by time.

use crate::optimizer_figures::Row;
use ctx_cost::prefix::{PrefixForecast, Prompt};
use serde_json::Value;
use std::collections::BTreeMap;

/// Blocks that a cache holds: from a small one to one without an end.
const CAPACITIES: [usize; 5] = [1_000, 10_000, 30_000, 60_000, usize::MAX];
/// Share of the requests, in time order, that the forecast is made from, in percent.
const TRAIN_PERCENT: usize = 60;

/// Prefix blocks of every request, in time order, of JSON lines with `hash_ids`; `None` names the line that has none.
pub fn prompts(text: &str) -> Result<Vec<Vec<u64>>, usize> {
    let parse = |line: &str| -> Option<Vec<u64>> {
        let value: Value = serde_json::from_str(line).ok()?;
        value["hash_ids"].as_array()?.iter().map(Value::as_u64).collect()
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(|(at, line)| parse(line).ok_or(at + 1)).collect()
}

/// A cache that forgets what was used longest ago.
struct Cache {
    capacity: usize,
    used: BTreeMap<u64, u64>,
    by_use: BTreeMap<u64, u64>,
    clock: u64,
}

impl Cache {
    fn new(capacity: usize) -> Cache {
        Cache { capacity, used: BTreeMap::new(), by_use: BTreeMap::new(), clock: 0 }
    }

    /// What it held of a prompt, which it holds from then on; whether something was driven out.
    fn serve(&mut self, blocks: &[u64]) -> (Prompt, bool) {
        let cached = blocks.iter().take_while(|block| self.used.contains_key(block)).count();
        for block in blocks {
            self.clock += 1;
            if let Some(before) = self.used.insert(*block, self.clock) {
                self.by_use.remove(&before);
            }
            self.by_use.insert(self.clock, *block);
        }
        let mut full = false;
        while self.used.len() > self.capacity {
            full = true;
            if let Some((_, block)) = self.by_use.pop_first() {
                self.used.remove(&block);
            }
        }
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        (Prompt { cached: count(cached), blocks: count(blocks.len()) }, full)
    }
}

/// One row per capacity.
pub fn figures(prompts: &[Vec<u64>]) -> Vec<Row> {
    CAPACITIES.iter().map(|capacity| row(prompts, *capacity)).collect()
}

fn row(prompts: &[Vec<u64>], capacity: usize) -> Row {
    let mut cache = Cache::new(capacity);
    let mut full_at = None;
    let mut replayed = Vec::with_capacity(prompts.len());
    for (at, blocks) in prompts.iter().enumerate() {
        let (prompt, full) = cache.serve(blocks);
        replayed.push(prompt);
        if full && full_at.is_none() {
            full_at = Some(at);
        }
    }
    let cut = prompts.len() * TRAIN_PERCENT / 100;
    let forecast = PrefixForecast::of(&replayed[..cut], full_at);
    let blocks = |prompts: &[Prompt]| prompts.iter().map(|p| f64::from(p.blocks)).sum::<f64>().max(1.0);
    let rate = |prompts: &[Prompt]| prompts.iter().map(|p| f64::from(p.cached)).sum::<f64>() / blocks(prompts);
    let test = &replayed[cut..];
    let foreseen = test.iter().enumerate().map(|(at, p)| forecast.share(cut + at) * f64::from(p.blocks)).sum::<f64>() / blocks(test);
    let (before, actual) = (rate(&replayed[..cut]), rate(test));
    let name = if capacity == usize::MAX { "without an end".to_owned() } else { format!("of {capacity} blocks") };
    let what = format!("prefix cache {name}: foreseen {:.1} %, replayed {:.1} %, points apart", 100.0 * foreseen, 100.0 * actual);
    let how = format!("{} requests in time order, first {TRAIN_PERCENT} % seen, {} foreseen at once", prompts.len(), test.len());
    let off = 100.0 * (before - actual).abs();
    Row::new(what, 100.0 * (foreseen - actual).abs(), "points", how)
        .at_most(2.0)
        .beside(format!("mean of what was seen: {off:.2} points off"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_served_up_to_the_first_block_that_is_missing_and_the_oldest_goes_first() {
        let mut cache = Cache::new(4);
        assert_eq!(cache.serve(&[1, 2, 3]), (Prompt { cached: 0, blocks: 3 }, false));
        assert_eq!(cache.serve(&[1, 9, 3]), (Prompt { cached: 1, blocks: 3 }, false));
        assert_eq!(cache.serve(&[7]), (Prompt { cached: 0, blocks: 1 }, true));
        assert_eq!(cache.serve(&[2]).0.cached, 0, "block 2 was used longest ago");
        assert_eq!(prompts("{\"hash_ids\":[1,2]}\n\n{}"), Err(3));
    }
}
