//! Goal to intent: facets with probabilities from typed detectors and a small linear model.
//!
//! Calls no model service, reads no clock, takes microseconds, and gives the same intent for the same words. It does not
//! decide anything: the planner weighs the probabilities.
//!
//! ```text
//! &str ─▶ words ─▶ cues ─▶ order, operands, times, names ─▶ features ─▶ model ─▶ facets ─▶ Intent
//!    └──────────────────▶ sensitive values ────────────────────────────────────────────────▲
//! ```
//!
//! ```
//! use ctx_intent::{IntentModel, analyze};
//! use ctx_types::Sensitivity;
//! use ctx_types::intent::Bucket;
//!
//! let intent = analyze("error 500: password reset link leaks the api_key", IntentModel::embedded());
//! assert_eq!(intent.sensitivity, Sensitivity::Internal); // a word about secrets, not a secret
//! assert_eq!(intent.bucket, Bucket::Incident);
//! ```

pub mod identifiers;
pub mod sensitive;

mod action;
mod analyze;
mod bucket;
mod cues;
mod distribution;
mod entities;
mod features;
mod filter;
pub mod hardness;
mod language;
pub mod model;
mod operands;
mod times;
mod words;

pub use analyze::{analyze, feature_vector};
pub use distribution::from_weights;
pub use features::{DETECTORS, FEATURES};
pub use model::{IntentModel, ModelError};
