//! The OpenAI chat wire, as far as it is used. Unknown fields are ignored, missing ones are unknown.

use ctx_contracts::{FinishReason, ModelRequest, Role};
use ctx_types::Tokens;
use ctx_types::estimate::TokenClasses;
use serde::Deserialize;
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
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    pub prompt_tokens_details: Option<Details>,
    pub completion_tokens_details: Option<Details>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    pub cached_tokens: Option<u64>,
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Disjoint classes; `None` when the provider left a side out.
    pub(crate) fn classes(&self) -> Option<TokenClasses> {
        let (prompt, completion) = (self.prompt_tokens?, self.completion_tokens?);
        let cached = self.prompt_tokens_details.as_ref().and_then(|d| d.cached_tokens).unwrap_or(0).min(prompt);
        let reasoning = self.completion_tokens_details.as_ref().and_then(|d| d.reasoning_tokens).unwrap_or(0).min(completion);
        Some(TokenClasses {
            input: Tokens(prompt - cached),
            cached_input: Tokens(cached),
            cache_write: Tokens(0),
            output: Tokens(completion - reasoning),
            reasoning: Tokens(reasoning),
        })
    }
}

pub(crate) fn finish(reason: Option<&str>) -> FinishReason {
    match reason {
        Some("stop" | "eos" | "end_turn") => FinishReason::Stop,
        Some("length" | "max_tokens") => FinishReason::Length,
        Some("content_filter") => FinishReason::Filtered,
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
}
