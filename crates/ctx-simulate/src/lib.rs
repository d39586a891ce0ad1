//! Seeded Monte Carlo over an execution graph: quotes with intervals.
