//! Goal to intent: facets with probabilities from typed detectors and a small linear model.
//!
//! ```
//! use ctx_intent::{IntentModel, analyze};
//! use ctx_types::Sensitivity;
//!
//! let intent = analyze("error 500: password reset link leaks the api_key", IntentModel::embedded());
//! assert_eq!(intent.sensitivity, Sensitivity::Internal); // a word about secrets, not a secret
//! ```

pub mod distribution;
pub mod identifiers;
pub mod model;
pub mod sensitive;

mod analyze;

pub use analyze::analyze;
pub use model::IntentModel;
