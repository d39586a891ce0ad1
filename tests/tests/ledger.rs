//! The ledger from the front door: a provider that fails first, one without a price, and what statistics, traces and quotes say
//! of them. The provider counts what it sees.

use ctx_tests::{Place, both, json, stdout};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// A folder with files, a store, and a provider.
struct World {
    place: Place,
    provider: MockServer,
}

impl World {
    async fn new() -> World {
        let provider = MockServer::start().await;
        let models = json!({ "data": [{ "id": "m", "max_model_len": 32_000 }] });
        let listed = ResponseTemplate::new(200).set_body_json(models);
        Mock::given(method("GET")).and(path("/v1/models")).respond_with(listed).mount(&provider).await;
        let world = World { place: Place::empty(), provider };
        world.place.write("docs/ponds.md", "# Ponds\n\nPonds are wet and birds like them. Ponds freeze in January.\n");
        world
    }

    /// The next `times` calls are answered so.
    async fn then(self, response: ResponseTemplate, times: u64) -> World {
        let mock = Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(response);
        mock.up_to_n_times(times).mount(&self.provider).await;
        self
    }

    fn configure(&self, tier: &str, more: &str) {
        let url = format!("{}/v1", self.provider.uri());
        let tier = format!("{{name: hosted, base_url: \"{url}\", model: m{tier}}}");
        self.place.write("ctxrt.yaml", &format!("models:\n  tiers:\n    - {tier}\nsources:\n  docs: {{path: ./docs}}\n{more}"));
    }

    async fn calls(&self) -> usize {
        let all = self.provider.received_requests().await.expect("recorded");
        all.iter().filter(|request| request.method.as_str() == "POST").count()
    }

    async fn trace(&self) -> Value {
        json(&self.place.run(&["trace", "show", "--json"]).await)
    }
}

fn answer() -> ResponseTemplate {
    let usage = json!({"prompt_tokens": 300, "completion_tokens": 9});
    let choice = json!({"message": {"content": "Ponds freeze in January [1]."}, "finish_reason": "stop"});
    ResponseTemplate::new(200).set_body_json(json!({"model": "m", "choices": [choice], "usage": usage}))
}

const ASK: [&str; 5] = ["run", "When do ponds freeze?", "--force", "single_shot", "--json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_that_the_provider_saw_is_a_row_with_a_purpose() {
    let limited = ResponseTemplate::new(429).insert_header("retry-after", "0");
    let world = World::new().await.then(limited, 1).await.then(ResponseTemplate::new(503), 1).await.then(answer(), 9).await;
    world.configure(", local: false, price: {input: 1, output: 2}", "");
    let output = world.place.run(&ASK).await;
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let trace = world.trace().await;
    let rows = trace["calls"].as_array().expect("rows").clone();
    assert_eq!((world.calls().await, rows.len()), (3, 3), "{trace}");
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("purpose"), ["answer", "answer", "answer"]);
    assert_eq!(of("end"), ["refused", "failed", "answered"]);
    assert_eq!((&rows[0]["cost"], &rows[1]["cost"], &rows[1]["usage"]), (&json!(0), &Value::Null, &Value::Null), "{trace}");
    assert!(rows[1]["charged"].as_i64() > rows[2]["charged"].as_i64(), "unknown is charged at its bound: {trace}");
    let stats = json(&world.place.run(&["stats", "--json"]).await);
    let spent = &stats["ledger"][0]["spent"];
    assert_eq!((&spent["calls"], &spent["failed"], &stats["cost_incomplete"]), (&json!(3), &json!(2), &json!(true)), "{stats}");
    let charged: i64 = rows.iter().filter_map(|row| row["charged"].as_i64()).sum();
    assert_eq!(spent["cost"], json!(charged), "all count against the budget");
    let shown = both(&world.place.run(&["stats"]).await);
    assert!(shown.contains("3 calls, 2 failed") && shown.contains("≥ $"), "{shown}");
    let shown = stdout(&world.place.run(&["trace", "show"]).await);
    assert!(shown.contains("Call: answer by hosted: failed; tokens unknown, cost unknown, charged $"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sums_over_calls_at_unknown_price_are_marked_and_the_models_named_while_zero_is_free() {
    let world = World::new().await.then(answer(), 9).await;
    world.configure(", local: false", "budgets: {max_cost_usd: none}\n");
    let output = world.place.run(&ASK).await;
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    assert!(both(&output).contains("no price is known of `hosted`"), "{}", both(&output));
    let stats = json(&world.place.run(&["stats", "--json"]).await);
    assert_eq!((&stats["cost_incomplete"], &stats["unpriced_models"]), (&json!(true), &json!(["hosted"])), "{stats}");
    let shown = both(&world.place.run(&["stats"]).await);
    assert!(shown.contains("≥ $0.00") && shown.contains("price unknown: hosted × 1"), "{shown}");
    let statement = both(&world.place.run(&["-c", "SHOW STATISTICS"]).await);
    assert!(statement.contains("price unknown: hosted"), "{statement}");
    let trace = world.trace().await;
    assert_eq!(trace["outcome"]["spend"]["unpriced_models"], json!(["hosted"]), "{trace}");
    assert_eq!((&trace["calls"][0]["cost"], &trace["calls"][0]["unpriced"]), (&Value::Null, &json!(true)), "{trace}");
    let quote = ["simulate", "When do ponds freeze?", "--force", "single_shot"];
    let shown = stdout(&world.place.run(&quote).await);
    assert!(shown.contains("≥ $0.00") && shown.contains("tokens at unknown price (hosted)"), "{shown}");

    let free = World::new().await.then(answer(), 9).await;
    free.configure(", local: false, price: {input: 0, output: 0}", "");
    let output = free.place.run(&ASK).await;
    assert_eq!(output.status.code(), Some(0), "{}", both(&output));
    let stats = json(&free.place.run(&["stats", "--json"]).await);
    assert_eq!((&stats["cost_incomplete"], &stats["unpriced_models"]), (&json!(false), &json!([])), "{stats}");
    let quote = json(&free.place.run(&[&quote[..], &["--json"]].concat()).await);
    assert_eq!(quote["cost_incomplete"], json!(false), "{quote}");
}
