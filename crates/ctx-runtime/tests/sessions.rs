//! Statements over a runtime on fakes: what each gives back, how settings combine, whose rows are shown, what is refused.

mod world;

use async_trait::async_trait;
use ctx_contracts::PluginError;
use ctx_runtime::session::{Reply, Session, SessionError, SessionHost, Watch};
use ctx_runtime::{Config, Runtime, RuntimeError};
use ctx_testkit::catalogs;
use ctx_testkit::fakes::{FakeRetriever, Reply as Answer};
use ctx_types::{NanoUsd, Principal, SourceName, Status};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use tokio_util::sync::CancellationToken;
use world::{DOCS, QUESTION, World};

async fn session() -> Session {
    Session::new(World::new().runtime().await)
}

async fn told(session: &mut Session, text: &str) -> Result<Reply, SessionError> {
    let statement = ctx_sql::parse(text).unwrap_or_else(|e| panic!("{}", e.render(None, text, 100)));
    session.execute(&statement, &Watch::default()).await
}

async fn refused(session: &mut Session, text: &str) -> SessionError {
    told(session, text).await.map(|reply| format!("{reply:?}")).expect_err(text)
}

#[tokio::test]
async fn a_statement_is_the_same_goal_as_a_call() {
    let world = World::new();
    let runtime = world.runtime().await;
    let mut session = Session::new(runtime.clone());
    let goal = ctx_types::Goal::new(QUESTION).with_source(SourceName::new("docs").expect("name"));
    let direct = runtime.explain(&goal, ctx_runtime::ExplainOptions::default()).await.expect("valid");
    let text = format!("EXPLAIN (VERBOSE) ANSWER '{QUESTION}' FROM docs");
    let Ok(Reply::Explained { inputs, options }) = told(&mut session, &text).await else { panic!("explained") };
    assert_eq!(options, [ctx_sql::ExplainOption::Verbose(true)]);
    let plan = |inputs: &ctx_runtime::ExplainInputs| inputs.prepared.planned().map(|planned| planned.plan.id.clone());
    assert_eq!(plan(&inputs), plan(&direct));
    assert!(world.sink.traces().is_empty(), "EXPLAIN ran something");

    let Ok(Reply::Answered(report)) = told(&mut session, &format!("ANSWER '{QUESTION}' FROM docs")).await else { panic!("answered") };
    assert_eq!(Some(report.trace.plan.clone()), plan(&direct));
    let Ok(Reply::Quoted(quote)) = told(&mut session, &format!("SIMULATE ANSWER '{QUESTION}' FROM docs")).await else { panic!("quoted") };
    assert!(!quote.plan.0.is_empty() && world.sink.traces().len() == 1, "a quote ran something");
}

