//! The façade.

use crate::clock::SystemClock;
use crate::executor::{self, Run};
use crate::explain::{ExplainInputs, ExplainOptions};
use crate::flight::Flights;
use crate::learning::{Learning, When};
use crate::ledger::book::{self, AccountRow, Book};
use crate::parts::Parts;
use crate::prepare::{Mode, Prepared};
use crate::prompts::Prompts;
use crate::snapshot::Snapshot;
use crate::stored::Answers;
use crate::{Config, Registry, RuntimeError, Shared};
use ctx_contracts::{Clock, IndexEvent, IndexReport, PluginError};
use ctx_cost::statistics::{Observation, Statistics};
use ctx_plan_cache::{CacheRow, Counters, LoadReport, Pin, PlanCache, ResultCounters, Unpinned};
use ctx_planner::{PlanError, Planned, Planner};
use ctx_simulate::{Batch, BatchTotal, SimulateError, Simulation};
use ctx_types::outcome::Verdict;
use ctx_types::{Catalog, Denial, Goal, Infeasible, Outcome, Plan, Principal, Sensitivity, SourceName, Trace};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Cached plans whose graph and schedule are kept.
const FINISHED_MAX: usize = 32;
/// Name of the stored plan cache.
const CACHE_BLOB: &str = "plan_cache";

/// Everything one run left.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// Answer, citations, status, spend.
    pub outcome: Outcome,
    /// The record, as the sinks got it: from `confidential` up it holds hashes.
    pub trace: Trace,
    /// What was executed; `None` if there was no plan.
    pub planned: Option<Arc<Planned>>,
    /// Why there was no plan.
    pub infeasible: Option<Box<Infeasible>>,
    /// The context the answer was made from, by label.
    pub context: Vec<ctx_contracts::ContextPassage>,
}

/// Plans, explains, simulates and runs goals. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct Runtime {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) digest: String,
    pub(crate) parts: Parts,
    pub(crate) planner: Planner,
    pub(crate) refresh: bool,
    pub(crate) learning: Arc<Learning>,
    pub(crate) snapshot: Mutex<Option<Arc<Snapshot>>>,
    pub(crate) flights: Flights,
    pub(crate) answers: Arc<Answers>,
    pub(crate) prompts: Arc<Prompts>,
    cache: Arc<Mutex<PlanCache>>,
    /// Labels of conversations, by tenant and id.
    pub(crate) talks: Mutex<BTreeMap<(String, String), Sensitivity>>,
    pub(crate) finished: Mutex<VecDeque<(Arc<Plan>, Arc<Planned>)>>,
    pub(crate) tasks: TaskTracker,
    runs: Arc<std::sync::atomic::AtomicU64>,
}

/// Builds a runtime from parts: what tests and embedders without a registry use.
pub struct RuntimeBuilder {
    config: Config,
    parts: Parts,
    planner: Planner,
    refresh: bool,
}

impl RuntimeBuilder {
    /// Another planner than the shipped one.
    pub fn planner(mut self, planner: Planner) -> Self {
        self.planner = planner;
        self
    }

    /// Plans on the published generation without looking for changes first.
    pub fn without_refresh(mut self) -> Self {
        self.refresh = false;
        self
    }

    /// The runtime, with statistics and plan cache as the store keeps them.
    pub async fn build(self) -> Result<Runtime, RuntimeError> {
        let store = self.parts.store.clone();
        let now = u64::try_from(self.parts.clock.unix_seconds()).unwrap_or(0);
        let learning = Learning::open(self.config.costmodel.estimator, self.config.runtime.durability, store.as_ref()).await;
        let settings = ctx_plan_cache::Settings {
            enabled: self.config.runtime.plan_cache.enabled,
            ttl_seconds: self.config.runtime.plan_cache.ttl_seconds,
            bytes_max: usize::try_from(self.config.runtime.plan_cache.max_bytes).unwrap_or(usize::MAX),
            semantic_error: self.config.runtime.plan_cache.semantic_error,
        };
        let cache = match store.read_blob(CACHE_BLOB).await {
            Ok(Some(bytes)) => PlanCache::from_bytes(&bytes, settings, now).0,
            Ok(None) => PlanCache::new(settings),
            Err(error) => {
                tracing::warn!(%error, "the plan cache starts empty");
                PlanCache::new(settings)
            }
        };
        let results = ctx_plan_cache::ResultSettings {
            enabled: self.config.runtime.result_cache.enabled,
            ttl_seconds: self.config.runtime.result_cache.ttl_seconds,
            bytes_max: usize::try_from(self.config.runtime.result_cache.max_bytes).unwrap_or(usize::MAX),
            semantic_error: self.config.runtime.result_cache.semantic_error,
        };
        let answers = Arc::new(Answers::open(results, store.as_ref(), now).await);
        let prompts = Arc::new(Prompts::open(store.as_ref(), now).await);
        Ok(Runtime {
            inner: Arc::new(Inner {
                digest: self.config.digest(),
                learning: Arc::new(learning),
                config: self.config,
                parts: self.parts,
                planner: self.planner,
                refresh: self.refresh,
                snapshot: Mutex::new(None),
                flights: Flights::default(),
                answers,
                prompts,
                cache: Arc::new(Mutex::new(cache)),
                finished: Mutex::default(),
                talks: Mutex::default(),
                tasks: TaskTracker::new(),
                runs: Arc::default(),
            }),
        })
    }
}

