//! For tests only: catalogs and probes as values, fakes of every contract, the `.plan` runner.
//!
//! A catalog made here is what the planner is tested on without a database or a model; a fake made here is what the
//! runtime is tested on, faults included.

pub mod catalogs;
pub mod optimizer_figures;
pub mod plans;
pub mod statistics_figures;
pub mod traces;

pub mod fakes;
