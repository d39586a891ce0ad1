//! The `/rerank` wire against a server that speaks it, and one that does not.

mod settings;

use ctx_contracts::{ErrorKind, RerankRequest, Reranker};
use ctx_http_model::HttpReranker;
use ctx_types::passage::{ByteRange, Locator};
use ctx_types::{AccessPath, Hit, Passage, SourceName};
use serde_json::json;
use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

fn hit(text: &str) -> Hit {
    let source = SourceName::new("docs").expect("name");
    let locator = Locator {
        source,
        path: text.into(),
        bytes: ByteRange::default(),
        line_start: 1,
        line_end: 1,
        section: String::new(),
        also_at: Vec::new(),
    };
    let passage = Passage { id: text.into(), locator, title: String::new(), text: text.into(), fingerprint: String::new(), tokens: 3 };
    Hit { passage, score: 0.5, rank: 1, path: AccessPath::Bm25, exact: false }
}

fn reranker(url: String) -> HttpReranker {
    HttpReranker::new(settings::tier("reranker", "small-reranker", "k3y", url), 50, None).expect("client")
}

async fn order(answer: ResponseTemplate) -> Result<Vec<String>, ErrorKind> {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/rerank"))
        .and(header("authorization", "Bearer k3y"))
        .and(body_partial_json(json!({"model": "small-reranker", "query": "why?", "documents": ["a", "b", "c"]})))
        .respond_with(answer)
        .mount(&server)
        .await;
    let hits = vec![hit("a"), hit("b"), hit("c")];
    let request = RerankRequest { query: "why?", language: "en", hits };
    let found = reranker(format!("{}/v1", server.uri())).rerank(request).await.map_err(|e| e.kind)?;
    Ok(found.value.into_iter().map(|h| h.passage.id).collect())
}

#[tokio::test]
async fn the_scores_order_and_what_is_left_out_keeps_its_place_behind() {
    let results = json!({"results": [{"index": 0, "relevance_score": -3.2}, {"index": 2, "relevance_score": 7.5}]});
    assert_eq!(order(ResponseTemplate::new(200).set_body_json(results)).await.expect("reranks"), ["c", "a", "b"]);
}

#[tokio::test]
async fn an_index_out_of_range_and_a_foreign_answer_are_errors() {
    let strange = json!({"results": [{"index": 9, "relevance_score": 1.0}]});
    assert_eq!(order(ResponseTemplate::new(200).set_body_json(strange)).await, Err(ErrorKind::Unavailable));
    assert_eq!(order(ResponseTemplate::new(200).set_body_string("<html>")).await, Err(ErrorKind::Unavailable));
    assert_eq!(order(ResponseTemplate::new(429)).await, Err(ErrorKind::RateLimited));
}

#[test]
fn a_loopback_endpoint_is_local_and_free_a_remote_one_has_no_price() {
    let local = reranker("http://127.0.0.1:9/v1".into()).describe();
    assert_eq!((local.price.map(|p| p.get()), local.name.as_str()), (Some(0), "reranker"));
    let remote = reranker("https://rerank.example/v1".into()).describe();
    assert!(remote.price.is_none() && remote.accepts < local.accepts);
}
