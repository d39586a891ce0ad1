//! What a literal hit costs, key construction included: `cargo run --release -p ctx-plan-cache --example literal_hit`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/fixture/mod.rs"]
#[allow(dead_code)]
mod fixture;

use ctx_plan_cache::{CurrentStamps, PlanCache, Settings, Stamps};
use ctx_types::Goal;
use std::hint::black_box;
use std::time::Instant;

const NOW: u64 = 1_700_000_000;
const GOALS: usize = 1_000;
const ROUNDS: usize = 200_000;

fn main() {
    let goals: Vec<Goal> =
        (0..GOALS).map(|i| Goal::new(format!("How does the planner decide that plan {i} is infeasible, and why?"))).collect();
    let snapshots = [Stamps::from(fixture::stamps()), Stamps::from([fixture::stamps(), vec![fixture::stamp("source wiki", "1")]].concat())];
    let mut cache = PlanCache::new(Settings { bytes_max: 256 << 20, ..Settings::default() });
    for goal in &goals {
        cache.insert(fixture::key(goal), fixture::entry(goal, NOW), &CurrentStamps::of(&snapshots[0]));
    }
    println!("{} entries, {} bytes", cache.len(), cache.bytes());
    report("same snapshot", &mut cache, &goals, |_| &snapshots[0]);
    report("a new snapshot at every look-up", &mut cache, &goals, |i| &snapshots[(i / GOALS) % 2]);
}

fn report<'a>(what: &str, cache: &mut PlanCache, goals: &[Goal], snapshot: impl Fn(usize) -> &'a Stamps) {
    let mut nanos: Vec<u128> = (0..ROUNDS)
        .map(|i| {
            let goal = &goals[(i * 7919) % goals.len()];
            let current = CurrentStamps::of(snapshot(i));
            let start = Instant::now();
            let found = cache.lookup(&fixture::key(black_box(goal)), &current, NOW + 1);
            let elapsed = start.elapsed().as_nanos();
            assert!(found.hit().is_some());
            elapsed
        })
        .collect();
    nanos.sort_unstable();
    let at = |share: f64| nanos[((nanos.len() - 1) as f64 * share) as usize];
    println!("{what}: p50 {} ns, p99 {} ns, p99.9 {} ns", at(0.5), at(0.99), at(0.999));
}
