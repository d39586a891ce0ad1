//! Evaluation on *your* data: every access path and the planner's own choice, judged on a labelled collection.
//!
//! ```text
//! folder ─read─▶ Collection ─index─▶ Workbench ─legs, plan, run─▶ rankings ─score─▶ Report (table, JSON, TREC runs)
//! ```
//!
//! What runs is the product's own code: the engine that indexes and searches, the planner, the fusion and the packing of
//! a real run. Documents are judged, not passages: a document stands where its best passage stands.
//!
//! Reading order: [`collection`] → `corpus` → [`workbench`] → [`metrics`] → [`bootstrap`] → [`mod@evaluate`] → [`report`] → `trec` →
//! [`shelf`] (several collections at once) → [`tuning`] (settings that serve a collection better).

pub mod bootstrap;
pub mod collection;
mod corpus;
pub mod error;
pub mod evaluate;
pub mod metrics;
pub mod report;
pub mod shelf;
mod trec;
pub mod tuning;
pub mod workbench;

pub use collection::{Collection, Document, Half, Query, is_train};
pub use error::EvalError;
pub use evaluate::{Options, evaluate, evaluate_collection};
pub use report::{Report, Row};
pub use shelf::{Shelf, Shelved};
pub use tuning::report::Tuned;
pub use tuning::{TuningOptions, tune};
pub use workbench::Workbench;
