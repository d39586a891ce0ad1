//! EXPLAIN before a run, EXPLAIN ANALYZE after it: the same plan, once with estimates, once with actuals beside them.

#![allow(clippy::print_stdout)]

use ctx_explain::{Decision, ExplainInput, Options, TextOptions};
use ctx_runtime::{Choice, ExplainInputs, ExplainOptions};
use ctx_types::Goal;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (runtime, docs) = ctx_examples::over("crates/ctx-planner", "explain").await?;
    let goal = Goal::new("In which order do the planning stages run?").with_source(docs);

    let before = runtime.explain(&goal, ExplainOptions::default()).await?;
    println!("{}", text(&before));
    let after = runtime.explain(&goal, ExplainOptions { analyze: true, ..ExplainOptions::default() }).await?;
    println!("{}", text(&after));

    let plans = [&before, &after].map(|inputs| inputs.prepared.planned().map(|planned| planned.plan.id.clone()));
    anyhow::ensure!(plans[0].is_some() && plans[0] == plans[1], "EXPLAIN shows the plan that a run executes");
    Ok(())
}

fn text(inputs: &ExplainInputs) -> String {
    let prepared = &inputs.prepared;
    let decision = match &prepared.choice {
        Choice::Planned(planned) => Decision::Planned { plan: &planned.plan, graph: &planned.graph },
        Choice::Infeasible(infeasible) => Decision::Infeasible { goal: &prepared.goal, infeasible },
    };
    let explanation = ctx_explain::explain(&ExplainInput {
        decision,
        trace: inputs.report.as_ref().map(|report| &report.trace),
        plan_cache: Some(&prepared.plan_cache),
        planning: None,
        settings: &[],
        probe: None,
        options: Options::default(),
    });
    ctx_explain::text(&explanation, &TextOptions::default())
}