impl Runtime {
    /// A runtime with the plugins that the configuration names.
    pub async fn from_config(config: Config, registry: &Registry) -> Result<Runtime, RuntimeError> {
        Self::from_config_with_clock(config, registry, Arc::new(SystemClock::default())).await
    }

    /// The same with another clock.
    pub async fn from_config_with_clock(config: Config, registry: &Registry, clock: Arc<dyn Clock>) -> Result<Runtime, RuntimeError> {
        registry.check(&config)?;
        let parts = Parts::from_plugins(registry.build(&config, &Shared::new())?, clock);
        Runtime::builder(config, parts).build().await
    }

    /// A runtime from given parts.
    pub fn builder(config: Config, parts: Parts) -> RuntimeBuilder {
        RuntimeBuilder { config, parts, planner: Planner::builder().build(), refresh: true }
    }

    /// The same runtime, planning on the published generation without looking for changes first.
    pub fn without_refresh(&self) -> Runtime {
        self.derived(self.inner.parts.clone(), false)
    }

    /// The same plugins under another configuration. It starts without statistics and plan cache, looks for no changes, and what
    /// its runs show is not kept: what settings are compared with.
    pub async fn variant(&self, config: Config) -> Result<Runtime, RuntimeError> {
        let store = Arc::new(crate::replay::Quiet(self.inner.parts.store.clone()));
        let parts = Parts { store, sinks: Vec::new(), ..self.inner.parts.clone() };
        Runtime::builder(config, parts).planner(self.inner.planner.clone()).without_refresh().build().await
    }

    /// The same runtime over other plugins; statistics and plan cache are shared.
    pub(crate) fn over(&self, parts: Parts) -> Runtime {
        self.derived(parts, self.inner.refresh)
    }

