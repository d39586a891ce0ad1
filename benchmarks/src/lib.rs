//! Benchmarks: figures with their bars and baselines, kept as dated results; criterion benches for what is tuned.
//!
//! - `cargo run --release -p ctx-benchmarks --bin figures -- DATA OUT [WHICH...]` measures and writes `OUT/*.json` and
//!   `OUT/README.md`; DATA holds the collections in the BEIR layout.
//! - `cargo bench -p ctx-benchmarks` times planning, the plan cache, retrieval and indexing without any data set.
//! - `cargo run -p ctx-benchmarks --bin fit_evidence -- OUT COLLECTION...` writes what the evidence fits are made from.
//!
//! Nothing here runs in tests: a timed test is a flaky test.

pub mod bare;
pub mod figure;
pub mod machine;
pub mod planning;
pub mod text;
