//! Planning through the façade: the plan cache, single flight, and that EXPLAIN and simulate leave nothing behind.

mod world;

use ctx_contracts::{ErrorKind, PluginError};
use ctx_runtime::{Choice, ExplainOptions};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::estimate::TokenClasses;
use ctx_types::{Goal, Micros, Status, Tokens};
use world::{QUESTION, World, goal};

#[tokio::test]
async fn the_second_run_hits_and_skips_the_planning_only() {
    let world = World::new();
    let runtime = world.runtime().await;
    let first = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    let second = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert!(first.trace.plan_cache.starts_with("miss"), "{}", first.trace.plan_cache);
    assert!(second.trace.plan_cache.starts_with("hit"), "{}", second.trace.plan_cache);
    assert_eq!(first.trace.plan, second.trace.plan);
    assert_eq!(first.outcome.answer, second.outcome.answer);
    assert_eq!(first.outcome.evidence, second.outcome.evidence, "calibration needs the probe on a hit too");
    assert_eq!(runtime.plan_cache().1.hits, 1);
}

#[tokio::test]
async fn an_edited_source_is_a_miss_that_names_it() {
    let world = World::new();
    let runtime = world.runtime().await;
    runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    world.retriever.edit_entry("docs", |entry| entry.fingerprint = "edited".into());
    let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert!(report.trace.plan_cache.contains("source docs changed"), "{}", report.trace.plan_cache);
}

#[tokio::test]
async fn a_conversation_goes_around_the_cache_and_says_so() {
    let runtime = World::new().runtime().await;
    let mut talk = goal(QUESTION, &[]);
    talk.conversation = Some("c1".into());
    for _ in 0..2 {
        let report = runtime.run(&talk).await.expect("valid goal");
        assert!(report.trace.plan_cache.contains("conversation"), "{}", report.trace.plan_cache);
    }
    assert_eq!(runtime.plan_cache().0.len(), 0);
}

#[tokio::test]
async fn explain_and_simulate_leave_nothing_behind_and_show_the_plan_that_runs() {
    let world = World::new().with_model(catalogs::local_model(), vec![Reply::text("x [1]")]);
    let runtime = world.runtime().await;
    let before = runtime.plan_cache().1;
    let explained =
        runtime.explain(&goal(QUESTION, &[]), ExplainOptions { simulate: true, ..ExplainOptions::default() }).await.expect("valid");
    let quote = runtime.simulate(&goal(QUESTION, &[])).await.expect("valid");
    let again = runtime.explain(&goal(QUESTION, &[]), ExplainOptions::default()).await.expect("valid");
    assert_eq!(runtime.plan_cache().1, before);
    assert_eq!((world.sink.traces().len(), world.store.writes()), (0, 0));
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);
    assert!(world.retriever.requests().is_empty(), "EXPLAIN retrieved something");
    let (Choice::Planned(one), Choice::Planned(two)) = (&explained.prepared.choice, &again.prepared.choice) else { panic!("feasible") };
    assert_eq!(serde_json::to_string(&one.plan).expect("data"), serde_json::to_string(&two.plan).expect("data"));
    assert_eq!(explained.simulation.as_ref(), Some(&quote));
    let ran = runtime.run(&goal(QUESTION, &[])).await.expect("valid");
    assert_eq!(ran.trace.plan, one.plan.id);
    assert!(ran.trace.plan_cache.starts_with("miss"), "EXPLAIN inserted: {}", ran.trace.plan_cache);
    let peeked = runtime.explain(&goal(QUESTION, &[]), ExplainOptions::default()).await.expect("valid");
    assert!(peeked.prepared.plan_cache.starts_with("hit") && runtime.plan_cache().1.hits == 0);
}

