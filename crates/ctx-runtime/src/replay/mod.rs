//! Replay: a run that was recorded is planned and executed again, in another process, from what it left.
//!
//! A [`Bundle`] holds everything that planning read (goal, limits, catalog, probe, statistics, refusals, settings), the plan,
//! the trace and every model's answers. [`Runtime::replan`] makes the plan anew from it, byte for byte; [`Runtime::replay`]
//! executes it over the sources of now with the recorded answers. A call that was not recorded is an error; calls that were
//! made several times are answered in their order. A replay spends nothing, teaches nothing and leaves no trace.
//!
//! Reading order: `bundle` (what is kept) → `models`, `rerankers` (recorder and player) → `quiet` (a store that is only read).

mod bundle;
mod models;
mod quiet;
mod rerankers;

pub use bundle::{BUNDLE_SCHEMA_VERSION, Bundle, PlanInputs, RecordedCall, RecordedRerank, ReplayError};

use crate::prepare::{Choice, Mode, Prepared};
use crate::runtime::not_hypothetical;
use crate::{RunReport, Runtime, RuntimeError};
use ctx_contracts::Model;
use ctx_cost::statistics::Statistics;
use ctx_planner::Inputs;
use ctx_types::{Goal, Micros, ModelName, SourceName};
use models::{Player, Recorder, Reel, Tape};
pub(crate) use quiet::Quiet;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A replay beside what was recorded.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// What the replay gave.
    pub report: RunReport,
    /// In what it differs from the recorded run, one line each; empty if in nothing. Times are not compared.
    pub differences: Vec<String>,
}

impl Runtime {
    /// Runs a goal and records it. The goal is planned anew: a cached plan came without what it was made from.
    pub async fn run_recorded(&self, goal: &Goal, cancel: CancellationToken) -> Result<(RunReport, Bundle), RuntimeError> {
        not_hypothetical(goal)?;
        let prepared = self.inner.prepare(goal, Mode::Record).await?;
        let inputs = PlanInputs::of(&prepared, self.inner.settings());
        let (choice, label) = (prepared.choice.clone(), prepared.sensitivity());
        let tape = Arc::new(Tape::default());
        let mut parts = self.parts().clone();
        for model in parts.models.values_mut() {
            *model = Arc::new(Recorder::new(model.clone(), tape.clone()));
        }
        parts.rerankers = rerankers::recorded(parts.rerankers, &tape);
        let report = self.over(parts).spawn(prepared, cancel, "user").await?;
        let bundle = Bundle::new(inputs, &choice, label, &report, &tape);
        Ok((report, bundle))
    }

    /// The plan that a bundle's inputs give here. [`ReplayError::OtherPlan`] if it is not the recorded one, byte for byte.
    pub fn replan(&self, bundle: &Bundle) -> Result<Choice, RuntimeError> {
        let inputs = bundle.inputs()?;
        let choice = self.decided(inputs, &inputs.statistics()?)?;
        bundle.compare_plan(&choice)?;
        Ok(choice)
    }

    /// Plans a bundle anew and executes it over the sources of now, with the recorded answers of its models.
    pub async fn replay(&self, bundle: &Bundle) -> Result<Replayed, RuntimeError> {
        let inputs = bundle.inputs()?;
        let choice = self.replan(bundle)?;
        let reel = Arc::new(Reel::of(&bundle.calls));
        let (_, readers) = self.parts().describe().await?;
        if let Choice::Planned(planned) = &choice {
            let missing: Vec<&SourceName> =
                planned.plan.accesses().map(|(source, _, _)| source).filter(|s| !readers.contains_key(s)).collect();
            if let Some(first) = missing.first() {
                let listed = missing.iter().map(|name| format!("source {name}")).collect::<Vec<_>>().join(" and ");
                return Err(ReplayError::SourceMissing { trace: bundle.trace.id.clone(), missing: listed, first: first.to_string() }.into());
            }
        }
        let mut parts = self.parts().clone();
        parts.store = Arc::new(Quiet(parts.store));
        parts.sinks = Vec::new();
        let player = |(name, entry): (&ModelName, &ctx_types::ModelEntry)| {
            (name.clone(), Arc::new(Player::new(name.clone(), entry.clone(), reel.clone())) as Arc<dyn Model>)
        };
        parts.models = inputs.catalog.models.iter().map(player).collect::<BTreeMap<_, _>>();
        parts.rerankers = rerankers::played(parts.rerankers, &inputs.catalog.capabilities.rerankers, &bundle.reranks);
        let runtime = Runtime::builder(self.config().clone(), parts).planner(self.inner.planner.clone()).without_refresh().build().await?;
        let prepared = Prepared {
            goal: inputs.goal.clone(),
            limits: inputs.limits.clone(),
            catalog: Arc::new(inputs.catalog.clone()),
            readers: Arc::new(readers),
            probe: inputs.probe.clone(),
            denials: inputs.denials.clone(),
            statistics: Arc::new(inputs.statistics()?),
            choice,
            plan_cache: "not used: the run is replayed".to_owned(),
            scope: None,
            stored: None,
            exploration: None,
            planning: Micros(0),
            notes: Vec::new(),
        };
        let report = runtime.spawn(prepared, CancellationToken::new(), "replay").await?;
        let differences = bundle.differences(&report);
        Ok(Replayed { report, differences })
    }

    fn decided(&self, inputs: &PlanInputs, statistics: &Statistics) -> Result<Choice, RuntimeError> {
        Choice::of(self.inner.planner.plan(&Inputs {
            goal: &inputs.goal,
            limits: &inputs.limits,
            catalog: &inputs.catalog,
            probe: &inputs.probe,
            statistics,
            denials: &inputs.denials,
            settings: &inputs.settings,
            versions: None,
        }))
    }
}
