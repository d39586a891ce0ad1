//! Ask a folder a question. The README's quick start.

#![allow(clippy::print_stdout)]

use ctx_embedded::{EngineOptions, SourceConfig};
use ctx_runtime::Config;
use ctx_types::{Goal, SourceName};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let docs = SourceName::new("docs")?;
    let store = std::env::temp_dir().join("ctxrt-quickstart");
    let mut config = Config::default();
    config.store = Some(store);
    config.sources.insert(docs.clone(), SourceConfig::at(ctx_examples::repository().join("crates/ctx-planner")));
    let (runtime, _engine) = ctx_embedded::open(config, EngineOptions::default()).await?;

    let goal = Goal::new("Why is an infeasible answer an answer and not an accident?").with_source(docs);
    let quote = runtime.simulate(&goal).await?;
    println!("expected: {} and {}", quote.cost.mid, quote.latency.mid);

    let report = runtime.run(&goal).await?;
    println!("{:?}: {}", report.outcome.status, report.outcome.answer);
    for citation in &report.outcome.citations {
        println!("[{}] {}:{}", citation.label, citation.locator.path, citation.locator.line_start);
    }
    runtime.flush().await?;
    Ok(())
}
