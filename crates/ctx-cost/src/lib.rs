//! What each alternative would cost and achieve.
//!
//! - [`model`]: the cost model itself, one `match` over operator kinds, on one screen.
//! - [`evidence`]: P(the needed evidence is read) before retrieval, and its calibration on the scores seen after it.
//! - [`calls`]: a model call from its parts: prompt, answer, first token, time per token, failures.
//! - [`neural`]: small networks that correct estimates of time, tokens and money, where held-out runs say they are nearer.
//! - [`prefix`]: the share of prompts that a provider's prefix cache will hold.
//! - [`quality`]: P(right | evidence) of answerers, with n and provenance.
//! - [`refine`]: what reordering a list and shortening passages cost and bring.
//! - [`labels`]: what somebody said of an answer, beside what was expected of it.
//! - [`tokens`]: counts of tokenizers that are not here, from counts of those that are.
//! - [`statistics`]: measured residuals that correct the priors and report their own error.
//!
//! Coefficients are files under `coefficients/`, each with its provenance; formulas cite `CITATIONS.md`.

pub mod calls;
pub mod coefficients;
pub mod evidence;
pub mod labels;
pub mod model;
pub mod neural;
pub mod prefix;
pub mod quality;
pub mod refine;
pub mod statistics;
pub mod tokens;

pub use model::{CostInputs, estimate};
