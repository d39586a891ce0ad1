//! What a run teaches the statistics, and what it must not.

use ctx_cost::statistics::{Field, Observation, OperatorClass, SizeClass, StatKey, Statistics, TraceContext, from_trace};
use ctx_types::catalog::{Availability, Locality, Prices, TokenizerFamily};
use ctx_types::estimate::AlternativeEstimate;
use ctx_types::intent::{Distribution, Intent};
use ctx_types::outcome::{Spend, Verdict};
use ctx_types::trace::{NodeActual, NodeStatus, NodeTrace, PromptCount, TRACE_SCHEMA_VERSION};
use ctx_types::{
    AccessPath, Bucket, Catalog, Certainty, ContentId, Estimated, Layout, Micros, ModelEntry, ModelName, NanoUsd, Outcome, Ppm, Probe,
    Sensitivity, Status, Tokens, Trace,
};

const AT: u64 = 1_700_000_000;

fn prior<T: Copy + Ord>(value: T, low: T, high: T) -> Estimated<T> {
    Estimated::new(value, low, high, Certainty::Prior, "shipped")
}

fn node(id: &str, operator: &str, status: NodeStatus, micros: (u64, u64)) -> NodeTrace {
    NodeTrace {
        node: id.to_owned(),
        operator: operator.to_owned(),
        status,
        start: Micros(micros.0),
        end: Micros(micros.1),
        attempts: 1,
        estimate: AlternativeEstimate { latency: Some(prior(Micros(500), Micros(100), Micros(2_000))), ..AlternativeEstimate::default() },
        actual: NodeActual::default(),
        error: None,
    }
}

fn trace(nodes: Vec<NodeTrace>) -> Trace {
    let outcome = Outcome {
        status: Status::Completed,
        answer: "a".to_owned(),
        citations: Vec::new(),
        verdict: Some(Verdict { verifier: "citations".to_owned(), passed: true, confidence: Ppm(900_000), findings: Vec::new() }),
        evidence: Some(Ppm(800_000)),
        spend: Spend::default(),
        plan: None,
        trace: "run-1".to_owned(),
        notes: Vec::new(),
    };
    Trace {
        schema_version: TRACE_SCHEMA_VERSION,
        id: "run-1".to_owned(),
        started_at: "2023-11-14T22:13:20+00:00".to_owned(),
        tenant: "default".to_owned(),
        purpose: "user".to_owned(),
        goal: "g".to_owned(),
        plan: ContentId("plan_0".to_owned()),
        parent_plan: None,
        graph: ContentId("graph_0".to_owned()),
        plan_cache: "miss".to_owned(),
        epoch: "epoch_none".to_owned(),
        generations: Vec::new(),
        propensity: Ppm::ONE,
        exploration: None,
        probe: Probe::default(),
        configuration: "c".to_owned(),
        nodes,
        context: Vec::new(),
        calls: Vec::new(),
        planning: Micros(300),
        outcome,
    }
}

fn read(trace: &Trace, statistics: &Statistics) -> Vec<Observation> {
    from_trace(trace, &TraceContext { bucket: Bucket::Conceptual, catalog: &Catalog::default(), statistics, at: AT })
}

fn of(observations: &[Observation], field: Field) -> Vec<(String, i64, i64)> {
    let matching = observations.iter().filter(|o| o.key.field == field);
    matching.map(|o| (o.key.operator.clone().unwrap_or_default(), o.estimate, o.actual)).collect()
}

fn named(name: &str, estimate: i64, actual: i64) -> (String, i64, i64) {
    (name.to_owned(), estimate, actual)
}

#[test]
fn estimates_are_compared_with_what_happened() {
    let mut access = node("access.my.docs.bm25", "bm25 my.docs k=50", NodeStatus::Done, (0, 900));
    access.estimate.hits = Some(prior(50, 0, 50));
    access.estimate.evidence = Some(prior(Ppm(600_000), Ppm(0), Ppm(1_000_000)));
    access.actual = NodeActual { hits: Some(20), evidence: Some(Ppm(700_000)), ..NodeActual::default() };
    let observations =
        read(&trace(vec![access, node("answer", "answer extractive", NodeStatus::Done, (900, 3_900))]), &Statistics::default());
    assert_eq!(of(&observations, Field::Latency), [named("bm25", 500, 900), named("extractive", 500, 3_000)]);
    assert_eq!(of(&observations, Field::Hits), [named("bm25", 50, 20)]);
    assert_eq!(of(&observations, Field::Evidence), [named("bm25", 600_000, 700_000)]);
    let latencies: Vec<Option<bool>> = observations.iter().filter(|o| o.key.field == Field::Latency).map(|o| o.covered).collect();
    assert_eq!(latencies, [Some(true), Some(false)]);
    assert_eq!(observations[0].key.size, Some(SizeClass::Tiny));
}