#[tokio::test]
async fn explain_analyze_is_a_run() {
    let world = World::new();
    let runtime = world.runtime().await;
    let explained =
        runtime.explain(&goal(QUESTION, &[]), ExplainOptions { analyze: true, ..ExplainOptions::default() }).await.expect("valid");
    assert_eq!(explained.report.map(|r| r.outcome.status), Some(Status::Completed));
    assert_eq!(world.sink.traces().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_of_one_key_are_planned_once() {
    let world = World::new();
    let runtime = world.runtime().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let runtime = runtime.clone();
        tasks.spawn(async move { runtime.plan(&goal(QUESTION, &[])).await.expect("valid").plan.id.clone() });
    }
    let mut ids = tasks.join_all().await;
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.retriever.probes(), 1, "planned more than once");
}

#[tokio::test]
async fn a_warm_start_finds_the_plans_of_the_last_process() {
    let world = World::new();
    let first = world.runtime().await;
    first.run(&goal(QUESTION, &[])).await.expect("valid goal");
    first.flush().await.expect("a fake store");
    let report = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal");
    let told = &report.trace.plan_cache;
    assert!(told.starts_with("hit"), "one run moved what plans depend on: {told}");
}

#[tokio::test]
async fn a_store_that_cannot_be_refreshed_is_planned_as_it_stands_and_said() {
    let mut world = World::new();
    world.config.sources.insert(catalogs::source("docs"), ctx_runtime::config::SourceConfig::at("/nowhere"));
    world.store.fail_refresh(PluginError::new(ErrorKind::Locked, "indexing", "another process is writing"));
    let report = world.runtime().await.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed);
    assert!(report.outcome.notes.iter().any(|n| n.contains("another process is writing")), "{:?}", report.outcome.notes);
    let refreshes = world.store.refreshes();
    world.runtime().await.without_refresh().run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert_eq!(world.store.refreshes(), refreshes);
}

#[tokio::test]
async fn a_hypothetical_catalog_is_explained_and_never_run() {
    let runtime = World::new().runtime().await;
    let mut assumed = goal(QUESTION, &[]);
    assumed.what_if = Some(Box::new(ctx_runtime::what_if("sources: {wiki: {passages: 20000, paths: [bm25]}}").expect("valid")));
    let explained = runtime.explain(&assumed, ExplainOptions::default()).await.expect("valid");
    let Choice::Planned(planned) = &explained.prepared.choice else { panic!("nothing forbids it") };
    assert!(planned.plan.notes.iter().any(|note| note.contains("hypothetical: source `wiki`")), "{:?}", planned.plan.notes);
    assert!(planned.plan.sources.iter().any(|source| source.source.as_str() == "wiki"));
    assert!(explained.prepared.plan_cache.contains("what-if"), "{}", explained.prepared.plan_cache);
    let error = runtime.run(&assumed).await.expect_err("nothing of it exists");
    assert!(error.to_string().contains("hypothetical") && error.exit_code() == 2, "{error}");
    assert!(runtime.explain(&assumed, ExplainOptions { analyze: true, ..ExplainOptions::default() }).await.is_err());
    assert_eq!(runtime.plan_cache().0.len(), 0);
}

