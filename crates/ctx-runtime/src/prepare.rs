//! From a goal to a decision: describe → policy → plan cache → probe → plan → insert.
//!
//! [`Mode::Peek`] (simulate) and [`Mode::Explain`] take the same way and leave no trace of themselves: they look into the cache
//! without counting, insert nothing and observe nothing. The plan is the same: it is a function of the same inputs.

use crate::RuntimeError;
use crate::explore;
use crate::runtime::Inner;
use crate::snapshot::Snapshot;
use crate::stored::Asked;
use ctx_cost::statistics::Statistics;
use ctx_plan_cache::{Bypass, CurrentStamps, KeyInput, Lookup, MissCause, NearKey, PlanKey, Scope, Stamps};
use ctx_planner::{Inputs, PlanError, Planned, Planner};
use ctx_types::catalog::{Availability, SourceState};
use ctx_types::exploration::Exploration;
use ctx_types::plan::Stamp;
use ctx_types::{
    Catalog, Constraints, Denial, Goal, Infeasible, Micros, ModelEntry, ModelName, Operator, Probe, PromptCache, Sensitivity, Settings,
    SourceName, Stage, Status, Strategy, Weights,
};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

/// Whether planning may leave traces of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Counts, inserts.
    Run,
    /// The same, and the plan holds what only EXPLAIN prints.
    Analyze,
    /// Neither.
    Peek,
    /// Neither, and the plan holds what only EXPLAIN prints.
    Explain,
    /// Neither, and the plan cache is not looked at: the plan is kept with everything that it was made from.
    Record,
    /// As [`Mode::Explain`], and the sources are not asked about the goal.
    Generic,
}

impl Mode {
    pub(crate) fn leaves_traces(self) -> bool {
        matches!(self, Mode::Run | Mode::Analyze)
    }

    fn explains(self) -> bool {
        matches!(self, Mode::Analyze | Mode::Explain | Mode::Generic)
    }
}

/// A decision: a plan, or why there is none.
#[derive(Clone, Debug)]
pub enum Choice {
    /// The best feasible plan with its graph and schedule.
    Planned(Arc<Planned>),
    /// No plan meets the constraints.
    Infeasible(Box<Infeasible>),
}

impl Choice {
    /// The plan, if there is one.
    pub(crate) fn planned(&self) -> Option<&Arc<Planned>> {
        match self {
            Choice::Planned(planned) => Some(planned),
            Choice::Infeasible(_) => None,
        }
    }

    /// A planner's answer as a decision. That there is no plan is one; bad input is an error.
    pub(crate) fn of(planned: Result<Planned, PlanError>) -> Result<Choice, RuntimeError> {
        match planned {
            Ok(planned) => Ok(Choice::Planned(Arc::new(planned))),
            Err(PlanError::Infeasible(infeasible)) => Ok(Choice::Infeasible(infeasible)),
            Err(error) => Err(error.into()),
        }
    }
}

/// A goal with its decision and everything that went into it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The goal as planned: the caller's words, with configured weights where the request gave none.
    pub goal: Goal,
    /// Constraints in force.
    pub limits: Constraints,
    /// What exists.
    pub catalog: Arc<Catalog>,
    /// Which retriever reads which source.
    pub(crate) readers: Arc<BTreeMap<SourceName, usize>>,
    /// What the sources said about the goal; empty after a cache hit, which needs no probe.
    pub probe: Probe,
    /// What policy refused.
    pub denials: Vec<Denial>,
    /// Statistics that were read.
    pub statistics: Arc<Statistics>,
    /// The decision.
    pub choice: Choice,
    /// Plan cache: hit or miss and why.
    pub plan_cache: String,
    /// What the goal shares decisions with; none where the plan cache was not asked.
    pub(crate) scope: Option<Scope>,
    /// The stored answer, where answers are kept.
    pub(crate) stored: Option<Asked>,
    /// What else could be run, where exploration is on.
    pub exploration: Option<Exploration>,
    /// Time from goal to decision.
    pub planning: Micros,
    /// Remarks of this preparation: a store that could not be refreshed, a detector that was down.
    pub notes: Vec<String>,
}

impl Prepared {
    /// The plan with graph and schedule, if there is one.
    pub fn planned(&self) -> Option<&Arc<Planned>> {
        self.choice.planned()
    }

