//! Fitting what ships in `coefficients/`: observations from labelled collections, logistic regression, measures, files.
//!
//! - [`contexts`]: the context of each query, kept in a file, so that fits can be repeated without indexing again.
//! - [`gold`]: which sentences answer, by collection.
//! - [`regression`]: the solver. [`measures`]: AUC, calibration, intervals.
//! - [`rerank`]: the feature reranker. [`compress`]: what the compressors keep, and the learned one.
//! - [`local`]: the sentence model, the two checks, and the table of right answers.

pub mod claims;
pub mod compress;
pub mod contexts;
pub mod gold;
pub mod local;
pub mod measures;
pub mod regression;
pub mod report;
pub mod rerank;
pub mod write;
