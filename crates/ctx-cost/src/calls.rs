//! One model call, part by part: prompt, answer, time to the first token, time per token, failures; and what they make together.
//!
//! Latency is the time to the first token and the time per token times the tokens of the answer. Each part is learned on its
//! own where an endpoint shows it, so that a short answer is not timed like a long one. The interval is that of whole calls.
//!
//! Not here: bounds. What a call may cost at most follows from the largest prompt and answer, and stays where it was.

use crate::model::{CostInputs, output_tokens, prompt_tokens};
use crate::prefix;
use crate::statistics::{Field, StatKey, Statistics};
use ctx_types::estimate::{AlternativeEstimate, CallEstimate};
use ctx_types::{Certainty, Estimated, Layout, Micros, ModelEntry, ModelName, NanoUsd, PicoUsd, Ppm, Strategy, Tokens};

/// P(an attempt at a call breaks) before any was seen, and its interval. Providers publish availabilities of 99.5 to 99.9 %;
/// rate limits come on top, and so the interval is wide: six outcomes weigh as much.
pub const FAILURE_PRIOR: (Ppm, Ppm, Ppm) = (Ppm(5_000), Ppm(0), Ppm(300_000));

/// The estimate of a call that reads `context` tokens of passages in this layout. What the provider's cache is expected to hold
/// lowers what is likely, never a bound.
pub fn estimate(inputs: &CostInputs<'_>, model: &ModelName, entry: &ModelEntry, context: Tokens, layout: Layout) -> AlternativeEstimate {
    let key = StatKey::model(inputs.tenant, Field::Latency, model, inputs.intent.bucket);
    let (input, input_bound) = prompt_tokens(inputs, model, entry, context);
    let (output, cap) = output_tokens(inputs, model, entry);
    let held = prefix::expected(inputs, model, entry, layout, input);
    let cached = held.map(|held| held.prefix.read(input));
    let saved = held.zip(cached).map_or(PicoUsd::ZERO, |(held, cached)| held.saving.times(cached));
    let total = |output: Tokens| (entry.prices.fresh(input, output) - saved).ceil_nano();
    let certainty = match (entry.prices.known(), entry.prices.is_free()) {
        (false, _) => Certainty::Unknown,
        (true, true) => Certainty::Configured,
        (true, false) => output.certainty,
    };
    let (tokens_bound, cost_bound) = (input_bound + cap, entry.prices.bound(input_bound, cap).ceil_nano());
    let parts = parts(inputs.statistics, &key, entry, (input, cached, output.clone()), (tokens_bound, cost_bound));
    AlternativeEstimate {
        hits: None,
        tokens: Some(Estimated::new(
            input + output.value,
            input + output.low,
            tokens_bound,
            output.certainty,
            "prompt count + output length",
        )),
        cost: Some(Estimated::new(total(output.value), total(output.low), cost_bound, certainty, entry.prices.provenance.clone())),
        latency: Some(latency(inputs.statistics, &key, entry, (input, &parts.output))),
        evidence: None,
        quality: Some(crate::model::answerer(inputs, Strategy::SingleShot, Some(model), Layout::ContextFirst).right_with),
        call: Some(Box::new(parts)),
    }
}

fn parts(
    statistics: &Statistics,
    key: &StatKey,
    entry: &ModelEntry,
    (input, cached, output): (Tokens, Option<Tokens>, Estimated<Tokens>),
    (tokens_bound, cost_bound): (Tokens, NanoUsd),
) -> CallEstimate {
    let (value, low, high) = FAILURE_PRIOR;
    let failure = Estimated::new(value, low, high, Certainty::Prior, "published availabilities");
    let (tokens, cost) = priors(entry, input);
    let likely = |tokens: Estimated<Tokens>| Estimated { high: tokens.high.min(tokens_bound).max(tokens.value), ..tokens };
    let priced = |cost: Estimated<NanoUsd>| Estimated { high: cost.high.min(cost_bound).max(cost.value), ..cost };
    CallEstimate {
        input,
        cached,
        output,
        first_token: first_token(statistics, key, entry, input),
        per_token: per_token(statistics, key, entry, input),
        failure: statistics.corrected(&key.of(Field::Failure), failure),
        tokens: Some(statistics.corrected_over(&key.of(Field::Tokens), unlearned(tokens), input)).filter(Estimated::is_learned).map(likely),
        cost: cost
            .map(|cost| statistics.corrected_over(&key.of(Field::Cost), unlearned(cost), input))
            .filter(Estimated::is_learned)
            .map(priced),
    }
}

