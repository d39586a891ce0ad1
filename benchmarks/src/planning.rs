//! Inputs of planning benchmarks: one source of five thousand passages, with statistics, a probe and two models.

use ctx_cost::statistics::Statistics;
use ctx_plan_cache::Stamps;
use ctx_planner::Inputs;
use ctx_testkit::catalogs;
use ctx_types::plan::Stamp;
use ctx_types::{Catalog, Constraints, Goal, Probe, Settings, SourceName};

/// Passages of the source.
const PASSAGES: u64 = 5_000;

/// Everything that planning is a function of, but the goal.
pub struct Scene {
    /// What exists.
    pub catalog: Catalog,
    /// What the source says.
    pub probe: Probe,
    /// Limits.
    pub limits: Constraints,
    /// Configuration.
    pub settings: Settings,
    /// Nothing was measured yet.
    pub statistics: Statistics,
    /// The only source.
    pub source: SourceName,
    /// Versions of what exists, kept as the runtime keeps them.
    pub versions: Vec<Stamp>,
}

impl Default for Scene {
    fn default() -> Scene {
        let models = [("local", catalogs::local_model()), ("premium", catalogs::remote_model())];
        let terms = [("plan", 900), ("infeas", 14), ("constraint", 220), ("decid", 75), ("budget", 310)];
        let (catalog, settings, source) =
            (catalogs::catalog(&[("docs", catalogs::files(PASSAGES))], &models), Settings::default(), catalogs::source("docs"));
        let versions = ctx_planner::versions(&catalog, std::slice::from_ref(&source), &[], &settings);
        Scene {
            versions,
            catalog,
            probe: catalogs::probe(&[("docs", catalogs::source_probe(&terms, &[]))]),
            limits: Constraints::default(),
            settings,
            statistics: Statistics::default(),
            source,
        }
    }
}

impl Scene {
    /// Versions of everything that planning considers, as the plan cache keeps them.
    pub fn stamps(&self) -> Stamps {
        let sources = [self.source.clone()];
        // Of the catalog as it is now: streams edit it.
        let versions = ctx_planner::versions(&self.catalog, &sources, &[], &self.settings);
        let prompt_caches = &self.probe.prompt_caches;
        Stamps::from(ctx_planner::stamps(&versions, &self.catalog, &self.statistics, "default", prompt_caches))
    }

    /// Inputs for one goal as the runtime gives them, which keeps the versions of a catalog that stays.
    pub fn kept_inputs<'a>(&'a self, goal: &'a Goal) -> Inputs<'a> {
        Inputs { versions: Some(&self.versions), ..self.inputs(goal) }
    }

    /// Inputs for one goal.
    pub fn inputs<'a>(&'a self, goal: &'a Goal) -> Inputs<'a> {
        Inputs {
            goal,
            limits: &self.limits,
            catalog: &self.catalog,
            probe: &self.probe,
            statistics: &self.statistics,
            denials: &[],
            settings: &self.settings,
            versions: None,
        }
    }
}

/// Goals of different kinds, for benches without a data set.
pub const GOALS: [&str; 8] = [
    "How does the planner decide that a plan is infeasible?",
    "What is the default budget of a run?",
    "Why was the nightly import slow on Tuesday and what changed since then?",
    "Compare reciprocal rank fusion with linear fusion of scores for short queries.",
    "List every constraint that a request can tighten.",
    "Is E0502 raised when two threads write at once?",
    "Which release introduced the plan cache, and who changed its key later?",
    "Summarise how verification failures are handled.",
];
