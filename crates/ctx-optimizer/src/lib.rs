//! Which plan wins: exact selection under constraints.
//!
//! A [`Problem`] is one group of items per source, and a list of [`Frame`]s (strategy, model, verifier, fuse method, pack
//! budget, layout). A complete plan is a frame and one item per group. [`solve`] finds the best feasible one and proves
//! it; [`brute_force`] is the oracle of the tests. Score and feasibility are separate modules that do not know each other:
//! [`score`] ranks, [`constraints`] decides.
//!
//! Labels over the groups are built once for all frames: an item's vector does not depend on the frame, only the value of
//! the summed vector does. A label that is no better in any coordinate than another is dropped, which is exact because
//! every frame's value is monotone in each coordinate (the direction of evidence is checked, not assumed).

pub mod constraints;
mod evaluate;
mod frontier;
pub mod infeasible;
pub mod labels;
pub mod linear;
pub mod milp;
pub mod packing;
pub mod problem;
pub mod score;
pub mod search;
pub mod sensitivity;
mod through;
pub mod worth;

pub use problem::{CallShare, Frame, Item, Problem, Totals};
pub use search::{Candidate, Solution, brute_force, solve};
