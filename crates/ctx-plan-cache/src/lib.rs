//! The plan cache: a decision made once is not made again while everything it depends on still stands.
//!
//! A **key** ([`PlanKey`]) says who asks for what under which rules; two requests share a plan only if every exact field
//! agrees, and fields are compared one by one after the hash. **Stamps** ([`Stamps`]) say what the decision looked at;
//! a plan whose sources, models, prices, policy or statistics have moved is a miss that names what moved.
//!
//! What it is not: it knows no clock (`now` is an argument), no thread (one owner mutates it; single flight is the
//! runtime's), no disk (bytes in, bytes out). A hit skips planning and nothing else: the goal's own words are sent.
//!
//! ```
//! use ctx_plan_cache::{CurrentStamps, KeyInput, Lookup, MissCause, PlanCache, PlanKey, Settings, Stamps};
//! use ctx_types::{Constraints, Goal};
//!
//! let goal = Goal::new("How is an infeasible plan reported?");
//! let key = PlanKey::literal(&KeyInput {
//!     goal: &goal, limits: &Constraints::default(), sources: &[], configuration: "c0ffee", planner_version: "1",
//! });
//! let mut cache = PlanCache::new(Settings::default());
//! let stamps = Stamps::default();
//! let found = cache.lookup(&key, &CurrentStamps::of(&stamps), 1_700_000_000);
//! assert!(matches!(found, Lookup::Miss(MissCause::Absent)));
//! ```
//!
//! Reading order: [`key`] → [`template`] → [`semantic`] → [`stamps`] → [`entry`] → [`cause`] → [`cache`] → [`propose`] →
//! [`admission`] → [`guard`] → [`pin`] → [`hold`] → [`counters`] → [`persist`] → `join` → [`listing`]; answers, apart: [`near`] →
//! [`mod@agree`] → [`results`].

pub mod admission;
pub mod agree;
pub mod cache;
pub mod cause;
pub mod counters;
pub mod entry;
pub mod guard;
mod hashed;
pub mod hold;
mod join;
pub mod key;
pub mod listing;
pub mod near;
pub mod persist;
pub mod pin;
pub mod propose;
pub mod results;
pub mod semantic;
pub mod stamps;
mod state;
pub mod template;

pub use agree::agree;
pub use cache::{Inserted, PlanCache, Settings};
pub use cause::{Bypass, Lookup, MissCause};
pub use counters::Counters;
pub use entry::{CachedPlan, EntryKind, Scope};
pub use guard::{Revert, Run, Worse};
pub use hold::Unpinned;
pub use key::{KEY_SCHEMA_VERSION, KeyInput, PlanKey, canonical_text};
pub use listing::CacheRow;
pub use near::NearKey;
pub use persist::{LoadReport, PersistError};
pub use pin::{Pin, PinnedBy};
pub use propose::Proposal;
pub use results::{FoundResult, ProposedResult, ResultCounters, ResultSettings, Results, StoredResult};
pub use stamps::{ABSENT_VERSION, CurrentStamps, Mismatch, PER_GOAL_PREFIX, PerGoal, Stamps};
pub use template::{CUSTOM_PLANS_MIN, Template, TemplateKey, Verdict};
