//! Learning from outcomes: better estimates, never other rules.
//!
//! - [`right`]: P(right | goal text, model), from [`text`] by a [`kernel`], with its [`calibration`].
//! - [`routing`], [`frontier`]: what such estimates are worth between two tiers and among many models.
//!
//! Pure and seeded: no clock, no file, no thread. Who collects outcomes, and when, is the runtime's business.

pub mod calibration;
pub mod frontier;
pub mod kernel;
pub mod linear;
pub mod right;
pub mod routing;
pub mod text;
