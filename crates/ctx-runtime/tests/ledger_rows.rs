//! Every request that a provider sees is a row of the ledger, with its purpose: failed attempts, repeated answers and reranking
//! too. What nobody knows stays unknown and is charged at its bound.

mod world;

use async_trait::async_trait;
use ctx_contracts::{ErrorKind, Metered, PluginError, RerankRequest, Reranker, Taken};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::Reply;
use ctx_types::catalog::{Locality, Prices, RerankerEntry};
use ctx_types::estimate::TokenClasses;
use ctx_types::trace::{CallEnd, CallRow};
use ctx_types::{Goal, Hit, ModelEntry, NanoUsd, PicoUsd, Status, Tokens};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use world::{QUESTION, World, goal};

/// A reranking model that counts what it is asked and always says that it is overloaded.
struct Overloaded(AtomicUsize);

#[async_trait]
impl Reranker for Overloaded {
    fn describe(&self) -> RerankerEntry {
        let entry = catalogs::refinements().0.remove(0);
        RerankerEntry { name: "second".to_owned(), calls: 1, price: Some(PicoUsd(1_000_000)), locality: Locality::Local, ..entry }
    }

    async fn rerank(&self, request: RerankRequest<'_>) -> Result<Metered<Vec<Hit>>, PluginError> {
        assert!(!request.hits.is_empty(), "asked about nothing");
        self.0.fetch_add(1, Ordering::SeqCst);
        Err(PluginError::new(ErrorKind::Unavailable, "reranking", "the endpoint answered 503"))
    }
}

fn failure(kind: ErrorKind) -> Reply {
    Reply::error(PluginError::new(kind, "calling model m", "the test says so"))
}

/// Rows of the journal: purpose, model and end of every call, in the order of their settlement.
fn journalled(world: &World) -> Vec<(String, String, String)> {
    let records: Vec<serde_json::Value> = world.store.journalled("ledger").records.into_iter().map(|r| r.record).collect();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
    let of = |id: &serde_json::Value| records.iter().find(|row| row["entry"] == "intent" && row["id"] == *id).expect("written before");
    let settled = records.iter().filter(|row| row["entry"] == "settled");
    settled.map(|row| (text(&of(&row["id"])["purpose"]), text(&of(&row["id"])["model"]), text(&row["end"]))).collect()
}

fn ends(rows: &[CallRow]) -> Vec<(&str, CallEnd)> {
    rows.iter().map(|row| (row.purpose.as_str(), row.end)).collect()
}

#[tokio::test]
async fn ledger_rows_are_the_requests_that_providers_saw() {
    let script = vec![failure(ErrorKind::RateLimited), failure(ErrorKind::Unavailable), Reply::text("wrong [1]"), Reply::text("right [1]")];
    let mut world = World::new().with_model(catalogs::remote_model(), script).with_verdicts(&[Ok(false), Ok(true)]);
    let reranker = Arc::new(Overloaded(AtomicUsize::new(0)));
    world.rerankers = vec![reranker.clone()];
    let runtime = world.runtime().await;
    let report = runtime.run(&goal(QUESTION, &["single_shot", "rerank:second"])).await.expect("valid goal");
    assert_eq!((report.outcome.status, report.outcome.answer.as_str()), (Status::Completed, "right [1]"), "{:?}", report.outcome.notes);

    let seen = reranker.0.load(Ordering::SeqCst) + world.model.as_ref().expect("a model").requests().len();
    let rows = &report.trace.calls;
    assert_eq!((seen, rows.len(), report.outcome.spend.calls, report.outcome.spend.failed_calls), (5, 5, 5, 3));
    let wanted = [
        ("rerank", CallEnd::Failed),
        ("answer", CallEnd::Refused),
        ("answer", CallEnd::Failed),
        ("answer", CallEnd::Answered),
        ("answer", CallEnd::Answered),
    ];
    assert_eq!(ends(rows), wanted);
    let row = |purpose: &str, model: &str, end: &str| (purpose.to_owned(), model.to_owned(), end.to_owned());
    assert_eq!(
        journalled(&world),
        [
            row("rerank", "second", "failed"),
            row("answer", "m", "refused"),
            row("answer", "m", "failed"),
            row("answer", "m", "answered"),
            row("answer", "m", "answered")
        ]
    );
    let refused = &rows[1];
    assert_eq!((refused.cost, refused.charged), (Some(NanoUsd(0)), NanoUsd(0)), "a refusal says that nothing is due");
    let failed = &rows[2];
    assert!(failed.usage.is_none() && failed.cost.is_none() && failed.charged > NanoUsd(0), "unknown stays unknown: {failed:?}");
    assert!(report.outcome.spend.cost_incomplete);
    let charged: NanoUsd = rows.iter().fold(NanoUsd(0), |sum, row| sum + row.charged);
    assert_eq!(charged, report.outcome.spend.cost, "all count against the budget");
    let accounts = runtime.accounts().await.expect("a fake store");
    let account = &accounts[0];
    assert_eq!((account.spent.calls, account.spent.failed, account.spent.cost, account.cost_incomplete), (5, 3, charged, true));
}