    fn derived(&self, parts: Parts, refresh: bool) -> Runtime {
        let inner = &self.inner;
        Runtime {
            inner: Arc::new(Inner {
                config: inner.config.clone(),
                digest: inner.digest.clone(),
                parts,
                planner: inner.planner.clone(),
                refresh,
                learning: inner.learning.clone(),
                snapshot: Mutex::new(None),
                flights: Flights::default(),
                answers: inner.answers.clone(),
                prompts: inner.prompts.clone(),
                cache: inner.cache.clone(),
                finished: Mutex::default(),
                talks: Mutex::default(),
                tasks: inner.tasks.clone(),
                runs: inner.runs.clone(),
            }),
        }
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The plugins.
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    /// Sources, models and capabilities as planning sees them now.
    pub async fn catalog(&self) -> Result<Catalog, RuntimeError> {
        Ok(self.inner.parts.describe().await?.0)
    }

    /// Of these sources those that a principal may read, and why not the others. For raw retrieval, where nothing is planned.
    pub async fn readable(&self, who: &Principal, sources: &[SourceName]) -> Result<(Vec<SourceName>, Vec<Denial>), RuntimeError> {
        let catalog = self.catalog().await?;
        let denials = self.inner.denials(who, &catalog, sources, &self.inner.config.budgets).await;
        let (mut readable, mut refused) = (Vec::new(), Vec::new());
        for source in sources {
            match crate::denials::refusal(source, who, &catalog, &denials) {
                Some(denial) => refused.push(denial),
                None => readable.push(source.clone()),
            }
        }
        Ok((readable, refused))
    }

    /// Indexes what is missing or changed, with progress.
    pub async fn refresh(
        &self,
        sources: &[SourceName],
        progress: &(dyn Fn(IndexEvent) + Send + Sync),
    ) -> Result<Vec<IndexReport>, PluginError> {
        self.inner.parts.store.refresh(sources, progress).await
    }

    /// The decision for a goal, with everything that went into it. Counts as a use of the plan cache.
    pub async fn prepare(&self, goal: &Goal) -> Result<Prepared, RuntimeError> {
        self.inner.prepare(goal, Mode::Run).await
    }

    /// The plan for a goal; [`PlanError::Infeasible`] if there is none.
    pub async fn plan(&self, goal: &Goal) -> Result<Arc<Planned>, RuntimeError> {
        match self.prepare(goal).await?.choice {
            crate::Choice::Planned(planned) => Ok(planned),
            crate::Choice::Infeasible(infeasible) => Err(PlanError::Infeasible(infeasible).into()),
        }
    }

    /// Graph and schedule of a plan.
    pub fn build_context(&self, plan: &Plan) -> Result<Planned, RuntimeError> {
        Ok(self.inner.planner.finish(plan.clone())?)
    }

    /// What EXPLAIN shows. Without `analyze` nothing is inserted, counted, observed or spent.
    pub async fn explain(&self, goal: &Goal, options: ExplainOptions) -> Result<ExplainInputs, RuntimeError> {
        crate::explain::explain(self, goal, options).await
    }

    /// A quote. Nothing is executed, inserted, counted, observed or spent.
    pub async fn simulate(&self, goal: &Goal) -> Result<Simulation, RuntimeError> {
        let prepared = self.inner.prepare(goal, Mode::Peek).await?;
        match &prepared.choice {
            crate::Choice::Planned(planned) => simulate(planned),
            crate::Choice::Infeasible(infeasible) => Err(PlanError::Infeasible(infeasible.clone()).into()),
        }
    }

    /// Plans and executes. Errors are bad input only: everything else is a status with a trace. Dropping the future
    /// cancels the run, which still settles its ledger and leaves its trace.
    pub async fn run(&self, goal: &Goal) -> Result<RunReport, RuntimeError> {
        self.run_until(goal, CancellationToken::new()).await
    }

    /// The same, cancelled when `cancel` is.
    pub async fn run_until(&self, goal: &Goal, cancel: CancellationToken) -> Result<RunReport, RuntimeError> {
        not_hypothetical(goal)?;
        let started = self.inner.parts.clock.monotonic();
        let prepared = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(self.inner.unplanned(goal, executor::cancelled_before_start(), started).await),
            prepared = self.inner.prepare(goal, Mode::Run) => prepared,
        };
        match prepared {
            Ok(prepared) => self.spawn(prepared, cancel, "user").await,
            Err(RuntimeError::Plugin(error)) => Ok(self.inner.unplanned(goal, executor::plugin_failure(error), started).await),
            Err(error @ RuntimeError::Hidden { .. }) => Ok(self.inner.unplanned(goal, executor::blocked(&error), started).await),
            Err(error) => Err(error),
        }
    }

    /// Executes a decision. An infeasible one has an outcome and a trace too.
    pub async fn execute(&self, prepared: Prepared) -> Result<RunReport, RuntimeError> {
        self.spawn(prepared, CancellationToken::new(), "user").await
    }

    /// Executes a plan that was made before, over the catalog of now.
    pub async fn execute_plan(&self, planned: Planned) -> Result<RunReport, RuntimeError> {
        let mut prepared = self.inner.prepare(&planned.plan.goal, Mode::Peek).await?;
        prepared.limits = self.inner.config.budgets.tightened_by(&planned.plan.limits);
        prepared.plan_cache = "not used: the plan was given".to_owned();
        prepared.choice = crate::Choice::Planned(Arc::new(planned));
        self.execute(prepared).await
    }

    /// Checks an answer again with the verifier that its plan names.
    pub async fn verify(&self, report: &RunReport) -> Result<Option<Verdict>, RuntimeError> {
        executor::verify_again(&self.inner.parts, report).await
    }

    pub(crate) async fn spawn(&self, prepared: Prepared, cancel: CancellationToken, purpose: &str) -> Result<RunReport, RuntimeError> {
        not_hypothetical(&prepared.goal)?;
        if let Some(planned) = prepared.planned() {
            executor::executable(planned)?;
        }
        let id = self.inner.next_run(&prepared);
        let run = Run::new(self.inner.clone(), prepared, cancel.child_token(), id, purpose);
        // Dropped with the caller's future: the run sees it, stops, settles and records.
        let guard = run.cancel.clone().drop_guard();
        let task = self.inner.tasks.spawn(run.drive());
        let report = task.await;
        let _ = guard.disarm();
        match report {
            Ok(report) => Ok(report),
            Err(join) => std::panic::resume_unwind(join.into_panic()),
        }
    }

