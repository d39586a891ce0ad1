//! Prices of a model by token class, and what calls cost under them.
//!
//! Classes are disjoint: a token is fresh input, read from the provider's cache, written to it, output or reasoning, and is
//! paid once. Prices are pico-dollars per token; amounts are summed unrounded and rounded once per call.

use crate::estimate::TokenClasses;
use crate::{PicoUsd, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Prices per token class; `None` is unknown, never free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    /// Fresh input.
    pub input: Option<PicoUsd>,
    /// Input read from the provider's prefix cache.
    pub cached_input: Option<PicoUsd>,
    /// Input written to it.
    pub cache_write: Option<PicoUsd>,
    /// Output, reasoning included where it has no price of its own.
    pub output: Option<PicoUsd>,
    /// Reasoning, where its price differs from output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<PicoUsd>,
    /// Prices of calls with long prompts, by threshold, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
    /// `configured: local`, `built-in table 2026-11`, a file name.
    pub provenance: String,
}

/// Prices of a call whose prompt, cached parts included, has more than `above` tokens. They hold for the whole call; a class
/// without a price here keeps its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceTier {
    /// The threshold.
    pub above: Tokens,
    /// Fresh input.
    pub input: Option<PicoUsd>,
    /// Input read from the provider's prefix cache.
    pub cached_input: Option<PicoUsd>,
    /// Input written to it.
    pub cache_write: Option<PicoUsd>,
    /// Output.
    pub output: Option<PicoUsd>,
}

fn priced(price: Option<PicoUsd>, tokens: Tokens) -> PicoUsd {
    price.unwrap_or(PicoUsd::ZERO).times(tokens)
}

impl Prices {
    /// Nothing costs anything.
    pub fn free(provenance: impl Into<String>) -> Prices {
        let zero = Some(PicoUsd::ZERO);
        Prices { input: zero, cached_input: zero, cache_write: zero, output: zero, provenance: provenance.into(), ..Prices::default() }
    }

    /// Whether a call can be priced: fresh input and output are known.
    pub fn known(&self) -> bool {
        self.input.is_some() && self.output.is_some()
    }

    /// Whether a call is known to cost nothing.
    pub fn is_free(&self) -> bool {
        let zero = Some(PicoUsd::ZERO);
        self.input == zero && self.output == zero && self.tiers.is_empty()
    }

    /// The prices that hold for a call with a prompt of `input` tokens.
    pub fn of_prompt(&self, input: Tokens) -> PriceTier {
        let mut held = PriceTier {
            above: Tokens::ZERO,
            input: self.input,
            cached_input: self.cached_input,
            cache_write: self.cache_write,
            output: self.output,
        };
        for tier in self.tiers.iter().filter(|tier| input > tier.above) {
            held = PriceTier {
                above: tier.above,
                input: tier.input.or(held.input),
                cached_input: tier.cached_input.or(held.cached_input),
                cache_write: tier.cache_write.or(held.cache_write),
                output: tier.output.or(held.output),
            };
        }
        held
    }

    /// What a call with these tokens costs, unrounded; classes of unknown price count nothing: see [`Prices::known`]. Cached
    /// classes without a price of their own cost what fresh input does.
    pub fn bill(&self, tokens: &TokenClasses) -> PicoUsd {
        let held = self.of_prompt(tokens.prompt());
        let reasoning = if held.above == Tokens::ZERO { self.reasoning.or(held.output) } else { held.output };
        priced(held.input, tokens.input)
            + priced(held.cached_input.or(held.input), tokens.cached_input)
            + priced(held.cache_write.or(held.input), tokens.cache_write)
            + priced(held.output, tokens.output)
            + priced(reasoning, tokens.reasoning)
    }

