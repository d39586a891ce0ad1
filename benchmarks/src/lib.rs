//! Benchmarks: figures with their bars and baselines, kept as dated results; criterion benches for what is tuned.
//!
//! - `cargo run --release -p ctx-benchmarks --bin figures -- DATA OUT [WHICH...]` measures and writes `OUT/*.json` and
//!   `OUT/README.md`; DATA holds the collections in the BEIR layout.
//! - `cargo run --release -p ctx-benchmarks --bin word_figures -- DATA OUT [WHICH...]` does the same for sensitive values, prices,
//!   token counts, intent and questions over tables.
//! - `cargo run -p ctx-benchmarks --bin statistics_figures -- DATA OUT` measures intervals of latency, quotes and shares of cached
//!   prefixes on recorded requests.
//! - `cargo run -p ctx-benchmarks --bin local_quotes -- DATA OUT URL` quotes and makes runs of a real model that is served at URL.
//! - `cargo run --release -p ctx-benchmarks --bin learning -- DATA OUT [WHICH...]` measures what a goal's text says of a model's answer:
//!   calibration, routing between two tiers and among many models.
//! - `cargo bench -p ctx-benchmarks` times planning, the plan cache, retrieval and indexing without any data set.
//! - `cargo run -p ctx-benchmarks --bin fit_evidence -- OUT COLLECTION...` writes what the evidence fits are made from.
//! - `cargo run -p ctx-benchmarks --bin fit_local -- DATA OUT` fits answerers and checks that need no model.
//!
//! Nothing here runs in tests: a timed test is a flaky test.

pub mod bare;
pub mod choice;
pub mod data;
pub mod figure;
pub mod fitting;
pub mod intent;
pub mod learning;
pub mod local_quotes;
pub mod machine;
pub mod matching;
pub mod pii;
pub mod planning;
pub mod price_map;
pub mod shelves;
pub mod tables;
pub mod templates;
pub mod text;
pub mod token_counts;
