//! Sources of kind `tables`: files of typed rows, loaded into one sealed database per source and queried by SQL.
//!
//! `files` (what there is, what changed) → `build` (load and publish) → [`TableSources`] (describe, probe) → `compute`;
//! `engine` stands between the engine and them.

mod build;
mod compute;
mod engine;
mod files;
mod view;

pub(crate) use view::TableSources;
