//! Bringing a source up to date: what changed on disk, new segments for it, tombstones for what went, and a merge where
//! segments or tombstones pile up.
//!
//! Reading order: [`changes`] → [`files`] → [`run`] → [`merge`].

pub(crate) mod changes;
pub(crate) mod files;
pub(crate) mod merge;
pub(crate) mod run;
