//! Constraints are hard. What cannot be met is an answer of its own: what binds, by how much, and what would suffice.

#![allow(clippy::print_stdout)]

use ctx_types::{Constraints, Goal, Ppm, Status};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (runtime, docs) = ctx_examples::over("crates/ctx-planner", "constraints").await?;
    let strict = Constraints { min_accuracy: Some(Ppm(999_999)), ..Constraints::default() };
    let goal = Goal::new("In which order do the planning stages run?").with_source(docs).with_constraints(strict);

    let report = runtime.run(&goal).await?;
    anyhow::ensure!(report.outcome.status == Status::Infeasible, "nothing is that certain");
    let infeasible = report.infeasible.ok_or_else(|| anyhow::anyhow!("an infeasible goal says why"))?;
    println!("binding: {}; {}", infeasible.binding, infeasible.missed_by);
    for relaxation in &infeasible.relaxations {
        match &relaxation.suffices {
            Some(value) => println!("would suffice: {} = {value} (now {})", relaxation.constraint, relaxation.now),
            None => println!("not alone: {} (now {})", relaxation.constraint, relaxation.now),
        }
    }
    println!("exit code of the command line: {}", report.outcome.status.exit_code());
    Ok(())
}