/// Generic against custom: five goals of a kind are planned on their own, then the kind's template serves, with each goal's own
/// words and the id that planning it anew gives.
#[tokio::test]
async fn after_five_plans_of_their_own_goals_of_one_kind_share_a_template() {
    // What the runs teach moves the statistics that plans are stamped with: not what is looked at here.
    let settled = || {
        let mut world = World::new();
        world.config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
        world
    };
    let runtime = settled().runtime().await;
    let ask = |number: u32| goal(&format!("How is the infeasible plan {number} reported?"), &[]);
    for number in 71..76 {
        let told = runtime.run(&ask(number)).await.expect("valid goal").trace.plan_cache;
        assert!(told.starts_with("miss"), "{number}: {told}");
    }
    let peeked = runtime.explain(&ask(76), ExplainOptions::default()).await.expect("valid goal").prepared;
    let shared = runtime.run(&ask(76)).await.expect("valid goal");
    assert_eq!((shared.trace.plan_cache.as_str(), peeked.plan_cache.as_str()), ("hit (template)", "hit (template)"));
    let planned = shared.planned.expect("a plan");
    assert_eq!(planned.plan.goal.text, ask(76).text);
    let cold = settled().runtime().await.plan(&ask(76)).await.expect("a plan");
    assert_eq!((&planned.plan.id, &peeked.planned().expect("a plan").plan.id), (&cold.plan.id, &cold.plan.id));
    assert_eq!(runtime.plan_cache().1.template_hits, 1);
    // The words are known now.
    assert_eq!(runtime.run(&ask(76)).await.expect("valid goal").trace.plan_cache, "hit (literal)");
    // Another meaning is another kind.
    let negated = runtime.run(&goal("How is the infeasible plan 77 not reported?", &[])).await.expect("valid goal");
    assert!(negated.trace.plan_cache.starts_with("miss"), "{}", negated.trace.plan_cache);
    let mut weighed = ask(78);
    weighed.weights.cost *= 2;
    assert!(runtime.run(&weighed).await.expect("valid goal").trace.plan_cache.starts_with("miss"));
}

/// A decision that is pinned is planned anew within its shape, has the id that planning freely to the same decision gives, and
/// is let go by name.
#[tokio::test]
async fn a_pinned_plan_is_held_while_estimates_would_choose_another() {
    let world = World::new();
    let runtime = world.runtime().await;
    let mut dense = goal(QUESTION, &[]);
    dense.hints.push(ctx_types::goal::Hint::Force("dense".to_owned()));
    let wanted = runtime.run(&dense).await.expect("valid goal").planned.expect("a plan").plan.clone();
    let free = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal").planned.expect("a plan").plan.clone();
    assert_ne!(wanted.gist, free.gist, "the estimates choose another path");
    assert!(runtime.pin_plan("plan_").is_err());
    runtime.pin_plan(&free.id.0).expect("it is cached");
    // The source changes, so the goal is planned anew: within the shape.
    world.retriever.edit_entry("docs", |entry| entry.fingerprint = "edited".into());
    let peeked = runtime.explain(&goal(QUESTION, &[]), ExplainOptions::default()).await.expect("valid").prepared;
    let held = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert!(held.trace.plan_cache.contains("held to") && held.trace.plan_cache.contains("a person"), "{}", held.trace.plan_cache);
    assert_eq!(held.trace.plan, peeked.planned().expect("a plan").plan.id);
    assert_eq!(held.planned.expect("a plan").plan.gist, free.gist);
    runtime.flush().await.expect("the store is writable");
    let again = world.runtime().await;
    assert_eq!(again.pinned_plans().len(), 1, "it outlives the process");
    assert_eq!(again.unpin_plan(&free.gist.0).map(|pin| pin.gist), Some(free.gist.clone()));
    assert!(again.pinned_plans().is_empty());
}

/// With `match: semantic` what is not proven is planned, and says what was checked.
#[tokio::test]
async fn a_semantic_match_is_planned_beside_until_it_is_proven() {
    let mut world = World::new();
    world.config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
    world.config.runtime.plan_cache.semantic_error = ctx_types::Ppm(50_000);
    let runtime = world.runtime().await;
    let mut told = Vec::new();
    for words in ["plan", "route", "goal", "budget", "limit", "source", "index", "model", "check", "answer"] {
        for number in 70..76 {
            told.push(
                runtime
                    .run(&goal(&format!("How is the infeasible {words} {number} reported?"), &[]))
                    .await
                    .expect("valid")
                    .trace
                    .plan_cache,
            );
        }
    }
    let served = told.iter().filter(|told| told.starts_with("hit (template)")).count();
    assert!(served > 0 && told.iter().all(|told| !told.starts_with("hit (semantic")), "{told:?}");
}

