//! What a provider may still hold of earlier prompts: the observation that planning reads of its prompt cache.
//!
//! A prompt cache serves a prompt up to the first byte that differs from what it has seen. All prompts of a model begin with
//! the same instruction (the head); what follows repeats as far as passages stand before the question and are the same again.
//! Numbers are coarse on purpose: plans are stamped with them, and a decision must not be made anew for every call.
//!
//! Not here: when a prompt was sent. An observation that has gone cold is absent.

use crate::{Layout, Ppm, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one model's provider is expected to hold of one tenant's prompts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCache {
    /// By the order of context and question.
    pub layouts: BTreeMap<Layout, HeldPrefix>,
}

/// How a prompt of one layout begins like earlier ones, and whether that is still held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeldPrefix {
    /// Tokens that every prompt begins with.
    pub head: Tokens,
    /// Share of what follows that is expected to be as it was before.
    pub repeats: Ppm,
    /// P(what begins as before is read from the cache).
    pub held: Ppm,
}

impl HeldPrefix {
    /// Tokens of a prompt of so many that are expected to begin as earlier ones did.
    pub fn of(&self, prompt: Tokens) -> Tokens {
        let head = self.head.min(prompt);
        let rest = (prompt - head).get() as f64 * self.repeats.share();
        head + Tokens(rest.round() as u64)
    }

    /// Of these the ones that are expected to be read from the cache.
    pub fn read(&self, prompt: Tokens) -> Tokens {
        Tokens((self.of(prompt).get() as f64 * self.held.share()).round() as u64)
    }

    /// Share of a prompt that is expected to be read from the cache.
    pub fn share(&self, prompt: Tokens) -> Ppm {
        Ppm::from_share(self.of(prompt).get() as f64 * self.held.share() / prompt.get().max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_held_whole_and_of_the_rest_a_share() {
        let known = HeldPrefix { head: Tokens(100), repeats: Ppm(250_000), held: Ppm(800_000) };
        assert_eq!((known.of(Tokens(500)), known.read(Tokens(500))), (Tokens(200), Tokens(160)));
        assert_eq!(known.share(Tokens(500)), Ppm(320_000));
        assert_eq!((known.of(Tokens(60)), known.share(Tokens(0))), (Tokens(60), Ppm(0)), "never more than there is");
        assert!(known.share(Tokens(1_000)) < known.share(Tokens(500)), "the longer the prompt, the smaller the share");
    }
}
