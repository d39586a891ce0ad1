//! Policy, detectors and prices from the front door: rule files, a detector that fails, a hosted model that must not see what
//! it may not see. The hosted model and the detector are servers of the test's own.

use ctx_tests::{Place, both, json, stdout};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// A folder with files, a store, and a hosted model.
struct World {
    place: Place,
    cloud: MockServer,
}

impl World {
    async fn new(cloud: ResponseTemplate) -> World {
        World::answering(move |_: &Request| cloud.clone()).await
    }

    /// A world whose model answers each request as this says.
    async fn answering(cloud: impl Respond + 'static) -> World {
        let server = MockServer::start().await;
        let models = json!({ "data": [{ "id": "m", "max_model_len": 32_000 }] });
        Mock::given(method("GET"))
            .and(path("/v1/models"))
            .respond_with(ResponseTemplate::new(200).set_body_json(models))
            .mount(&server)
            .await;
        Mock::given(method("POST")).and(path("/v1/chat/completions")).respond_with(cloud).mount(&server).await;
        let world = World { place: Place::empty(), cloud: server };
        world.place.write("docs/p.md", "# Record\n\nPatient A. Example, SSN 078-05-1120, was seen in May.\n");
        world.place.write("docs/ponds.md", "# Ponds\n\nPonds are wet and birds like them. Ponds freeze in January.\n");
        world
    }

    /// A tier that is hosted for all the program knows, and the given section.
    fn configure(&self, section: &str) {
        let tier =
            format!("{{name: hosted, base_url: \"{}/v1\", model: m, local: false, price: {{input: 1, output: 2}}}}", self.cloud.uri());
        self.place.write("ctxrt.yaml", &format!("models:\n  tiers:\n    - {tier}\nsources:\n  docs: {{path: ./docs}}\n{section}"));
    }

    /// What the hosted model was sent.
    async fn sent(&self) -> Vec<String> {
        let all = self.cloud.received_requests().await.expect("recorded");
        all.iter().filter(|r| r.method.as_str() == "POST").map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect()
    }
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

async fn detector(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).and(path("/analyze")).respond_with(response).mount(&server).await;
    server
}