/// Once its distance is proven a semantic match serves: the plan is made for the goal's own numbers, of parts that are known.
#[tokio::test]
async fn a_proven_semantic_match_is_a_plan_for_the_goals_own_numbers() {
    let mut world = World::new();
    world.config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
    world.config.runtime.plan_cache.semantic_error = ctx_types::Ppm(400_000);
    let runtime = world.runtime().await;
    for number in 0..200 {
        // The content moves under every goal: no template ever serves.
        world.retriever.edit_entry("docs", |entry| entry.fingerprint = format!("edited {number}"));
        let asked = goal(&format!("How is the infeasible plan {} {number} reported?", ["of", "in", "by", "for"][number % 4]), &[]);
        let report = runtime.run(&asked).await.expect("valid");
        if !report.trace.plan_cache.contains("hit (semantic") {
            continue;
        }
        let cold = runtime.run(&Goal { no_cache: true, ..asked }).await.expect("valid");
        assert_eq!(report.trace.plan, cold.trace.plan, "there is one decision to be made here");
        let estimates = |report: &ctx_runtime::RunReport| report.planned.as_ref().expect("a plan").plan.estimate.clone();
        assert_eq!(estimates(&report), estimates(&cold), "this goal's, not those of the decisions that it is made of");
        return;
    }
    panic!("nothing was ever served");
}

/// Stored answers are off by default; switched on, the same request over the same content is answered without a call, at no cost,
/// and the plan and the answer are the earlier ones. What changes the request or the content is worked on.
#[tokio::test]
async fn a_stored_answer_is_given_again_for_nothing_until_something_changes() {
    let mut world = World::new().with_model(catalogs::local_model(), vec![Reply::text("It prints what to relax [1]."); 6]);
    world.config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
    world.config.runtime.result_cache.enabled = true;
    let mut asked = goal(QUESTION, &[]);
    asked.hints.push(ctx_types::goal::Hint::Force("single_shot".to_owned()));
    let runtime = world.runtime().await;
    let calls = || world.model.as_ref().expect("a model").requests().len();
    let first = runtime.run(&asked).await.expect("valid goal");
    assert_eq!((first.outcome.status, calls()), (Status::Completed, 1), "{:?}", first.outcome.notes);
    let again = runtime.run(&asked).await.expect("valid goal");
    assert_eq!(calls(), 1);
    assert_eq!((&again.outcome.answer, &again.outcome.citations), (&first.outcome.answer, &first.outcome.citations));
    assert_eq!((again.outcome.spend.calls, again.outcome.spend.cost.0), (0, 0));
    assert!(again.outcome.notes.iter().any(|note| note.contains("given again: saves")), "{:?}", again.outcome.notes);
    let explained = runtime.explain(&asked, ExplainOptions::default()).await.expect("valid goal").prepared;
    assert!(explained.notes.iter().any(|note| note.contains("result cache")), "{:?}", explained.notes);
    assert_eq!((runtime.result_cache().0, runtime.result_cache().1.hits), (1, 1));
    // Another process over the same store.
    runtime.flush().await.expect("the store is writable");
    assert_eq!(world.runtime().await.run(&asked).await.expect("valid goal").outcome.spend.calls, 0);
    // Wanted fresh; asked by another; executed for its actuals; over other content.
    let fresh = Goal { no_cache: true, ..asked.clone() };
    let mut other = asked.clone();
    other.principal.tenant = "another".to_owned();
    for (count, goal) in [(2, &fresh), (3, &other)] {
        let report = runtime.run(goal).await.expect("valid goal");
        assert_eq!((calls(), report.outcome.spend.calls), (count, 1));
    }
    runtime.explain(&asked, ExplainOptions { analyze: true, ..ExplainOptions::default() }).await.expect("valid goal");
    assert_eq!(calls(), 4);
    world.retriever.edit_entry("docs", |entry| entry.fingerprint = "edited".into());
    assert_eq!(runtime.run(&asked).await.expect("valid goal").outcome.spend.calls, 1);
    assert_eq!(runtime.clear_result_cache().await.expect("the store is writable"), 2);
}