    /// Why none of the goal's sources can be read, if that is so: who asks may not, or nobody can. A plan that reads nothing
    /// has no answer, and "insufficient evidence" would be a false reason.
    pub(crate) fn unreadable(&self) -> Option<(Status, String)> {
        let refusal = |source: &SourceName| {
            let denial = crate::denials::refusal(source, &self.goal.principal, &self.catalog, &self.denials)?;
            Some(format!("{}: {}", denial.rule, denial.reason))
        };
        let absence = |source: &SourceName| match &self.catalog.sources.get(source)?.state {
            SourceState::Unavailable { reason } => Some(format!("source {source}: {reason}")),
            _ => None,
        };
        let of_all = |reason: &dyn Fn(&SourceName) -> Option<String>| {
            let asked: Vec<&SourceName> =
                if self.goal.sources.is_empty() { self.catalog.sources.keys().collect() } else { self.goal.sources.iter().collect() };
            let reasons: Option<Vec<String>> = asked.into_iter().map(reason).collect();
            reasons.filter(|reasons| !reasons.is_empty()).map(|reasons| reasons.join("; "))
        };
        let refused = of_all(&refusal).map(|why| (Status::Blocked, why));
        refused.or_else(|| Some((Status::StoreUnavailable, of_all(&|source| refusal(source).or_else(|| absence(source)))?)))
    }

    /// The tightest label of goal and used sources.
    pub(crate) fn sensitivity(&self) -> Sensitivity {
        tightest(&self.limits, &self.catalog, self.planned())
    }
}

/// The tightest of what is declared, what is detected in the goal's words, and what the sources are labelled.
pub(crate) fn tightest(limits: &Constraints, catalog: &Catalog, planned: Option<&Arc<Planned>>) -> Sensitivity {
    let intent = planned.map_or(Sensitivity::Public, |planned| planned.plan.intent.sensitivity);
    intent.max(limits.sensitivity.unwrap_or(Sensitivity::Public)).max(label(catalog, planned))
}

/// The tightest label of the sources that a plan reads, of all sources without one.
pub(crate) fn label(catalog: &Catalog, planned: Option<&Arc<Planned>>) -> Sensitivity {
    let used = |name: &SourceName| planned.is_none_or(|p| p.plan.accesses().any(|(source, _, _)| source == name));
    let labels = catalog.sources.iter().filter(|(name, _)| used(name)).map(|(_, entry)| entry.sensitivity);
    labels.fold(Sensitivity::Public, Sensitivity::max)
}

/// One goal on its way.
pub(crate) struct Request<'a> {
    pub(crate) goal: &'a Goal,
    pub(crate) limits: &'a Constraints,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) sources: &'a [SourceName],
    pub(crate) denials: &'a [Denial],
    pub(crate) statistics: &'a Statistics,
    pub(crate) settings: &'a Settings,
    pub(crate) versions: &'a Arc<Vec<Stamp>>,
    /// What providers may hold of this tenant's prompts.
    pub(crate) prompt_caches: &'a BTreeMap<ModelName, PromptCache>,
    /// Neither plan nor answer of an earlier request is wanted.
    pub(crate) fresh: bool,
}

/// A decision with what it was made from.
pub(crate) struct Decided {
    pub(crate) choice: Choice,
    pub(crate) probe: Probe,
    /// What the cache said.
    pub(crate) told: String,
    pub(crate) scope: Option<Scope>,
    /// What else could have been decided.
    pub(crate) exploration: Option<Exploration>,
}

impl Decided {
    /// Without the plan cache.
    fn aside((choice, probe, _): (Choice, Probe, Micros), told: impl Into<String>) -> Decided {
        Decided { choice, probe, told: told.into(), scope: None, exploration: None }
    }
}