    /// What a token costs less when a prompt of `input` tokens is read from the provider's cache; `None` where one of the two
    /// prices is unknown or reading is not cheaper: unknown stays unknown.
    pub fn cached_saving(&self, input: Tokens) -> Option<PicoUsd> {
        let held = self.of_prompt(input);
        let (fresh, cached) = held.input.zip(held.cached_input)?;
        (cached < fresh).then(|| fresh - cached)
    }

    /// What a call with fresh input costs, unrounded.
    pub fn fresh(&self, input: Tokens, output: Tokens) -> PicoUsd {
        self.bill(&TokenClasses { input, output, ..TokenClasses::default() })
    }

    /// What a call costs at most: all input fresh or written to the cache, whichever is dearer, and the whole output cap at
    /// the dearer of output and reasoning. More tokens never cost less, also across thresholds.
    pub fn bound(&self, input: Tokens, output: Tokens) -> PicoUsd {
        let dearest = |held: &PriceTier| priced(held.input.max(held.cache_write), input) + priced(held.output.max(self.reasoning), output);
        let thresholds = self.tiers.iter().map(|tier| tier.above).filter(|above| input > *above);
        thresholds
            .map(|above| above + Tokens(1))
            .chain([Tokens::ZERO])
            .map(|prompt| dearest(&self.of_prompt(prompt)))
            .max()
            .unwrap_or(PicoUsd::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// $3 and $15 per million; cache write $3.75, read $0.30; above 200,000: $6, $22.50, $7.50, $0.60.
    fn tiered() -> Prices {
        Prices {
            input: Some(PicoUsd(3_000_000)),
            cached_input: Some(PicoUsd(300_000)),
            cache_write: Some(PicoUsd(3_750_000)),
            output: Some(PicoUsd(15_000_000)),
            tiers: vec![PriceTier {
                above: Tokens(200_000),
                input: Some(PicoUsd(6_000_000)),
                cached_input: Some(PicoUsd(600_000)),
                cache_write: Some(PicoUsd(7_500_000)),
                output: Some(PicoUsd(22_500_000)),
            }],
            ..Prices::default()
        }
    }

    #[test]
    fn tokens_that_create_a_cache_entry_are_paid_once() {
        let usage = TokenClasses { input: Tokens(3), cache_write: Tokens(12_304), output: Tokens(550), ..TokenClasses::default() };
        assert_eq!(tiered().bill(&usage).half_even_nano().to_string(), "$0.054399");
    }

    #[test]
    fn a_long_prompt_is_priced_as_a_whole_by_all_its_input_classes() {
        let at = |input, cached| {
            tiered().bill(&TokenClasses {
                input: Tokens(input),
                cached_input: Tokens(cached),
                output: Tokens(10),
                ..TokenClasses::default()
            })
        };
        assert_eq!(at(200_000, 0).get(), 200_000 * 3_000_000 + 10 * 15_000_000);
        assert_eq!(at(200_001, 0).get(), 200_001 * 6_000_000 + 10 * 22_500_000);
        assert_eq!(at(1, 200_000).get(), 6_000_000 + 200_000 * 600_000 + 10 * 22_500_000);
    }

    #[test]
    fn the_bound_holds_for_every_split_and_never_falls_with_more_tokens() {
        let prices = tiered();
        let mut last = PicoUsd::ZERO;
        for input in [0, 1, 100_000, 199_999, 200_000, 200_001, 300_000] {
            let bound = prices.bound(Tokens(input), Tokens(500));
            for cached in [0, input / 3, input] {
                let split = TokenClasses {
                    cached_input: Tokens(cached),
                    cache_write: Tokens(input - cached),
                    output: Tokens(500),
                    ..TokenClasses::default()
                };
                assert!(prices.bill(&split) <= bound);
            }
            assert!(bound >= last, "{input}");
            last = bound;
        }
    }

    #[test]
    fn unknown_is_not_free() {
        let unknown = Prices { output: Some(PicoUsd(1)), ..Prices::default() };
        assert!(!unknown.known() && !unknown.is_free() && Prices::free("configured: local").is_free());
    }
}
