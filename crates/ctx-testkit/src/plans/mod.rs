//! The `.plan` runner: one text format whose directives are the planner's stages. A file sets up a world (catalog, probe,
//! goal, request), and every other directive prints what one stage makes of it. No stage is mocked, nothing reads a clock.
//!
//! ```text
//! catalog                        source, model, without, verifier and approval lines; starts afresh
//! what-if                        the same lines, replacing or adding; `drop NAME`; `no-statistics`
//! probe | goal | request | settings | deny
//! intent | candidates | rule NAME | estimate [k=10 quota=2000] | solve | plan shape | plan full
//! graph | schedule | simulate | explain [verbose analyze no-costs buffers no-summary memory generic redact width=N] [json yaml mermaid dot html pg] | infeasible
//! ```
//!
//! Syntax of the set-up lines: `setup`. What the stages print: `stages` up to the plan, `execution` after it.

mod execution;
mod setup;
mod stages;

use crate::catalogs;
use ctx_candidates::View;
use ctx_cost::statistics::Statistics;
use ctx_planner::{Inputs, PlanError, Planned, Planner};
use ctx_types::{Catalog, Constraints, Denial, Goal, Intent, Probe, Settings, SourceName, Weights};
use datadriven::TestCase;
use std::collections::BTreeSet;

/// Everything planning is a function of, as one file has set it up.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) planner: Planner,
    pub(crate) catalog: Catalog,
    pub(crate) probe: Probe,
    pub(crate) goal: Goal,
    pub(crate) limits: Constraints,
    pub(crate) settings: Settings,
    pub(crate) denials: Vec<Denial>,
}

impl Default for World {
    /// Nothing in the catalog, the defaults of the configuration.
    fn default() -> Self {
        World {
            planner: Planner::builder().build(),
            catalog: catalogs::catalog(&[], &[]),
            probe: Probe::default(),
            goal: Goal::new(""),
            limits: Constraints::default(),
            settings: Settings { verification_default: true, ..Settings::default() },
            denials: Vec::new(),
        }
    }
}

/// Most a weight moves before a golden's shape may depend on it: one per cent, in either direction.
const WEIGHT_STEP_PERCENT: i64 = 1;

impl World {
    /// A world with this catalog and probe and a goal without constraints.
    pub fn of(catalog: Catalog, probe: Probe, goal: &str) -> World {
        World { catalog, probe, goal: Goal::new(goal), ..World::default() }
    }

    /// Runs one directive and returns what it prints.
    pub fn run(&mut self, case: &mut TestCase) -> String {
        let args: BTreeSet<&str> = case.args.keys().map(String::as_str).collect();
        let number = |name: &str| case.args.get(name).and_then(|v| v.first()).and_then(|v| v.parse::<u64>().ok());
        let result = match case.directive.as_str() {
            "catalog" => setup::catalog(self, &case.input),
            "what-if" => setup::what_if(self, &case.input),
            "probe" => setup::probe(self, &case.input),
            "goal" => setup::goal(self, &case.input),
            "request" => setup::request(self, &case.input),
            "settings" => setup::settings(self, &case.input),
            "deny" => setup::deny(self, &case.input),
            "intent" => Ok(stages::intent(&self.intent())),
            "candidates" => Ok(self.with_space(stages::candidates)),
            "rule" => {
                args.iter().next().map(|name| self.with_space(|space| stages::rule(name, space))).ok_or_else(|| "which rule?".to_owned())
            }
            "estimate" => self.planned(|p| stages::estimate(&p.plan, number("k").unwrap_or(10), number("quota").unwrap_or(2_000))),
            "solve" => self.planned(|p| stages::solve(&p.plan)),
            "plan" if args.contains("full") => self.planned(|p| stages::full(&p.plan)),
            "plan" => self.planned(|p| stages::shape(&p.plan)),
            "graph" => self.planned(|p| execution::graph(&p.graph)),
            "schedule" => self.planned(|p| execution::schedule(&p.schedule)),
            "simulate" => self.planned(execution::simulate),
            "explain" | "infeasible" => execution::explain(self, &args, number("width")),
            other => Err(format!("no directive `{other}`")),
        };
        result.unwrap_or_else(|problem| format!("error: {problem}\n"))
    }

    /// The best plan as a run makes it.
    pub fn decide(&self) -> Result<Planned, PlanError> {
        self.planner.plan(&self.inputs(&Statistics::default()))
    }

    /// The best plan, with everything that EXPLAIN prints.
    pub fn plan(&self) -> Result<Planned, PlanError> {
        self.planner.plan_in_detail(&self.inputs(&Statistics::default()))
    }

    /// Single weights whose move by one per cent gives a plan of another shape. Empty unless the goal has default weights.
    pub fn flips(&self) -> Vec<String> {
        let Ok(planned) = self.plan() else { return Vec::new() };
        if self.goal.weights != Weights::default() {
            return Vec::new();
        }
        let mut out = Vec::new();
        for (name, field) in WEIGHTS {
            for percent in [100 - WEIGHT_STEP_PERCENT, 100 + WEIGHT_STEP_PERCENT] {
                let mut moved = self.clone();
                let weight = field(&mut moved.goal.weights);
                *weight = *weight * percent / 100;
                match moved.plan() {
                    Ok(other) if other.plan.gist == planned.plan.gist => {}
                    Ok(other) => out.push(format!(
                        "{name} × {percent} %: {} instead of {}",
                        stages::words(&other.plan),
                        stages::words(&planned.plan)
                    )),
                    Err(error) => out.push(format!("{name} × {percent} %: {error}")),
                }
            }
        }
        out
    }

    fn inputs<'a>(&'a self, statistics: &'a Statistics) -> Inputs<'a> {
        Inputs {
            goal: &self.goal,
            limits: &self.limits,
            catalog: &self.catalog,
            probe: &self.probe,
            statistics,
            denials: &self.denials,
            settings: &self.settings,
            versions: None,
        }
    }

    fn intent(&self) -> Intent {
        self.planner.analyze(&self.goal)
    }

    fn planned(&self, print: impl FnOnce(&Planned) -> String) -> Result<String, String> {
        self.plan().map(|planned| print(&planned)).map_err(|e| e.to_string())
    }

    /// The plan space as the planner generates it.
    fn with_space(&self, print: impl FnOnce(&ctx_candidates::PlanSpace) -> String) -> String {
        let intent = self.intent();
        let configured = Constraints { final_k: self.settings.final_k, ..Constraints::default() };
        let limits = configured.tightened_by(&self.limits);
        let sources: Vec<SourceName> = self.catalog.sources.keys().cloned().collect();
        print(&ctx_candidates::generate(&View {
            goal: &self.goal,
            limits: &limits,
            intent: &intent,
            catalog: &self.catalog,
            probe: &self.probe,
            denials: &self.denials,
            settings: &self.settings,
            sources: &sources,
        }))
    }
}

type Field = fn(&mut Weights) -> &mut i64;

/// The weights of the score, by name.
const WEIGHTS: [(&str, Field); 8] = [
    ("acc", |w| &mut w.acc),
    ("cache", |w| &mut w.cache),
    ("vrf", |w| &mut w.vrf),
    ("cost", |w| &mut w.cost),
    ("lat", |w| &mut w.lat),
    ("risk", |w| &mut w.risk),
    ("hall", |w| &mut w.hall),
    ("loss", |w| &mut w.loss),
];
