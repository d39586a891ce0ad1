//! Identity of a cached decision: every exact field, written once in an injective form, and its hash.
//!
//! The form is length-prefixed, so equal bytes mean equal fields: comparing the bytes *is* comparing field by field, and a
//! collision of the hash is never a hit. What the decision depends on (sources' content, prices, statistics) is not here
//! but in the [stamps](crate::stamps).

use ctx_types::goal::{Hint, UncertainLatency};
use ctx_types::{Constraints, Goal, Objective, Principal, Sensitivity, SourceName, Weights};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use unicode_normalization::{UnicodeNormalization, is_nfc};

/// Version of the key's form. Part of every key: entries of another version are never hit.
pub const KEY_SCHEMA_VERSION: u32 = 4;

/// What a literal key is made of.
#[derive(Clone, Copy, Debug)]
pub struct KeyInput<'a> {
    /// The goal: text, principal, weights, objective, hints, seed, its own constraints.
    pub goal: &'a Goal,
    /// Constraints in force (configuration and request together), declared sensitivity included.
    pub limits: &'a Constraints,
    /// Sources in play; order and repetition do not matter.
    pub sources: &'a [SourceName],
    /// Digest of the effective configuration.
    pub configuration: &'a str,
    /// Version of the planner.
    pub planner_version: &'a str,
}

/// Hashed identity with the fields themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanKey {
    hash: u128,
    fields: Vec<u8>,
}

impl PlanKey {
    /// The key of exactly this request.
    pub fn literal(input: &KeyInput<'_>) -> PlanKey {
        let mut key = PlanKey { hash: 0, fields: Vec::with_capacity(512) };
        key.refill(input);
        key
    }

    /// A key with something else in place of the words.
    pub(crate) fn written(input: &KeyInput<'_>, words: impl FnOnce(&mut Vec<u8>)) -> PlanKey {
        let mut fields = Vec::with_capacity(768);
        write_fields(&mut fields, input, words);
        PlanKey::from_fields(fields)
    }

    /// The key of one decision of a family: its fields, and behind them the decision.
    pub(crate) fn with(&self, decision: &[u8]) -> PlanKey {
        let mut fields = self.fields.clone();
        fields.extend_from_slice(decision);
        PlanKey::from_fields(fields)
    }

    /// Becomes the key of `input`, keeping the buffer: callers that look up often reuse one key.
    pub fn refill(&mut self, input: &KeyInput<'_>) {
        self.fields.clear();
        write_fields(&mut self.fields, input, |out| {
            out.push(LITERAL);
            write_text(out, &canonical_text(&input.goal.text));
        });
        self.hash = hash_of(&self.fields);
    }

    /// A key from persisted fields; the hash is computed anew, never trusted.
    pub(crate) fn from_fields(fields: Vec<u8>) -> PlanKey {
        PlanKey { hash: hash_of(&fields), fields }
    }

    /// The first 128 bits of SHA-256 over the fields.
    pub fn hash(&self) -> u128 {
        self.hash
    }

    /// The fields in their injective form.
    pub(crate) fn fields(&self) -> &[u8] {
        &self.fields
    }

    /// The hash in hex, for listings and traces.
    pub fn digest(&self) -> String {
        format!("{:032x}", self.hash)
    }

    #[cfg(test)]
    pub(crate) fn forged(hash: u128, fields: Vec<u8>) -> PlanKey {
        PlanKey { hash, fields }
    }
}

/// First 128 bits of SHA-256.
pub(crate) fn hash_of(bytes: &[u8]) -> u128 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(16).fold(0u128, |hash, byte| (hash << 8) | u128::from(*byte))
}

/// The goal's text as the key sees it: NFC, outer white space removed, nothing else. Case, inner white space and
/// compatibility characters stay: `X` and `x` may be two identifiers.
pub fn canonical_text(text: &str) -> Cow<'_, str> {
    let trimmed = text.trim();
    if trimmed.is_ascii() || is_nfc(trimmed) { Cow::Borrowed(trimmed) } else { Cow::Owned(trimmed.nfc().collect()) }
}

/// What the words of a literal key begin with; those of a template begin otherwise.
const LITERAL: u8 = 0;