/// Without the caches: planned and answered each time, nothing kept, and the plan is the one that has its id anyway.
#[tokio::test]
async fn without_the_caches_every_request_is_worked_on_and_none_is_kept() {
    let runtime = World::new().runtime().await;
    let fresh = Goal { no_cache: true, ..goal(QUESTION, &[]) };
    let first = runtime.run(&fresh).await.expect("valid goal");
    let second = runtime.run(&fresh).await.expect("valid goal");
    for report in [&first, &second] {
        assert_eq!(report.trace.plan_cache, "bypassed (request)");
    }
    assert_eq!(runtime.plan_cache().0.len(), 0);
    assert_eq!(runtime.run(&goal(QUESTION, &[])).await.expect("valid goal").trace.plan, first.trace.plan);
}

/// What was sensitive once in a conversation stays so: later words that are harmless are about it.
#[tokio::test]
async fn a_conversation_never_becomes_less_sensitive() {
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("It prints what to relax [1]."); 3]);
    let runtime = world.runtime().await;
    let said = |conversation: &str, text: &str| {
        let mut said = goal(text, &[]);
        said.conversation = Some(conversation.to_owned());
        said.hints.push(ctx_types::goal::Hint::Force("single_shot".to_owned()));
        said
    };
    let calls = || world.model.as_ref().expect("a model").requests().len();
    for text in ["Patient with SSN 078-05-1120: how is infeasible reported?", "And how is infeasible reported?"] {
        let report = runtime.run(&said("a", text)).await.expect("valid");
        assert_eq!((report.outcome.status, calls()), (Status::Infeasible, 0), "{text}");
    }
    let open = runtime.run(&said("b", "And how is infeasible reported?")).await.expect("valid");
    assert_eq!((open.outcome.status, calls()), (Status::Completed, 1), "another conversation: {:?}", open.outcome.notes);
}

/// What was sent lately to a model with a cached price enters the next plan, is shown, and ceases to count when nothing was sent
/// for a while. Each change is a miss of the plan cache that names it.
#[tokio::test]
async fn a_prompt_that_was_sent_lately_is_expected_in_the_providers_cache() {
    let usage = TokenClasses { input: Tokens(400), cached_input: Tokens(600), output: Tokens(20), ..TokenClasses::default() };
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::text("It prints what to relax [1].").using(usage)]);
    let asked = goal(QUESTION, &["single_shot"]);
    let runtime = world.runtime().await;
    let first = runtime.run(&asked).await.expect("valid goal");
    let plan = |report: &ctx_runtime::RunReport| report.planned.as_ref().expect("a plan").plan.clone();
    let told = |report: &ctx_runtime::RunReport| plan(report).notes.iter().any(|note| note.starts_with("prompt cache: "));
    assert_eq!((first.outcome.status, told(&first)), (Status::Completed, false), "{:?}", first.outcome.notes);
    assert_eq!(first.outcome.spend.tokens.cached_input, Tokens(600), "booked as the provider reports");
    let counted = first.trace.nodes.iter().find_map(|node| node.actual.prompt);
    assert!(counted.is_none_or(|prompt| prompt.cached == Tokens(600)));
    // What repeats is seen when it does: this fake sends no instruction first.
    assert!(!told(&runtime.run(&asked).await.expect("valid goal")), "one prompt repeats nothing");
    // Another process over the same store; the words are other words, and what stands before them is the same.
    runtime.flush().await.expect("the store is writable");
    let runtime = world.runtime().await;
    let second = runtime.run(&asked).await.expect("valid goal");
    assert!(second.trace.plan_cache.contains("prompt cache m changed"), "{}", second.trace.plan_cache);
    assert!(told(&second), "{:?}", plan(&second).notes);
    assert!(plan(&second).estimate.cost.value < plan(&first).estimate.cost.value);
    assert!(plan(&second).estimate.cost_bound == plan(&first).estimate.cost_bound && plan(&second).score.cache.get() > 0);
    let explained = runtime.explain(&asked, ExplainOptions::default()).await.expect("valid goal").prepared;
    let third = runtime.run(&asked).await.expect("valid goal");
    assert_eq!(explained.planned().expect("a plan").plan.id, third.trace.plan, "EXPLAIN's plan is the run's");
    // Another tenant's prompts are its own.
    let mut other = asked.clone();
    other.principal.tenant = "another".to_owned();
    assert!(!told(&runtime.run(&other).await.expect("valid goal")));
    world.clock.advance(Micros(301_000_000));
    let cold = runtime.run(&asked).await.expect("valid goal");
    assert!(!told(&cold) && cold.trace.plan == first.trace.plan, "{}", cold.trace.plan_cache);
}

