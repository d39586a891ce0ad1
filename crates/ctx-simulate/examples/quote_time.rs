//! Times of a quote and of what precedes it, printed: `cargo run --release -p ctx-simulate --example quote_time`.

#[path = "../../ctx-graph/tests/support/mod.rs"]
mod support;

use ctx_graph::lower;
use ctx_types::AccessPath;
use std::hint::black_box;
use std::time::Instant;
use support::PlanBuilder;

fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..201)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[100]
}

fn main() {
    let plans = [
        ("one source, extractive", PlanBuilder::new("q").source("docs", AccessPath::Bm25).build()),
        (
            "two sources, hybrid, single shot",
            PlanBuilder::new("q").source("docs", AccessPath::HybridLinear).source("logs", AccessPath::Bm25).single_shot("premium").build(),
        ),
    ];
    for (name, plan) in &plans {
        let graph = lower(plan).expect("a complete plan");
        let lowering = median(|| {
            black_box(lower(black_box(plan)).expect("a complete plan"));
        });
        let hashing = median(|| {
            black_box(black_box(&graph).hash().expect("no float"));
        });
        let quote = median(|| {
            black_box(ctx_simulate::simulate(black_box(plan), &graph, 1).expect("a valid graph"));
        });
        #[allow(clippy::print_stdout, reason = "printing is what this example is for")]
        {
            println!(
                "{name}: {} nodes, lowered in {lowering:.0} µs, hashed in {hashing:.0} µs, quoted in {quote:.0} µs",
                graph.nodes.len()
            );
        }
    }
}
