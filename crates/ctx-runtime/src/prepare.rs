//! From a goal to a decision: describe → policy → plan cache → probe → plan → insert.
//!
//! [`Mode::Peek`] (simulate) and [`Mode::Explain`] take the same way and leave no trace of themselves: they look into the cache
//! without counting, insert nothing and observe nothing. The plan is the same: it is a function of the same inputs.

use crate::RuntimeError;
use crate::runtime::Inner;
use ctx_cost::statistics::Statistics;
use ctx_plan_cache::{Bypass, CachedPlan, CurrentStamps, EntryKind, KeyInput, Lookup, MissCause, PlanKey, Stamps, Template};
use ctx_planner::{Inputs, PlanError, Planned, Planner};
use ctx_types::catalog::SourceState;
use ctx_types::{
    Catalog, Constraints, Denial, Goal, Infeasible, Intent, Micros, Probe, Sensitivity, Settings, SourceName, Status, Weights,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

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
    fn leaves_traces(self) -> bool {
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
    /// Time from goal to decision.
    pub planning: Micros,
    /// Remarks of this preparation: a store that could not be refreshed, a detector that was down.
    pub notes: Vec<String>,
}

impl Prepared {
    /// The plan with graph and schedule, if there is one.
    pub fn planned(&self) -> Option<&Arc<Planned>> {
        match &self.choice {
            Choice::Planned(planned) => Some(planned),
            Choice::Infeasible(_) => None,
        }
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
        let intent = self.planned().map_or(Sensitivity::Public, |planned| planned.plan.intent.sensitivity);
        let declared = self.limits.sensitivity.unwrap_or(Sensitivity::Public);
        intent.max(declared).max(label(&self.catalog, self.planned()))
    }
}

/// The tightest label of the sources that a plan reads, of all sources without one.
fn label(catalog: &Catalog, planned: Option<&Arc<Planned>>) -> Sensitivity {
    let used = |name: &SourceName| planned.is_none_or(|p| p.plan.accesses().any(|(source, _, _)| source == name));
    let labels = catalog.sources.iter().filter(|(name, _)| used(name)).map(|(_, entry)| entry.sensitivity);
    labels.fold(Sensitivity::Public, Sensitivity::max)
}

/// A catalog with the stamps of everything in it, kept while nothing in it moves.
pub(crate) struct Snapshot {
    catalog: Arc<Catalog>,
    readers: Arc<BTreeMap<SourceName, usize>>,
    stamps: Mutex<Option<StampSet>>,
}

struct StampSet {
    tenant: String,
    epoch: String,
    sources: Vec<SourceName>,
    denials: Vec<Denial>,
    stamps: Arc<Stamps>,
}

/// One goal on its way.
struct Request<'a> {
    goal: &'a Goal,
    limits: &'a Constraints,
    snapshot: &'a Snapshot,
    sources: &'a [SourceName],
    denials: &'a [Denial],
    statistics: &'a Statistics,
    settings: &'a Settings,
}

/// A decision that no cached plan of these very words gave.
struct Made {
    choice: Choice,
    probe: Probe,
    /// What the cache said.
    told: String,
    /// What planning took; nothing where a template was bound.
    planning: Micros,
    /// The key of the kind, if it was planned on its own.
    custom: Option<PlanKey>,
}