/// Answers for other words: run beside and compared until proven, then given at no cost, and what is not the same is never given.
#[tokio::test]
async fn an_answer_to_other_words_is_compared_until_it_is_proven_and_then_given() {
    let mut world = World::new().with_model(catalogs::local_model(), vec![Reply::text("It prints what to relax [1].")]);
    world.config.costmodel.estimator = ctx_runtime::config::EstimatorName::Prior;
    world.config.runtime.result_cache.enabled = true;
    world.config.runtime.result_cache.semantic_error = ctx_types::Ppm(200_000);
    let runtime = world.runtime().await;
    let calls = || world.model.as_ref().expect("a model").requests().len();
    let subjects = ["plan", "goal", "budget", "limit", "source", "index", "model", "check", "answer", "cache", "ledger", "route"];
    let (mut compared, mut given) = (0, 0);
    for round in 0..8 {
        for subject in subjects {
            let first = goal(&format!("How is the infeasible {subject} {round} reported?"), &["single_shot"]);
            let other = goal(&format!("How does the infeasible {subject} {round} get reported?"), &["single_shot"]);
            let first = runtime.run(&first).await.expect("valid goal");
            let before = calls();
            let explained = runtime.explain(&other, ExplainOptions::default()).await.expect("valid goal").prepared.notes;
            let report = runtime.run(&other).await.expect("valid goal");
            let told = report.outcome.notes.join("; ") + &explained.join("; ");
            assert_eq!(report.outcome.answer, first.outcome.answer);
            if calls() == before {
                given += 1;
                assert!(told.contains("an answer to other words") && told.contains("and is given: wrong at most"), "{told}");
                assert_eq!((report.outcome.spend.calls, report.outcome.spend.cost.0), (0, 0));
            } else {
                compared += 1;
                assert!(told.contains("the answers are compared"), "{told}");
            }
        }
    }
    assert!(given > 20 && compared > 10, "{given} given, {compared} compared");
    let counters = runtime.result_cache().1;
    assert_eq!((counters.semantic_hits, counters.semantic_checks), (given, compared));
    // Whatever is proven: another number, another thing, the other way round, another tenant.
    let mut tenant = goal("How does the infeasible plan 0 get reported?", &["single_shot"]);
    tenant.principal.tenant = "another".to_owned();
    let strangers = [
        "How does the infeasible plan 9 get reported?",
        "How does the infeasible plant 0 get reported?",
        "How does the infeasible plan 0 not get reported?",
    ];
    for stranger in strangers.iter().map(|words| goal(words, &["single_shot"])).chain([tenant]) {
        let before = calls();
        runtime.run(&stranger).await.expect("valid goal");
        assert_eq!(calls(), before + 1, "{}", stranger.text);
    }
    // A goal whose words raise its label is neither answered from others' words nor kept for them.
    let secret = goal("How does the infeasible plan 0 get reported? card 4111 1111 1111 1111", &["single_shot"]);
    let before = runtime.result_cache().0;
    runtime.run(&secret).await.expect("valid goal");
    assert_eq!(runtime.result_cache().0, before);
}