#[test]
fn a_passed_check_is_a_verdict_and_never_accuracy() {
    let observations = read(&trace(vec![node("verify", "verify citations", NodeStatus::Done, (0, 50))]), &Statistics::default());
    assert_eq!(of(&observations, Field::Verdict), [named("citations", 0, 1_000_000)]);
    assert!(of(&observations, Field::Accuracy).is_empty());
}

#[test]
fn errors_and_retries_are_failures_not_latencies() {
    let mut retried = node("answer", "answer single_shot local", NodeStatus::Done, (0, 76_000_000));
    retried.attempts = 2;
    let nodes = vec![
        retried,
        node("access.docs.dense", "dense docs k=50", NodeStatus::Degraded, (0, 10)),
        node("verify", "verify citations", NodeStatus::NotRun, (0, 0)),
        node("access.docs.bm25", "bm25 docs k=50", NodeStatus::Cancelled, (0, 10)),
    ];
    let observations = read(&trace(nodes), &Statistics::default());
    assert!(of(&observations, Field::Latency).is_empty());
    assert_eq!(of(&observations, Field::Failure), [named("local", 0, 1_000_000), named("dense", 0, 1_000_000)]);
}

#[test]
fn a_hybrid_is_as_slow_as_its_slowest_leg_and_the_merge() {
    let nodes = vec![
        node("access.docs.bm25", "bm25 docs k=50", NodeStatus::Done, (10, 410)),
        node("access.docs.dense", "dense docs k=50", NodeStatus::Done, (20, 920)),
        node("fuse.docs", "fuse docs: linear, exact hits first", NodeStatus::Done, (920, 1_010)),
    ];
    let observations = read(&trace(nodes), &Statistics::default());
    assert_eq!(of(&observations, Field::Latency)[2], named("hybrid_linear", 1_000, 1_000));
    assert_eq!(of(&observations, Field::Failure).len(), 2, "a merge does not fail by itself");
}

#[test]
fn unknown_usage_teaches_nothing() {
    let mut answer = node("answer", "answer single_shot local", NodeStatus::Done, (0, 1_000));
    answer.estimate.tokens = Some(prior(Tokens(900), Tokens(100), Tokens(2_000)));
    answer.estimate.cost = Some(Estimated::new(NanoUsd(5), NanoUsd(5), NanoUsd(5), Certainty::Unknown, "no price"));
    answer.actual.cost = Some(NanoUsd(7));
    let observations = read(&trace(vec![answer]), &Statistics::default());
    assert!(of(&observations, Field::Tokens).is_empty() && of(&observations, Field::Cost).is_empty());
}

#[test]
fn learning_from_corrected_estimates_keeps_what_was_learned() {
    let key = StatKey::new("default", Field::Latency, OperatorClass::Strategy, "extractive", Bucket::Conceptual);
    let mut statistics = Statistics::default();
    for run in 0..300 {
        let mut answer = node("answer", "answer extractive", NodeStatus::Done, (0, 2_000));
        answer.estimate.latency = Some(statistics.corrected(&key, prior(Micros(500), Micros(100), Micros(2_500))));
        let mut trace = trace(vec![answer]);
        trace.id = format!("run-{run}");
        let observations = read(&trace, &statistics);
        assert!(of(&observations, Field::Latency)[0].1.abs_diff(500) <= 2, "run {run}: {observations:?}");
        statistics = statistics.absorb(&observations, AT);
    }
    let learned = statistics.corrected(&key, prior(Micros(500), Micros(100), Micros(2_500)));
    assert!((1_700..2_001).contains(&learned.value.0), "{learned:?}");
    let bm25 = StatKey::access("default", Field::Latency, AccessPath::Bm25, Bucket::Conceptual, SizeClass::Tiny);
    assert_eq!(statistics.published(&bm25), None);
}

#[test]
fn the_same_run_absorbed_twice_counts_once() {
    let observations = read(&trace(vec![node("answer", "answer extractive", NodeStatus::Done, (0, 2_000))]), &Statistics::default());
    let once = Statistics::default().absorb(&observations, AT);
    assert_eq!(once.absorb(&observations, AT), once);
}

