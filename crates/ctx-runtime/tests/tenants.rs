//! The ledger that a tenant's runs share: what is written before and after a call, what stops a run, when windows end.

mod world;

use ctx_contracts::{Durability, ErrorKind, PluginError};
use ctx_runtime::config::{Per, TenantBudget};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::{Goal, Micros, NanoUsd, Principal, Status, Tokens};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;
use world::{QUESTION, World, goal};

fn asked_by(tenant: &str) -> Goal {
    let mut asked = goal(QUESTION, &["single_shot"]);
    asked.principal = Principal { tenant: tenant.to_owned(), ..Principal::default() };
    asked
}

fn world(max_cost: Option<i64>, max_tokens: Option<u64>, script: Vec<Reply>) -> World {
    let mut world = World::new().with_model(catalogs::remote_model(), script);
    let budget = TenantBudget { max_cost: max_cost.map(NanoUsd), max_tokens: max_tokens.map(Tokens), per: Per::Hour };
    world.config.tenant_budgets = BTreeMap::from([("acme".to_owned(), budget)]);
    world
}

fn entries(world: &World) -> Vec<String> {
    let records = world.store.journalled("ledger").records;
    records.iter().map(|recorded| recorded.record["entry"].as_str().unwrap_or("?").to_owned()).collect()
}

#[tokio::test]
async fn every_call_is_written_down_before_and_after_it_as_durably_as_configured() {
    let mut world = world(None, None, vec![Reply::text("answer [1]")]);
    world.config.tenant_budgets.clear();
    world.config.runtime.durability = Durability::Sync;
    let report = world.runtime().await.run(&asked_by("acme")).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert_eq!(entries(&world), ["intent", "settled"]);
    assert_eq!(world.store.durabilities("ledger"), [Durability::Sync, Durability::Sync]);
    let records = world.store.journalled("ledger").records;
    let (intent, settled) = (&records[0].record, &records[1].record);
    assert!(intent["cost"].as_i64() >= settled["cost"].as_i64() && settled["cost"].as_i64() == Some(report.outcome.spend.cost.0));
    assert_eq!((&intent["tenant"], &settled["tokens"]), (&json!("acme"), &json!(120)));
}

#[tokio::test]
async fn a_spent_budget_stops_the_next_run_until_the_window_ends() {
    let world = world(None, Some(3_000), vec![Reply::text("answer [1]")]);
    let runtime = world.runtime().await;
    let mut statuses = Vec::new();
    for _ in 0..40 {
        let report = runtime.run(&asked_by("acme")).await.expect("valid goal");
        statuses.push(report.outcome.status);
        if report.outcome.status == Status::BudgetTokens {
            assert!(report.outcome.notes.iter().any(|note| note.contains("tenant acme")), "{:?}", report.outcome.notes);
            assert_eq!((report.outcome.spend.calls, report.outcome.status.exit_code()), (0, 6));
            break;
        }
    }
    assert_eq!((statuses[0], statuses.last()), (Status::Completed, Some(&Status::BudgetTokens)), "{statuses:?}");
    let other = runtime.run(&asked_by("other")).await.expect("valid goal");
    assert_eq!(other.outcome.status, Status::Completed, "another tenant pays for it");
    let spent = |rows: Vec<ctx_runtime::AccountRow>| rows.iter().find(|row| row.tenant == "acme").map(|row| row.spent.tokens);
    let before = spent(runtime.accounts().await.expect("a fake store"));
    assert!(before > Some(Tokens(0)) && before <= Some(Tokens(3_000)), "{before:?}");
    world.clock.advance(Micros(3_600_000_000));
    let later = runtime.run(&asked_by("acme")).await.expect("valid goal");
    assert_eq!(later.outcome.status, Status::Completed, "{:?}", later.outcome.notes);
}

