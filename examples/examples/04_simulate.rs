//! A quote: what a goal would cost, as intervals. Nothing is executed, and the same inputs give the same quote.

#![allow(clippy::print_stdout)]

use ctx_types::Goal;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (runtime, docs) = ctx_examples::over("crates/ctx-planner", "simulate").await?;
    let goal = Goal::new("In which order do the planning stages run?").with_source(docs);

    let quote = runtime.simulate(&goal).await?;
    println!("cost   {} [{}, {}] {}", quote.cost.mid, quote.cost.low, quote.cost.high, quote.cost.certainty);
    println!("time   {} [{}, {}] {}", quote.latency.mid, quote.latency.low, quote.latency.high, quote.latency.certainty);
    println!("right  {} [{}, {}] {}", quote.confidence.mid, quote.confidence.low, quote.confidence.high, quote.confidence.certainty);
    println!("abstains in {} of runs; {} observations behind the weakest estimate", quote.p_abstain, quote.based_on_samples);

    anyhow::ensure!(quote == runtime.simulate(&goal).await?, "a quote depends on its inputs only");
    Ok(())
}
