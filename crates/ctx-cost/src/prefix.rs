//! What share of the next prompts a provider's prefix cache will hold, from the shares of those before.
//!
//! A prefix cache serves the blocks of a prompt up to the first one that it does not hold. While it fills, every request finds
//! more of what came before, and the share grows with the logarithm of their number; once it is full, what comes in drives
//! out what was there, and the share stays. Two numbers are fitted by least squares, weighted by blocks; requests of the cold
//! beginning are left out.
//!
//! What a plan expects of the cache is [`expected`]: the observation that the probe carries, where the model's price says that
//! reading from the cache is cheaper.
//!
//! Not here: the cache. Shares come from reports of cached input tokens, or from a replay.

use crate::model::CostInputs;
use ctx_types::{HeldPrefix, Layout, ModelEntry, ModelName, PicoUsd, Tokens};

/// What of a prompt is expected to be read from the provider's cache, and what each such token costs less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How such prompts begin.
    pub prefix: HeldPrefix,
    /// Less per token.
    pub saving: PicoUsd,
}

/// Of a prompt with so many tokens in this layout. None: nothing was sent lately, or no cached price is known.
pub fn expected(inputs: &CostInputs<'_>, model: &ModelName, entry: &ModelEntry, layout: Layout, prompt: Tokens) -> Option<Expected> {
    let prefix = *inputs.probe.prompt_caches.get(model)?.layouts.get(&layout)?;
    let saving = entry.prices.cached_saving(prompt)?;
    Some(Expected { prefix, saving })
}

/// Share of the history that counts as the cold beginning: one in so many.
const COLD: usize = 10;

/// One prompt: blocks that were served from the cache, of all its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// Blocks that the cache held, from the first one on.
    pub cached: u32,
    /// All.
    pub blocks: u32,
}

/// The share that is expected of the prompts to come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixForecast {
    level: f64,
    growth: f64,
    /// Requests after which the cache was full; `None`: it was not yet.
    full_at: Option<usize>,
}

impl PrefixForecast {
    /// From prompts in order, and the number of the prompt at which something was first driven out of the cache.
    pub fn of(history: &[Prompt], full_at: Option<usize>) -> PrefixForecast {
        let full_at = full_at.filter(|at| *at < history.len());
        let mut sums = [0.0f64; 5];
        for (at, prompt) in history.iter().enumerate().skip(history.len() / COLD).filter(|(_, prompt)| prompt.blocks > 0) {
            let (x, weight, cached) = (age(at, full_at), f64::from(prompt.blocks), f64::from(prompt.cached));
            for (sum, term) in sums.iter_mut().zip([weight, weight * x, cached, weight * x * x, cached * x]) {
                *sum += term;
            }
        }
        let [weight, x, y, xx, xy] = sums;
        if weight <= 0.0 {
            return PrefixForecast { level: 0.0, growth: 0.0, full_at };
        }
        let spread = xx - x * x / weight;
        let growth = if spread > 1e-6 * weight { ((xy - x * y / weight) / spread).max(0.0) } else { 0.0 };
        PrefixForecast { level: (y - growth * x) / weight, growth, full_at }
    }

    /// Expected share of the blocks of the prompt with this number.
    pub fn share(&self, at: usize) -> f64 {
        (self.level + self.growth * age(at, self.full_at)).clamp(0.0, 1.0)
    }
}

/// Logarithm of the requests that the cache remembers.
fn age(at: usize, full_at: Option<usize>) -> f64 {
    libm::log(full_at.map_or(at, |full| at.min(full)).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_cache_keeps_filling_and_a_full_one_stays() {
        let grown = |at: usize| Prompt { cached: (40.0 * libm::log(at.max(1) as f64)) as u32, blocks: 1_000 };
        let history: Vec<Prompt> = (0..1_000).map(grown).collect();
        let endless = PrefixForecast::of(&history, None);
        assert!((endless.share(4_000) - 0.04 * libm::log(4_000.0)).abs() < 0.005, "{endless:?}");
        let steady: Vec<Prompt> = (0..1_000).map(|at| Prompt { cached: if at % 2 == 0 { 0 } else { 4 }, blocks: 10 }).collect();
        let full = PrefixForecast::of(&steady, Some(50));
        assert!((full.share(100_000) - 0.2).abs() < 1e-9, "{full:?}");
    }

    #[test]
    fn without_prompts_nothing_is_expected() {
        for history in [vec![], vec![Prompt { cached: 0, blocks: 0 }]] {
            assert_eq!(PrefixForecast::of(&history, Some(0)).share(7), 0.0);
        }
    }
}
