//! Provider failures in the words of the contracts. No secret, no user information of a URL, no endless body.

use crate::wire;
use ctx_contracts::{ErrorKind, PluginError, Taken};
use ctx_types::{Micros, ModelName};
use reqwest::StatusCode;
use serde_json::Value;

/// Longest part of a provider's message that is repeated.
const MESSAGE_CHARS_MAX: usize = 300;

/// What an HTTP status and body mean.
pub(crate) fn of_status(name: &ModelName, status: StatusCode, retry_after: Option<&str>, body: &str) -> PluginError {
    let message = message(body);
    let lower = body.to_lowercase();
    let overflow = [
        "exceed_context_size",
        "context_length_exceeded",
        "maximum context length",
        "context window",
        "too many tokens",
        "prompt is too long",
    ];
    let refusal = ["content_filter", "content_policy", "content management policy"];
    let (kind, hint) = match status.as_u16() {
        401 | 403 => (ErrorKind::Unauthorized, Some("check the variable that api_key_env names")),
        404 => (ErrorKind::BadRequest, Some("check base_url and model of the tier")),
        408 | 504 => (ErrorKind::Timeout, None),
        429 => (ErrorKind::RateLimited, None),
        _ if overflow.iter().any(|w| lower.contains(w)) => (ErrorKind::ContextOverflow, Some("set context_window of the tier")),
        400..=499 if refusal.iter().any(|w| lower.contains(w)) => (ErrorKind::Refused, None),
        400..=499 => (ErrorKind::BadRequest, None),
        _ => (ErrorKind::Unavailable, None),
    };
    let mut error =
        PluginError::new(kind, format!("calling model {name}"), format!("the endpoint answered {}: {message}", status.as_u16()));
    error.hint = hint.map(str::to_owned);
    if let Some(usage) = wire::usage_in(body) {
        error.taken = Taken::Reported(Box::new(usage));
    }
    error.retry_after = retry_after.and_then(|v| v.trim().parse::<f64>().ok()).and_then(Micros::from_seconds);
    error
}

/// What a transport failure means.
pub(crate) fn of_transport(name: &ModelName, error: &reqwest::Error) -> PluginError {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Unavailable };
    let cause = if error.is_timeout() {
        "no answer in time".to_owned()
    } else if error.is_connect() {
        "the endpoint cannot be reached".to_owned()
    } else {
        "the connection broke".to_owned()
    };
    // Only a connection that never stood says that nobody saw the request.
    let taken = if error.is_connect() || error.is_builder() { Taken::NotSent } else { Taken::Unknown };
    PluginError::new(kind, format!("calling model {name}"), cause)
        .with_hint("is the server running? `ctxrt doctor` tries it")
        .having_taken(taken)
}

/// A stream that holds what no provider may send.
pub(crate) fn of_stream(name: &ModelName, cause: impl Into<String>) -> PluginError {
    PluginError::new(ErrorKind::Unavailable, format!("reading the answer of model {name}"), cause)
}

fn message(body: &str) -> String {
    let parsed: Option<String> = serde_json::from_str::<Value>(body).ok().and_then(|v| {
        let error = &v["error"];
        error["message"].as_str().or_else(|| error.as_str()).or_else(|| v["message"].as_str()).map(str::to_owned)
    });
    let text = parsed.unwrap_or_else(|| body.trim().to_owned());
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MESSAGE_CHARS_MAX).collect();
    redacted(&clean)
}

/// Words that look like keys are not repeated: providers echo them.
fn redacted(text: &str) -> String {
    let secret = |w: &str| {
        let core = w.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let prefix = ["sk-", "sk_", "key-", "Bearer", "ghp_", "AKIA"].iter().any(|p| core.starts_with(p));
        prefix
            || (core.len() >= 24
                && core.bytes().any(|b| b.is_ascii_digit())
                && core.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')))
    };
    text.split(' ').map(|w| if secret(w) { "…" } else { w }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(status: u16, body: &str) -> ErrorKind {
        let name = ModelName::new("local").expect("literal");
        of_status(&name, StatusCode::from_u16(status).expect("literal"), None, body).kind
    }

    #[test]
    fn each_failure_has_its_kind() {
        assert_eq!(kind(401, "{}"), ErrorKind::Unauthorized);
        assert_eq!(kind(429, "slow down"), ErrorKind::RateLimited);
        assert_eq!(kind(400, r#"{"error":{"type":"exceed_context_size_error","message":"x"}}"#), ErrorKind::ContextOverflow);
        assert_eq!(kind(400, r#"{"error":{"code":"context_length_exceeded"}}"#), ErrorKind::ContextOverflow);
        assert_eq!(kind(400, r#"{"error":{"code":"content_filter"}}"#), ErrorKind::Refused);
        assert_eq!(kind(400, "bad"), ErrorKind::BadRequest);
        assert_eq!(kind(503, ""), ErrorKind::Unavailable);
    }

    #[test]
    fn an_echoed_key_is_not_repeated() {
        let name = ModelName::new("premium").expect("literal");
        let error = of_status(
            &name,
            StatusCode::UNAUTHORIZED,
            Some("2"),
            r#"{"error":{"message":"Incorrect API key provided: sk-TESTCANARY0008."}}"#,
        );
        assert!(!error.to_string().contains("CANARY"), "{error}");
        assert_eq!(error.retry_after, Some(Micros(2_000_000)));
    }
}
