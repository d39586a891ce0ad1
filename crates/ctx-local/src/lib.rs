//! Answerers and verifiers that need no model of their own.
//!
//! - [`Extractive`] quotes sentences and cites them, or says that the evidence is insufficient.
//! - [`SingleShot`] asks a model once, through the run's ledger, and maps its markers to passages.
//! - [`Citations`], [`AnswersQuestion`], [`Support`]: checks with consequences.
//!
//! Coefficients are in `coefficients/local.json` with their provenance.

mod coefficients;
mod words;
mod sentences;
mod question;
mod extractive;
mod prompt;
mod single_shot;
pub mod markers;
mod verify;

pub use coefficients::digest;
pub use extractive::Extractive;
pub use prompt::{prompt, ABSTAIN_SENTINEL};
pub use sentences::{readable, sentences, sentences_of, Span};
pub use single_shot::SingleShot;
pub use verify::{AnswersQuestion, Citations, Support};
