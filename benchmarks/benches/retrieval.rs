//! Retrieval over five thousand made-up documents: BM25, dense, fused.

use criterion::{Criterion, criterion_group, criterion_main};
use ctx_eval::{Collection, Document, Query, Workbench};
use ctx_types::AccessPath;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::BTreeMap;
use std::hint::black_box;

const DOCUMENTS: usize = 5_000;
const WORDS: [&str; 24] = [
    "planner",
    "budget",
    "index",
    "vector",
    "segment",
    "token",
    "source",
    "query",
    "ledger",
    "trace",
    "policy",
    "cache",
    "fusion",
    "passage",
    "model",
    "latency",
    "evidence",
    "citation",
    "schedule",
    "graph",
    "merge",
    "lock",
    "statistics",
    "snapshot",
];

fn collection() -> Collection {
    let mut random = StdRng::seed_from_u64(1);
    let mut words = |count: usize| {
        (0..count)
            .map(|_| format!("{}{}", WORDS[random.random_range(0..WORDS.len())], random.random_range(0..40)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let documents = (0..DOCUMENTS).map(|n| Document { id: n.to_string(), title: words(4), text: words(160) }).collect();
    let queries = (0..64).map(|n| Query { id: n.to_string(), text: words(8), relevant: BTreeMap::new() }).collect();
    Collection { name: "made up".to_owned(), documents, queries, split: "all".to_owned() }
}

fn retrieval(c: &mut Criterion) {
    let collection = collection();
    let tokio = tokio::runtime::Runtime::new().expect("threads can be started");
    let bench = tokio.block_on(Workbench::open(&collection, &|_| {})).expect("a made-up collection can be indexed");
    let mut queries = collection.queries.iter().cycle();
    for path in [AccessPath::Bm25, AccessPath::Dense, AccessPath::HybridLinear] {
        c.bench_function(&format!("retrieval {path}"), |b| {
            b.iter(|| {
                let query = queries.next().expect("a cycle does not end");
                black_box(bench.list(&query.text, path, 10).expect("the store is there"))
            });
        });
    }
}

criterion_group!(benches, retrieval);
criterion_main!(benches);