impl Inner {
    /// The decision for a goal. Errors are bad input and plugins that cannot be described; `Infeasible` is a decision.
    pub(crate) async fn prepare(&self, goal: &Goal, mode: Mode) -> Result<Prepared, RuntimeError> {
        let start = self.parts.clock.monotonic();
        let mut goal = self.effective(goal);
        if goal.text.trim().is_empty() {
            return Err(PlanError::EmptyGoal.into());
        }
        // How a goal is asked is no part of the plan: it has the id that it has with the caches.
        let fresh = std::mem::take(&mut goal.no_cache);
        let mut notes = self.freshen(&goal).await;
        let mut snapshot = self.snapshot().await?;
        let mut catalog = match &goal.what_if {
            Some(assumed) => Arc::new(ctx_planner::hypothetical(&snapshot.catalog, assumed)?),
            None => snapshot.catalog.clone(),
        };
        let mut sources = permitted(&goal, &catalog)?;
        let mut limits = self.config.budgets.tightened_by(&goal.constraints);
        limits.sensitivity = limits.sensitivity.max(self.detected(&goal, &mut notes).await).max(self.talk_label(&goal));
        let mut denials = self.denials(&goal.principal, &catalog, &sources, &limits).await;
        let hidden = crate::denials::hidden(&goal, &sources, &catalog, &denials);
        if !hidden.is_empty() {
            sources.retain(|source| !hidden.contains_key(source));
            if sources.is_empty() {
                return Err(RuntimeError::Hidden { sources: hidden.len(), rules: hidden.into_values().collect() });
            }
            denials.retain(|denial| denial.source.as_ref().is_none_or(|source| !hidden.contains_key(source)));
            snapshot = Arc::new(Snapshot::of(crate::denials::without(&snapshot.catalog, &hidden), snapshot.readers.clone()));
            catalog = crate::denials::without(&catalog, &hidden);
            notes.extend(crate::denials::not_shown(hidden.len()));
        }
        let statistics = self.learning.snapshot();
        let settings = self.settings();
        let versions = snapshot.versions(&sources, &denials, &settings);
        let prompt_caches = self.prompts.known(&goal.principal.tenant, &catalog, self.now());
        let request = Request {
            goal: &goal,
            limits: &limits,
            snapshot: &snapshot,
            sources: &sources,
            denials: &denials,
            statistics: &statistics,
            settings: &settings,
            versions: &versions,
            prompt_caches: &prompt_caches,
            fresh,
        };
        let Decided { mut choice, mut probe, told: plan_cache, scope, exploration } = self.decide(&request, mode).await?;
        notes.extend(exploration.as_ref().and_then(|e| if mode.leaves_traces() { explore::ran(e) } else { Some(explore::would(e)) }));
        if mode.leaves_traces() && goal.conversation.is_some() {
            self.raise_talk(&goal, self.said_label(&goal, &limits, &snapshot.catalog, &choice));
        }
        notes.extend(unusable(&choice, &catalog));
        let stored = self.answer_beside(&request, &choice, mode, scope.is_some());
        if let Some(asked) = stored.as_ref().filter(|asked| mode.explains() || asked.given.is_some()) {
            notes.push(asked.told.clone());
        }
        let planning = self.parts.clock.monotonic() - start;
        if mode.explains() {
            self.detail(&request, &mut choice, &probe, mode, scope.as_ref()).await;
        }
        // After a hit nothing was probed; the rest of the run is planned with what the plan was made with.
        if mode != Mode::Generic {
            probe.prompt_caches.clone_from(&prompt_caches);
        }
        Ok(Prepared {
            catalog,
            readers: snapshot.readers.clone(),
            choice,
            probe,
            plan_cache,
            scope,
            stored,
            exploration,
            planning,
            goal,
            limits,
            denials,
            statistics,
            notes,
        })
    }

    /// What the stored answers hold for this request; nothing where the caches are not asked.
    fn answer_beside(&self, request: &Request<'_>, choice: &Choice, mode: Mode, cached: bool) -> Option<Asked> {
        let Choice::Planned(planned) = choice else { return None };
        if !cached || !self.config.runtime.result_cache.enabled || matches!(mode, Mode::Record | Mode::Generic) {
            return None;
        }
        let label = tightest(request.limits, &request.snapshot.catalog, Some(planned));
        let stamps = request.snapshot.stamps(request);
        let input = key_input(request);
        let semantic = self.config.runtime.result_cache.semantic_error.0 > 0;
        let near = semantic.then(|| NearKey::of(&input, &planned.plan.intent));
        self.stored_answer((&PlanKey::literal(&input), near), &stamps, choice, mode, label)
    }

    /// Configured weights hold unless the request brings its own.
    fn effective(&self, goal: &Goal) -> Goal {
        let mut goal = goal.clone();
        if goal.weights == Weights::default() {
            goal.weights = self.config.costmodel.weights;
        }
        goal
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings {
            configuration_digest: self.digest.clone(),
            verification_default: self.config.verification.default,
            high_risk_requires_human: self.config.verification.high_risk_requires_human,
            top_k: self.config.retrieval.top_k,
            final_k: self.config.retrieval.final_k,
            reranker: self.config.retrieval.reranker.clone(),
            rerank_gain_min: self.config.retrieval.rerank_gain_min,
            compress_keep_min: self.config.retrieval.compress_keep_min,
            default_path: self.config.retrieval.default_strategy.as_deref().and_then(path_named),
            policy_version: self.parts.policy.version(),
        }
    }

