//! Answerers and verifiers that need no model of their own.
//!
//! - [`Extractive`] quotes sentences and cites them, or says that the evidence is insufficient.
//! - [`Computed`] gives a result computed from tables as it is.
//! - [`SingleShot`] asks a model once, through the run's ledger, and maps its markers to passages.
//! - [`Citations`], [`AnswersQuestion`], [`Support`]: checks with consequences.
//!
//! Coefficients are in `coefficients/local.json` with their provenance.

mod coefficients;
mod computed;
mod extractive;
pub mod markers;
mod prompt;
mod question;
mod sentences;
mod single_shot;
mod verify;
mod words;

pub use coefficients::{digest, provenance};
pub use computed::Computed;
pub use extractive::Extractive;
pub use prompt::{ABSTAIN_SENTINEL, prompt};
pub use sentences::{Span, readable, sentences, sentences_of};
pub use single_shot::SingleShot;
pub use verify::{AnswersQuestion, Citations, Support};
