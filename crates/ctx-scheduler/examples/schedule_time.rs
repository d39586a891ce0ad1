//! Time of scheduling, printed: `cargo run --release -p ctx-scheduler --example schedule_time`.

#[path = "../../ctx-graph/tests/support/mod.rs"]
mod support;

use ctx_graph::lower;
use ctx_types::{AccessPath, Constraints};
use std::hint::black_box;
use std::time::Instant;
use support::PlanBuilder;

fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..101)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[50]
}

fn main() {
    for sources in [1, 10, 100] {
        let builder = (0..sources).fold(PlanBuilder::new("q"), |b, i| b.source(&format!("source-{i}"), AccessPath::HybridLinear));
        let plan = builder.single_shot("premium").build();
        let graph = lower(&plan).expect("a complete plan");
        let lowering = median(|| {
            black_box(lower(black_box(&plan)).expect("a complete plan"));
        });
        let scheduling = median(|| {
            black_box(ctx_scheduler::schedule(black_box(&graph), &Constraints::default()).expect("a valid graph"));
        });
        #[allow(clippy::print_stdout, reason = "printing is what this example is for")]
        {
            println!("{sources} sources, {} nodes: lowered in {lowering:.0} µs, scheduled in {scheduling:.0} µs", graph.nodes.len());
        }
    }
}