#[tokio::test]
async fn a_call_that_nobody_saw_is_free_and_a_reported_failure_costs_what_it_reports() {
    let usage = TokenClasses { input: Tokens(1_000), ..TokenClasses::default() };
    let away = PluginError::new(ErrorKind::Unavailable, "calling model m", "it cannot be reached").having_taken(Taken::NotSent);
    let filtered =
        PluginError::new(ErrorKind::Refused, "calling model m", "it was filtered").having_taken(Taken::Reported(Box::new(usage)));
    let world = World::new().with_model(catalogs::remote_model(), vec![Reply::error(away), Reply::error(filtered)]);
    let report = world.runtime().await.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(ends(&report.trace.calls), [("answer", CallEnd::NotSent), ("answer", CallEnd::Failed)]);
    let spend = &report.outcome.spend;
    assert_eq!((spend.calls, spend.cost, spend.cost_incomplete), (1, NanoUsd(3_000_000), false), "$3 per million tokens");
}

#[tokio::test]
async fn retries_end_where_the_ledger_does_not_cover_them_and_the_failure_is_told() {
    let world = World::new().with_model(catalogs::remote_model(), vec![failure(ErrorKind::Unavailable)]);
    let mut once: Goal = goal(QUESTION, &["single_shot"]);
    once.constraints.max_calls = Some(1);
    let report = world.runtime().await.run(&once).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::ProviderFailed, "{:?}", report.outcome.notes);
    assert_eq!((world.model.as_ref().expect("a model").requests().len(), report.trace.calls.len()), (1, 1));
    let told = report.outcome.notes.iter().any(|note| note.contains("the test says so") && note.contains("not tried again"));
    assert!(told, "{:?}", report.outcome.notes);
}

#[tokio::test]
async fn a_model_without_price_is_named_and_a_price_of_zero_is_free() {
    let dark = ModelEntry { prices: Prices::default(), ..catalogs::remote_model() };
    let mut world = World::new().with_model(dark, vec![Reply::text("answer [1]")]);
    world.config.budgets.max_cost = None;
    let runtime = world.runtime().await;
    let report = runtime.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    assert_eq!(report.outcome.status, Status::Completed, "{:?}", report.outcome.notes);
    assert_eq!((report.outcome.spend.cost_incomplete, &report.outcome.spend.unpriced_models), (true, &vec!["m".to_owned()]));
    assert!(report.trace.calls[0].cost.is_none() && report.trace.calls[0].usage.is_some(), "{:?}", report.trace.calls);
    assert!(report.outcome.notes.iter().any(|note| note.contains("`m`") && note.contains("price")), "{:?}", report.outcome.notes);
    let account = runtime.accounts().await.expect("a fake store").remove(0);
    assert_eq!((account.cost_incomplete, account.unpriced_models), (true, vec!["m".to_owned()]));

    let world = World::new().with_model(catalogs::local_model(), vec![Reply::text("answer [1]").without_usage()]);
    let runtime = world.runtime().await;
    let report = runtime.run(&goal(QUESTION, &["single_shot"])).await.expect("valid goal");
    let spend = &report.outcome.spend;
    assert_eq!((spend.cost, spend.cost_incomplete, spend.unpriced_models.len()), (NanoUsd(0), false, 0), "{:?}", report.outcome.notes);
    let account = runtime.accounts().await.expect("a fake store").remove(0);
    assert_eq!((account.cost_incomplete, account.spent.estimated), (false, 1));
}
