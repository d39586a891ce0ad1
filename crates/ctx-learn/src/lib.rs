//! Learning from outcomes: better estimates, never other rules.
//!
//! - [`right`]: P(right | goal text, model), from [`text`] by a [`kernel`], with its [`calibration`].
//! - [`routing`], [`frontier`]: what such estimates are worth between two tiers and among many models.
//! - [`bandit`]: trying another plan now and then, with a known probability; [`reward`]: what a run was worth; [`off_policy`]:
//!   what another policy would have earned, from the log of this one.
//! - [`tune`]: settings that earn more on labelled rows, searched offline.
//!
//! Pure and seeded: no clock, no file, no thread. Who collects outcomes, and when, is the runtime's business.

pub mod bandit;
pub mod calibration;
pub mod frontier;
pub mod kernel;
pub mod linear;
pub mod off_policy;
pub mod reward;
pub mod right;
pub mod routing;
pub mod text;
pub mod tune;