    /// Waits for runs whose callers went away, absorbs what was observed if it is time to, stores the plan cache.
    pub async fn flush(&self) -> Result<(), PluginError> {
        self.close(When::Due).await
    }

    /// The same, and what was observed is absorbed now: plans are made with it from here on.
    pub async fn publish(&self) -> Result<(), PluginError> {
        self.close(When::Now).await
    }

    async fn close(&self, when: When) -> Result<(), PluginError> {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.tasks.reopen();
        let store = self.inner.parts.store.as_ref();
        let now = self.inner.now();
        self.inner.learning.absorb(store, now, when).await?;
        book::fold(store, now).await?;
        if self.inner.config.learning.shadow {
            crate::shadow::fold(store).await?;
        }
        // Others store theirs too: what they stored since is joined, not overwritten.
        let others = store.read_blob(CACHE_BLOB).await?;
        let bytes = {
            let mut cache = self.inner.cache();
            others.inspect(|bytes| drop(cache.join(bytes, now, Planner::version())));
            let bytes = cache.to_bytes();
            cache.stored();
            bytes
        };
        store.write_blob(CACHE_BLOB, &bytes).await?;
        self.inner.prompts.close(store, now).await?;
        self.inner.answers.close(store).await
    }

    /// Statistics of past runs, those included that planning does not use yet.
    pub async fn statistics(&self) -> Result<Statistics, PluginError> {
        self.inner.learning.known(self.inner.parts.store.as_ref()).await
    }

    /// Joins statistics that another store exported ([`Statistics::to_json`]) to these, remembering that they came from `name`;
    /// plans are made with both from here on. `false`: another writer is at work, and nothing was changed.
    pub async fn import_statistics(&self, imported: Statistics, name: &str) -> Result<bool, PluginError> {
        self.inner.learning.import(self.inner.parts.store.as_ref(), imported, name, self.inner.now()).await
    }

    /// A quote for each of these goals, and what they come to together. Nothing is executed, inserted, counted, observed or
    /// spent. A goal without a plan has its error, and no part in the total.
    pub async fn simulate_all(&self, goals: &[Goal], seed: u64) -> (Vec<Result<Simulation, RuntimeError>>, BatchTotal) {
        let mut batch = Batch::new(seed);
        let mut quotes = Vec::with_capacity(goals.len());
        for goal in goals {
            quotes.push(match self.inner.prepare(goal, Mode::Peek).await {
                Ok(prepared) => match &prepared.choice {
                    crate::Choice::Planned(planned) => {
                        batch.add(&planned.plan, &planned.graph).map_err(|error| not_quoted(planned, &error))
                    }
                    crate::Choice::Infeasible(infeasible) => Err(PlanError::Infeasible(infeasible.clone()).into()),
                },
                Err(error) => Err(error),
            });
        }
        (quotes, batch.total())
    }

    /// What tenants have spent in the windows of their budgets, the last day where there is none.
    pub async fn accounts(&self) -> Result<Vec<AccountRow>, PluginError> {
        book::accounts(self.inner.parts.store.as_ref(), &self.inner.config, self.inner.now()).await
    }

    /// Plan-cache entries, newest use first, with counters.
    pub fn plan_cache(&self) -> (Vec<CacheRow>, Counters) {
        let cache = self.inner.cache();
        (cache.rows(self.inner.now()), cache.counters().clone())
    }

    /// A cached plan by its id or the beginning of it, if that is one plan.
    pub fn cached_plan(&self, id: &str) -> Option<Arc<Plan>> {
        self.inner.cache().plan(id)
    }

    /// The plan cache as bytes, for [`Runtime::import_plan_cache`] elsewhere. Plans from `confidential` up are left out.
    pub fn export_plan_cache(&self) -> Vec<u8> {
        self.inner.cache().to_bytes()
    }

    /// Takes in plans that another runtime exported; says what became of them.
    pub fn import_plan_cache(&self, bytes: &[u8]) -> LoadReport {
        self.inner.cache().import(bytes, self.inner.now(), Planner::version())
    }