#[tokio::test]
async fn limits_tighten_and_weights_override() {
    let mut session = session().await;
    for text in ["SET max_cost_usd = 0.05", "SET acc = 2", "SET objective = min_cost", "SET seed = 3"] {
        told(&mut session, text).await.expect(text);
    }
    let ask = |text: &str| match ctx_sql::parse(text) {
        Ok(ctx_sql::Statement::Answer(ask)) => ask,
        other => panic!("{other:?}"),
    };
    let goal = session.goal(&ask("ANSWER 'x' WITH (max_cost_usd = 9, max_calls = 2) USING (cost = 0.1, seed = 4)")).await.expect("valid");
    assert_eq!((goal.constraints.max_cost, goal.constraints.max_calls), (Some(NanoUsd(50_000_000)), Some(2)));
    assert_eq!((goal.weights.acc, goal.weights.cost, goal.seed), (2_000_000, 100_000, Some(4)));
    assert_eq!(goal.objective, ctx_types::Objective::MinCost);
    told(&mut session, "RESET ALL").await.expect("reset");
    let goal = session.goal(&ask("ANSWER 'x'")).await.expect("valid");
    assert_eq!((goal.constraints, goal.seed), (ctx_types::Constraints::default(), None));
    assert_eq!(goal.weights, session.runtime().config().costmodel.weights);
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_pointed_at() {
    let mut session = session().await;
    for (text, word) in [
        ("ANSWER 'x' FROM dosc", "dosc"),
        ("ANALYZE dosc", "dosc"),
        ("INDEX docs, dosc", "dosc"),
        ("SHOW STATISTICS FOR SOURCE dosc", "dosc"),
        ("SHOW STATISTICS FOR MODEL gpt", "gpt"),
        ("ANSWER 'x' HINT (MODEL gpt)", "MODEL gpt"),
        ("SHOW TRACE run_none", "run_none"),
    ] {
        let error = refused(&mut session, text).await;
        assert_eq!(error.exit_code(), 2, "{text}: {error}");
        let place = error.place().unwrap_or_else(|| panic!("{text}: {error} has no place"));
        assert_eq!(&text[place.range(text)], word, "{text}");
    }
    let SessionError::Statement(error) = refused(&mut session, "ANSWER 'x' FROM dosc").await else { panic!("a name") };
    assert_eq!(error.hint.as_deref(), Some("did you mean docs?"));
}

#[tokio::test]
async fn rows_of_other_tenants_and_sources_of_other_roles_are_not_shown() {
    let world = World::new();
    let runtime = world.runtime().await;
    let mut mine = Session::new(runtime.clone());
    told(&mut mine, &format!("ANSWER '{QUESTION}'")).await.expect("answered");
    let other = Principal { tenant: "other".into(), roles: BTreeSet::new() };
    let mut other = Session::new(runtime).with_principal(other);
    let Ok(Reply::PlanCache(rows, ..)) = told(&mut mine, "SHOW PLAN CACHE").await else { panic!("rows") };
    assert_eq!(rows.len(), 2, "for these words, and for goals of their kind");
    let Ok(Reply::PlanCache(rows, ..)) = told(&mut other, "SHOW PLAN CACHE").await else { panic!("rows") };
    assert!(rows.is_empty(), "{rows:?}");
    world.retriever.edit_entry("docs", |entry| entry.readable_by = BTreeSet::from(["staff".to_owned()]));
    let Ok(Reply::Sources(sources, hidden)) = told(&mut other, "SHOW SOURCES").await else { panic!("rows") };
    assert_eq!((sources.len(), hidden), (0, 1));
    assert!(matches!(refused(&mut other, "ANSWER 'x' FROM docs").await, SessionError::Statement(_)));
}

#[tokio::test]
async fn a_stopped_statement_stops_and_a_stopped_run_leaves_its_trace() {
    let world = World::new().with_model(catalogs::local_model(), vec![Answer::text("x [1]")]);
    let mut session = Session::new(world.runtime().await);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let watch = Watch { cancel, ..Watch::default() };
    let explain = ctx_sql::parse("EXPLAIN ANSWER 'x'").expect("valid");
    assert!(matches!(session.execute(&explain, &watch).await, Err(SessionError::Cancelled)));
    let answer = ctx_sql::parse("ANSWER 'x'").expect("valid");
    let Ok(Reply::Answered(report)) = session.execute(&answer, &watch).await else { panic!("a report") };
    assert_eq!((report.outcome.status, world.sink.traces().len()), (Status::Cancelled, 1));
}

/// Opens runtimes whose retriever serves every configured source, and keeps what was measured.
#[derive(Default)]
struct Host {
    measured: Mutex<Vec<SourceName>>,
}

#[async_trait]
impl SessionHost for Host {
    async fn open(&self, config: Config) -> Result<Runtime, RuntimeError> {
        let mut world = World::new();
        let served = config.sources.keys().fold(FakeRetriever::default(), |served, name| served.with_source(name.as_str(), DOCS));
        (world.config, world.retriever) = (config, Arc::new(served));
        Ok(world.runtime().await)
    }

    async fn analyze(&self, sources: &[SourceName]) -> Result<(), PluginError> {
        self.measured.lock().expect("not poisoned").extend_from_slice(sources);
        Ok(())
    }
}

#[tokio::test]
async fn sources_come_and_go_with_the_session() {
    let host = Arc::new(Host::default());
    let mut session = Session::new(host.open(Config::default()).await.expect("opens")).with_host(host.clone());
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().display();
    let create = format!("CREATE SOURCE notes FROM '{path}' WITH (kind = logs, sensitivity = confidential, refresh = 5, readable_by = '')");
    assert!(matches!(told(&mut session, &create).await, Ok(Reply::Created(_, true))));
    let made = &session.runtime().config().sources[&SourceName::new("notes").expect("name")];
    assert_eq!((made.kind, made.sensitivity), (ctx_types::SourceKind::Logs, ctx_types::Sensitivity::Confidential));
    assert_eq!(made.refresh, Some(ctx_runtime::config::Refresh::Interval(5)));
    assert!(matches!(told(&mut session, "ANSWER 'x' FROM notes").await, Ok(Reply::Answered(_))));
    assert!(matches!(refused(&mut session, &create).await, SessionError::Statement(_)));
    let again = create.replace("SOURCE notes", "SOURCE IF NOT EXISTS notes");
    assert!(matches!(told(&mut session, &again).await, Ok(Reply::Created(_, false))));
    told(&mut session, "ANALYZE notes").await.expect("measured");
    assert_eq!(host.measured.lock().expect("not poisoned").len(), 1);
    assert!(matches!(told(&mut session, "DROP SOURCE notes").await, Ok(Reply::Dropped(names)) if names.len() == 1));
    assert!(matches!(told(&mut session, "DROP SOURCE IF EXISTS notes").await, Ok(Reply::Dropped(names)) if names.is_empty()));
    assert!(matches!(refused(&mut session, "DROP SOURCE notes").await, SessionError::Statement(_)));
}

#[tokio::test]
async fn what_the_configuration_refuses_a_statement_refuses() {
    let host = Arc::new(Host::default());
    let mut session = Session::new(host.open(Config::default()).await.expect("opens")).with_host(host);
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().display();
    for text in [
        "CREATE SOURCE x FROM './no-such-folder'".to_owned(),
        "CREATE SOURCE x FROM ''".to_owned(),
        "CREATE SOURCE x FROM 'https://example.org'".to_owned(),
        format!("CREATE SOURCE x FROM '{path}' WITH (kind = git)"),
    ] {
        let error = refused(&mut session, &text).await;
        assert!(error.place().is_some() && error.exit_code() == 2, "{text}: {error}");
    }
    assert!(session.runtime().config().sources.is_empty());
}

#[tokio::test]
async fn a_session_without_a_host_changes_no_source() {
    let mut session = session().await;
    for text in ["CREATE SOURCE x FROM '.'", "DROP SOURCE docs", "ANALYZE docs"] {
        assert!(matches!(refused(&mut session, text).await, SessionError::NotServed { .. }), "{text}");
    }
}