#[tokio::test]
async fn what_another_process_left_open_counts_at_its_bound() {
    let world = world(Some(1_000_000_000), None, vec![Reply::text("answer [1]")]);
    let at = 1_795_910_400;
    world.store.leave(
        "ledger",
        json!({"schema_version": 1, "entry": "intent", "id": "x/0", "tenant": "acme", "run": "x", "model": "m", "at": at,
               "cost": 1_000_000_000, "tokens": 10}),
    );
    let runtime = world.runtime().await;
    let rows = runtime.accounts().await.expect("a fake store");
    assert_eq!((rows[0].spent.assumed, rows[0].spent.cost), (1, NanoUsd(1_000_000_000)));
    let report = runtime.run(&asked_by("acme")).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetUsd, "{:?}", report.outcome.notes);
    assert_eq!(world.model.as_ref().expect("a model").requests().len(), 0);
}

#[tokio::test]
async fn a_call_that_was_refused_before_any_work_costs_the_tenant_nothing_and_a_cancelled_one_its_bound() {
    let limited = PluginError::new(ErrorKind::Unauthorized, "calling", "the test says so");
    let refused = world(None, Some(100_000), vec![Reply::error(limited)]);
    let runtime = refused.runtime().await;
    runtime.run(&asked_by("acme")).await.expect("valid goal");
    assert_eq!(entries(&refused), ["intent", "settled"]);
    let spent = runtime.accounts().await.expect("a fake store").remove(0);
    assert_eq!((spent.spent.tokens, spent.spent.calls, spent.spent.failed, spent.cost_incomplete), (Tokens(0), 1, 1, false));

    let slow = world(None, Some(100_000), vec![Reply::text("late").after(Duration::from_secs(3_600))]);
    let runtime = slow.runtime().await;
    let mut hasty = asked_by("acme");
    hasty.constraints.max_latency = Some(Micros(150_000));
    let report = runtime.run(&hasty).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::BudgetTime, "{:?}", report.outcome.notes);
    runtime.flush().await.expect("a fake store");
    assert_eq!(entries(&slow), ["intent", "settled"]);
    let records = slow.store.journalled("ledger").records;
    assert_eq!(records[0].record["tokens"], records[1].record["tokens"], "the provider may have done the work");
    assert_eq!(records[1].record["estimated"], json!(true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_side_by_side_wait_for_each_other_and_never_overspend() {
    let world = world(None, Some(2_500), vec![Reply::text("answer [1]").after(Duration::from_millis(5))]);
    let runtime = world.runtime().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..6 {
        let runtime = runtime.clone();
        tasks.spawn(async move { runtime.run(&asked_by("acme")).await.expect("valid goal").outcome.status });
    }
    let statuses = tasks.join_all().await;
    let known = |status: &Status| matches!(status, Status::Completed | Status::BudgetTokens);
    assert!(statuses.iter().all(known) && statuses.contains(&Status::Completed), "{statuses:?}");
    let rows = runtime.accounts().await.expect("a fake store");
    assert!(rows[0].spent.tokens <= Tokens(2_500) && rows[0].reserved_tokens == Tokens(0), "{rows:?}");
}

#[tokio::test]
async fn statistics_are_absorbed_by_the_minute_and_kept_while_another_writer_is_at_work() {
    let world = World::new();
    let runtime = world.runtime().await;
    // The first five outcomes of an operator are absorbed at once; fewer wait.
    for _ in 0..4 {
        runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    }
    runtime.flush().await.expect("a fake store");
    assert_eq!(world.store.journalled("statistics").records.len(), 4, "absorbed before its time");
    world.clock.advance(Micros(61_000_000));
    world.store.set_busy(true);
    runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    runtime.flush().await.expect("a fake store");
    assert_eq!(world.store.journalled("statistics").records.len(), 5);
    world.store.set_busy(false);
    runtime.flush().await.expect("a fake store");
    let journal = world.store.journalled("statistics");
    assert!(journal.records.is_empty() && journal.snapshot.is_some());
    let report = runtime.run(&goal(QUESTION, &[])).await.expect("valid goal");
    assert!(report.trace.plan_cache.contains("statistics default:"), "a miss names the key: {}", report.trace.plan_cache);
}
