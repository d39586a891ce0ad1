//! Indexing beside tantivy alone on the same chunks, one writer thread, commit included.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use ctx_benchmarks::{bare, text};
use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
use ctx_types::SourceName;
use std::collections::BTreeMap;
use std::hint::black_box;

const BYTES: u64 = 4 << 20;

fn indexing(c: &mut Criterion) {
    let files = tempfile::tempdir().expect("a temporary folder");
    text::write(files.path(), BYTES, 1).expect("files can be written");
    let chunks = bare::chunks(files.path()).expect("files can be cut");
    let mut group = c.benchmark_group("indexing 4 MiB");
    group.sample_size(10);
    let folder = || tempfile::tempdir().expect("a temporary folder");
    group.bench_function("tantivy alone", |b| {
        b.iter_batched(
            folder,
            |folder| black_box(bare::index(&chunks, &folder.path().join("index"))).map(|_| folder),
            BatchSize::PerIteration,
        );
    });
    let source = SourceName::new("files").expect("letters are a name");
    group.bench_function("everything", |b| {
        b.iter_batched(
            folder,
            |folder| {
                let sources = BTreeMap::from([(source.clone(), SourceConfig::at(files.path()))]);
                let engine = Engine::open(folder.path(), sources, EngineOptions::default());
                black_box(engine.index(&[], IndexOptions::default(), &|_| {}, &|| false)).map(|_| folder)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, indexing);
criterion_main!(benches);
