//! What a recorded run leaves, as one JSON document.

use super::models::Tape;
use crate::RunReport;
use crate::prepare::{Choice, Prepared};
use ctx_contracts::{ModelResponse, PluginError};
use ctx_cost::statistics::Statistics;
use ctx_planner::PLANNER_VERSION;
use ctx_types::{Catalog, Constraints, ContentId, Denial, Goal, Infeasible, ModelName, Plan, Probe, Sensitivity, Settings, Trace};
use serde::{Deserialize, Serialize};

/// Version of the document.
pub const BUNDLE_SCHEMA_VERSION: u32 = 1;

/// Why a bundle cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Not a bundle.
    #[error("reading a bundle: {cause}; `ctxrt run GOAL --record FILE` writes one")]
    NotABundle {
        /// The parser's words.
        cause: String,
    },
    /// A bundle of another version.
    #[error(
        "reading a bundle: schema version {found}, this program reads {BUNDLE_SCHEMA_VERSION}; replay it with the program that wrote it"
    )]
    OtherSchema {
        /// The version found.
        found: u32,
    },
    /// Made by another planner: that its plan is another one would say nothing.
    #[error("replaying a run of planner {made}: this program plans as {PLANNER_VERSION}; replay it with the program that recorded it")]
    OtherPlanner {
        /// The planner of the bundle.
        made: String,
    },
    /// From `confidential` up a bundle holds hashes, as traces do.
    #[error("replaying a run of label {label}: its bundle holds hashes in place of texts, so nothing can be planned or answered from it")]
    Redacted {
        /// The run's label.
        label: Sensitivity,
    },
    /// The run read sources that are not here.
    #[error("replaying {trace}: the run read {missing}, which is not configured here; name it: --source {first}=PATH")]
    SourceMissing {
        /// The recorded trace.
        trace: String,
        /// The sources, for a person.
        missing: String,
        /// The first of them.
        first: String,
    },
    /// The same inputs gave another plan: a defect of the planner, or a bundle that was edited.
    #[error("replaying {recorded}: its inputs give {now} here; either the bundle was edited or planning is not deterministic")]
    OtherPlan {
        /// The recorded plan.
        recorded: String,
        /// The plan made from the same inputs.
        now: String,
    },
}

/// Everything that planning read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanInputs {
    /// The goal as planned.
    pub goal: Goal,
    /// Constraints in force.
    pub limits: Constraints,
    /// What existed.
    pub catalog: Catalog,
    /// What the sources said about the goal.
    pub probe: Probe,
    /// The statistics snapshot, in its own versioned form.
    pub statistics: serde_json::Value,
    /// What policy refused.
    pub denials: Vec<Denial>,
    /// Configuration.
    pub settings: Settings,
}

impl PlanInputs {
    pub(super) fn of(prepared: &Prepared, settings: Settings) -> PlanInputs {
        PlanInputs {
            goal: prepared.goal.clone(),
            limits: prepared.limits.clone(),
            catalog: Catalog::clone(&prepared.catalog),
            probe: prepared.probe.clone(),
            statistics: serde_json::from_str(&prepared.statistics.to_json()).unwrap_or_default(),
            denials: prepared.denials.clone(),
            settings,
        }
    }

    /// The snapshot that planning read.
    pub(super) fn statistics(&self) -> Result<Statistics, ReplayError> {
        Statistics::from_json(&self.statistics.to_string()).map_err(|e| ReplayError::NotABundle { cause: e.to_string() })
    }
}

/// One call of a model: what was sent, by its hash, and what came back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedCall {
    /// Tier.
    pub model: ModelName,
    /// Hash of the request, as traces name it.
    pub request: String,
    /// The answer or the failure; `None` in a redacted bundle.
    pub result: Option<Result<ModelResponse, PluginError>>,
}

/// One list that a reranking model reordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRerank {
    /// The reranker.
    pub reranker: String,
    /// Hash of the question and the passages, in the order in which they were sent.
    pub request: String,
    /// Places of the passages in their new order, or the failure; `None` in a redacted bundle.
    pub result: Option<Result<Vec<u32>, PluginError>>,
}

/// A recorded run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// [`BUNDLE_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The planner that decided.
    pub planner_version: String,
    /// The run's label. From `confidential` up there are no inputs, no plan and no answers: hashes only.
    pub label: Sensitivity,
    /// What planning read.
    pub inputs: Option<PlanInputs>,
    /// The plan, as decided before anything ran; `None` if there was none.
    pub plan: Option<Plan>,
    /// Why there was none.
    pub infeasible: Option<Infeasible>,
    /// Its id.
    pub plan_id: Option<ContentId>,
    /// Hash of its graph.
    pub graph: Option<ContentId>,
    /// The record of the run.
    pub trace: Trace,
    /// Calls of models, in the order in which they ended.
    pub calls: Vec<RecordedCall>,
    /// Lists that reranking models reordered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reranks: Vec<RecordedRerank>,
}