impl Inner {
    /// The decision for a goal. Errors are bad input and plugins that cannot be described; `Infeasible` is a decision.
    pub(crate) async fn prepare(&self, goal: &Goal, mode: Mode) -> Result<Prepared, RuntimeError> {
        let start = self.parts.clock.monotonic();
        let goal = self.effective(goal);
        if goal.text.trim().is_empty() {
            return Err(PlanError::EmptyGoal.into());
        }
        let mut notes = self.freshen(&goal).await;
        let snapshot = self.snapshot().await?;
        let catalog = match &goal.what_if {
            Some(assumed) => Arc::new(ctx_planner::hypothetical(&snapshot.catalog, assumed)?),
            None => snapshot.catalog.clone(),
        };
        let sources = permitted(&goal, &catalog)?;
        let mut limits = self.config.budgets.tightened_by(&goal.constraints);
        limits.sensitivity = limits.sensitivity.max(self.detected(&goal, &mut notes).await);
        let denials = self.denials(&goal.principal, &catalog, &sources, &limits).await;
        let statistics = self.learning.snapshot();
        let settings = self.settings();
        let request = Request {
            goal: &goal,
            limits: &limits,
            snapshot: &snapshot,
            sources: &sources,
            denials: &denials,
            statistics: &statistics,
            settings: &settings,
        };
        let (mut choice, probe, plan_cache) = self.decide(&request, mode).await?;
        let planning = self.parts.clock.monotonic() - start;
        if mode.explains() {
            self.detail(&request, &mut choice, &probe, mode).await;
        }
        Ok(Prepared {
            catalog,
            readers: snapshot.readers.clone(),
            choice,
            probe,
            plan_cache,
            planning,
            goal,
            limits,
            denials,
            statistics,
            notes,
        })
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
            Ok(_) => Vec::new(),
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
        let new = Arc::new(Snapshot { catalog: Arc::new(catalog), readers: Arc::new(readers), stamps: Mutex::new(None) });
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

    async fn decide(&self, request: &Request<'_>, mode: Mode) -> Result<(Choice, Probe, String), RuntimeError> {
        let aside = match mode {
            Mode::Generic => Some((Probe::default(), "not used: a generic plan")),
            Mode::Record => Some((self.probe(request).await, "not used: the run is recorded")),
            Mode::Run | Mode::Analyze | Mode::Peek | Mode::Explain => None,
        };
        if let Some((probe, told)) = aside {
            let (choice, probe, _) = self.plan_on(request, probe)?;
            return Ok((choice, probe, told.to_owned()));
        }
        if let Some(why) = Bypass::demanded_by(request.goal) {
            let told =
                if mode.leaves_traces() { self.cache().bypass(why).to_string() } else { format!("bypassed ({why})", why = why.as_str()) };
            let (choice, probe, _) = self.plan_anew(request).await?;
            return Ok((choice, probe, told));
        }
        let stamps = request.snapshot.stamps(request);
        let key = PlanKey::literal(&key_input(request));
        let found = self.look_up(&key, &stamps, mode);
        let told = found.to_string();
        if let Some(planned) = self.reuse(request, &found)? {
            return Ok((Choice::Planned(planned), Probe::default(), told));
        }
        if !mode.leaves_traces() {
            let made = self.make(request, &stamps, told, mode).await?;
            return Ok((made.choice, made.probe, made.told));
        }
        self.plan_once(request, key, &stamps, told).await
    }

    /// The key that goals of the same kind share. None for goals whose words raise their label: nothing made for them serves
    /// another.
    fn template(&self, request: &Request<'_>, probe: &Probe) -> Option<(PlanKey, Intent)> {
        let open = request.limits.sensitivity.is_none_or(|label| label < Sensitivity::Confidential);
        if !open || probe.sources.is_empty() || !self.config.runtime.plan_cache.enabled {
            return None;
        }
        let intent = self.planner.analyze(request.goal);
        if intent.sensitivity >= Sensitivity::Confidential {
            return None;
        }
        let signature = ctx_planner::signature(&request.snapshot.catalog, request.sources, probe, &intent);
        let question = request.goal.text.contains('?');
        let words = Template { intent: &intent, question, signature: &signature, goal_tokens: probe.goal_tokens };
        let key = PlanKey::template(&key_input(request), &words);
        Some((key, intent))
    }

    /// The decision of a template for this goal, if one stands and is as good as planning anew; and what the cache said.
    fn bind(
        &self,
        request: &Request<'_>,
        template: Option<&(PlanKey, Intent)>,
        probe: &Probe,
        stamps: &Stamps,
        told: String,
        mode: Mode,
    ) -> Result<(Option<Arc<Planned>>, String), RuntimeError> {
        let Some((key, intent)) = template else { return Ok((None, told)) };
        let (current, now) = (CurrentStamps::of(stamps), self.now());
        let found = if mode.leaves_traces() {
            self.cache().lookup_template(key, probe.goal_tokens, &current, now)
        } else {
            self.cache().peek_template(key, probe.goal_tokens, &current, now)
        };
        match &found {
            Lookup::Hit(entry) => {
                let configuration = &request.settings.configuration_digest;
                let planned = self.planner.bind(&entry.plan, request.goal, intent.clone(), configuration)?;
                Ok((Some(Arc::new(planned)), found.to_string()))
            }
            Lookup::Miss(MissCause::Absent) => Ok((None, told)),
            Lookup::Miss(cause) => Ok((None, format!("{told}; template: {cause}"))),
        }
    }

    fn look_up(&self, key: &PlanKey, stamps: &Stamps, mode: Mode) -> Lookup {
        let now = self.now();
        if mode.leaves_traces() {
            self.cache().lookup(key, &CurrentStamps::of(stamps), now)
        } else {
            self.cache().peek(key, &CurrentStamps::of(stamps), now)
        }
    }

    /// The cached plan of a hit. A goal that differs in form only (outer white space, composed characters, order of sources) gets
    /// the decision with its own words.
    fn reuse(&self, request: &Request<'_>, found: &Lookup) -> Result<Option<Arc<Planned>>, RuntimeError> {
        let Some(entry) = found.hit() else { return Ok(None) };
        if entry.made_for(request.goal) {
            return Ok(Some(self.finished(&entry.plan)?));
        }
        let intent = self.planner.analyze(request.goal);
        let configuration = &request.settings.configuration_digest;
        Ok(Some(Arc::new(self.planner.bind(&entry.plan, request.goal, intent, configuration)?)))
    }

    /// Single flight: of several requests with one key, one plans and the others take its entry.
    async fn plan_once(
        &self,
        request: &Request<'_>,
        key: PlanKey,
        stamps: &Stamps,
        told: String,
    ) -> Result<(Choice, Probe, String), RuntimeError> {
        let flight = self.flights.join(key.hash());
        let _turn = flight.turn().await;
        if let Some(planned) = self.reuse(request, &self.look_up(&key, stamps, Mode::Peek))? {
            return Ok((Choice::Planned(planned), Probe::default(), format!("{told}; planned by a concurrent request")));
        }
        let Made { choice, probe, told, planning, custom } = self.make(request, stamps, told, Mode::Run).await?;
        if let Choice::Planned(planned) = &choice {
            let entry = CachedPlan {
                kind: EntryKind::Literal,
                plan: Arc::new(planned.plan.clone()),
                label: label(&request.snapshot.catalog, Some(planned)),
                planning,
                planned_at: self.now(),
                goal_tokens: probe.goal_tokens,
            };
            let current = CurrentStamps::of(stamps);
            let mut cache = self.cache();
            if let Some(template) = custom.filter(|_| entry.sensitivity() < Sensitivity::Confidential) {
                cache.custom(template, &entry, request.goal.weights.cost_of_time(planning), &current);
            }
            cache.insert(key, entry, &current);
        }
        Ok((choice, probe, told))
    }

    /// The decision for words that are new: of their kind's template, or planned.
    async fn make(&self, request: &Request<'_>, stamps: &Stamps, told: String, mode: Mode) -> Result<Made, RuntimeError> {
        let probe = self.probe(request).await;
        let template = self.template(request, &probe);
        let (bound, told) = self.bind(request, template.as_ref(), &probe, stamps, told, mode)?;
        if let Some(planned) = bound {
            return Ok(Made { choice: Choice::Planned(planned), probe, told, planning: Micros(0), custom: None });
        }
        let (choice, probe, planning) = self.plan_on(request, probe)?;
        Ok(Made { choice, probe, told, planning, custom: template.map(|(key, _)| key) })
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

    /// Adds what only EXPLAIN prints: the plan is made again, in detail, from the same inputs. A plan that no longer comes out
    /// of them (a source moved meanwhile) stays as it is.
    async fn detail(&self, request: &Request<'_>, choice: &mut Choice, probe: &Probe, mode: Mode) {
        let Choice::Planned(planned) = choice else { return };
        let asked = if mode == Mode::Generic || !probe.sources.is_empty() { probe.clone() } else { self.probe(request).await };
        match self.planner.plan_in_detail(&inputs(request, &asked)) {
            Ok(detailed) if detailed.plan.id == planned.plan.id => *planned = Arc::new(detailed),
            _ => {}
        }
    }

    async fn probe(&self, request: &Request<'_>) -> Probe {
        self.probe_sources(&request.goal.text, request.sources, &request.snapshot.readers).await
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

fn key_input<'a>(request: &'a Request<'_>) -> KeyInput<'a> {
    KeyInput {
        goal: request.goal,
        limits: request.limits,
        sources: request.sources,
        configuration: &request.settings.configuration_digest,
        planner_version: Planner::version(),
    }
}

fn inputs<'a>(request: &'a Request<'_>, probe: &'a Probe) -> Inputs<'a> {
    Inputs {
        goal: request.goal,
        limits: request.limits,
        catalog: &request.snapshot.catalog,
        probe,
        statistics: request.statistics,
        denials: request.denials,
        settings: request.settings,
    }
}

impl Snapshot {
    /// Versions of everything that planning this request considers; computed once while the inputs stay.
    fn stamps(&self, request: &Request<'_>) -> Arc<Stamps> {
        let tenant = &request.goal.principal.tenant;
        let epoch = request.statistics.epoch(tenant);
        let mut kept = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(set) = kept
            .as_ref()
            .filter(|s| s.tenant == *tenant && s.epoch == epoch && s.sources == request.sources && s.denials == request.denials)
        {
            return set.stamps.clone();
        }
        let fresh = ctx_planner::stamps(&self.catalog, request.sources, request.statistics, tenant, request.denials, request.settings);
        let stamps = Arc::new(Stamps::from(fresh));
        *kept = Some(StampSet {
            tenant: tenant.clone(),
            epoch: epoch.to_owned(),
            sources: request.sources.to_vec(),
            denials: request.denials.to_vec(),
            stamps: stamps.clone(),
        });
        stamps
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
            let known = catalog.sources.keys().map(SourceName::as_str).collect::<Vec<_>>().join(", ");
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
