//! What statistics cost at run time: `cargo run --release -p ctx-cost --example statistics_cost`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use ctx_cost::neural::{Estimators, Examples, Fitted, Mode};
use ctx_cost::statistics::{Field, Observation, SizeClass, StatKey, Statistics};
use ctx_types::{AccessPath, Bucket, Certainty, Estimated, Micros};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

const NOW: u64 = 1_700_000_000;

fn main() {
    let keys: Vec<StatKey> = Bucket::ALL
        .iter()
        .flat_map(|bucket| AccessPath::ALL.iter().map(|path| StatKey::access("default", Field::Latency, *path, *bucket, SizeClass::Medium)))
        .collect();
    let outcomes: Vec<Observation> = (0..60_000i64)
        .map(|i| Observation::new(keys[i as usize % keys.len()].clone(), format!("run {i}"), NOW, 1_000, 500 + i * 7919 % 3_000))
        .collect();
    let statistics = timed("absorb 60,000 outcomes", || Statistics::default().absorb(&outcomes, NOW));
    let next: Vec<Observation> =
        outcomes[..100].iter().map(|o| Observation { outcome: format!("next {}", o.outcome), ..o.clone() }).collect();
    timed("absorb 100 more", || statistics.absorb(&next, NOW + 60));
    let (whole, light) = (statistics.to_json(), statistics.for_planning().to_json());
    println!("{} keys: {} bytes whole, {} bytes for planning", statistics.len(), whole.len(), light.len());
    timed("load the whole", || Statistics::from_json(&whole).unwrap());
    timed("load for planning", || Statistics::from_json(&light).unwrap());
    let prior = Estimated::new(Micros(1_000), Micros(500), Micros(3_000), Certainty::Prior, "shipped");
    timed("correct 10,000 estimates", || {
        for i in 0..10_000 {
            black_box(statistics.corrected(&keys[i % keys.len()], prior.clone()));
        }
    });
    let examples = Examples::default().with(&outcomes);
    let fitted = timed("fit networks on the latest outcomes", || Fitted::of(&examples, "default", 1, NOW));
    let estimators = Estimators::new(Mode::Neural, BTreeMap::from([("default".to_owned(), fitted)]));
    let neural = statistics.with_estimators(Arc::new(estimators));
    timed("estimate 10,000 by network", || {
        for i in 0..10_000 {
            black_box(neural.corrected(&keys[i % keys.len()], prior.clone()));
        }
    });
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = black_box(work());
    println!("{what}: {:.2} ms", start.elapsed().as_secs_f64() * 1e3);
    result
}
