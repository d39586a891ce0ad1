//! The client against a scripted endpoint.

mod settings;

use ctx_contracts::{ErrorKind, FinishReason, Message, Model, ModelRequest, Role, Taken};
use ctx_http_model::{OpenAiCompatible, TierSettings};
use ctx_types::catalog::Availability;
use ctx_types::{Micros, ModelName, Tokens};
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn tier(url: String) -> TierSettings {
    settings::tier("local", "m", "k-1\r", url)
}

fn request() -> ModelRequest {
    ModelRequest {
        model: ModelName::new("local").expect("literal"),
        messages: vec![Message { role: Role::User, content: "hi".into() }],
        max_output: Tokens(16),
        temperature_milli: 0,
        seed: Some(7),
        timeout: Micros(30_000_000),
    }
}

async fn endpoint(response: ResponseTemplate) -> (MockServer, OpenAiCompatible) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", "Bearer k-1"))
        .respond_with(response)
        .mount(&server)
        .await;
    // The trailing slash must not matter.
    let client = OpenAiCompatible::new(tier(format!("{}/v1/", server.uri()))).expect("a client");
    (server, client)
}

#[tokio::test]
async fn a_stream_gives_text_usage_and_the_time_to_its_first_token() {
    let body = "data: {\"model\":\"m-1\",\"choices\":[{\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n\
                data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    let (_server, client) = endpoint(ResponseTemplate::new(200).set_body_raw(body, "text/event-stream")).await;
    let response = client.complete(&request()).await.expect("an answer");
    assert_eq!((response.text.as_str(), response.finish, response.model.as_str()), ("Hello", FinishReason::Stop, "m-1"));
    assert_eq!(response.usage.map(|u| u.total()), Some(Tokens(11)));
    assert!(response.first_token.is_some());
}

#[tokio::test]
async fn an_endpoint_that_does_not_stream_and_reports_no_usage_is_served_and_unknown() {
    let (_server, client) = endpoint(
        ResponseTemplate::new(200)
            .set_body_json(serde_json::json!({"choices": [{"message": {"content": "x"}, "finish_reason": "length"}]})),
    )
    .await;
    let response = client.complete(&request()).await.expect("an answer");
    assert_eq!((response.text.as_str(), response.finish, response.usage), ("x", FinishReason::Length, None));
}

#[tokio::test]
async fn failures_have_their_kind_and_a_cut_stream_is_one() {
    let (_server, client) = endpoint(ResponseTemplate::new(429).insert_header("retry-after", "1.5")).await;
    let error = client.complete(&request()).await.expect_err("limited");
    assert_eq!((error.kind, error.retry_after), (ErrorKind::RateLimited, Some(Micros(1_500_000))));

    let (_server, client) = endpoint(
        ResponseTemplate::new(200).set_body_raw("data: {\"choices\":[{\"delta\":{\"content\":\"He\"}}]}\n\n", "text/event-stream"),
    )
    .await;
    assert_eq!(client.complete(&request()).await.expect_err("cut").kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_description_says_whether_and_why_not() {
    let (server, client) = endpoint(ResponseTemplate::new(200)).await;
    Mock::given(method("GET"))
        .and(path("/v1/models"))
        .respond_with(ResponseTemplate::new(200).set_body_json(serde_json::json!({"data": [{"id": "m", "max_model_len": 4096}]})))
        .mount(&server)
        .await;
    let entry = client.describe().await;
    assert_eq!((entry.availability, entry.context_window), (Availability::Available, Some(Tokens(4096))));
    assert_eq!(entry.prices.provenance, "configured: local");

    let gone = OpenAiCompatible::new(tier("http://127.0.0.1:9/v1".into())).expect("a client");
    assert!(matches!(gone.describe().await.availability, Availability::Unavailable { .. }));
    let keyless = OpenAiCompatible::new(TierSettings { missing_key: Some("SOME_KEY".into()), ..tier("http://127.0.0.1:9/v1".into()) })
        .expect("a client");
    assert!(matches!(keyless.describe().await.availability, Availability::Unavailable { reason } if reason.contains("SOME_KEY")));
}

#[tokio::test]
async fn a_request_carries_what_the_server_wants_to_be_told_and_keeps_its_own_fields() {
    let server = MockServer::start().await;
    let told = serde_json::json!({"options": {"num_ctx": 32768}, "model": "m", "stream": true, "max_tokens": 16});
    Mock::given(method("POST"))
        .and(body_partial_json(told))
        .respond_with(ResponseTemplate::new(200).set_body_json(serde_json::json!({"choices": [{"message": {"content": "x"}}]})))
        .mount(&server)
        .await;
    let fields = serde_json::json!({"options": {"num_ctx": 32768}, "model": "other", "max_tokens": 999_999});
    let request = fields.as_object().expect("a map").clone();
    let settings = TierSettings { request, ..tier(format!("{}/v1", server.uri())) };
    let client = OpenAiCompatible::new(settings).expect("a client");
    let asked = ModelRequest { messages: vec![Message { role: Role::User, content: "hi".into() }], ..self::request() };
    assert_eq!(client.complete(&asked).await.expect("an answer").text, "x");
}

#[tokio::test]
async fn a_failure_says_what_the_call_took() {
    let taken = async |response: ResponseTemplate| {
        let (_server, client) = endpoint(response).await;
        client.complete(&request()).await.expect_err("it fails").taken
    };
    assert_eq!(taken(ResponseTemplate::new(429)).await, Taken::Nothing);
    assert_eq!(taken(ResponseTemplate::new(401)).await, Taken::Nothing);
    for status in [500, 502, 503, 504, 408] {
        assert_eq!(taken(ResponseTemplate::new(status)).await, Taken::Unknown, "{status}");
    }
    let usage = serde_json::json!({"prompt_tokens": 30, "completion_tokens": 2});
    let told = serde_json::json!({"error": {"message": "overloaded"}, "usage": usage});
    let Taken::Reported(reported) = taken(ResponseTemplate::new(500).set_body_json(told)).await else { panic!("reported") };
    assert_eq!(reported.total(), Tokens(32));
    let filtered = serde_json::json!({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}], "usage": usage});
    assert!(matches!(taken(ResponseTemplate::new(200).set_body_json(filtered)).await, Taken::Reported(_)));
    assert_eq!(taken(ResponseTemplate::new(200).set_body_string("<html>")).await, Taken::Unknown);
    let gone = OpenAiCompatible::new(tier("http://127.0.0.1:9/v1".into())).expect("a client");
    assert_eq!(gone.complete(&request()).await.expect_err("nobody listens").taken, Taken::NotSent);
}
