//! The client of a Presidio server, against a server of the test's own: what is found, and that every failure is an error.

use ctx_contracts::{ErrorKind, Policy};
use ctx_policy::{BuiltinRules, HousePolicy, Labels, Presidio};
use ctx_types::Sensitivity;
use serde_json::json;
use std::time::Duration;
use wiremock::matchers::{body_partial_json, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

async fn server(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/analyze")).respond_with(response).mount(&server).await;
    server
}

fn policy(url: &str) -> HousePolicy {
    HousePolicy::new(BuiltinRules::default()).with_presidio(Presidio::new(url).expect("a client"))
}

#[tokio::test]
async fn findings_are_bytes_of_the_text_and_join_those_of_the_built_in_detectors() {
    let text = "Jürgen pays with password=hunter2";
    let found = json!([{"entity_type": "PERSON", "start": 0, "end": 6, "score": 0.85, "analysis_explanation": null}]);
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/analyze"))
        .and(body_partial_json(json!({"text": text, "language": "en"})))
        .respond_with(ResponseTemplate::new(200).set_body_json(found))
        .mount(&server)
        .await;
    let spans = policy(&format!("{}/", server.uri())).scan(text).await.expect("an answer");
    let read: Vec<(&str, &str, Sensitivity)> =
        spans.iter().map(|s| (s.detector.as_str(), &text[s.start as usize..s.end as usize], s.raises_to)).collect();
    assert_eq!(read, [("person", "Jürgen", Sensitivity::Internal), ("secret", "hunter2", Sensitivity::Restricted)]);
}

#[tokio::test]
async fn configured_labels_hold() {
    let server = server(ResponseTemplate::new(200).set_body_json(json!([{"entity_type": "PERSON", "start": 0, "end": 4}]))).await;
    let labels = Labels([("person".to_owned(), Sensitivity::Confidential)].into());
    let spans = policy(&server.uri()).with_labels(labels).scan("Jane asks").await.expect("an answer");
    assert_eq!(spans[0].raises_to, Sensitivity::Confidential);
}

#[tokio::test]
async fn whatever_is_not_a_well_formed_answer_is_an_error() {
    let bad = [
        (ResponseTemplate::new(500), "answered 500"),
        (ResponseTemplate::new(200).set_body_string("no findings"), "not a list of findings"),
        (ResponseTemplate::new(200).set_body_json(json!({"findings": []})), "not a list of findings"),
        (ResponseTemplate::new(200).set_body_json(json!([{"entity_type": "PERSON"}])), "not a list of findings"),
        (ResponseTemplate::new(200).set_body_json(json!([{"entity_type": "PERSON", "start": 0, "end": 99}])), "outside the text"),
        (ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:9/analyze"), "answered 302"),
    ];
    for (response, cause) in bad {
        let server = server(response).await;
        let error = policy(&server.uri()).scan("SSN 078-05-1120").await.expect_err(cause);
        assert!(error.to_string().contains(cause), "{error}");
        assert!(!error.to_string().contains("078"), "the text is in the message: {error}");
    }
    let error = policy("http://127.0.0.1:9").scan("x").await.expect_err("nobody listens");
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

#[tokio::test]
async fn a_server_that_hangs_costs_one_wait() {
    let server = server(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let presidio = Presidio::new(&server.uri()).expect("a client").with_patience(Duration::from_millis(100));
    let policy = HousePolicy::new(BuiltinRules::default()).with_presidio(presidio);
    let error = policy.scan("one").await.expect_err("no answer");
    assert_eq!(error.kind, ErrorKind::Timeout);
    for text in ["two", "three"] {
        assert_eq!(policy.scan(text).await.expect_err("believed to be down").kind, ErrorKind::Timeout);
    }
    assert_eq!(server.received_requests().await.map(|all| all.len()), Some(1));
}
