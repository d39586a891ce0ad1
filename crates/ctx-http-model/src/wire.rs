//! The OpenAI chat wire, as far as it is used. Unknown fields are ignored, missing ones are unknown.

use ctx_contracts::{FinishReason, ModelRequest, Role};
use ctx_types::Tokens;
use ctx_types::estimate::TokenClasses;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// The request body.
pub(crate) fn body(model: &str, request: &ModelRequest) -> Value {
    let messages: Vec<Value> = request
        .messages
        .iter()
        .map(|m| {
            let role = match m.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({ "role": role, "content": m.content })
        })
        .collect();
    let mut body = json!({
        "model": model,
        "messages": messages,
        "max_tokens": request.max_output.get(),
        "temperature": f64::from(request.temperature_milli) / 1e3,
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    if let Some(seed) = request.seed {
        // Providers take 32-bit seeds; the low bits of ours are as good as any.
        body["seed"] = json!(seed & 0x7fff_ffff);
    }
    body
}

/// One streamed chunk, or a whole response of an endpoint that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    pub model: Option<String>,
    pub choices: Vec<Choice>,
    pub usage: Option<Usage>,
    pub error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub delta: Option<Content>,
    pub message: Option<Content>,
    pub finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Content {
    pub content: Option<String>,
    /// Why the model will not answer, in its words.
    pub refusal: Option<String>,
}

/// Counts as providers report them. What is no count (negative, broken, text) is unknown, and costs no answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    #[serde(deserialize_with = "count")]
    pub prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub completion_tokens: Option<u64>,
    /// Beside the details, as gateways in front of other wires put it.
    #[serde(deserialize_with = "count")]
    pub cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub cache_read_input_tokens: Option<u64>,
    pub prompt_tokens_details: Option<Details>,
    pub completion_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    #[serde(deserialize_with = "count")]
    pub cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub cache_creation_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub reasoning_tokens: Option<u64>,
}

/// A whole number that is not negative, whether it is written as an integer, with a point or as text.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

/// A float that is a count.
fn whole(value: f64) -> Option<u64> {
    // Above 2^53 a float has no unit digit.
    ((0.0..=9e15).contains(&value) && value.fract() == 0.0).then_some(value as u64)
}

/// Usage that a body reports, of a failed call too.
pub(crate) fn usage_in(body: &str) -> Option<TokenClasses> {
    serde_json::from_str::<Chunk>(body).ok()?.usage?.classes()
}

impl Usage {
    /// Disjoint classes; `None` when the provider left a side out. The prompt's count is taken to include what was read from and
    /// written to a cache, as this wire says.
    ///
    /// A report that contradicts that (the parts exceed the whole) follows the other convention, or is wrong: then the whole
    /// counts as plain input beside the parts. That is the dearest reading, so no budget is spent below what is due.
    pub(crate) fn classes(&self) -> Option<TokenClasses> {
        let (prompt, completion) = (self.prompt_tokens?, self.completion_tokens?);
        let details = self.prompt_tokens_details.as_ref();
        let cached = details.and_then(|d| d.cached_tokens).or(self.cache_read_input_tokens).unwrap_or(0);
        let written = details.and_then(|d| d.cache_creation_tokens).or(self.cache_creation_input_tokens).unwrap_or(0);
        let reasoning = self.completion_tokens_details.as_ref().and_then(|d| d.reasoning_tokens).unwrap_or(0);
        Some(TokenClasses {
            input: Tokens(prompt.checked_sub(cached.saturating_add(written)).unwrap_or(prompt)),
            cached_input: Tokens(cached),
            cache_write: Tokens(written),
            output: Tokens(completion.checked_sub(reasoning).unwrap_or(completion)),
            reasoning: Tokens(reasoning),
        })
    }

    /// What contradicts itself in the report.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let classes = self.classes()?;
        let (prompt, completion) = (self.prompt_tokens?, self.completion_tokens?);
        let cached = classes.cached_input.get().saturating_add(classes.cache_write.get());
        if cached > prompt {
            return Some(format!("of {prompt} prompt tokens {cached} are said to be cached or written to a cache"));
        }
        let reasoning = classes.reasoning.get();
        (reasoning > completion).then(|| format!("of {completion} completion tokens {reasoning} are said to be reasoning"))
    }
}

pub(crate) fn finish(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("stop" | "eos" | "end_turn") => FinishReason::Stop,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("content_filter" | "refusal" | "safety") => FinishReason::Filtered,
        _ => FinishReason::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_classes_are_disjoint_and_missing_is_unknown() {
        let usage: Usage =
            serde_json::from_value(json!({"prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 60},
            "completion_tokens_details": {"reasoning_tokens": 5}}))
            .expect("shape");
        let classes = usage.classes().expect("complete");
        assert_eq!((classes.input.get(), classes.cached_input.get(), classes.output.get(), classes.reasoning.get()), (40, 60, 15, 5));
        assert_eq!(classes.total().get(), 120);
        assert!(Usage { prompt_tokens: Some(1), ..Usage::default() }.classes().is_none());
    }

    fn of(usage: Value) -> Usage {
        serde_json::from_value(usage).expect("any report has the shape")
    }

    #[test]
    fn tokens_written_to_a_cache_are_a_class_of_their_own() {
        let beside = of(json!({"prompt_tokens": 12_307, "cache_creation_input_tokens": 12_304, "completion_tokens": 550}));
        let classes = beside.classes().expect("complete");
        assert_eq!((classes.input.get(), classes.cache_write.get(), classes.output.get()), (3, 12_304, 550));
        let within = of(
            json!({"prompt_tokens": 20, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5, "cache_creation_tokens": 7}}),
        );
        let classes = within.classes().expect("complete");
        assert_eq!((classes.input.get(), classes.cached_input.get(), classes.cache_write.get()), (8, 5, 7));
    }

    #[test]
    fn parts_above_the_whole_are_told_and_charged_beside_it() {
        let usage = of(json!({"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5_000}}));
        let classes = usage.classes().expect("complete");
        assert_eq!((classes.input.get(), classes.cached_input.get()), (10, 5_000));
        assert!(usage.contradiction().is_some_and(|told| told.contains("5000")));
        assert!(of(json!({"prompt_tokens": 10, "completion_tokens": 1})).contradiction().is_none());
    }

    #[test]
    fn what_is_no_count_is_unknown() {
        for (usage, known) in [
            (json!({"prompt_tokens": -5, "completion_tokens": -1}), None),
            (json!({"prompt_tokens": 120.0, "completion_tokens": 8.0}), Some(128)),
            (json!({"prompt_tokens": "120", "completion_tokens": "8"}), Some(128)),
            (json!({"prompt_tokens": 1.5, "completion_tokens": {"a": 1}}), None),
            (json!({"prompt_tokens": 1e300, "completion_tokens": null}), None),
        ] {
            assert_eq!(of(usage.clone()).classes().map(|classes| classes.total().get()), known, "{usage}");
        }
    }
}
