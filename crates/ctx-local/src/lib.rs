//! Answerers and verifiers that need no model of their own.
//!
//! - [`Extractive`] quotes sentences and cites them, or says that the evidence is insufficient.
//! - [`Computed`] gives a result computed from tables as it is.
//! - [`SingleShot`] asks a model once, through the run's ledger, and maps its markers to passages.
//! - [`Citations`], [`AnswersQuestion`], [`Support`]: checks with consequences.
//!
//! Reading order: `sentences` → `words`, `directions`, `question` → [`reading`] (features) → [`logistic`] → `extractive`,
//! `verify`. Coefficients are in `coefficients/local.json` with their provenance; `fit_local` of the benchmarks fits them
//! through the public functions here, so that what is fitted is what runs.

mod coefficients;
pub mod compress;
mod computed;
mod directions;
mod extractive;
#[cfg(test)]
mod fixtures;
pub mod logistic;
pub mod markers;
mod prompt;
mod question;
pub mod reading;
mod rerank;
mod sentences;
mod single_shot;
mod verify;
mod words;

pub use coefficients::{digest, provenance};
pub use computed::Computed;
pub use extractive::{Extractive, Quoted, choose};
pub use prompt::{ABSTAIN_SENTINEL, prompt};
pub use rerank::{FEATURES, FeatureReranker, features};
pub use sentences::{Span, readable, sentences, sentences_of};
pub use single_shot::SingleShot;
pub use verify::{AnswersQuestion, CLAIM, Citations, Support, claim, unheld_numbers};
