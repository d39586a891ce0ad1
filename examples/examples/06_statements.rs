//! Statements: the same goals as text. A session executes them one after the other with typed results, holds limits and
//! weights, and may add sources; an error points at the word that is wrong.

#![allow(clippy::print_stdout)]

use ctx_embedded::EngineOptions;
use ctx_runtime::Config;
use ctx_runtime::session::{Reply, Watch};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut config = Config::default();
    config.store = Some(std::env::temp_dir().join("ctxrt-statements"));
    let mut session = ctx_embedded::session(config, EngineOptions::default()).await?;
    let folder = ctx_examples::repository().join("crates/ctx-planner");
    let script = format!(
        "CREATE SOURCE docs FROM '{}';
         INDEX docs;
         SET max_cost_usd = 0.05;
         EXPLAIN (VERBOSE) ANSWER 'In which order do the planning stages run?' FROM docs;
         SIMULATE ANSWER 'In which order do the planning stages run?' FROM docs WITH (max_latency_seconds = 5);
         ANSWER 'In which order do the planning stages run?' FROM docs USING (acc = 1.5) HINT (FORCE bm25);
         SHOW PLAN CACHE;",
        folder.display().to_string().replace('\'', "''")
    );

    let mut shown = Vec::new();
    for statement in ctx_sql::parse_script(&script)? {
        println!("{}", statement.value);
        match session.execute(&statement.value, &Watch::default()).await? {
            Reply::Explained { inputs, .. } => shown.extend(inputs.prepared.planned().map(|planned| planned.plan.id.clone())),
            Reply::Quoted(quote) => println!("  a quote: {} and {}", quote.cost.mid, quote.latency.mid),
            Reply::Answered(report) => println!("  {:?}: {}", report.outcome.status, report.outcome.answer),
            Reply::PlanCache(plans, ..) => println!("  {} plans", plans.len()),
            Reply::Created(name, _) => println!("  source {name}, for this session"),
            _ => {}
        }
    }
    anyhow::ensure!(shown.len() == 1, "EXPLAIN found a plan");

    let misspelt = "ANSWER 'Why?' FROM docs WITH (max_cots_usd = 1)";
    let error = ctx_sql::parse(misspelt).err().ok_or_else(|| anyhow::anyhow!("there is no such limit"))?;
    println!("{}", error.render(None, misspelt, 80));
    anyhow::ensure!(error.hint.as_deref() == Some("did you mean max_cost_usd?"));
    session.runtime().flush().await?;
    Ok(())
}