#[test]
fn a_reported_prompt_teaches_the_multiplier_of_an_unknown_tokenizer() {
    let name = ModelName::new("local").expect("a name");
    let millis = |value| prior(Micros(value), Micros(value / 2), Micros(value * 2));
    let entry = ModelEntry {
        model: "m".into(),
        provider: "openai_compatible".into(),
        locality: Locality::Local,
        accepts: Sensitivity::Restricted,
        context_window: None,
        max_output: None,
        prices: Prices::free("configured: local"),
        first_token: millis(1_000),
        per_token: millis(10),
        output_tokens: prior(Tokens(100), Tokens(10), Tokens(200)),
        tokenizer: TokenizerFamily::Other { multiplier_milli: prior(1_100, 850, 1_350) },
        availability: Availability::Available,
        good_for: Vec::new(),
    };
    let known = ModelEntry { tokenizer: TokenizerFamily::O200k, ..entry.clone() };
    let told = |entry: ModelEntry, counted: u64, reported: u64| {
        let mut answer = node("answer", "answer single_shot local", NodeStatus::Done, (0, 1_000));
        answer.actual.prompt = Some(PromptCount { counted: Tokens(counted), reported: Tokens(reported), cached: Tokens(0) });
        let catalog = Catalog { models: [(name.clone(), entry)].into(), ..Catalog::default() };
        let statistics = Statistics::default();
        let context = TraceContext { bucket: Bucket::Conceptual, catalog: &catalog, statistics: &statistics, at: AT };
        of(&from_trace(&trace(vec![answer]), &context), Field::TokenRatio)
    };
    assert_eq!(told(entry.clone(), 4_000, 5_000), [named("local", 1_100, 1_250)]);
    assert_eq!(told(entry, 40, 90), [], "a short prompt says little");
    assert_eq!(told(known, 4_000, 4_100), [], "a known tokenizer is counted");
}

/// A tier whose priors are 400 ms and 25 ms per token, for answers of 100 tokens.
fn tier() -> ModelEntry {
    ModelEntry {
        model: "m".to_owned(),
        provider: "test".to_owned(),
        locality: Locality::Remote,
        accepts: Sensitivity::Internal,
        context_window: None,
        max_output: None,
        prices: Prices { input: Some(ctx_types::PicoUsd(1_000_000)), output: Some(ctx_types::PicoUsd(4_000_000)), ..Prices::default() },
        first_token: prior(Micros(400_000), Micros(40_000), Micros(2_500_000)),
        per_token: prior(Micros(25_000), Micros(2_500), Micros(120_000)),
        output_tokens: prior(Tokens(100), Tokens(20), Tokens(600)),
        tokenizer: TokenizerFamily::O200k,
        availability: Availability::Available,
        good_for: Vec::new(),
    }
}

/// An intent of one bucket about which nothing else is known.
fn intent() -> Intent {
    Intent {
        answer: Distribution(Vec::new()),
        evidence: Distribution(Vec::new()),
        sources: Distribution(Vec::new()),
        entities: Vec::new(),
        risk: Ppm(0),
        sensitivity: Sensitivity::Internal,
        sensitive_spans: Vec::new(),
        sensitive_topics: Vec::new(),
        time: None,
        language: "en".to_owned(),
        negated: false,
        operands: Vec::new(),
        content_words: 0,
        hardness_milli: 0,
        bucket: Bucket::Conceptual,
        model: String::new(),
    }
}

fn estimated(statistics: &Statistics, catalog: &Catalog) -> AlternativeEstimate {
    let (limits, probe, settings) = (ctx_types::Constraints::default(), Probe::default(), ctx_types::Settings::default());
    let intent = intent();
    let inputs = ctx_cost::CostInputs {
        tenant: "default",
        limits: &limits,
        intent: &intent,
        catalog,
        probe: &probe,
        statistics,
        settings: &settings,
        prompt_overhead: Tokens(200),
        features: std::collections::BTreeMap::new(),
    };
    let name = ModelName::new("m").expect("a literal name");
    ctx_cost::calls::estimate(&inputs, &name, &catalog.models[&name], Tokens(800), Layout::ContextFirst)
}

/// A server with a queue of a second and a millisecond per token; its answers are 20 to 40 tokens long.
fn served(run: u64, estimate: AlternativeEstimate) -> Trace {
    let (output, queue) = (20 + run * 7 % 21, 1_000_000 + run * 7_919 % 90_000);
    let elapsed = queue + output * 1_000;
    let mut answer = node("answer", "answer single_shot m", NodeStatus::Done, (0, elapsed));
    let cost = NanoUsd(i64::try_from(1_000_000 + 4_000 * output).expect("small"));
    answer.actual = NodeActual {
        tokens: Some(Tokens(1_000 + output)),
        cost: Some(cost),
        call: Some(ctx_types::trace::CallTiming { first_token: Some(Micros(queue)), elapsed: Micros(elapsed), output: Tokens(output) }),
        ..NodeActual::default()
    };
    answer.estimate = estimate;
    let mut trace = trace(vec![answer]);
    trace.id = format!("run-{run}");
    trace
}