fn write_fields(out: &mut Vec<u8>, input: &KeyInput<'_>, words: impl FnOnce(&mut Vec<u8>)) {
    let Goal { text: _, sources: _, constraints, weights, objective, principal, conversation, seed, hints, no_cache: _, what_if } =
        input.goal;
    out.extend_from_slice(&KEY_SCHEMA_VERSION.to_le_bytes());
    write_text(out, input.planner_version);
    write_text(out, input.configuration);
    write_principal(out, principal);
    words(out);
    write_sources(out, input.sources);
    write_constraints(out, input.limits);
    write_constraints(out, constraints);
    write_weights(out, weights);
    out.push(match objective {
        Objective::Weighted => 0,
        Objective::MaxAccuracy => 1,
        Objective::MinCost => 2,
        Objective::MinLatency => 3,
    });
    write_count(out, hints.len());
    hints.iter().for_each(|hint| write_hint(out, hint));
    write_number(out, *seed);
    // Requests with a conversation or a hypothetical catalog bypass the cache; should one come this far, it shares nothing
    // with any other.
    write_option(out, conversation.as_deref(), write_text);
    write_option(out, what_if.as_deref(), |out, assumed| write_text(out, &format!("{assumed:?}")));
}

fn write_principal(out: &mut Vec<u8>, Principal { tenant, roles }: &Principal) {
    write_text(out, tenant);
    write_count(out, roles.len());
    roles.iter().for_each(|role| write_text(out, role));
}

fn write_sources(out: &mut Vec<u8>, sources: &[SourceName]) {
    if sources.is_sorted_by(|a, b| a < b) {
        write_count(out, sources.len());
        sources.iter().for_each(|source| write_text(out, source.as_str()));
        return;
    }
    let mut sorted: Vec<&SourceName> = sources.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    write_count(out, sorted.len());
    sorted.iter().for_each(|source| write_text(out, source.as_str()));
}

/// Destructured without `..`: a new constraint does not compile until it is part of the key.
fn write_constraints(out: &mut Vec<u8>, constraints: &Constraints) {
    let Constraints {
        max_cost,
        max_latency,
        max_tokens,
        max_calls,
        max_tool_calls,
        max_context_tokens,
        max_output_tokens,
        min_accuracy,
        final_k,
        require_citations,
        require_verification,
        require_approval,
        sensitivity,
        uncertain_latency,
        quantile,
    } = constraints;
    write_number(out, max_cost.map(|cost| cost.0.cast_unsigned()));
    write_number(out, max_latency.map(|latency| latency.0));
    for tokens in [max_tokens, max_context_tokens, max_output_tokens] {
        write_number(out, tokens.map(|tokens| tokens.0));
    }
    for count in [*max_calls, *max_tool_calls, min_accuracy.map(|accuracy| accuracy.0), *final_k] {
        write_number(out, count.map(u64::from));
    }
    out.push(u8::from(*require_citations));
    write_number(out, require_verification.map(u64::from));
    out.push(u8::from(*require_approval));
    write_number(out, sensitivity.map(sensitivity_rank));
    out.push(match uncertain_latency {
        UncertainLatency::Allow => 0,
        UncertainLatency::Refuse => 1,
    });
    write_number(out, quantile.map(|q| u64::from(q.0)));
}

fn sensitivity_rank(sensitivity: Sensitivity) -> u64 {
    match sensitivity {
        Sensitivity::Public => 0,
        Sensitivity::Internal => 1,
        Sensitivity::Confidential => 2,
        Sensitivity::Restricted => 3,
    }
}

fn write_weights(out: &mut Vec<u8>, weights: &Weights) {
    let Weights { acc, cache, vrf, cost, lat, risk, hall, loss, cost_scale, latency_scale } = weights;
    for weight in [acc, cache, vrf, cost, lat, risk, hall, loss, &cost_scale.0] {
        out.extend_from_slice(&weight.to_le_bytes());
    }
    out.extend_from_slice(&latency_scale.0.to_le_bytes());
}

fn write_hint(out: &mut Vec<u8>, hint: &Hint) {
    let (tag, text) = match hint {
        Hint::Force(name) => (0, name.as_str()),
        Hint::Forbid(name) => (1, name.as_str()),
        Hint::Model(model) => (2, model.as_str()),
        Hint::Gist(gist) => (3, gist.0.as_str()),
    };
    out.push(tag);
    write_text(out, text);
}

pub(crate) fn write_count(out: &mut Vec<u8>, count: usize) {
    out.extend_from_slice(&(count as u64).to_le_bytes());
}

pub(crate) fn write_text(out: &mut Vec<u8>, text: &str) {
    write_count(out, text.len());
    out.extend_from_slice(text.as_bytes());
}

fn write_number(out: &mut Vec<u8>, number: Option<u64>) {
    write_option(out, number, |out, number| out.extend_from_slice(&number.to_le_bytes()));
}

fn write_option<T>(out: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    match value {
        None => out.push(0),
        Some(value) => {
            out.push(1);
            write(out, value);
        }
    }
}