const ASK: [&str; 5] = ["run", "When do ponds freeze?", "--force", "single_shot", "--json"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_detector_that_fails_keeps_everything_from_the_hosted_model() {
    let bad = [ResponseTemplate::new(500), ResponseTemplate::new(200).set_body_string("{\"oops\":")];
    for response in bad {
        let (world, presidio) = (World::new(answer()).await, detector(response).await);
        world.configure(&format!("policy: {{pii: presidio, url: \"{}\"}}\n", presidio.uri()));
        let output = world.place.run(&["run", "summarise p.md", "--force", "single_shot", "--json"]).await;
        assert_eq!(world.sent().await, Vec::<String>::new(), "{}", both(&output));
        assert_ne!(output.status.code(), Some(0), "{}", both(&output));
        let plain = world.place.run(&["run", "summarise p.md"]).await;
        assert_eq!(world.sent().await, Vec::<String>::new(), "{}", both(&plain));
        assert!(both(&plain).contains("counts as restricted") && both(&plain).contains("detector"), "{}", both(&plain));
    }
    // The same goal's way is open when the detector answers: what stays away above stays away for that reason.
    let (world, presidio) = (World::new(answer()).await, detector(ResponseTemplate::new(200).set_body_json(json!([]))).await);
    world.configure(&format!("policy: {{pii: presidio, url: \"{}\"}}\n", presidio.uri()));
    let output = world.place.run(&ASK).await;
    let sent = world.sent().await;
    assert!(sent.iter().any(|body| body.contains("freeze")), "{}", both(&output));
    assert!(!sent.iter().any(|body| body.contains("078-05-1120")), "a value of a retrieved passage was sent: {sent:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_sensitive_once_stays_here_when_later_words_are_harmless() {
    let world = World::new(answer()).await;
    world.configure("");
    for goal in ["Patient with SSN 078-05-1120: when was she seen?", "and now translate that", "and shorter"] {
        let output = world.place.run(&["run", goal, "--sensitivity", "restricted", "--force", "single_shot", "--json"]).await;
        assert_eq!(output.status.code(), Some(3), "an honest refusal: {}", both(&output));
    }
    assert_eq!(world.sent().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_provider_ends_the_run_as_refused() {
    let refusal = json!({"error": {"code": "content_policy_violation", "message": "no"}});
    let world = World::new(ResponseTemplate::new(400).set_body_json(refusal)).await;
    world.configure("");
    let output = world.place.run(&ASK).await;
    assert_eq!((output.status.code(), json(&output)["status"].as_str()), (Some(9), Some("refused")), "{}", both(&output));
    assert_eq!(world.sent().await.len(), 1, "a refusal is not tried again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_to_a_prompt_that_the_server_cut_is_not_accepted() {
    let world = World::new(answer()).await;
    let filler: String = (0..900).map(|n| format!("Sentence {n} about ponds says when ponds freeze and thaw again. ")).collect();
    world.place.write("docs/ponds.md", &format!("# Ponds\n\n{filler}\n"));
    // Words that every passage holds find nothing: most of the source is about something else.
    let other: String = (0..6_000).map(|n| format!("Line {n} is on roofs, rivers, gardens and the colour of doors. ")).collect();
    world.place.write("docs/other.md", &format!("# Other\n\n{other}\n"));
    world.configure("");
    let output = world.place.run(&ASK).await;
    let sent: usize = world.sent().await.iter().map(String::len).sum();
    assert!(sent > 5_000, "the prompt is long enough to tell: {sent} bytes\n{}", both(&output));
    assert_ne!(output.status.code(), Some(0), "{}", both(&output));
    assert!(both(&output).contains("truncated by the server: it reports 300"), "{}", both(&output));
}

/// A server with a window of its own that says nothing when it cuts: it reports what it saw.
fn cutting(request: &Request) -> ResponseTemplate {
    const SERVED: usize = 1_000;
    let body: Value = serde_json::from_slice(&request.body).expect("JSON");
    let sent: usize = body["messages"].as_array().expect("messages").iter().filter_map(|m| m["content"].as_str()).map(str::len).sum();
    let usage = json!({"prompt_tokens": (sent / 4).min(SERVED), "completion_tokens": 9});
    let choice = json!({"message": {"content": "Ponds freeze in January [1]."}, "finish_reason": "stop"});
    ResponseTemplate::new(200).set_body_json(json!({"model": "m", "choices": [choice], "usage": usage}))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_the_server_cut_is_planned_anew_for_what_it_serves() {
    let world = World::answering(cutting).await;
    let filler: String = (0..400).map(|n| format!("Sentence {n} about ponds says when ponds freeze and thaw again. ")).collect();
    world.place.write("docs/ponds.md", &format!("# Ponds\n\nPonds freeze in January. {filler}\n"));
    let other: String = (0..6_000).map(|n| format!("Line {n} is on roofs, rivers, gardens and the colour of doors. ")).collect();
    world.place.write("docs/other.md", &format!("# Other\n\n{other}\n"));
    let tier = format!("{{name: hosted, base_url: \"{}/v1\", model: m, tokenizer: o200k}}", world.cloud.uri());
    world.place.write("ctxrt.yaml", &format!("models:\n  tiers:\n    - {tier}\nsources:\n  docs: {{path: ./docs}}\n"));
    let output = world.place.run(&ASK).await;
    let sent: Vec<usize> = world.sent().await.iter().map(String::len).collect();
    assert!(sent.len() >= 2 && sent[0] > 5_000 && sent[1] * 4 < sent[0] * 3, "{sent:?}\n{}", both(&output));
    assert!(both(&output).contains("hosted saw only 1000 tokens of the prompt"), "{}", both(&output));
    assert!(!both(&output).contains("truncated by the server"), "what was sent then was seen whole: {}", both(&output));
}

const RULES: &str = "package house\n\ndeny contains {\"rule\": \"no_hosted_records\", \"message\": \"records stay here\"} if {\n\tinput.source.name == \"docs\"\n\tnot input.model.local\n\tinput.model\n}\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_file_prunes_by_name_is_part_of_what_a_cached_plan_depends_on_and_is_found_beside_the_configuration() {
    let world = World::new(answer()).await;
    world.place.write("rules.rego", RULES);
    world.configure("policy: {engine: opa, file: rules.rego}\n");
    let explained = world.place.run(&["explain", "When do ponds freeze?", "--verbose"]).await;
    assert!(stdout(&explained).contains("denied by no_hosted_records: records stay here"), "{}", both(&explained));
    let first = world.place.run(&["run", "When do ponds freeze?"]).await;
    assert_eq!(first.status.code(), Some(0), "{}", both(&first));
    world.place.write("rules.rego", &RULES.replace("records stay here", "records never leave"));
    let changed = world.place.run(&["explain", "When do ponds freeze?"]).await;
    assert!(stdout(&changed).contains("policy changed"), "{}", both(&changed));
    assert_eq!(world.sent().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_rule_file_and_a_half_configured_policy_say_where() {
    let world = World::new(answer()).await;
    world.place.write("rules.rego", "package house\n\ndeny contains \"x\" if {\n\tinput.a ==\n}\n");
    world.configure("policy: {engine: opa, file: rules.rego}\n");
    let output = world.place.run(&ASK).await;
    assert_eq!(output.status.code(), Some(2), "{}", both(&output));
    assert!(both(&output).contains("rules.rego:4:") || both(&output).contains("rules.rego:5:"), "{}", both(&output));
    for (section, wanted) in [
        ("policy: {engine: opa}\n", "policy.file"),
        ("policy: {pii: presidio}\n", "policy.url"),
        ("policy: {file: rules.rego}\n", "policy.file"),
        ("policy: {labels: {person: secret}}\n", "policy.labels.person"),
    ] {
        world.configure(section);
        let output = world.place.run(&ASK).await;
        assert_eq!(output.status.code(), Some(2), "{}", both(&output));
        assert!(both(&output).contains("ctxrt.yaml:6:") && both(&output).contains(wanted), "{}", both(&output));
    }
    world.configure("policy: {engine: opa, file: absent.rego}\n");
    assert!(both(&world.place.run(&ASK).await).contains("absent.rego"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prices_come_from_a_file_with_their_provenance_and_unknown_stays_unknown() {
    let world = World::new(answer()).await;
    let tier = |model: &str| {
        format!("models:\n  tiers:\n    - {{name: hosted, base_url: \"{}/v1\", model: {model}, local: false}}\n", world.cloud.uri())
    };
    let map = "{\"m\": {\"input_cost_per_token\": 2e-06, \"output_cost_per_token\": 8e-06, \"max_input_tokens\": 1000,
        \"input_cost_per_token_above_200k_tokens\": 4e-06}}";
    world.place.write("prices.json", map);
    world.place.write("ctxrt.yaml", &(tier("m") + "costmodel: {prices: prices.json}\n"));
    let doctor = world.place.run(&["doctor", "--json"]).await;
    let model = &json(&doctor)["models"]["hosted"];
    assert_eq!(model["prices"]["input"], 2_000_000, "{}", both(&doctor));
    assert_eq!(model["prices"]["provenance"], "prices.json", "{}", both(&doctor));
    assert_eq!(model["prices"]["tiers"][0]["input"], 4_000_000, "{}", both(&doctor));
    assert_eq!(model["context_window"], 32_000, "what the endpoint says comes before the table: {}", both(&doctor));

    world.place.write("ctxrt.yaml", &tier("m"));
    let unknown = world.place.run(&["doctor"]).await;
    assert!(stdout(&unknown).contains("price unknown"), "{}", both(&unknown));
    let flag = world.place.run(&["doctor", "--prices", "prices.json"]).await;
    assert!(stdout(&flag).contains("$2.00/$8.00") && stdout(&flag).contains("(prices.json)"), "{}", both(&flag));

    world.place.write("prices.json", "[1]");
    let broken = world.place.run(&["doctor", "--prices", "prices.json"]).await;
    assert_eq!(broken.status.code(), Some(2), "{}", both(&broken));
    assert!(both(&broken).contains("LiteLLM"), "{}", both(&broken));
}