    /// Holds the decision of a cached plan, named by its id or the beginning of it, for every goal of its kind.
    pub fn pin_plan(&self, id: &str) -> Result<Arc<Plan>, Unpinned> {
        self.inner.cache().pin(id, self.inner.now())
    }

    /// Lets go of a held decision, named by the beginning of its scope or of its shape; says what was held.
    pub fn unpin_plan(&self, name: &str) -> Option<Pin> {
        self.inner.cache().unpin(name)
    }

    /// Held decisions with their scopes, those that the regression guard holds included.
    pub fn pinned_plans(&self) -> Vec<(String, Pin)> {
        self.inner.cache().pins().map(|(scope, pin)| (scope, pin.clone())).collect()
    }

    /// Stored answers, and what giving them again saved.
    pub fn result_cache(&self) -> (usize, ResultCounters) {
        self.inner.answers.counters()
    }

    /// Stored answers to other words that were compared with a request's own, those that said something else, and about how many
    /// more that say the same are needed before they are given (`None`: they are given, or too many are).
    pub fn compared_answers(&self) -> (u32, u32, Option<u32>) {
        self.inner.answers.compared()
    }

    /// Forgets every stored answer, in memory and on disk; says how many there were.
    pub async fn clear_result_cache(&self) -> Result<usize, PluginError> {
        self.inner.answers.clear(self.inner.parts.store.as_ref()).await
    }

    /// Empties the plan cache; says how many entries there were.
    pub fn clear_plan_cache(&self) -> usize {
        self.inner.cache().clear()
    }
}

/// Nothing that is only assumed is run.
pub(crate) fn not_hypothetical(goal: &Goal) -> Result<(), RuntimeError> {
    if goal.what_if.is_some() { Err(PlanError::HypotheticalRun.into()) } else { Ok(()) }
}

/// The plan's quote with the plan's seed.
pub(crate) fn simulate(planned: &Planned) -> Result<Simulation, RuntimeError> {
    ctx_simulate::simulate(&planned.plan, &planned.graph, planned.plan.seed).map_err(|error| not_quoted(planned, &error))
}

fn not_quoted(planned: &Planned, error: &SimulateError) -> RuntimeError {
    RuntimeError::Graph { plan: planned.plan.id.to_string(), cause: error.to_string() }
}

impl Inner {
    pub(crate) fn cache(&self) -> MutexGuard<'_, PlanCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.parts.clock.unix_seconds()).unwrap_or(0)
    }

    /// The tenants' ledger, for one run.
    pub(crate) fn book(&self, tenant: &str, run: &str) -> Arc<Book> {
        Book::new(self.parts.store.clone(), self.parts.clock.clone(), &self.config, tenant, run, self.tasks.clone())
    }

    /// Keeps what a run showed; absorbs in the background when it is time to.
    pub(crate) async fn observe(self: &Arc<Self>, observations: Vec<Observation>) {
        let now = self.now();
        if !self.learning.observe(self.parts.store.as_ref(), observations, now).await {
            return;
        }
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            if let Err(error) = inner.learning.absorb(inner.parts.store.as_ref(), now, When::Due).await {
                tracing::warn!(%error, "what was observed waits");
            }
        });
    }

    /// Graph and schedule of a cached plan. Some are kept, because hits come in rows: the same question, or the same kind.
    pub(crate) fn finished(&self, plan: &Arc<Plan>) -> Result<Arc<Planned>, RuntimeError> {
        let mut kept = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, planned)) = kept.iter().find(|(of, _)| Arc::ptr_eq(of, plan)) {
            return Ok(planned.clone());
        }
        let planned = Arc::new(self.planner.finish(Plan::clone(plan))?);
        if kept.len() >= FINISHED_MAX {
            kept.pop_front();
        }
        kept.push_back((plan.clone(), planned.clone()));
        Ok(planned)
    }

    /// Unique within the store: plan, wall time, monotonic time, process and counter.
    fn next_run(&self, prepared: &Prepared) -> String {
        let plan = prepared.planned().map_or("none", |planned| planned.plan.id.0.as_str());
        self.run_id(plan)
    }

    pub(crate) fn run_id(&self, plan: &str) -> String {
        let number = self.runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let clock = &self.parts.clock;
        let text = format!("{plan}/{}/{}/{}/{number}", clock.rfc3339(), clock.monotonic().0, std::process::id());
        format!("run_{}", &ctx_types::id::sha256_hex(text.as_bytes())[..32])
    }
}