#[test]
fn a_call_is_learned_part_by_part_and_says_so_after_twenty_runs() {
    let catalog = Catalog { models: [(ModelName::new("m").expect("a name"), tier())].into(), ..Catalog::default() };
    let mut statistics = Statistics::default();
    for run in 0..30 {
        let context = TraceContext { bucket: Bucket::Conceptual, catalog: &catalog, statistics: &statistics, at: AT + run };
        let seen = from_trace(&served(run, estimated(&statistics, &catalog)), &context);
        statistics = statistics.absorb(&seen, AT + run);
    }
    let learned = estimated(&statistics, &catalog);
    let call = learned.call.expect("a call");
    let latency = learned.latency.expect("a latency");
    assert!(latency.certainty.observations() >= 20, "{latency:?}");
    assert!((900_000..1_250_000).contains(&latency.value.0) && latency.high.0 < 2_000_000, "{latency:?}");
    assert!((900_000..1_200_000).contains(&call.first_token.value.0) && call.per_token.value.0 < 4_000, "{call:?}");
    assert!((20..=45).contains(&call.output.value.get()), "{call:?}");
    let (tokens, cost) = (call.tokens.expect("learned"), call.cost.expect("learned"));
    assert!(tokens.low <= Tokens(1_025) && tokens.high >= Tokens(1_030) && tokens.high <= Tokens(1_100), "{tokens:?}");
    assert!(cost.low.0 <= 1_100_000 && cost.high.0 >= 1_120_000 && cost.high.0 < 1_300_000, "{cost:?}");
    assert!(learned.tokens.is_some_and(|bound| bound.high >= Tokens(1_600)), "the bound stays the bound");
    assert!(call.failure.value < ctx_cost::calls::FAILURE_PRIOR.0, "no call broke: {:?}", call.failure);
}

#[test]
fn calls_that_break_raise_the_failure_and_leave_latency_and_length_alone() {
    let catalog = Catalog { models: [(ModelName::new("m").expect("a name"), tier())].into(), ..Catalog::default() };
    let mut statistics = Statistics::default();
    for run in 0..40 {
        let mut trace = served(run, estimated(&statistics, &catalog));
        if run % 4 == 0 {
            let refused = &mut trace.nodes[0];
            (refused.status, refused.end, refused.actual) = (NodeStatus::Failed, Micros(3_000), NodeActual::default());
        }
        let context = TraceContext { bucket: Bucket::Conceptual, catalog: &catalog, statistics: &statistics, at: AT + run };
        statistics = statistics.absorb(&from_trace(&trace, &context), AT + run);
    }
    let learned = estimated(&statistics, &catalog);
    let failure = &learned.call.as_ref().expect("a call").failure;
    assert!((150_000..300_000).contains(&failure.value.0), "{failure:?}");
    assert!(learned.latency.is_some_and(|latency| latency.low.0 > 700_000), "a refusal in three milliseconds is no latency");
}

#[test]
fn a_label_is_compared_with_what_was_expected_of_an_answer_on_the_evidence_seen() {
    use ctx_cost::labels::{LabelError, observation};
    use ctx_cost::statistics::Label;
    let mut answer = node("answer", "answer single_shot small", NodeStatus::Done, (0, 500));
    answer.estimate.quality = Some(prior(Ppm(600_000), Ppm(300_000), Ppm(800_000)));
    let run = trace(vec![answer]);
    let bucket = Some(Bucket::Conceptual);
    let seen = observation(&run, bucket, &Statistics::default(), Ppm(0), Label::Feedback, AT).expect("an answer was given");
    assert_eq!((seen.key.field, seen.key.class, seen.key.operator.as_deref()), (Field::Accuracy, OperatorClass::Model, Some("small")));
    // Evidence .8 at .6, and .05 without.
    assert_eq!((seen.estimate, seen.actual), (490_000, 0));
    let gold = observation(&run, bucket, &Statistics::default(), Ppm::ONE, Label::Gold, AT).expect("an answer was given");
    assert_ne!(seen.outcome, gold.outcome, "two who say so are two outcomes");
    let refused = Trace { outcome: Outcome { status: Status::Abstained, ..run.outcome.clone() }, ..run };
    assert_eq!(
        observation(&refused, bucket, &Statistics::default(), Ppm::ONE, Label::Gold, AT),
        Err(LabelError::NoAnswer(Status::Abstained))
    );
}