    /// Looks for changes on disk as configured. What cannot be refreshed is planned as it stands, and said.
    async fn freshen(&self, goal: &Goal) -> Vec<String> {
        if !self.refresh {
            return Vec::new();
        }
        let sources: Vec<SourceName> =
            if goal.sources.is_empty() { self.config.sources.keys().cloned().collect() } else { goal.sources.clone() };
        let known: Vec<SourceName> = sources.into_iter().filter(|name| self.config.sources.contains_key(name)).collect();
        if known.is_empty() {
            return Vec::new();
        }
        match self.parts.store.refresh(&known, &|_| {}).await {
            Ok(reports) => {
                let failed = reports.into_iter().filter_map(|report| report.failure);
                failed.map(|error| format!("not refreshed, planned on the last generation: {error}")).collect()
            }
            Err(error) => vec![format!("not refreshed, planned on the last generation: {error}")],
        }
    }

    /// The catalog now; the snapshot of last time while nothing in it moved.
    async fn snapshot(&self) -> Result<Arc<Snapshot>, RuntimeError> {
        let (catalog, readers) = self.parts.describe().await?;
        let mut last = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = last.as_ref().filter(|s| *s.catalog == catalog && *s.readers == readers) {
            return Ok(snapshot.clone());
        }
        let (catalog, readers) = (Arc::new(catalog), Arc::new(readers));
        let new = Arc::new(Snapshot::of(catalog, readers));
        *last = Some(new.clone());
        Ok(new)
    }

    /// What the policy's detector finds in the goal's words. A detector that is down counts as restricted.
    async fn detected(&self, goal: &Goal, notes: &mut Vec<String>) -> Option<Sensitivity> {
        match self.parts.policy.scan(&goal.text).await {
            Ok(spans) => spans.iter().map(|span| span.raises_to).max(),
            Err(error) => {
                notes.push(format!("the goal counts as restricted: {error}"));
                Some(Sensitivity::Restricted)
            }
        }
    }

    async fn decide(&self, request: &Request<'_>, mode: Mode) -> Result<Decided, RuntimeError> {
        let aside = match mode {
            Mode::Generic => Some((Probe::default(), "not used: a generic plan")),
            Mode::Record => Some((self.probe(request).await, "not used: the run is recorded")),
            Mode::Run | Mode::Analyze | Mode::Peek | Mode::Explain => None,
        };
        if let Some((probe, told)) = aside {
            return Ok(Decided::aside(self.plan_on(request, probe)?, told));
        }
        let asked = request.fresh.then_some(Bypass::Request);
        if let Some(why) = Bypass::demanded_by(request.goal).or(asked) {
            let told = self.bypassed(why, mode);
            return Ok(Decided::aside(self.plan_anew(request).await?, told));
        }
        if let Some(decided) = self.choose_among(request, mode).await? {
            return Ok(decided);
        }
        let stamps = request.snapshot.stamps(request);
        let key = PlanKey::literal(&key_input(request));
        let found = self.look_up(&key, &stamps, mode);
        let told = found.to_string();
        if let Some(planned) = self.reuse(request, &found)? {
            let scope = found.hit().map(|entry| entry.scope.clone());
            return Ok(Decided { choice: Choice::Planned(planned), probe: Probe::default(), told, scope, exploration: None });
        }
        if !mode.leaves_traces() {
            return Ok(self.make(request, &key, &stamps, told, mode).await?.decided);
        }
        self.plan_once(request, key, &stamps, told).await
    }

    /// That the cache is gone around, in words; counted where planning leaves traces.
    pub(crate) fn bypassed(&self, why: Bypass, mode: Mode) -> String {
        if mode.leaves_traces() { self.cache().bypass(why).to_string() } else { Lookup::Miss(MissCause::Bypassed(why)).to_string() }
    }

    pub(crate) fn look_up(&self, key: &PlanKey, stamps: &Stamps, mode: Mode) -> Lookup {
        let now = self.now();
        if mode.leaves_traces() {
            self.cache().lookup(key, &CurrentStamps::of(stamps), now)
        } else {
            self.cache().peek(key, &CurrentStamps::of(stamps), now)
        }
    }

    async fn plan_anew(&self, request: &Request<'_>) -> Result<(Choice, Probe, Micros), RuntimeError> {
        let probe = self.probe(request).await;
        self.plan_on(request, probe)
    }

    fn plan_on(&self, request: &Request<'_>, probe: Probe) -> Result<(Choice, Probe, Micros), RuntimeError> {
        let start = self.parts.clock.monotonic();
        let choice = Choice::of(self.planner.plan(&inputs(request, &probe)))?;
        Ok((choice, probe, self.parts.clock.monotonic() - start))
    }

