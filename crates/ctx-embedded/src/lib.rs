//! The embedded default: local files through DuckDB, tantivy and the static model, behind the contracts. No server, no
//! key, no download.
//!
//! ```text
//! files ─▶ index ─▶ segments (immutable) ─▶ view of a generation ─▶ describe · probe · search
//!                       └ ctx-store publishes; a crash leaves the old generation readable
//! ```
//!
//! ```
//! use ctx_embedded::{Engine, EngineOptions, IndexOptions, SourceConfig};
//! use ctx_types::{AccessPath, SourceName};
//! use std::collections::BTreeMap;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let files = tempfile::tempdir()?;
//! std::fs::write(files.path().join("hinges.md"), "# Hinges\n\nSKU-73105 is a brass hinge.\n")?;
//! let store = tempfile::tempdir()?;
//! let docs = SourceName::new("docs")?;
//! let sources = BTreeMap::from([(docs.clone(), SourceConfig::at(files.path()))]);
//! let engine = Engine::open(store.path(), sources, EngineOptions::default());
//!
//! let reports = engine.index(&[], IndexOptions::default(), &|_| {}, &|| false)?;
//! assert_eq!(reports[0].indexed, 1);
//! let found = engine.search(&docs, AccessPath::Identifier, "what is sku 73105?", 5)?;
//! assert_eq!(found.hits[0].passage.locator.path, "hinges.md");
//! # Ok(()) }
//! ```
//!
//! Reading order: [`engine`] → `index` (changes, files, run, merge) → `segment` (build, open) → `view` → `search`,
//! `probe`, `describe`, `analyze` → `traces`, `forget` → [`contracts`] → `policy`, [`mod@registry`], [`mod@session`].

mod analyze;
pub mod contracts;
mod describe;
pub mod engine;
pub mod error;
mod families;
mod forget;
mod index;
mod pieces;
mod place;
mod policy;
mod probe;
mod recompute;
pub mod registry;
mod rows;
mod search;
mod segment;
pub mod session;
mod settings;
mod statistics;
mod tables;
pub mod tokens;
mod traces;
mod view;

pub use contracts::Embedded;
pub use ctx_contracts::IndexOptions;
pub use ctx_runtime::config::SourceConfig;
pub use ctx_store::replace_file;
pub use engine::{Engine, EngineOptions};
pub use error::EmbeddedError;
pub use families::KnownTokenizer;
pub use registry::{open, registry};
pub use search::Found;
pub use session::{EmbeddedHost, session};
pub use tokens::O200k;
