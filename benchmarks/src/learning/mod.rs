//! What is known of a goal before a model is asked: calibration of P(right), routing between two tiers and among many models.
//!
//! Fits and choices are `ctx-learn`'s; here are the sets, the splits, the baselines and the table.

pub mod calibrated;
pub mod many;
pub mod outcomes;
pub mod tiers;