/// Tokens and dollars of a call before anything was learned of its answers: what residuals are relative to, then and now.
/// Nobody learns what a call costs that is free or whose price is unknown.
pub(crate) fn priors(entry: &ModelEntry, input: Tokens) -> (Tokens, Option<NanoUsd>) {
    let output = entry.output_tokens.value;
    let priced = entry.prices.known() && !entry.prices.is_free();
    (input + output, priced.then(|| entry.prices.fresh(input, output).ceil_nano()))
}

/// Latency of a call before anything was learned.
pub fn prior_latency(entry: &ModelEntry) -> Micros {
    at(entry.first_token.value, entry.per_token.value, entry.output_tokens.value)
}

fn first_token(statistics: &Statistics, key: &StatKey, entry: &ModelEntry, input: Tokens) -> Estimated<Micros> {
    statistics.corrected_over(&key.of(Field::FirstToken), entry.first_token.clone(), input)
}

fn per_token(statistics: &Statistics, key: &StatKey, entry: &ModelEntry, input: Tokens) -> Estimated<Micros> {
    statistics.corrected_over(&key.of(Field::PerToken), entry.per_token.clone(), input)
}

fn at(first: Micros, per_token: Micros, output: Tokens) -> Micros {
    Micros(first.0.saturating_add(per_token.0.saturating_mul(output.get())))
}

fn unlearned<T: Copy + Ord>(value: T) -> Estimated<T> {
    Estimated::new(value, value, value, Certainty::Prior, "prompt count + output length")
}

/// Latency of a call of `key`'s model with such a prompt and answer. The point is what the parts say, where both are known; the spread
/// around it is that of whole calls, whatever their answers' lengths were.
pub fn latency(
    statistics: &Statistics,
    key: &StatKey,
    entry: &ModelEntry,
    (input, output): (Tokens, &Estimated<Tokens>),
) -> Estimated<Micros> {
    let (first, per) = (&entry.first_token, &entry.per_token);
    let with = |output: &Estimated<Tokens>| {
        Estimated::new(
            at(first.value, per.value, output.value),
            at(first.low, per.low, output.low),
            at(first.high, per.high, output.high),
            first.certainty.weaker(per.certainty),
            "time to first token + tokens × time per token",
        )
    };
    let whole = statistics.corrected_over(&key.of(Field::Latency), with(&entry.output_tokens), input);
    if !whole.is_learned() {
        return statistics.corrected_over(&key.of(Field::Latency), with(output), input);
    }
    let (learned_first, learned_per) = (first_token(statistics, key, entry, input), per_token(statistics, key, entry, input));
    let parts_learned = learned_first.is_learned() && learned_per.is_learned();
    let (first, per) = if parts_learned { (learned_first.value, learned_per.value) } else { (first.value, per.value) };
    let usual = statistics.corrected(&key.of(Field::OutputTokens), entry.output_tokens.clone()).value;
    // One where the answer is as long as answers were: then the ends are those of whole calls, untouched.
    let ratio = at(first, per, output.value).0 as f64 / at(first, per, usual).0.max(1) as f64;
    let scaled = |end: Micros| Micros(libm::round(end.0 as f64 * ratio) as u64);
    let value = if parts_learned { at(first, per, output.value) } else { scaled(whole.value) };
    Estimated::new(value, scaled(whole.low), scaled(whole.high), whole.certainty, whole.provenance)
}
