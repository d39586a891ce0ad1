//! The nouns of Context Runtime: what a goal is, what a catalog knows, what a plan is, what happened.
//!
//! Values only. Nothing here performs I/O, reads a clock or knows a provider. Every number has a unit ([`units`]) and,
//! where it is estimated, a certainty ([`Certainty`]). Ids are content hashes over canonical JSON ([`id`]).
//!
//! ```
//! use ctx_types::{Goal, SourceName};
//!
//! let goal = Goal::new("How is an infeasible plan reported?").with_source(SourceName::new("docs").unwrap());
//! assert_eq!(goal.sources.len(), 1);
//! ```
//!
//! Reading order: [`goal`] → [`intent`] → [`catalog`] → [`probe`] → [`alternative`] → [`estimate`] → [`plan`] →
//! [`outcome`] → [`trace`]; [`passage`] holds what retrieval returns.

pub mod units;
pub mod certainty;
pub mod id;
pub mod names;
pub mod passage;
pub mod goal;
pub mod settings;
pub mod intent;
pub mod catalog;
pub mod probe;
pub mod alternative;
pub mod estimate;
pub mod plan;
pub mod outcome;
pub mod trace;

pub use alternative::{AccessPath, Alternative, AlternativeId, Fate, FuseMethod, Layout, Operator, Stage, Strategy};
pub use catalog::{Catalog, ModelEntry, SourceEntry};
pub use certainty::{Certainty, Estimated};
pub use estimate::{AlternativeEstimate, PlanEstimate};
pub use goal::{Constraints, Goal, Objective, Principal, Weights};
pub use id::{canonical_json, content_id, ContentId, IdError};
pub use intent::{Bucket, Intent};
pub use names::{ModelName, NameError, Sensitivity, SourceKind, SourceName};
pub use outcome::{Citation, Outcome, Status};
pub use passage::{ByteRange, Hit, Passage};
pub use plan::{Infeasible, Plan, Rejection};
pub use settings::{Denial, Settings};
pub use probe::{Probe, SourceProbe};
pub use trace::Trace;
pub use units::{MicroNats, Micros, NanoUsd, PicoUsd, Ppm, Score, Tokens};