    /// Adds what only EXPLAIN prints: the plan is made again, in detail, from the same inputs. A plan that does not come out
    /// of them (it is held, or a source moved meanwhile) stays as it is.
    async fn detail(&self, request: &Request<'_>, choice: &mut Choice, probe: &Probe, mode: Mode, scope: Option<&Scope>) {
        let Choice::Planned(planned) = choice else { return };
        if scope.is_some_and(|scope| self.cache().pinned(scope).is_some()) {
            return;
        }
        let asked = if mode == Mode::Generic || !probe.sources.is_empty() { probe.clone() } else { self.probe(request).await };
        match self.planner.plan_in_detail(&inputs(request, &asked)) {
            Ok(detailed) if detailed.plan.id == planned.plan.id => *planned = Arc::new(detailed),
            _ => {}
        }
    }

    pub(crate) async fn probe(&self, request: &Request<'_>) -> Probe {
        let probe = self.probe_sources(&request.goal.text, request.sources, &request.snapshot.readers).await;
        Probe { prompt_caches: request.prompt_caches.clone(), ..probe }
    }

    /// Asks the sources what they know about a text. A source that cannot say is planned with priors.
    pub(crate) async fn probe_sources(&self, text: &str, sources: &[SourceName], readers: &BTreeMap<SourceName, usize>) -> Probe {
        let mut probe = Probe::default();
        for (at, retriever) in self.parts.retrievers.iter().enumerate() {
            let served: Vec<SourceName> = sources.iter().filter(|name| readers.get(name) == Some(&at)).cloned().collect();
            if served.is_empty() {
                continue;
            }
            match retriever.probe(text, &served).await {
                Ok(answer) => {
                    probe.goal_tokens = probe.goal_tokens.max(answer.goal_tokens);
                    probe.sources.extend(answer.sources);
                }
                Err(error) => tracing::debug!(retriever = retriever.name(), %error, "not probed"),
            }
        }
        probe
    }
}

pub(crate) fn key_input<'a>(request: &'a Request<'_>) -> KeyInput<'a> {
    KeyInput {
        goal: request.goal,
        limits: request.limits,
        sources: request.sources,
        configuration: &request.settings.configuration_digest,
        planner_version: Planner::version(),
    }
}

pub(crate) fn inputs<'a>(request: &'a Request<'_>, probe: &'a Probe) -> Inputs<'a> {
    Inputs {
        goal: request.goal,
        limits: request.limits,
        catalog: &request.snapshot.catalog,
        probe,
        statistics: request.statistics,
        denials: request.denials,
        settings: request.settings,
        versions: Some(request.versions),
    }
}

/// The goal's sources or all of them, sorted, each once. A source that is not configured is refused by name.
fn permitted(goal: &Goal, catalog: &Catalog) -> Result<Vec<SourceName>, RuntimeError> {
    let mut sources: Vec<SourceName> =
        if goal.sources.is_empty() { catalog.sources.keys().cloned().collect() } else { goal.sources.clone() };
    sources.sort();
    sources.dedup();
    match sources.iter().find(|name| !catalog.sources.contains_key(*name)) {
        Some(stranger) => {
            let shown = catalog.sources.iter().filter(|(_, entry)| entry.readable_to(&goal.principal.roles));
            let known = shown.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            Err(PlanError::UnknownSource { name: stranger.to_string(), known }.into())
        }
        None if sources.is_empty() => Err(PlanError::NoSource.into()),
        None => Ok(sources),
    }
}

/// `hybrid` stands for the linear form.
fn path_named(name: &str) -> Option<ctx_types::AccessPath> {
    ctx_types::AccessPath::from_name(if name == "hybrid" { "hybrid_linear" } else { name })
}

/// Configured models that cannot be used, where the answer is quoted for want of one: who configured a model expects it to answer.
fn unusable(choice: &Choice, catalog: &Catalog) -> Vec<String> {
    let Choice::Planned(planned) = choice else { return Vec::new() };
    let quotes = |operator: &Operator| matches!(operator, Operator::Answer { strategy: Strategy::Extractive, model: None });
    if !planned.plan.chosen(&Stage::Answer).is_some_and(|chosen| quotes(&chosen.alternative.operator)) {
        return Vec::new();
    }
    let reason = |entry: &ModelEntry| match &entry.availability {
        Availability::Unavailable { reason } => Some(reason.clone()),
        Availability::Available => None,
    };
    let told = catalog.models.iter().filter_map(|(name, entry)| Some(format!("model `{name}` is not available: {}", reason(entry)?)));
    told.collect()
}
