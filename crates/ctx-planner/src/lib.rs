//! Planning: the ordered list of stages, and the checks between them.
//!
//! ```text
//! Goal ──analyze──▶ Intent ──generate──▶ PlanSpace ──estimate──▶ Problem ──solve──▶ Solution
//!                                                                                      │
//!                      Schedule ◀──schedule── ExecutionGraph ◀──lower── Plan ◀──write──┘
//! ```
//!
//! [`Planner::plan`] is a pure function of its [`Inputs`]: no I/O, no clock, no environment, no trait object. The same
//! inputs give the same bytes. After every stage [`check`] verifies what the types cannot say.

mod assemble;
mod bind;
pub mod check;
mod conflict;
mod contend;
mod error;
mod inputs;
mod pin;
mod refine;
mod refuse;
mod stamps;
mod what_if;
mod write;

pub use bind::{Signature, signature};
pub use contend::{CONTENDERS_MAX, Contender};
pub use ctx_types::{Denial, Settings};
pub use error::PlanError;
pub use inputs::{Inputs, Planned};
pub use stamps::{stamps, versions};
pub use what_if::hypothetical;

use ctx_cost::CostInputs;
use ctx_graph::LoweringParameters;
use ctx_intent::IntentModel;
use ctx_types::plan::Known;
use ctx_types::{Constraints, Goal, Intent, Plan, Ppm, SourceName};

/// Version of the planner: part of every plan-cache key. Moves when the same inputs may give another plan.
pub const PLANNER_VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "/4");

/// The planner. Immutable; share it freely.
#[derive(Clone, Debug)]
pub struct Planner {
    intent: IntentModel,
    labels_max: usize,
}

/// Builds a [`Planner`]: plug-in values are given here, as values.
#[derive(Clone, Debug)]
pub struct PlannerBuilder {
    intent: IntentModel,
    labels_max: usize,
}

impl PlannerBuilder {
    /// Another intent model than the shipped one.
    pub fn intent_model(mut self, model: IntentModel) -> Self {
        self.intent = model;
        self
    }

    /// Another bound on the search, in labels per source.
    pub fn labels_max(mut self, labels: usize) -> Self {
        self.labels_max = labels.max(1);
        self
    }

    /// The planner.
    pub fn build(self) -> Planner {
        Planner { intent: self.intent, labels_max: self.labels_max }
    }
}

