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
//! Reading order: [`goal`] → [`intent`] → [`catalog`] → [`probe`] → [`prefix`] → [`alternative`] → [`estimate`] → [`plan`] →
//! [`outcome`] → [`trace`]; [`passage`] holds what retrieval returns.

pub mod alternative;
pub mod catalog;
pub mod certainty;
pub mod computed;
pub mod estimate;
pub mod exploration;
pub mod goal;
pub mod id;
pub mod intent;
pub mod names;
pub mod outcome;
pub mod passage;
pub mod plan;
pub mod prefix;
mod prices;
pub mod probe;
pub mod settings;
pub mod trace;
pub mod units;
pub mod what_if;

pub use alternative::{AccessPath, Alternative, AlternativeId, Fate, FuseMethod, Layout, Operator, Stage, Strategy};
pub use catalog::{Catalog, ModelEntry, SourceEntry};
pub use certainty::{Certainty, Estimated};
pub use estimate::{AlternativeEstimate, PlanEstimate};
pub use goal::{Constraints, Goal, Objective, Principal, Weights};
pub use id::{ContentId, IdError, canonical_json, content_id};
pub use intent::{Bucket, Intent};
pub use names::{ModelName, NameError, Sensitivity, SourceKind, SourceName};
pub use outcome::{Citation, Outcome, Status};
pub use passage::{ByteRange, Hit, Passage, Receipt, ReceiptRefresh};
pub use plan::{Infeasible, Plan, Rejection};
pub use prefix::{HeldPrefix, PromptCache};
pub use probe::{Probe, SourceProbe};
pub use settings::{Denial, Settings};
pub use trace::Trace;
pub use units::{MicroNats, Micros, NanoUsd, PicoUsd, Ppm, Score, Tokens};
pub use what_if::WhatIf;