impl Bundle {
    pub(super) fn new(inputs: PlanInputs, choice: &Choice, label: Sensitivity, report: &RunReport, tape: &Tape) -> Bundle {
        let (planned, infeasible) = match choice {
            Choice::Planned(planned) => (Some(planned), None),
            Choice::Infeasible(infeasible) => (None, Some(Infeasible::clone(infeasible))),
        };
        let open = label < Sensitivity::Confidential;
        let hidden = |call: RecordedCall| RecordedCall { result: call.result.filter(|_| open), ..call };
        let hidden_list = |list: RecordedRerank| RecordedRerank { result: list.result.filter(|_| open), ..list };
        Bundle {
            schema_version: BUNDLE_SCHEMA_VERSION,
            planner_version: PLANNER_VERSION.to_owned(),
            label,
            inputs: open.then_some(inputs),
            plan: planned.filter(|_| open).map(|planned| planned.plan.clone()),
            infeasible: infeasible.filter(|_| open),
            plan_id: planned.map(|planned| planned.plan.id.clone()),
            graph: planned.and_then(|planned| planned.graph.hash().ok()),
            trace: report.trace.clone(),
            calls: tape.calls().into_iter().map(hidden).collect(),
            reranks: tape.reranks().into_iter().map(hidden_list).collect(),
        }
    }

    /// The document.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a bundle holds integers, strings and string keys only")
    }

    /// Reads the document.
    pub fn from_json(text: &str) -> Result<Bundle, ReplayError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let not = |e: serde_json::Error| ReplayError::NotABundle { cause: e.to_string() };
        let Version { schema_version } = serde_json::from_str(text).map_err(not)?;
        if schema_version != BUNDLE_SCHEMA_VERSION {
            return Err(ReplayError::OtherSchema { found: schema_version });
        }
        serde_json::from_str(text).map_err(not)
    }

    pub(super) fn inputs(&self) -> Result<&PlanInputs, ReplayError> {
        if self.planner_version != PLANNER_VERSION {
            return Err(ReplayError::OtherPlanner { made: self.planner_version.clone() });
        }
        self.inputs.as_ref().ok_or(ReplayError::Redacted { label: self.label })
    }

    /// The recorded decision and the one made anew are the same bytes.
    pub(super) fn compare_plan(&self, choice: &Choice) -> Result<(), ReplayError> {
        let bytes = |value: serde_json::Result<String>| value.unwrap_or_default();
        let (same, now, graph) = match choice {
            Choice::Planned(planned) => (
                self.plan.as_ref().is_some_and(|plan| bytes(serde_json::to_string(plan)) == bytes(serde_json::to_string(&planned.plan))),
                planned.plan.id.to_string(),
                planned.graph.hash().ok(),
            ),
            Choice::Infeasible(now) => {
                let same = |then: &Infeasible| bytes(serde_json::to_string(then)) == bytes(serde_json::to_string(now));
                (self.infeasible.as_ref().is_some_and(same), "no plan".to_owned(), None)
            }
        };
        if same && graph == self.graph {
            return Ok(());
        }
        let recorded = self.plan_id.as_ref().map_or_else(|| "a run without a plan".to_owned(), ToString::to_string);
        Err(ReplayError::OtherPlan { recorded, now })
    }

    pub(super) fn differences(&self, report: &RunReport) -> Vec<String> {
        let (then, now) = (&self.trace.outcome, &report.outcome);
        let mut lines = Vec::new();
        let mut differ = |what: &str, then: String, now: String| {
            if then != now {
                lines.push(format!("{what}: recorded {then}, replayed {now}"));
            }
        };
        differ("status", format!("{:?}", then.status), format!("{:?}", now.status));
        differ("plan", format!("{:?}", self.trace.plan), format!("{:?}", report.trace.plan));
        differ("graph", format!("{:?}", self.trace.graph), format!("{:?}", report.trace.graph));
        differ("answer", format!("{:?}", then.answer), format!("{:?}", now.answer));
        let cited = |outcome: &ctx_types::Outcome| {
            outcome
                .citations
                .iter()
                .map(|c| format!("{}:{}-{}", c.locator.path, c.locator.line_start, c.locator.line_end))
                .collect::<Vec<_>>()
                .join(" ")
        };
        differ("citations", cited(then), cited(now));
        let passed = |outcome: &ctx_types::Outcome| format!("{:?}", outcome.verdict.as_ref().map(|v| (v.passed, v.confidence)));
        differ("check", passed(then), passed(now));
        differ("cost", then.spend.cost.to_string(), now.spend.cost.to_string());
        differ("tokens", then.spend.tokens.total().to_string(), now.spend.tokens.total().to_string());
        differ("calls", then.spend.calls.to_string(), now.spend.calls.to_string());
        lines
    }
}