/// Which plan, and how much of it.
enum Wanted<'a> {
    /// The best.
    Plan,
    /// The best, with what only EXPLAIN prints.
    Detail,
    /// The best that is made of known parts.
    Of(&'a Known),
    /// Whichever of the contenders this takes.
    OneOf(&'a mut dyn FnMut(&[Contender]) -> usize),
}

impl Planner {
    /// The shipped intent model and the default bound.
    pub fn builder() -> PlannerBuilder {
        PlannerBuilder { intent: IntentModel::embedded().clone(), labels_max: ctx_optimizer::problem::LABELS_MAX }
    }

    /// [`PLANNER_VERSION`].
    pub fn version() -> &'static str {
        PLANNER_VERSION
    }

    /// The goal's intent, as planning sees it.
    pub fn analyze(&self, goal: &Goal) -> Intent {
        ctx_intent::analyze(&goal.text, &self.intent)
    }

    /// A cached decision for another goal of the same kind, whose intent is given: the plan that planning the goal to the
    /// same decision makes, with the template's estimates, graph and schedule.
    pub fn bind(&self, template: &Planned, goal: &Goal, intent: Intent, configuration: &str) -> Result<Planned, PlanError> {
        let plan = bind::bind(&template.plan, goal, intent, configuration)?;
        if !bind::lowers_alike(&template.plan, &plan) {
            return self.finish(plan);
        }
        let mut graph = template.graph.clone();
        graph.plan = plan.id.clone();
        let schedule = template.schedule.under(&graph).map_err(|e| PlanError::Internal(e.to_string()))?;
        Ok(Planned { plan, graph, schedule })
    }

    /// The best plan whose stages behind retrieval are all of `known`, which earlier plans for goals of the same kind are made
    /// of: rules and limits are asked as ever, the estimates are this goal's own, the search is smaller. It depends on what those
    /// plans depend on. Infeasible says that no such plan is.
    pub fn plan_of(&self, inputs: &Inputs<'_>, known: &Known) -> Result<Planned, PlanError> {
        self.plan_in(inputs, Wanted::Of(known))
    }

    /// The best feasible plan with its graph and schedule.
    pub fn plan(&self, inputs: &Inputs<'_>) -> Result<Planned, PlanError> {
        self.plan_in(inputs, Wanted::Plan)
    }

    /// The same plan under the same id, with what would flip the choice: EXPLAIN prints it, execution does without.
    pub fn plan_in_detail(&self, inputs: &Inputs<'_>) -> Result<Planned, PlanError> {
        self.plan_in(inputs, Wanted::Detail)
    }

    fn plan_in(&self, inputs: &Inputs<'_>, wanted: Wanted<'_>) -> Result<Planned, PlanError> {
        match &inputs.goal.what_if {
            Some(assumed) => {
                let catalog = hypothetical(inputs.catalog, assumed)?;
                self.plan_on(&Inputs { catalog: &catalog, versions: None, ..*inputs }, wanted)
            }
            None => self.plan_on(inputs, wanted),
        }
    }

    fn plan_on(&self, inputs: &Inputs<'_>, mut wanted: Wanted<'_>) -> Result<Planned, PlanError> {
        let sources = inputs::permitted(inputs)?;
        let intent = self.analyze(inputs.goal);
        let limits = inputs::limits(inputs);
        let view = ctx_candidates::View {
            goal: inputs.goal,
            limits: &limits,
            intent: &intent,
            catalog: inputs.catalog,
            probe: inputs.probe,
            denials: inputs.denials,
            settings: inputs.settings,
            sources: &sources,
        };
        let mut space = match &wanted {
            Wanted::Of(known) => ctx_candidates::generate_of(&view, known),
            _ => {
                let space = ctx_candidates::generate(&view);
                inputs::check_hints(&view, &space)?;
                space
            }
        };
        if !pin::restrict(inputs.goal, &mut space)? {
            return Err(self.not_pinned(inputs));
        }
        check::space(&space)?;
        let cost = cost_inputs(inputs, &limits, &intent, &sources);
        let assembled = assemble::assemble(&view, &cost, &space, self.labels_max);
        let solution = ctx_optimizer::solve(&assembled.problem);
        let context = write::Context {
            inputs,
            view: &view,
            cost: &cost,
            space: &space,
            assembled: &assembled,
            solution: &solution,
            detailed: matches!(wanted, Wanted::Detail),
            known: if let Wanted::Of(known) = &wanted { Some(*known) } else { None },
        };
        let plan = match &solution.winner {
            Some(winner) if space.groups.iter().all(|(_, g)| !g.is_empty()) => match &mut wanted {
                Wanted::OneOf(pick) => write::plan(&context, &contend::picked(&context, winner, pick)?)?,
                Wanted::Plan | Wanted::Detail | Wanted::Of(..) => write::plan(&context, winner)?,
            },
            _ => {
                let findings = self.examine(inputs, &limits, &intent, &sources);
                return Err(PlanError::Infeasible(Box::new(refuse::infeasible(&context, findings))));
            }
        };
        check::plan(&plan, &space)?;
        self.finish(plan)
    }

    /// Which demands cannot hold together, by planning without some of them.
    fn examine(&self, inputs: &Inputs<'_>, limits: &Constraints, intent: &Intent, sources: &[SourceName]) -> conflict::Findings {
        let demands = conflict::demands(inputs.goal, limits);
        let larger: Vec<_> = ctx_candidates::grid::budgets(&Constraints::default())
            .into_iter()
            .filter(|budget| limits.max_context_tokens.is_some_and(|most| *budget > most))
            .collect();
        conflict::examine(&demands, &larger, &|kept, context| {
            let (goal, mut limits) = conflict::with_only(inputs.goal, limits, &demands, kept);
            limits.max_context_tokens = context.or(limits.max_context_tokens);
            let view = ctx_candidates::View {
                goal: &goal,
                limits: &limits,
                intent,
                catalog: inputs.catalog,
                probe: inputs.probe,
                denials: inputs.denials,
                settings: inputs.settings,
                sources,
            };
            let mut space = ctx_candidates::generate(&view);
            if !pin::restrict(&goal, &mut space).unwrap_or(false) || space.groups.iter().any(|(_, g)| g.is_empty()) {
                return false;
            }
            let cost = cost_inputs(inputs, &limits, intent, sources);
            let assembled = assemble::assemble(&view, &cost, &space, self.labels_max);
            ctx_optimizer::search::feasible(&assembled.problem)
        })
    }

    /// What would be planned without the pin.
    fn not_pinned(&self, inputs: &Inputs<'_>) -> PlanError {
        let mut goal = inputs.goal.clone();
        let pinned = |h: &ctx_types::goal::Hint| matches!(h, ctx_types::goal::Hint::Gist(_));
        let gist = goal.hints.iter().find(|h| pinned(h)).map_or_else(String::new, |h| match h {
            ctx_types::goal::Hint::Gist(gist) => gist.to_string(),
            _ => String::new(),
        });
        goal.hints.retain(|h| !pinned(h));
        let best = match self.plan_on(&Inputs { goal: &goal, ..*inputs }, Wanted::Plan) {
            Ok(planned) => format!("without the pin {} would be planned", planned.plan.gist),
            Err(other) => format!("without the pin: {other}"),
        };
        PlanError::GistNotFound { gist, best }
    }

    /// Graph and schedule of a plan, new or from the cache.
    pub fn finish(&self, plan: Plan) -> Result<Planned, PlanError> {
        let graph = ctx_graph::lower_with(&plan, &lowering()).map_err(|e| PlanError::Internal(e.to_string()))?;
        let schedule = ctx_scheduler::schedule(&graph, &plan.limits).map_err(|e| PlanError::Internal(e.to_string()))?;
        Ok(Planned { plan, graph, schedule })
    }
}

/// The fitted weight of linear fusion goes into the graph, so that what is executed is what was estimated.
fn lowering() -> LoweringParameters {
    LoweringParameters { dense_weight: Ppm::from_share(1.0 - ctx_cost::evidence::linear_bm25_weight()), ..LoweringParameters::default() }
}

fn cost_inputs<'a>(inputs: &Inputs<'a>, limits: &'a ctx_types::Constraints, intent: &'a Intent, sources: &[SourceName]) -> CostInputs<'a> {
    let features = sources
        .iter()
        .map(|name| {
            let entry = inputs.catalog.sources.get(name);
            (name.clone(), entry.and_then(|e| ctx_cost::evidence::before(inputs.probe.sources.get(name), e)))
        })
        .collect();
    CostInputs {
        tenant: &inputs.goal.principal.tenant,
        limits,
        intent,
        catalog: inputs.catalog,
        probe: inputs.probe,
        statistics: inputs.statistics,
        settings: inputs.settings,
        prompt_overhead: ctx_candidates::rules::PROMPT_OVERHEAD,
        features,
    }
}
