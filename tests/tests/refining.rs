//! Second looks from the front door: a reranking model over the common wire, and passages that are shortened with a receipt.

use ctx_tests::{Place, both, json, stdout};
use serde_json::{Value, json};
use std::fs;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// A folder with files, a store, and a server that reranks and answers.
struct World {
    place: Place,
    server: MockServer,
}

/// Puts first what says "January", then what is shortest; leaves the last one out, as servers with `top_n` of their own do.
fn reranks(request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let documents: Vec<&str> = body["documents"].as_array().expect("documents").iter().filter_map(Value::as_str).collect();
    let score = |text: &str| if text.contains("January") { 9.0 } else { -(text.len() as f64) / 1e3 };
    let results: Vec<Value> = documents
        .iter()
        .enumerate()
        .take(documents.len().saturating_sub(1).max(1))
        .map(|(index, text)| json!({"index": index, "relevance_score": score(text)}))
        .collect();
    ResponseTemplate::new(200).set_body_json(json!({ "results": results }))
}

fn answer() -> ResponseTemplate {
    let parts = [
        json!({"model": "m", "choices": [{"delta": {"content": "Ponds freeze in January. [1]"}, "finish_reason": null}]}),
        json!({"model": "m", "choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"model": "m", "choices": [], "usage": {"prompt_tokens": 300, "completion_tokens": 9}}),
    ];
    let body: String = parts.iter().map(|part| format!("data: {part}\n\n")).collect();
    ResponseTemplate::new(200).set_body_raw(body + "data: [DONE]\n\n", "text/event-stream")
}

impl World {
    async fn new() -> World {
        let server = MockServer::start().await;
        let models = json!({ "data": [{ "id": "m", "max_model_len": 32_000 }] });
        let listed = ResponseTemplate::new(200).set_body_json(models);
        Mock::given(method("GET")).and(path("/v1/models")).respond_with(listed).mount(&server).await;
        Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(answer()).mount(&server).await;
        let world = World { place: Place::empty(), server };
        world.place.write("docs/ponds.md", "# Ponds\n\nPonds are wet and birds like ponds. When ponds freeze, birds leave ponds.\n");
        world.place.write("docs/winter.md", "# Winter\n\nPonds in this county freeze in January.\n");
        world
            .place
            .write("docs/birds.md", "# Birds\n\nBirds that live at ponds leave when ponds freeze over, and come back to ponds later.\n");
        world
    }

    async fn reranking(self, response: impl Fn(&Request) -> ResponseTemplate + Send + Sync + 'static) -> World {
        Mock::given(method("POST")).and(path("/v1/rerank")).respond_with(response).mount(&self.server).await;
        self
    }

    /// An answering tier and a reranking one; what is added stands in the reranking tier.
    fn configure(&self, reranker: &str) {
        let url = format!("{}/v1", self.server.uri());
        let answers = format!("{{name: hosted, base_url: \"{url}\", model: m, local: false, price: {{input: 1, output: 2}}}}");
        let second = format!("{{name: second, base_url: \"{url}\", model: rr, good_for: [rerank]{reranker}}}");
        self.place
            .write("ctxrt.yaml", &format!("models:\n  tiers:\n    - {answers}\n    - {second}\nsources:\n  docs: {{path: ./docs}}\n"));
    }

    /// The step of the newest run that begins so.
    async fn step(&self, operator: &str) -> Value {
        let trace = json(&self.place.run(&["trace", "show", "--json"]).await);
        let nodes = trace["nodes"].as_array().expect("nodes");
        let found = nodes.iter().find(|node| node["operator"].as_str().is_some_and(|text| text.starts_with(operator)));
        found.cloned().unwrap_or_else(|| panic!("no step {operator}: {trace}"))
    }

    /// Bodies posted to this path.
    async fn sent(&self, to: &str) -> Vec<String> {
        let all = self.server.received_requests().await.expect("recorded");
        let posts = all.iter().filter(|r| r.method.as_str() == "POST" && r.url.path() == to);
        posts.map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect()
    }
}

const QUESTION: &str = "When do ponds freeze?";
const SECOND: [&str; 5] = ["run", QUESTION, "--force", "rerank:second", "--json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reranking_model_is_asked_with_the_question_and_paid_from_the_ledger() {
    let world = World::new().await.reranking(reranks).await;
    world.configure(", price: {input: 1}, local: false");
    let output = world.place.run(&SECOND).await;
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let asked: Vec<Value> = world.sent("/v1/rerank").await.iter().map(|body| serde_json::from_str(body).expect("JSON")).collect();
    assert_eq!(asked.len(), 1, "{}", both(&output));
    assert_eq!((asked[0]["query"].as_str(), asked[0]["model"].as_str()), (Some(QUESTION), Some("rr")));
    let node = world.step("rerank").await;
    assert!(node["actual"]["cost"].as_i64().is_some_and(|nano| nano > 0), "{node}");
    assert_eq!(node["actual"]["model"], "second");
    let trace = stdout(&world.place.run(&["trace", "show"]).await);
    assert!(trace.contains("rerank second"), "{trace}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reranking_model_that_breaks_costs_its_gain_and_not_the_run() {
    for broken in [ResponseTemplate::new(500), ResponseTemplate::new(200).set_body_string("<html>")] {
        let world = World::new().await.reranking(move |_: &Request| broken.clone()).await;
        world.configure("");
        let output = world.place.run(&SECOND).await;
        assert_eq!(output.status.code(), Some(0), "{}", both(&output));
        assert!(both(&output).contains("the order of retrieval stands"), "{}", both(&output));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_remote_reranker_sees_no_value_that_it_may_not_see() {
    let world = World::new().await.reranking(reranks).await;
    world.place.write("docs/record.md", "# Record\n\nPatient A. Example, SSN 078-05-1120, fell into ponds when ponds freeze.\n");
    world.configure(", price: {input: 1}, local: false");
    let output = world.place.run(&SECOND).await;
    let sent = world.sent("/v1/rerank").await;
    assert_eq!(sent.len(), 1, "{}", both(&output));
    assert!(!sent[0].contains("078-05-1120") && sent[0].contains("January"), "{}", sent[0]);
    assert!(both(&output).contains("kept their place"), "{}", both(&output));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_reranker_may_do_is_refused_with_its_reason() {
    let world = World::new().await.reranking(reranks).await;
    world.configure(", local: false");
    let explained = world.place.run(&["explain", QUESTION, "--verbose", "--max-cost-usd", "1"]).await;
    assert!(stdout(&explained).contains("the price of reranker second is unknown"), "{}", both(&explained));
    let restricted = world.place.run(&["explain", QUESTION, "--verbose", "--sensitivity", "restricted"]).await;
    assert!(stdout(&restricted).contains("reranker second is remote and accepts internal"), "{}", both(&restricted));
    assert_eq!(world.sent("/v1/rerank").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorded_order_is_replayed_without_the_server() {
    let world = World::new().await.reranking(reranks).await;
    world.configure("");
    let output = world.place.run(&["run", QUESTION, "--force", "rerank:second", "--force", "extractive", "--record", "bundle.json"]).await;
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let before = world.sent("/v1/rerank").await.len();
    let replayed = world.place.run(&["replay", "bundle.json"]).await;
    assert_eq!(replayed.status.code(), Some(0), "{}", both(&replayed));
    assert!(!both(&replayed).contains("the order of retrieval stands"), "{}", both(&replayed));
    assert_eq!((before, world.sent("/v1/rerank").await.len()), (1, 1), "{}", both(&replayed));
}

/// Sentences about other things around the ones that matter.
fn minutes(answer: &str) -> String {
    let filler = "The group talked at length about the colour of the curtains and the taste of the coffee in the small kitchen. ";
    let middle = "Deploy 1423 did not finish before the pool max_conn was reset, which nobody had planned for that evening. ";
    format!("# Minutes\n\n{}{answer} {}{middle}{}\n", filler.repeat(3), filler.repeat(3), filler.repeat(3))
}

const SHORTER: [&str; 7] = ["run", QUESTION, "--force", "single_shot", "--force", "compress:learned", "--json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shortened_passage_carries_a_receipt_and_the_trace_shows_the_original() {
    let world = World::new().await;
    world.configure("");
    for other in ["ponds", "winter", "birds"] {
        fs::remove_file(world.place.files.path().join(format!("docs/{other}.md"))).expect("it was written");
    }
    world.place.write("docs/minutes.md", &minutes("Ponds in this county freeze in January when ponds are shallow."));
    let output = world.place.run(&SHORTER).await;
    let sent = world.sent("/v1/chat/completions").await;
    assert!(!sent.is_empty(), "{}", both(&output));
    for kept in ["1423", "did not finish", "max_conn", "freeze in January"] {
        assert!(sent[0].contains(kept), "{kept} was left out: {}", sent[0]);
    }
    assert!(sent[0].matches("curtains").count() < 9, "nothing was left out: {}", sent[0]);
    let receipts = world.step("compress").await["actual"]["receipts"].clone();
    let receipt =
        receipts.as_array().and_then(|all| all.iter().find(|r| r["locator"]["path"] == "minutes.md")).cloned().expect("a receipt");
    assert!(receipt["tokens_after"].as_u64() < receipt["tokens_before"].as_u64(), "{receipt}");
    assert!(receipt["fingerprint"].as_str().is_some_and(|f| !f.is_empty()), "{receipt}");
    assert_eq!(receipt["refresh"], "original_changes");
    let shown = stdout(&world.place.run(&["trace", "show"]).await);
    assert!(shown.contains("minutes.md") && shown.contains("left out") && shown.matches("curtains").count() == 9, "{shown}");

    world.place.write("docs/minutes.md", &minutes("Ponds in this county freeze in February now."));
    let stale = stdout(&world.place.run(&["trace", "show"]).await);
    assert!(stale.contains("changed") && !stale.contains("curtains"), "{stale}");
    let again = world.place.run(&SHORTER).await;
    let sent = world.sent("/v1/chat/completions").await;
    let last = sent.last().expect("asked again");
    assert!(last.contains("February") && !last.contains("shallow"), "{}", both(&again));
}
